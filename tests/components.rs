//! Single parts against the real libraries, to the byte (`tests/data/README.md` says where the rows come from).

use serde_json::Value;
use trainmem::architecture::{Half, Param, Weight};
use trainmem::config::{Config, Optimizer, OptimizerImpl, Quantization};
use trainmem::estimate::estimate;
use trainmem::ledger::optimizer::{Bits, Stepping, states, temporaries};
use trainmem::ledger::quantized::{Library, Quantized, parameters};
use trainmem::ledger::{Block, Dim, Dtype, Entry, Group, Phase, Shape, Symbols};

/// cuBLASLt's workspace on the emulated card, which the rows count as a temporary of every matrix product; the ledger
/// has it as a row of its own.
const WORKSPACE: u64 = 32 << 20;

fn rows(kind: &str) -> Vec<Value> {
    let all =
        include_str!("data/components.jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON"));
    all.filter(|row: &Value| row["kind"] == kind).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

/// Which optimizer and implementation a row is about.
fn chosen(name: &str) -> (Optimizer, OptimizerImpl) {
    match name {
        "torch.AdamW_fused" | "torchao.AdamW4bit" => (Optimizer::Adamw, OptimizerImpl::Fused),
        "torch.AdamW_foreach" => (Optimizer::Adamw, OptimizerImpl::Foreach),
        "torch.AdamW_forloop" => (Optimizer::Adamw, OptimizerImpl::ForLoop),
        "torch.SGD" => (Optimizer::Sgd, OptimizerImpl::Foreach),
        "torch.SGD_momentum" => (Optimizer::SgdMomentum, OptimizerImpl::Foreach),
        "torch.SGD_momentum_fused" => (Optimizer::SgdMomentum, OptimizerImpl::Fused),
        "torch.SGD_momentum_forloop" => (Optimizer::SgdMomentum, OptimizerImpl::ForLoop),
        "torch.Muon_(2-D_only)" => (Optimizer::Muon, OptimizerImpl::Fused),
        "transformers.Adafactor" => (Optimizer::Adafactor, OptimizerImpl::Fused),
        "bnb.AdamW8bit" => (Optimizer::Adamw8bit, OptimizerImpl::Fused),
        "bnb.PagedAdamW8bit" => (Optimizer::AdamwPaged8bit, OptimizerImpl::Fused),
        "pytorch_optimizer.Lion" => (Optimizer::Lion, OptimizerImpl::Foreach),
        "pytorch_optimizer.APOLLO_rank128" => (Optimizer::Apollo, OptimizerImpl::Fused),
        "pytorch_optimizer.GaLore_rank128" => (Optimizer::Galore, OptimizerImpl::Fused),
        other => panic!("no optimizer of ours is {other}"),
    }
}

fn dims(text: &str) -> Vec<u64> {
    serde_json::from_str(text).expect("a list of sizes")
}

/// One weight of this shape, inside a layer.
fn weight(sizes: &[u64]) -> Weight {
    let axes: Vec<Dim> = sizes.iter().copied().map(Dim::of).collect();
    let shape = Shape::new(&axes);
    let param = Param { path: "mlp.weight", group: Group::Mlp, shape, half: Half::Whole, fp32: false };
    Weight { param, count: 1 }
}

/// What a state is beside its name: type and bytes, in an order of its own.
fn described(entries: &[Entry]) -> Vec<(&'static str, u64)> {
    let one = |row: &Entry| (row.dtype.word(), row.bytes / row.count);
    let each = entries.iter().flat_map(|row| (0..row.count).map(move |_| one(row)));
    let mut all: Vec<_> = each.collect();
    all.sort_unstable();
    all
}

fn theirs(state: &Value, place: &str) -> Vec<(&'static str, u64)> {
    let each = state.as_array().expect("states").iter().filter(|tensor| tensor[4] == place);
    let word = |name: &Value| match name.as_str() {
        Some("float32") => "fp32",
        Some("bfloat16") => "bf16",
        Some("uint8") => "uint8",
        other => panic!("{other:?}"),
    };
    let mut all: Vec<_> = each.map(|tensor| (word(&tensor[2]), number(&tensor[3]))).collect();
    all.sort_unstable();
    all
}

/// Calls `check` with every row of every optimizer: name, sizes, what we say, what was found.
fn each_state(check: impl Fn(&str, &[u64], &Weight, Stepping, &Value)) {
    let rows = rows("optimizer_state");
    assert_eq!(rows.len(), 30, "the data holds the rows that this test is about");
    for row in rows {
        let name = row["optimizer"].as_str().expect("a name");
        let (optimizer, implementation) = chosen(name);
        let state = if row["dtype"] == "fp32" { Dtype::Fp32 } else { Dtype::Bf16 };
        let bits = if name.ends_with("4bit") { Bits::Four } else { Bits::Own };
        let stepping = Stepping { optimizer, implementation, state, master: false, rank: 128, bits };
        for (shape, found) in row["per_shape"].as_object().expect("shapes") {
            let sizes = dims(shape);
            check(row["id"].as_str().expect("an id"), &sizes, &weight(&sizes), stepping, found);
        }
    }
}

#[test]
fn states_of_every_optimizer_tensor_by_tensor() {
    each_state(|id, sizes, weight, stepping, found| {
        let ours = states(&[*weight], stepping, &Symbols::default());
        assert_eq!(described(&ours.rows), theirs(&found["state"], "cuda"), "{id} {sizes:?}");
        if stepping.optimizer == Optimizer::AdamwPaged8bit {
            let host: u64 = theirs(&found["state"], "cpu").iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(ours.host, host, "{id} {sizes:?}: in host memory");
        }
    });
}

#[test]
fn temporaries_of_every_optimizer() {
    each_state(|id, sizes, weight, stepping, found| {
        // The rows are of a run without compilation, which torchao always asks for.
        if stepping.bits == Bits::Four {
            return;
        }
        let ours: u64 =
            temporaries(&[*weight], stepping, &Symbols::default()).iter().map(|row| row.bytes).sum();
        let found = number(&found["step2_temp"]);
        let matrix = sizes.len() == 2;
        let multiplies = match stepping.optimizer {
            Optimizer::Muon | Optimizer::Galore | Optimizer::Apollo => matrix,
            _ => false,
        };
        // A wide matrix is largest, workspace and all, while it is multiplied by its transpose: one matrix and three
        // products instead of two and two.
        let wide = stepping.optimizer == Optimizer::Muon && sizes[0] < sizes[1];
        let elsewhere = if wide { 2 * sizes[0] * (sizes[1] - sizes[0]) } else { 0 };
        let workspace = if multiplies { WORKSPACE } else { 0 };
        assert_eq!(ours - elsewhere + workspace, found, "{id} {sizes:?}");
    });
}

/// From its definition: one momentum, and one value for each row of a matrix.
#[test]
fn adam_mini_keeps_one_second_moment_a_row() {
    let stepping = Stepping {
        optimizer: Optimizer::AdamMini,
        implementation: OptimizerImpl::ForLoop,
        state: Dtype::Fp32,
        master: false,
        rank: 128,
        bits: Bits::Own,
    };
    let bytes = |sizes: &[u64]| -> u64 {
        states(&[weight(sizes)], stepping, &Symbols::default()).rows.iter().map(|row| row.bytes).sum()
    };
    assert_eq!(bytes(&[4096, 1024]), 4 * (4096 * 1024 + 4096));
    assert_eq!(bytes(&[4096]), 4 * (4096 + 1));
}

#[test]
fn weights_of_four_bits_tensor_by_tensor() {
    let rows = rows("bnb_linear4bit");
    assert_eq!(rows.len(), 32, "the data holds the rows that this test is about");
    for row in rows.iter().filter(|row| row["blocksize"] == 64) {
        let id = row["id"].as_str().expect("an id");
        let storage = if id.contains("-dq1-") { Quantization::Nf4Double } else { Quantization::Nf4 };
        let (rows, columns) = id.rsplit('-').next().and_then(|size| size.split_once('x')).expect("a size");
        let sizes = [rows, columns].map(|size| size.parse().expect("a number"));
        let quantized = Quantized { library: Library::Bitsandbytes, storage, compute: Dtype::Bf16 };
        let mut ours = parameters(&[weight(&sizes)], quantized, Dtype::Bf16, &Symbols::default());
        ours.retain(|row| row.block == Block::Parameters);
        let found = row["tensors"].as_array().expect("tensors");
        let names: Vec<&str> = ours.iter().map(|row| row.tensor.id).collect();
        assert_eq!(names.len(), found.len(), "{id}: {names:?}");
        for (ours, theirs) in ours.iter().zip(found) {
            assert_eq!(ours.bytes, number(&theirs[3]), "{id}: {}", theirs[0]);
        }
        assert_eq!(ours.iter().map(|row| row.bytes).sum::<u64>(), number(&row["sum"]), "{id}");
    }
}

/// QLoRA steps of Llama 3 8B: parameters, states, and the peaks of forward and of the step.
/// auto-gptq's `QuantLinear(bits=4, group_size=128)` of 4096 inputs and 11008 outputs registers `qweight` [512, 11008]
/// and `qzeros` [32, 1376] in int32, `scales` [32, 11008] in fp16, `g_idx` [4096] in int32; AWQ has no `g_idx`.
#[test]
fn weights_of_gptq_and_awq() {
    let all = [512 * 11_008 * 4, 32 * 11_008 * 2, 32 * 1376 * 4, 4096 * 4];
    for (library, found) in [(Library::Gptq, &all[..]), (Library::Awq, &all[..3])] {
        let quantized = Quantized { library, storage: Quantization::Nf4, compute: Dtype::Fp16 };
        let rows = parameters(&[weight(&[11_008, 4096])], quantized, Dtype::Fp16, &Symbols::default());
        let ours: Vec<u64> = rows.iter().map(|row| row.bytes).collect();
        assert_eq!(ours, found, "{library:?}");
    }
}

/// A fused projection is a matrix of several axes: it is quantised like any other.
#[test]
fn fused_projections_are_quantised() {
    let estimate = |link: &str| {
        let read = Config::from_link(link);
        estimate(&read.config).expect("a model").block(Block::Parameters)
    };
    let model = "model_type=phi3&hidden_size=3072&num_hidden_layers=32&num_attention_heads=32\
                 &intermediate_size=8192&vocab_size=32064&method=qlora&quantization=nf4";
    let quantised = estimate(model);
    // 3.8 billion parameters: 0.5625 B each, but for the embeddings' 2 B and the adapters.
    assert!(quantised < 2_700_000_000, "{quantised}");
}

#[test]
fn qlora_steps() {
    let lines: Vec<&str> = include_str!("data/quantized.jsonl").lines().collect();
    assert_eq!(lines.len(), 5, "the data holds the rows that this test is about");
    for line in lines {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let read = Config::from_json(&case["config"].to_string()).expect("a configuration");
        let ours = estimate(&read.config).expect("this model can be read");
        let sum =
            |block| ours.ledger.iter().filter(|row| row.block == block).map(|row| row.bytes).sum::<u64>();
        let (id, found) = (&case["id"], &case["expect"]);
        // Rotary frequencies and, under double quantisation, the library's map are no parameters.
        let map = if read.config.quantization == Quantization::Nf4Double { 1024 } else { 0 };
        let parameters = number(&found["static"]["with_lora"]) - 512 - map;
        assert_eq!(sum(Block::Parameters), parameters, "{id}: parameters");
        assert_eq!(sum(Block::Optimizer), number(&found["static"]["optimizer"]["bytes"]), "{id}: states");
        assert_eq!(ours.peak.bytes, number(&found["peak_requested"]), "{id}: peak");
        let forward = ours.timeline.iter().find(|instant| instant.moment.phase == Phase::Loss);
        let most = number(&found["phases"]["step2_forward"]["requested_peak"]);
        assert_eq!(forward.map(|instant| instant.live.sum()), Some(most), "{id}: forward");
    }
}

/// Before `prepare_model_for_kbit_training` and without adapters: what loading the model takes, its rotary frequencies
/// and the library's map included.
#[test]
fn a_model_loaded_in_four_bits() {
    let link = "method=qlora&quantization=nf4-double&model=llama-3.1-8b&precision=bf16\
                &prepare_model_for_kbit_training=false";
    let read = Config::from_link(link);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let ours = estimate(&read.config).expect("this model can be read");
    let loaded = |row: &&Entry| {
        let adapter = row.part.starts_with("lora");
        (row.block == Block::Parameters && !adapter) || ["buffer", "dynamic_map"].contains(&row.tensor.id)
    };
    assert_eq!(ours.ledger.iter().filter(loaded).map(|row| row.bytes).sum::<u64>(), 5_702_541_696);
    assert_eq!(
        ours.parameters.total - ours.parameters.trainable,
        8_030_261_248,
        "parameters are counted, not bytes"
    );
}
