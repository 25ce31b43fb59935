//! Frozen weights as bitsandbytes, GPTQ or AWQ store them, under QLoRA: the linears inside layers. Embeddings, norms and
//! the output embedding stay as they are.

use super::weights::row;
use super::{Block, Dim, Dtype, Entry, Group, Shape, Symbols, Tensor};
use crate::architecture::{Half, Param, Weight};
use crate::config::Quantization;
use crate::text::tensors;

/// Weights that share one scale (`Params4bit`, its default on CUDA).
const BLOCK: u16 = 64;
/// Scales that share one scale of their own, as weights: 64 · 256.
const NESTED_BLOCK: u16 = 16_384;
/// Values of four bits, and of eight.
const CODE: Shape = Shape::new(&[Dim::Const(16)]);
const CODE_8_BIT: Shape = Shape::new(&[Dim::Const(256)]);
/// One number.
const SCALAR: Shape = Shape::new(&[]);

/// Inputs of a row that share one scale and zero (`group_size`, 128 in nearly all published GPTQ and AWQ models).
const GROUP: u16 = 128;

/// Whose format it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Library {
    /// Quantised when the model is loaded.
    #[default]
    Bitsandbytes,
    /// Stored so, with the order of the inputs.
    Gptq,
    /// Stored so.
    Awq,
}

/// Storage of the frozen weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantized {
    /// Whose.
    pub library: Library,
    /// Which format (never `none`).
    pub storage: Quantization,
    /// Element type of the products (`bnb_4bit_compute_dtype`).
    pub compute: Dtype,
}

impl Quantized {
    /// Whether a parameter is stored so: the matrix of a linear inside a layer (transformers replaces every linear but
    /// the output embedding), and the matrices of experts (transformers 4 has a linear for each; its version 5 holds
    /// them in one tensor, which bitsandbytes passes over, but Unsloth, axolotl and `LitGPT` quantise them).
    pub fn covers(param: &Param) -> bool {
        let linear = matches!(
            param.group,
            Group::Attention | Group::CrossAttention | Group::Mlp | Group::SharedExperts | Group::Experts
        );
        linear && param.half == Half::Whole && param.shape.dims().len() >= 2
    }

    /// Rounded to 8 bits as its input is, product by product (LLM.int8).
    pub const fn rounds_input(self) -> bool {
        matches!((self.library, self.storage), (Library::Bitsandbytes, Quantization::Int8))
    }

    /// Four bits a weight.
    pub const fn four_bit(self) -> bool {
        matches!(self.storage, Quantization::Nf4 | Quantization::Nf4Double)
    }

    /// Scales are quantised as well.
    pub const fn nested(self) -> bool {
        matches!((self.library, self.storage), (Library::Bitsandbytes, Quantization::Nf4Double))
    }

    /// A matrix of GPTQ's or AWQ's: packed integers, a scale and a zero for each group (auto-gptq, `QuantLinear`;
    /// `AutoAWQ`, `WQLinear_GEMM`).
    fn grouped(self, shape: Shape) -> Vec<(&'static Tensor, Shape, Dtype)> {
        let (weights, zeros) = if self.four_bit() { (2, 2 * GROUP) } else { (1, GROUP) };
        let mut tensors: Vec<(&'static Tensor, Shape, Dtype)> = vec![
            (&tensors::WEIGHT_INTEGERS, shape.per_block(weights), Dtype::Byte),
            (&tensors::GROUP_SCALES, shape.per_block(GROUP), self.compute),
            (&tensors::GROUP_ZEROS, shape.per_block(zeros), Dtype::Byte),
        ];
        if let (Library::Gptq, Some(inputs)) = (self.library, shape.dims().last()) {
            tensors.push((&tensors::GROUP_INDEX, Shape::new(&[*inputs]), Dtype::Int32));
        }
        tensors
    }

    /// The tensors of one matrix, with their shapes and types. Where ranks share the weight, each keeps all of what
    /// says how to read it: FSDP shards parameters, and these are attributes of one (bitsandbytes/nn/modules.py,
    /// `Params4bit.quant_state`).
    fn tensors(self, shape: Shape) -> Vec<(&'static Tensor, Shape, Dtype)> {
        let whole = shape.whole();
        let packed = (&tensors::WEIGHT_4_BIT as &'static Tensor, shape.per_block(2), Dtype::Byte);
        let code = (&tensors::QUANT_CODE as &'static Tensor, CODE, Dtype::Fp32);
        match self.storage {
            Quantization::None => Vec::new(),
            _ if self.library != Library::Bitsandbytes => self.grouped(shape),
            Quantization::Int8 => {
                let rows = shape.dims().split_last().map_or(&[][..], |(_, rows)| rows);
                vec![
                    (&tensors::WEIGHT_8_BIT, shape, Dtype::Byte),
                    (&tensors::ROW_SCALE, Shape::new(rows), Dtype::Fp32),
                ]
            }
            Quantization::Nf4 => {
                vec![packed, (&tensors::ABSMAX, whole.per_block(BLOCK), Dtype::Fp32), code]
            }
            Quantization::Nf4Double => vec![
                packed,
                (&tensors::ABSMAX, whole.per_block(BLOCK), Dtype::Byte),
                code,
                (&tensors::ABSMAX_OFFSET, SCALAR, Dtype::Fp32),
                (&tensors::ABSMAX_OF_ABSMAX, whole.per_block(NESTED_BLOCK), Dtype::Fp32),
                (&tensors::ABSMAX_CODE, CODE_8_BIT, Dtype::Fp32),
            ],
        }
    }
}

/// The model's parameters, those that it covers quantised and the others of type `rest`.
#[inline(never)] // apart: a first visit has none
pub fn parameters(weights: &[Weight], quantized: Quantized, rest: Dtype, numbers: &Symbols) -> Vec<Entry> {
    let mut rows = Vec::with_capacity(weights.len() * 3);
    for weight in weights {
        let mut add = |tensor, shape, dtype| {
            let of = (shape, dtype);
            rows.push(row(tensor, weight.param, Block::Parameters, of, weight.count, numbers));
        };
        if Quantized::covers(&weight.param) {
            for (tensor, shape, dtype) in quantized.tensors(weight.param.shape) {
                add(tensor, shape, dtype);
            }
        } else {
            add(&tensors::WEIGHT, weight.param.shape, weight.param.dtype(rest));
        }
    }
    // The library keeps the map that it quantises scales with.
    if quantized.nested()
        && let Some(first) = weights.first()
    {
        let map = (CODE_8_BIT, Dtype::Fp32);
        rows.push(Entry {
            module: "",
            ..row(&tensors::ABSMAX_MAP, first.param, Block::Overhead, map, 1, numbers)
        });
    }
    rows
}
