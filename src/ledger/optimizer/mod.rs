//! Optimizer states, and what a step needs meanwhile.
//!
//! Each optimizer is one implementation, named beside its rule in `Rule`; a tensor follows one rule, and most
//! optimizers have a second one for what their first does not fit (vectors, embeddings).

mod scratch;
mod states;

pub use scratch::temporaries;
pub use states::{States, states, steps};

use super::tape::Gradients;
use super::{Dtype, Group, Shape, Symbols};
use crate::architecture::Weight;
use crate::config::{Optimizer, OptimizerImpl};

/// What the optimizer is asked to hold.
#[derive(Clone, Copy, Debug)]
pub struct Stepping {
    /// Which one.
    pub optimizer: Optimizer,
    /// `auto` resolved.
    pub implementation: OptimizerImpl,
    /// Element type that it steps on, and of the states that follow it: the weights', or fp32 beside a master copy.
    pub state: Dtype,
    /// It holds an fp32 copy of the weights.
    pub master: bool,
    /// Rank of the projections (GaLore, APOLLO).
    pub rank: u64,
    /// Bits of a state of Adam's.
    pub bits: Bits,
}

/// How many bits an optimizer state has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bits {
    /// As the optimizer itself has it.
    #[default]
    Own,
    /// Eight (bitsandbytes).
    Eight,
    /// Four (torchao).
    Four,
}

impl Stepping {
    /// Each tensor is stepped on as soon as its gradient is there, and the gradient freed.
    pub fn in_backward(&self) -> bool {
        self.optimizer == Optimizer::Lomo || self.implementation == OptimizerImpl::InBackward
    }

    /// Fused AdamW counts its steps on the GPU, one fp32 a tensor (torch/optim/adam.py, `_init_group`).
    pub(super) const fn counts_on_device(&self) -> bool {
        matches!(self.implementation, OptimizerImpl::Fused | OptimizerImpl::InBackward)
    }

    /// How gradients live when the step is in backward. Each weight has an optimizer of its own there: a fused one
    /// where there is one (torchtune, `optimizer_in_bwd`), else copies of that one weight, counted in whole tensors.
    /// LOMO makes fp32 copies of a 16-bit gradient and weight (LOMO, arXiv:2306.09782, `lomo.py`, `grad_func`).
    pub(crate) fn gradients(&self) -> Gradients {
        let narrow = self.state != Dtype::Fp32;
        let (copies, wide) = match self.optimizer {
            Optimizer::Lomo if narrow => (2, true),
            Optimizer::Lion | Optimizer::AdamMini | Optimizer::Galore | Optimizer::Apollo => (1, false),
            Optimizer::Adafactor if narrow => (4, true),
            Optimizer::Adafactor => (2, true),
            Optimizer::Muon => (3, false),
            _ => (0, false),
        };
        Gradients::Stepped { copies, wide }
    }
}

/// How one tensor is stepped on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// `torch.optim.SGD` without momentum, and LOMO: nothing is kept.
    Plain,
    /// `torch.optim.SGD` with momentum.
    Momentum,
    /// `torch.optim.AdamW`.
    Adam,
    /// `bitsandbytes.optim.AdamW8bit` (`PagedAdamW8bit`): 8-bit moments with one fp32 a block of 256.
    Blockwise { paged: bool },
    /// `torchao.optim.AdamW4bit`: two moments a byte, with one fp32 a block of 128.
    Packed,
    /// `transformers.Adafactor` without β₁: a matrix has sums of its rows and columns.
    Factored,
    /// `pytorch_optimizer.Lion`: one momentum in the weight's type.
    Sign,
    /// `torch.optim.Muon`: one momentum; the update is made orthogonal by Newton–Schulz iterations in bf16.
    Orthogonal,
    /// Adam-mini as its paper partitions a transformer: one second moment a block.
    Blocks,
    /// `pytorch_optimizer.GaLore` and (`random`) `APOLLO`: Adam in a space of low rank.
    Projected { random: bool },
    /// What these two do with the tensors that they do not project: Adam without a counter on the GPU.
    Unprojected,
}

impl Rule {
    /// The rule for a tensor.
    pub(crate) fn of(stepping: Stepping, weight: &Weight) -> Self {
        let optimizer = stepping.optimizer;
        match optimizer {
            Optimizer::Adamw if stepping.bits == Bits::Eight => Self::Blockwise { paged: false },
            Optimizer::Adamw if stepping.bits == Bits::Four => Self::Packed,
            Optimizer::Sgd | Optimizer::Lomo => Self::Plain,
            Optimizer::SgdMomentum => Self::Momentum,
            Optimizer::Adamw8bit => Self::Blockwise { paged: false },
            Optimizer::AdamwPaged8bit => Self::Blockwise { paged: true },
            Optimizer::Adafactor => Self::Factored,
            Optimizer::Lion => Self::Sign,
            Optimizer::Muon if hidden_matrix(weight) => Self::Orthogonal,
            Optimizer::AdamMini => Self::Blocks,
            Optimizer::Galore | Optimizer::Apollo if hidden_matrix(weight) => {
                Self::Projected { random: optimizer == Optimizer::Apollo }
            }
            Optimizer::Galore | Optimizer::Apollo => Self::Unprojected,
            Optimizer::Adamw | Optimizer::Muon => Self::Adam,
        }
    }
}

/// A matrix inside a layer: what Muon, GaLore and APOLLO are for. (`torch.optim.Muon` takes nothing but matrices, and
/// its documentation leaves embeddings and head to AdamW; transformers' `optim_target_modules` names attention and
/// feed-forward.)
fn hidden_matrix(weight: &Weight) -> bool {
    let matrix = weight.param.shape.dims().len() == 2;
    matrix && !matches!(weight.param.group, Group::Embedding | Group::LmHead)
}

/// Rows and columns of a matrix (the last axis; stacked experts count as rows), and its shape along either.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    rows: u64,
    columns: u64,
    /// The shape without its last axis: one value a row.
    row: Shape,
    /// The shape without the axis before the last: one value a column.
    column: Shape,
}

impl Matrix {
    /// `None` for a vector.
    fn of(shape: Shape, numbers: &Symbols) -> Option<Self> {
        let dims = shape.dims();
        let (last, before) = dims.split_last()?;
        let (_, stacked) = before.split_last()?;
        let row = Shape::new(before);
        let columns = last.value(numbers);
        // Experts are one tensor of matrices: each has its own column sums.
        let column = match stacked {
            [] => Shape::new(&[*last]),
            [first, ..] => Shape::new(&[*first, *last]),
        };
        Some(Self { rows: row.elements(numbers), columns, row, column })
    }
}
