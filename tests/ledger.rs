//! Properties of the ledger that hold for every configuration.

use proptest::prelude::*;
use trainmem::config::{
    Attention, Config, DataParallel, GradDtype, Loss, Method, Offload, Optimizer, OptimizerImpl, Precision,
    Quantization, Recompute,
};
use trainmem::estimate::{Estimate, estimate};
use trainmem::ledger::Block;

/// Who runs the replicas, and how.
fn cluster()
-> impl Strategy<Value = (u64, DataParallel, serde_json::Map<String, serde_json::Value>, Vec<Offload>)> {
    let names =
        ["reshard_after_forward", "fsdp_wrap_head", "no_sync", "gradient_as_bucket_view", "overlap_comm"];
    let switches = prop::array::uniform5(any::<bool>());
    let switches = switches.prop_map(move |switches| {
        names.into_iter().zip(switches).map(|(name, on)| (name.to_owned(), on.into())).collect()
    });
    let offload = vec![
        vec![],
        vec![Offload::Activations],
        vec![Offload::Optimizer],
        vec![Offload::Optimizer, Offload::Parameters, Offload::Activations],
    ];
    let gpus = prop::sample::select(vec![1_u64, 2, 3, 8]);
    (gpus, prop::sample::select(DataParallel::ALL), switches, prop::sample::select(offload))
}

/// Configurations of small models: sizes stay small so that many can be tried, switches take every value.
fn configs() -> impl Strategy<Value = Config> {
    let model = (
        prop::sample::select(vec!["llama", "mistral", "qwen2", "qwen3"]),
        1_u64..6,
        prop::sample::select(vec![(4_u64, 2_u64), (8, 8), (6, 3), (5, 1)]),
        prop::sample::select(vec![8_u64, 64, 128]),
        1_u64..300,
        1_u64..2000,
        any::<bool>(),
        prop::option::of(1_u64..64),
    );
    let run = (
        prop::sample::select(Precision::ALL),
        prop::sample::select(Attention::ALL),
        prop::sample::select(vec![Recompute::None, Recompute::Full]),
        prop::option::of(0_u64..7),
        prop::sample::select(Optimizer::ALL),
        prop::sample::select(OptimizerImpl::ALL),
        prop::sample::select(GradDtype::ALL),
        (1_u64..5, 1_u64..200, 1_u64..3),
    );
    let criterion = (prop::sample::select(Loss::ALL), prop::option::of(1_u64..300));
    let method = (
        prop::sample::select(vec![Method::Full, Method::Lora, Method::Qlora]),
        prop::sample::select(Quantization::ALL),
    );
    (model, run, criterion, method, cluster()).prop_map(
        |(model, run, (loss, loss_chunks), (method, quantization), cluster)| {
            let (kind, layers, (heads, kv_heads), head_dim, ffn, vocab, tied, window) = model;
            let (
                precision,
                attention,
                recompute,
                recompute_layers,
                optimizer,
                optimizer_impl,
                grad_dtype,
                sizes,
            ) = run;
            let mut architecture = serde_json::Map::new();
            for (key, value) in [
                ("num_hidden_layers", layers),
                ("num_attention_heads", heads),
                ("num_key_value_heads", kv_heads),
                ("head_dim", head_dim),
                ("hidden_size", heads * 16),
                ("intermediate_size", ffn),
                ("vocab_size", vocab),
            ] {
                architecture.insert(key.to_owned(), value.into());
            }
            architecture.insert("model_type".to_owned(), kind.into());
            architecture.insert("tie_word_embeddings".to_owned(), tied.into());
            if let Some(window) = window {
                architecture.insert("sliding_window".to_owned(), window.into());
            }
            let (batch, seq, accumulation) = sizes;
            let (gpus, data_parallel, advanced, offload) = cluster;
            Config {
                gpus,
                data_parallel,
                advanced,
                offload,
                architecture,
                precision,
                attention,
                recompute,
                recompute_layers,
                optimizer,
                optimizer_impl,
                grad_dtype,
                method,
                quantization,
                loss,
                loss_chunks,
                batch,
                seq,
                accumulation,
                ..Config::default()
            }
        },
    )
}

fn answer(config: &Config) -> Estimate {
    estimate(config).expect("these models can be read")
}

/// A larger layer count, by the field's own name.
fn with_layers(config: &Config, more: u64) -> Config {
    let mut config = config.clone();
    let layers = config.architecture["num_hidden_layers"].as_u64().expect("a count") + more;
    config.architecture.insert("num_hidden_layers".to_owned(), layers.into());
    config
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn rows_alive_at_the_peak_sum_to_the_peak_block_by_block(config in configs()) {
        let estimate = answer(&config);
        for block in Block::ALL {
            let rows = estimate.ledger.iter().filter(|row| row.block == block && row.tensor.id != "workspace");
            let sum: u64 = rows.map(|row| row.at_peak).sum();
            prop_assert_eq!(sum, estimate.peak.blocks.get(block), "{} at {}", block.word(), estimate.peak.moment);
        }
        prop_assert_eq!(estimate.peak.blocks.sum(), estimate.peak.bytes);
    }

    #[test]
    fn rows_are_what_their_formulas_say(config in configs()) {
        let estimate = answer(&config);
        for row in &estimate.ledger {
            let one = row.shape.elements(&estimate.symbols) * row.dtype.bytes();
            prop_assert_eq!(row.bytes, one * row.count, "{}", row.name());
            prop_assert!(row.at_peak <= row.bytes, "{}", row.name());
        }
    }

    #[test]
    fn the_peak_is_the_largest_instant_and_no_more_than_the_blocks_together(config in configs()) {
        let estimate = answer(&config);
        let largest = estimate.timeline.iter().map(|instant| instant.live.sum()).max();
        prop_assert_eq!(largest, Some(estimate.peak.bytes));
        prop_assert!(estimate.peak.bytes <= estimate.blocks.sum());
        prop_assert!(estimate.peak.bytes <= estimate.allocated);
        prop_assert!(estimate.between_steps.without_gradients <= estimate.between_steps.with_gradients);
        prop_assert!(estimate.reserved.low <= estimate.reserved.expected);
        prop_assert!(estimate.device.expected <= estimate.device.high);
    }

    #[test]
    fn groups_sum_to_their_totals(config in configs()) {
        let estimate = answer(&config);
        let parameters: u64 = estimate.parameters.by_group.iter().map(|(_, n)| n).sum();
        prop_assert_eq!(parameters, estimate.parameters.total);
        let saved: u64 = estimate.saved.by_group.iter().map(|(_, n)| n).sum();
        prop_assert_eq!(saved, estimate.saved.total);
    }

    #[test]
    fn memory_never_falls_when_batch_sequence_or_layers_grow(config in configs(), more in 1_u64..40) {
        let least = answer(&config);
        let batch = answer(&Config { batch: config.batch + more, ..config.clone() });
        let seq = answer(&Config { seq: config.seq + more, ..config.clone() });
        let layers = answer(&with_layers(&config, more));
        // A longer sequence can be cut into fewer chunks, and a linear of bitsandbytes has another kernel for many rows.
        let steps = config.loss == Loss::Chunked || config.method == Method::Qlora;
        let seq = if steps { least.clone() } else { seq };
        let batch = if config.method == Method::Qlora { least.clone() } else { batch };
        for (what, grown) in [("batch", batch), ("seq", seq), ("layers", layers)] {
            prop_assert!(grown.peak.bytes >= least.peak.bytes, "{what}: peak");
            prop_assert!(grown.saved.total >= least.saved.total, "{what}: saved");
            prop_assert!(grown.allocated >= least.allocated, "{what}: allocated");
        }
    }

    #[test]
    fn recomputation_never_keeps_more(config in configs()) {
        let without = answer(&Config { recompute: Recompute::None, ..config.clone() });
        let with = answer(&Config { recompute: Recompute::Full, recompute_layers: None, ..config });
        prop_assert!(with.saved.total <= without.saved.total);
    }

    #[test]
    fn no_size_overflows_or_panics(
        sizes in prop::array::uniform8(1_u64..=u64::MAX),
        precision in prop::sample::select(Precision::ALL),
        attention in prop::sample::select(Attention::ALL),
    ) {
        let mut architecture = serde_json::Map::new();
        let fields = ["num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size",
            "intermediate_size", "vocab_size"];
        for (key, value) in fields.into_iter().zip(sizes) {
            // Most are refused; every third run is cut down so that some are not.
            let value = if sizes[7] % 3 == 0 { value % 4096 + 1 } else { value };
            architecture.insert(key.to_owned(), value.into());
        }
        let config = Config { architecture, batch: sizes[6], seq: sizes[7], precision, attention, ..Config::default() };
        match estimate(&config) {
            Ok(estimate) => prop_assert!(estimate.peak.bytes > 0),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }
}
