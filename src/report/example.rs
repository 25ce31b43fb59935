//! A small estimate by hand, for the tests of the printed forms.

use crate::config::{Gpu, Problem, ProblemKind};
use crate::estimate::{Band, BetweenSteps, Estimate, Fit, Parameters, Peak, Saved, StagePeak, Verdict};
use crate::ledger::{About, Block, ByBlock, Dim, Dtype, Entry, Group, Shape, Symbol, Symbols, Tensor};
use crate::text::Text;
use crate::timeline::{Instant, Moment, Phase};

const GIB: u64 = 1 << 30;

static GPU: Gpu = Gpu {
    id: "a100-80g",
    name: "A100 80 GB",
    vendor: "NVIDIA",
    memory: 80 * GIB,
    driver_memory: None,
    architecture: "ampere",
    source: "NVIDIA A100 datasheet",
};

static WEIGHT: Tensor = Tensor {
    id: "weight",
    name: Text::new("Weight", "权重"),
    about: || About {
        why: Text::new("Read by forward, and by backward.", "前向与反向都要读。"),
        release: Text::new("Shard it.", "切分。"),
        source: "torch.nn.Linear",
    },
};

static INPUT: Tensor = Tensor {
    id: "input",
    name: Text::new("Input", "输入"),
    about: || About {
        why: Text::new("Kept \"as is\", for the weight's gradient.", "用于计算权重梯度。"),
        release: Text::new("Recompute.", "重计算。"),
        source: "torch/csrc/autograd",
    },
};

const BSH: Shape = Shape::new(&[Dim::Sym(Symbol::B), Dim::Sym(Symbol::S), Dim::Sym(Symbol::H)]);

fn entry(tensor: &'static Tensor, module: &'static str, block: Block, bytes: u64) -> Entry {
    Entry {
        tensor,
        module,
        block,
        group: Group::Attention,
        shape: BSH,
        dtype: Dtype::Bf16,
        count: 32,
        bytes,
        from: Phase::Forward,
        until: Phase::Backward,
        at_peak: bytes,
        part: "",
    }
}

/// 55 GiB of tensors on an 80 GiB card.
pub(super) fn estimate() -> Estimate {
    let mut blocks = ByBlock::default();
    blocks.add(Block::Parameters, 15 * GIB);
    blocks.add(Block::Optimizer, 10 * GIB);
    blocks.add(Block::Activations, 30 * GIB);
    let mut largest = blocks;
    largest.add(Block::Gradients, 15 * GIB);
    let mut symbols = Symbols::default();
    symbols.set(Symbol::B, 4);
    symbols.set(Symbol::S, 2048);
    symbols.set(Symbol::H, 4096);
    let moment = Moment { phase: Phase::LossBackward, layer: None };
    let mut dead = entry(&INPUT, "mlp.down_proj", Block::Overhead, GIB);
    dead.at_peak = 0;
    Estimate {
        parameters: Parameters {
            total: 8_000_000_000,
            trainable: 8_000_000_000,
            active: 8_000_000_000,
            on_rank: 8_000_000_000,
            by_group: vec![(Group::Attention, 8_000_000_000), (Group::Mlp, 0)],
        },
        blocks: largest,
        saved: Saved {
            total: 29 * GIB,
            autocast_weight_copies: 0,
            by_group: vec![(Group::Attention, 29 * GIB)],
        },
        peak: Peak { bytes: 55 * GIB, moment, operator: String::new(), stage: 0, blocks },
        between_steps: BetweenSteps { with_gradients: 40 * GIB, without_gradients: 25 * GIB },
        allocated: 55 * GIB + 512,
        reserved: Band { low: 55 * GIB, expected: 56 * GIB, high: 59 * GIB },
        device: Band { low: 56 * GIB, expected: 57 * GIB, high: 60 * GIB },
        host: 0,
        fits: Fit { gpu: Some(&GPU), capacity: 80 * GIB, verdict: Verdict::Yes, spare: 23 << 30 },
        timeline: vec![Instant { moment, live: blocks }],
        ledger: vec![
            entry(&WEIGHT, "self_attn.q_proj", Block::Parameters, 15 * GIB),
            dead,
            entry(&INPUT, "self_attn.q_proj", Block::Activations, 30 * GIB),
            entry(&WEIGHT, "", Block::Optimizer, 10 * GIB),
        ],
        warnings: vec![Problem {
            key: "tp".to_owned(),
            value: "2".to_owned(),
            kind: ProblemKind::Note(Text::new(
                "{key}={value} is not yet taken into account",
                "{key}={value} 暂未计入",
            )),
        }],
        stages: vec![StagePeak {
            stage: 0,
            layers: 32,
            chunks: 1,
            in_flight: 1,
            peak: 55 * GIB,
            blocks,
            allocated: 55 * GIB + 512,
            device: Band { low: 56 * GIB, expected: 57 * GIB, high: 60 * GIB },
        }],
        symbols,
    }
}
