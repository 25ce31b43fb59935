//! One rank of many against the real frameworks, to the byte (`tests/data/README.md` says where the cases come from).

use serde_json::Value;
use trainmem::config::Config;
use trainmem::estimate::{Estimate, estimate};
use trainmem::ledger::Block;

struct Case {
    id: String,
    config: Config,
    expect: Value,
}

/// The cases of one kind, and how many there are.
fn cases(kind: &str, count: usize) -> Vec<Case> {
    let all = include_str!("data/distributed.jsonl").lines();
    let all = all.map(|line| serde_json::from_str::<Value>(line).expect("a case is JSON"));
    let cases = all.filter(|case| case["kind"] == kind).map(|case| {
        let read = Config::from_json(&case["config"].to_string()).expect("a configuration");
        let id = case["id"].as_str().expect("a case has an id").to_owned();
        Case { id, config: read.config, expect: case["expect"].clone() }
    });
    let cases: Vec<Case> = cases.collect();
    assert_eq!(cases.len(), count, "the data holds the cases that this test is about");
    cases
}

fn answer(case: &Case) -> Estimate {
    estimate(&case.config).unwrap_or_else(|problems| panic!("{}: {problems:?}", case.id))
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

/// What is alive at the peak, largest first: what to look at when it is not what it should be.
fn largest(estimate: &Estimate) -> String {
    let mut rows: Vec<_> = estimate.ledger.iter().filter(|row| row.at_peak > 1 << 20).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.at_peak));
    let rows = rows.iter().map(|row| format!("    {:>14} {} ({})\n", row.at_peak, row.name(), row.formula()));
    format!("  {} {}\n{}", estimate.peak.moment, estimate.peak.operator, rows.collect::<String>())
}

/// Compares one figure of every case: a miss by more than so many millionths prints case, both numbers,
/// their difference, and our rows.
fn compare(what: &str, cases: &[Case], millionths: u32, figure: impl Fn(&Case, &Estimate) -> (u64, u64)) {
    let mut misses = Vec::new();
    for case in cases {
        let estimate = answer(case);
        let (ours, theirs) = figure(case, &estimate);
        let difference = i128::from(ours) - i128::from(theirs);
        let allowed = i128::from(theirs) * i128::from(millionths) / 1_000_000;
        if difference.abs() > allowed {
            misses.push(format!(
                "{}: {ours}, measured {theirs} ({difference:+})\n{}",
                case.id,
                largest(&estimate)
            ));
        }
    }
    assert!(misses.is_empty(), "{what}: {} misses\n{}", misses.len(), misses.join("\n"));
}

fn peak(case: &Case, estimate: &Estimate) -> (u64, u64) {
    (estimate.peak.bytes, number(&case.expect["peak"]))
}

/// Parameters, states, and the inputs, between steps.
fn stored(case: &Case, estimate: &Estimate) -> (u64, u64) {
    let of = |name: &str| number(&case.expect["static"][name]);
    let ours = estimate.blocks.get(Block::Parameters) + estimate.blocks.get(Block::Optimizer);
    (ours, of("params") + of("optimizer"))
}

#[test]
fn fsdp2_stores_and_peaks_to_the_byte() {
    let (experts, dense): (Vec<Case>, Vec<Case>) =
        cases("fsdp2", 37).into_iter().partition(|case| case.id.contains("a3b"));
    compare("parameters", &dense, 0, |case, estimate| {
        (estimate.parameters.on_rank, number(&case.expect["parameters"]))
    });
    compare("parameters and states", &dense, 0, |case, estimate| {
        // Offloaded: nothing is left on the device.
        let host = case.id.contains("offload").then_some(0);
        let (ours, theirs) = stored(case, estimate);
        (ours, host.unwrap_or(theirs))
    });
    compare("peak", &dense, 0, peak);
    // The grouped product of experts has a workspace of 75 KB of its own.
    assert_eq!(experts.len(), 1);
    compare("peak", &experts, 10, peak);
}

#[test]
fn fsdp1_stores_and_peaks_to_the_byte() {
    let cases = cases("fsdp1", 6);
    compare("parameters", &cases, 0, |case, estimate| {
        (estimate.parameters.on_rank, number(&case.expect["parameters"]))
    });
    compare("parameters and states", &cases, 0, stored);
    compare("peak", &cases, 0, peak);
}

#[test]
fn ddp_stores_and_peaks_to_the_byte() {
    let cases = cases("ddp", 5);
    compare("parameters and states", &cases, 0, stored);
    compare("peak", &cases, 0, peak);
    // The buckets are there between steps.
    compare("between steps", &cases, 0, |case, estimate| {
        let workspaces = 2 * (32 << 20);
        let after = &case.expect["requested"]["step2_zero_grad"];
        (estimate.between_steps.without_gradients - workspaces, number(after))
    });
}

#[test]
fn zero_peaks_to_a_few_bytes() {
    let all = cases("deepspeed", 24);
    let (gathered, whole): (Vec<Case>, Vec<Case>) =
        all.into_iter().partition(|case| case.id.contains("-z3-"));
    assert_eq!((gathered.len(), whole.len()), (8, 16));
    // The scalars of the loss and of the norm are left out: 16 bytes. One of gradients accumulated in fp32 has 16 KB more.
    compare("peak", &whole, 1, peak);
}

#[test]
fn zero_3_peaks_to_a_few_bytes() {
    let gathered: Vec<Case> =
        cases("deepspeed", 24).into_iter().filter(|case| case.id.contains("-z3-")).collect();
    compare("peak", &gathered, 1, peak);
}

#[test]
fn dtensor_tensor_parallel_stores_and_peaks_to_the_byte() {
    let cases = cases("dtensor", 16);
    compare("parameters", &cases, 0, |case, estimate| {
        (estimate.parameters.on_rank, number(&case.expect["parameters"]))
    });
    compare("parameters and states", &cases, 0, stored);
    let (alone, sharded): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.id.contains("-dp1-"));
    // The embedding's is made for the whole vocabulary.
    compare("gradients", &alone, 0, |case, estimate| {
        (estimate.blocks.get(Block::Gradients), number(&case.expect["static"]["grads"]))
    });
    compare("peak", &alone, 0, peak);
    // Where the peak is the end of backward: the sum of the final norm's gradient, 8 KB, is left out.
    compare("peak", &sharded, 2, peak);
}

#[test]
fn logits_are_gathered_where_the_loss_is_not_parallel() {
    let link = "model=llama-3.1-8b&precision=bf16&stack=torchtitan&gpus=8&tp=8&sp=true&batch=1&seq=8192&recompute=full&";
    let kept = |more: &str| of(&Config::from_link(&format!("{link}{more}")).config).saved.total;
    // The log-softmax of the whole vocabulary in fp32, where ranks hold an eighth each (and the labels' weight).
    let whole = 8192 * 128_256 * 4;
    assert_eq!(kept("loss_parallel=false") - kept(""), whole - whole / 8);
    assert_eq!(kept("loss_parallel=true"), kept(""));
}

/// A small model that no number of ranks below divides evenly, and its other settings.
fn small(key: &str, more: &str) -> Config {
    let link = format!(
        "model=qwen3-8b&num_hidden_layers=3&vocab_size=1001&seq=64&precision=bf16-mixed&{key}&{more}"
    );
    Config::from_link(&link).config
}

/// Every strategy, as keys.
const STRATEGIES: [&str; 11] = [
    "data_parallel=ddp",
    "data_parallel=ddp&gradient_as_bucket_view=true",
    "data_parallel=ddp&engine=deepspeed",
    "data_parallel=zero1",
    "data_parallel=zero2",
    "data_parallel=zero3",
    "data_parallel=fsdp",
    "data_parallel=fsdp&fsdp_version=1",
    "data_parallel=fsdp-grad-op",
    "data_parallel=hsdp&shard_size=2",
    "data_parallel=fsdp&fsdp_wrap_head=true&accumulation=2&no_sync=true",
];

fn of(config: &Config) -> Estimate {
    estimate(config).expect("the model can be read")
}

#[test]
fn one_gpu_is_one_gpu_in_every_strategy() {
    for strategy in STRATEGIES {
        let accumulation = if strategy.contains("accumulation") { "accumulation=2" } else { "" };
        let mut one = of(&small("gpus=1", strategy));
        let alone = of(&small("gpus=1", accumulation));
        one.warnings.clear();
        assert_eq!(one, Estimate { warnings: Vec::new(), ..alone }, "{strategy}");
    }
}

#[test]
fn shards_are_the_whole_and_stated_padding() {
    let stored = |config: &Config| {
        let estimate = of(config);
        let bytes = |block| {
            let rows = estimate.ledger.iter().filter(move |row| row.block == block && row.from == row.until);
            rows.filter(|row| row.tensor.id != "step").map(|row| row.bytes).sum::<u64>()
        };
        [bytes(Block::Parameters), bytes(Block::Optimizer)]
    };
    // fp32 throughout, so that every strategy stores the same.
    let whole = stored(&small("gpus=1", "precision=fp32"));
    let tensors = 64;
    for ranks in [2, 3, 7, 8, 64] {
        for strategy in ["fsdp", "fsdp&fsdp_version=1"] {
            let more = format!("precision=fp32&data_parallel={strategy}");
            let each = stored(&small(&format!("gpus={ranks}"), &more));
            for (share, whole) in each.into_iter().zip(whole) {
                let sum = share * ranks;
                // At most one row of each tensor on every rank: the widest has 12288 columns; two moments.
                let padding = ranks * tensors * 2 * 12_288 * 4;
                assert!(sum >= whole && sum - whole <= padding, "{strategy} {ranks}: {sum} of {whole}");
            }
        }
    }
}

#[test]
fn more_sharding_never_holds_more_of_what_it_shards() {
    for strategy in STRATEGIES {
        let mut last = [u64::MAX; 2];
        for ranks in [2, 4, 8, 16, 64, 512] {
            let estimate = of(&small(&format!("gpus={ranks}"), strategy));
            let held = [Block::Parameters, Block::Optimizer].map(|block| estimate.blocks.get(block));
            assert!(held.iter().zip(last).all(|(now, before)| *now <= before), "{strategy} on {ranks}");
            last = held;
        }
    }
}

#[test]
fn sharding_that_costs_more_than_it_takes_away_is_told() {
    let warned = |link: &str| {
        let estimate = of(&Config::from_link(link).config);
        estimate.warnings.iter().any(|problem| problem.key == "data_parallel")
    };
    // A bucket of a gigabyte for adapters of a few megabytes.
    assert!(warned("model=llama-3.2-1b&method=lora&gpus=8&data_parallel=zero2&seq=64"));
    assert!(!warned(
        "model=llama-3.2-1b&method=lora&gpus=8&data_parallel=zero2&seq=64&reduce_bucket_size=1000"
    ));
    assert!(!warned("model=llama-3.1-8b&gpus=8&data_parallel=zero2&recompute=full"));
    assert!(!warned("model=llama-3.1-8b&gpus=8&data_parallel=fsdp&recompute=full"));
}

#[test]
fn quantised_weights_are_shared_and_their_scales_are_not() {
    let link = "model=llama-3.1-8b&method=qlora&quantization=nf4&seq=64&recompute=full&";
    let bytes = |more: &str, id: &str| {
        let estimate = of(&Config::from_link(&format!("{link}{more}")).config);
        let rows = estimate.ledger.iter().filter(|row| row.tensor.id == id && row.block == Block::Parameters);
        rows.filter(|row| row.module.starts_with("self_attn") || row.module.starts_with("mlp"))
            .filter(|row| row.part.is_empty())
            .map(|row| row.bytes)
            .sum::<u64>()
    };
    for strategy in ["gpus=8&data_parallel=fsdp", "gpus=8&data_parallel=fsdp&fsdp_version=1"] {
        assert_eq!(bytes(strategy, "") * 8, bytes("", ""), "{strategy}");
        assert_eq!(bytes(strategy, "absmax"), bytes("", "absmax"), "{strategy}");
    }
    assert_eq!(bytes("gpus=8&data_parallel=ddp", ""), bytes("", ""));
}

#[test]
fn an_engine_on_a_stage_holds_that_stage_alone() {
    let link = "model=llama-3.1-8b&seq=128&recompute=full&accumulation=2&gpus=16&";
    for strategy in ["data_parallel=fsdp", "data_parallel=fsdp&fsdp_version=1"] {
        let whole = of(&Config::from_link(&format!("{link}{strategy}&shard_size=8")).config);
        let staged = of(&Config::from_link(&format!("{link}{strategy}&pp=2")).config);
        let gradients = |estimate: &Estimate| estimate.between_steps.with_gradients;
        assert!(gradients(&staged) < gradients(&whole) * 6 / 10, "{strategy}");
        for block in Block::ALL {
            let rows = staged.ledger.iter().filter(|row| row.block == block && row.tensor.id != "workspace");
            assert_eq!(rows.map(|row| row.at_peak).sum::<u64>(), staged.peak.blocks.get(block), "{strategy}");
        }
    }
}

/// A checkpoint that offloads moves each layer's input to the host and brings one back at a time, so the peak loses all
/// of them but the one whose layer runs backward; every rank of a node has its own in the node's memory.
#[test]
fn offloaded_layer_inputs_are_in_host_memory() {
    let ask = |offload: &str| {
        let link = format!(
            "model=llama-3.1-8b&precision=bf16&seq=16384&recompute=full&loss=fused&attention=flash&gpus=8\
             &data_parallel=fsdp&grad_dtype=bf16{offload}"
        );
        estimate(&Config::from_link(&link).config).expect("a shipped model")
    };
    let (kept, offloaded) = (ask(""), ask("&offload=activations"));
    let input = 16_384 * 4096 * 2;
    let residual = |estimate: &Estimate| {
        let rows = estimate.ledger.iter().filter(|row| row.tensor.id == "layer_input");
        rows.map(|row| row.bytes).sum::<u64>()
    };
    assert_eq!((residual(&kept), residual(&offloaded)), (32 * input, 0));
    assert_eq!((kept.host, offloaded.host), (0, 8 * 32 * input));
    // In a layer's backward its own input and those of all layers before it were kept. The reentrant checkpoint runs the
    // layer's forward to its end, and holds its input and its output while backward runs.
    let live = |estimate: &Estimate, moment: &str| {
        let at = estimate.timeline.iter().find(|instant| instant.moment.to_string() == moment);
        at.expect("every layer runs backward").live.sum()
    };
    for layer in 2..31 {
        let moment = format!("backward:{layer}");
        let saved = live(&kept, &moment) - live(&offloaded, &moment);
        assert_eq!(saved, (layer + 1 - 2) * input, "{moment}");
    }
}
