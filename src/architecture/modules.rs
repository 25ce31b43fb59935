//! The vocabulary that families compose: each module knows its parameters; `ledger::activations` knows how it runs.

#![expect(clippy::large_enum_variant, reason = "a handful of these exist, built once for a configuration")]

use super::weights::{Names, Param};
use crate::ledger::Dim;

/// A linear layer: weight `[out, in]` and, where it has one, a bias `[out]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// The matrix.
    pub weight: Param,
    /// The bias.
    pub bias: Option<Param>,
}

impl Linear {
    /// The linear of a table, with its bias or without.
    pub(super) const fn new(names: Names, biased: bool) -> Self {
        let (weight, bias) = *names;
        Self { weight, bias: if biased { Some(bias) } else { None } }
    }

    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        each(self.weight);
        self.bias.into_iter().for_each(each);
    }
}

/// How a norm is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// `weight · x / rms(x)`, in fp32 by Python operators, as Llama has it.
    Rms,
    /// The same with `1 + weight`, all in fp32, as Gemma has it.
    GemmaRms,
    /// As Llama has it, but multiplied by the weight before it is cast back from fp32, as `Olmo2RMSNorm` does.
    WideRms,
    /// The same with an fp32 copy of the weight, as `HeliumRMSNorm` does.
    WideRmsCopied,
    /// Less its mean, over its deviation, in fp32 by Python operators, times an fp32 copy of the weight, as
    /// `CohereLayerNorm` does.
    WideLayer,
    /// As T5 has it: the 16-bit input is kept beside its fp32 copy.
    T5Rms,
    /// `torch.nn.LayerNorm`: one kernel; input, mean and 1/deviation are kept.
    Layer,
    /// The same of an fp32 copy, without a weight; its name alone is that of the norm (`OLMo`).
    Bare,
}

/// A norm over the last axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// How it is computed.
    pub kind: Normalisation,
    /// Its scale.
    pub weight: Param,
    /// Its shift.
    pub bias: Option<Param>,
}

impl Norm {
    /// An RMS norm as Llama has it.
    pub const fn rms(weight: Param) -> Self {
        Self { kind: Normalisation::Rms, weight, bias: None }
    }

    /// The norm of a table, with its shift or without.
    pub(super) const fn new(kind: Normalisation, names: Names, biased: bool) -> Self {
        let (weight, bias) = *names;
        Self { kind, weight, bias: if biased { Some(bias) } else { None } }
    }

    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        if self.kind != Normalisation::Bare {
            each(self.weight);
            self.bias.into_iter().for_each(each);
        }
    }
}

/// The projections to queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Qkv {
    /// Three linears that read the same input.
    Separate([Linear; 3]),
    /// One linear whose output is sliced.
    Fused(Linear),
    /// One linear whose output one operator splits.
    Split(Linear),
}

/// What is added to the scores of attention, besides the mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreBias {
    /// Nothing.
    None,
    /// A table of relative positions `[buckets, a]` that this layer owns.
    Own(Param),
    /// Zeros that this layer makes (T5's cross attention).
    Zeros,
    /// What an earlier layer made.
    Shared,
    /// Nothing: a learned score `[a]` stands beside those of the tokens, and takes part in the softmax alone (gpt-oss).
    Sinks(Param),
}

/// How positions enter queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotary {
    /// Not here.
    None,
    /// Rotated as a whole.
    Whole,
    /// Rotated as a whole by code for a part: joined with nothing by `cat`, which lays the result out head by head.
    Joined,
    /// `dr` dimensions are rotated and joined with the other `dn` by `cat`, which lays the result out head by head.
    Partial,
}

/// What tables of rotary cosines and sines are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RotaryTables {
    /// One pair of the weights' type for every layer.
    #[default]
    Own,
    /// One pair in fp32; what was rotated is cast back (`OLMo`).
    Fp32,
    /// Each layer repeats halves of the pair anew, and keeps what it made (GLM).
    Repeated,
    /// The same in fp32 (ERNIE 4.5).
    RepeatedFp32,
    /// Each layer repeats halves of the pair anew for q and again for k, before heads go in front of tokens (GPT-J).
    RepeatedTwice,
    /// One pair of half a head's width, which turns either half (gpt-oss).
    Half,
    /// Complex numbers: a pair of fp32 for each pair of dimensions (DeepSeek-V2).
    Complex,
}

impl RotaryTables {
    /// Whether they stay in fp32.
    pub const fn fp32(self) -> bool {
        matches!(self, Self::Fp32 | Self::RepeatedFp32)
    }

    /// Whether each layer makes its own.
    pub const fn repeated(self) -> bool {
        matches!(self, Self::Repeated | Self::RepeatedFp32 | Self::RepeatedTwice)
    }
}

/// In which element type the softmax of tensors-as-scores runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softmax {
    /// fp32, then cast to the compute dtype.
    Fp32,
    /// The compute dtype's own.
    Own,
    /// Queries and keys are cast to fp32 before their product (GPT-J).
    WideScores,
}

/// Self attention over `a` query heads and `k` key/value heads of `d`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Input projections.
    pub qkv: Qkv,
    /// Output projection.
    pub out: Linear,
    /// Norms over each head of q and k.
    pub qk_norm: Option<[Norm; 2]>,
    /// Norm of what the output projection reads.
    pub out_norm: Option<Norm>,
    /// Rotary positions.
    pub rotary: Rotary,
    /// Of which tables.
    pub tables: RotaryTables,
    /// Tokens that a query sees (`None`: all before it).
    pub window: Option<u64>,
    /// Dropout probability of the attention weights.
    pub dropout: f64,
    /// Softmax of eager attention.
    pub softmax: Softmax,
    /// Scores pass through a tanh.
    pub soft_cap: bool,
    /// Each token sees only those before it.
    pub causal: bool,
    /// Learned relative positions.
    pub bias: ScoreBias,
}

impl Attention {
    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        match &self.qkv {
            Qkv::Separate(all) => all.iter().for_each(|linear| linear.params(each)),
            Qkv::Fused(one) | Qkv::Split(one) => one.params(each),
        }
        self.out.params(each);
        self.qk_norm.iter().flatten().chain(&self.out_norm).for_each(|norm| norm.params(each));
        if let ScoreBias::Own(param) | ScoreBias::Sinks(param) = self.bias {
            each(param);
        }
    }
}

/// The projections into a gated feed-forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateUp {
    /// Two linears that read the same input.
    Separate([Linear; 2]),
    /// One linear whose output is split.
    Fused(Linear),
}

/// `down(act(gate(x)) · up(x))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatedMlp {
    /// Width of gate and up.
    pub width: Dim,
    /// Input projections.
    pub gate_up: GateUp,
    /// Activation function of the gate.
    pub act: Activation,
    /// Output projection.
    pub down: Linear,
    /// Dropout probability of what the output projection reads.
    pub dropout: f64,
    /// Norm of the same.
    pub norm: Option<Norm>,
}

impl GatedMlp {
    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        match &self.gate_up {
            GateUp::Separate(all) => all.iter().for_each(|linear| linear.params(each)),
            GateUp::Fused(one) => one.params(each),
        }
        self.norm.iter().for_each(|norm| norm.params(each));
        self.down.params(each);
    }
}

/// The activation function of a plain feed-forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// One kernel that keeps its input (`gelu`, `silu`).
    Kernel,
    /// One kernel that keeps its output.
    Relu,
    /// `relu(x)²`: two operators, of which the second runs in fp32 under autocast.
    ReluSquared,
    /// `gelu_new`: seven Python operators.
    PythonGelu,
}

/// `down(act(up(x)))`, of width `f`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainMlp {
    /// Input projection.
    pub up: Linear,
    /// Activation function.
    pub act: Activation,
    /// Output projection.
    pub down: Linear,
    /// Dropout probability of what the output projection reads.
    pub dropout: f64,
}

/// How queries are projected under latent attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LatentQuery {
    /// In one step.
    Direct(Linear),
    /// Down to a latent, a norm, and up again.
    LowRank(Linear, Norm, Linear),
}

/// Multi-head latent attention (DeepSeek-V2): keys and values come from a latent of `r`; a part of each key, of `dr`,
/// carries rotary positions and is shared by all heads. Heads are `dn + dr` wide for q and k, `dv` for v.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatentAttention {
    /// Queries.
    pub query: LatentQuery,
    /// Down to the latent and the rotary part: `[r + dr, h]`.
    pub kv_a: Linear,
    /// Norm of the latent.
    pub kv_norm: Norm,
    /// Up to keys and values: `[a·(dn + dv), r]`.
    pub kv_b: Linear,
    /// Output projection `[h, a·dv]`.
    pub out: Linear,
    /// Dropout probability of the attention weights.
    pub dropout: f64,
}

/// How a router turns its scores into weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// Softmax in fp32, top-k divided by their sum (Mixtral).
    SoftmaxRenormalised,
    /// The same, cast to the weights' type (Qwen3).
    SoftmaxRenormalisedCast,
    /// Softmax in fp32, top-k as they are, cast to the weights' type (Qwen2-MoE).
    SoftmaxCast,
    /// Softmax over an fp32 copy of the input, top-k as they are (DeepSeek-V2).
    SoftmaxFp32Input,
    /// Softmax over an fp32 copy of the input whatever autocast says, top-k divided by their sum, which is at least some
    /// small number, cast to the weights' type (ERNIE 4.5).
    SoftmaxFp32Clamped,
    /// The k best scores first, then softmax over them in fp32, cast to the weights' type (Granite).
    TopFirst,
    /// The same in the scores' own type (gpt-oss).
    TopFirstOwn,
    /// Sigmoid in fp32, chosen with a correction bias, top-k divided by their sum (MiniMax-M2).
    Sigmoid,
    /// Sigmoid over an fp32 copy of the input, top-k divided by their sum (DeepSeek-V3, GLM-4.5).
    SigmoidFp32Renormalised,
    /// The same, top-k as they are (dots.llm1).
    SigmoidFp32,
}

impl Routing {
    /// Whether each score is a sigmoid of its own.
    pub const fn sigmoid(self) -> bool {
        matches!(self, Self::Sigmoid | Self::SigmoidFp32Renormalised | Self::SigmoidFp32)
    }

    /// Whether the scores are computed from an fp32 copy of the input.
    pub const fn fp32_input(self) -> bool {
        matches!(
            self,
            Self::SoftmaxFp32Input
                | Self::SoftmaxFp32Clamped
                | Self::SigmoidFp32Renormalised
                | Self::SigmoidFp32
        )
    }
}

/// Mixture of `E` experts of width `m`, `K` of which serve a token.
#[derive(Clone, Debug, PartialEq)]
pub struct Moe {
    /// Scores `[E, h]`.
    pub router: Linear,
    /// How scores become weights.
    pub routing: Routing,
    /// All experts' gate and up: `[E, 2m, h]`, or a different shape for other kinds of experts.
    pub gate_up: Linear,
    /// All experts' down: `[E, h, m]`.
    pub down: Linear,
    /// A feed-forward that every token passes (its width is all shared experts' together).
    pub shared: Option<GatedMlp>,
    /// Gate of the shared expert `[1, h]`.
    pub shared_gate: Option<Linear>,
    /// Added to the scores when experts are chosen `[1, E]` (where it is a parameter; mostly it is a buffer).
    pub correction: Option<Param>,
}

impl LatentAttention {
    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        match &self.query {
            LatentQuery::Direct(one) => one.params(each),
            LatentQuery::LowRank(down, norm, up) => {
                down.params(each);
                norm.params(each);
                up.params(each);
            }
        }
        self.kv_a.params(each);
        self.kv_norm.params(each);
        self.kv_b.params(each);
        self.out.params(each);
    }
}

impl Moe {
    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        for linear in [&self.router, &self.gate_up, &self.down] {
            linear.params(each);
        }
        self.shared.iter().for_each(|shared| shared.params(each));
        self.shared_gate.iter().for_each(|gate| gate.params(each));
        self.correction.into_iter().for_each(each);
    }
}

/// What a sublayer computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Self attention.
    Attention(Attention),
    /// Attention whose keys and values come from the encoder's output.
    CrossAttention(Attention),
    /// Gated feed-forward.
    GatedMlp(GatedMlp),
    /// Feed-forward without a gate.
    PlainMlp(PlainMlp),
    /// Multi-head latent attention.
    LatentAttention(LatentAttention),
    /// Mixture of experts.
    Moe(Moe),
    /// Parameters of a module whose activations are not modelled: only counted.
    Counted(Vec<Param>),
}

impl Body {
    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        match self {
            Self::Attention(attention) | Self::CrossAttention(attention) => attention.params(each),
            Self::GatedMlp(mlp) => mlp.params(each),
            Self::PlainMlp(mlp) => {
                mlp.up.params(each);
                mlp.down.params(each);
            }
            Self::LatentAttention(attention) => attention.params(each),
            Self::Moe(moe) => moe.params(each),
            Self::Counted(params) => params.iter().copied().for_each(each),
        }
    }
}

/// Where a sublayer's norm sits.
#[derive(Clone, Debug, PartialEq)]
pub struct Sublayer {
    /// Norm of the input (`None`: the body reads the stream as it is).
    pub before: Option<Norm>,
    /// What is added to the residual stream.
    pub body: Body,
    /// Norm of the body's output, before it is added.
    pub after: Option<Norm>,
    /// Norm of the sum (post-norm models).
    pub on_sum: Option<Norm>,
    /// Dropout probability of the body's output.
    pub dropout: f64,
    /// It is the layer that drops, not the body.
    pub dropped_by_layer: bool,
}

impl Sublayer {
    /// `x + body(norm(x))`.
    pub const fn pre_norm(norm: Norm, body: Body) -> Self {
        Self { before: Some(norm), body, after: None, on_sum: None, dropout: 0.0, dropped_by_layer: false }
    }

    /// Whether `ledger::activations` knows how it runs.
    pub(super) fn modelled(&self) -> bool {
        match &self.body {
            Body::Attention(_)
            | Body::CrossAttention(_)
            | Body::GatedMlp(_)
            | Body::PlainMlp(_)
            | Body::LatentAttention(_) => true,
            Body::Moe(moe) => moe.correction.is_none(),
            Body::Counted(_) => false,
        }
    }

    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        self.before.iter().chain(&self.after).chain(&self.on_sum).for_each(|norm| norm.params(each));
        self.body.params(each);
    }
}

/// One layer: sublayers in the order of their forward.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its sublayers.
    pub sublayers: Vec<Sublayer>,
    /// All sublayers read the layer's input, not each the sum before it; a sublayer without a norm of its own reads
    /// the first one's.
    pub parallel: bool,
}
