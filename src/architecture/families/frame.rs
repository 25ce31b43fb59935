//! What counted decoders share: sizes, attention, feed-forwards, experts.

use super::compose::{arrange, causal_head, layers, symbols};
use super::counted::{Tensors, model, paths};
use super::state_space::Mamba2;
use crate::architecture::fields::Fields;
use crate::architecture::{Architecture, weights};
use crate::ledger::{Group, Symbol, Symbols};

/// Sizes that all hybrids have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) hidden: u64,
    pub(super) ffn: u64,
    pub(super) layers: u64,
    pub(super) heads: u64,
    pub(super) kv: u64,
    pub(super) head_dim: u64,
    pub(super) symbols: Symbols,
}

impl Frame {
    pub(super) fn read(fields: &mut Fields) -> Option<Self> {
        Self::with_width(fields, None)
    }

    /// With a feed-forward as wide as said, not as in the file.
    pub(super) fn with_width(fields: &mut Fields, ffn: Option<u64>) -> Option<Self> {
        let layers = layers(fields, "num_hidden_layers");
        let ffn = ffn.or_else(|| fields.needed("intermediate_size"));
        Self::with_layers(fields, layers?, ffn?)
    }

    pub(super) fn with_layers(fields: &mut Fields, layers: u64, ffn: u64) -> Option<Self> {
        let hidden = fields.needed("hidden_size");
        let heads = fields.needed("num_attention_heads");
        let vocab = fields.needed("vocab_size");
        let (hidden, heads, vocab) = (hidden?, heads?, vocab?);
        let kv = fields.size("num_key_value_heads").unwrap_or(heads);
        let head_dim = fields.size("head_dim").unwrap_or(hidden / heads);
        let symbols = symbols([
            (Symbol::H, hidden),
            (Symbol::F, ffn),
            (Symbol::A, heads),
            (Symbol::K, kv),
            (Symbol::D, head_dim),
            (Symbol::V, vocab),
        ]);
        Some(Self { hidden, ffn, layers, heads, kv, head_dim, symbols })
    }

    /// `query` is how many times the heads' width queries are projected to (2 with an output gate).
    pub(super) fn attention(&self, t: &mut Tensors, query: u64, bias: bool) {
        let (h, wide) = (self.hidden, self.heads * self.head_dim);
        t.group(Group::Attention)
            .linear(paths!("self_attn.q_proj"), query * wide, h, bias)
            .linear(paths!("self_attn.k_proj"), self.kv * self.head_dim, h, bias)
            .linear(paths!("self_attn.v_proj"), self.kv * self.head_dim, h, bias)
            .linear(paths!("self_attn.o_proj"), h, wide, bias);
    }

    pub(super) fn qk_norm(&self, t: &mut Tensors) {
        t.group(Group::Attention).norm(paths!("self_attn.q_norm"), self.head_dim, false).norm(
            paths!("self_attn.k_norm"),
            self.head_dim,
            false,
        );
    }

    pub(super) fn mlp(&self, t: &mut Tensors, ffn: u64, bias: bool) {
        t.group(Group::Mlp)
            .linear(paths!("mlp.gate_proj"), ffn, self.hidden, bias)
            .linear(paths!("mlp.up_proj"), ffn, self.hidden, bias)
            .linear(paths!("mlp.down_proj"), self.hidden, ffn, bias);
    }

    pub(super) fn shared(&self, t: &mut Tensors, ffn: u64) {
        if ffn > 0 {
            t.group(Group::SharedExperts)
                .linear(paths!("shared_mlp.input_linear"), 2 * ffn, self.hidden, false)
                .linear(paths!("shared_mlp.output_linear"), self.hidden, ffn, false);
        }
    }

    /// Reads the experts' numbers; 0 of them is none.
    pub(super) fn experts(&mut self, fields: &mut Fields, count: &'static str, width: u64) -> (u64, u64) {
        let count = fields.count(count);
        let top = fields.count("num_experts_per_tok");
        for (symbol, size) in [(Symbol::E, count), (Symbol::Top, top.min(count)), (Symbol::M, width)] {
            self.symbols.set(symbol, size);
        }
        (count, width)
    }

    pub(super) fn moe(&self, t: &mut Tensors, (count, width): (u64, u64)) {
        if count > 0 {
            t.group(Group::Router).linear(paths!("mlp.gate"), count, self.hidden, false);
            t.group(Group::Experts)
                .tensor("mlp.experts.gate_up_proj", &[count, 2 * width, self.hidden])
                .tensor("mlp.experts.down_proj", &[count, self.hidden, width]);
        }
    }

    pub(super) fn norms(&self, t: &mut Tensors) {
        t.group(Group::Norm).norm(paths!("input_layernorm"), self.hidden, false).norm(
            paths!("post_attention_layernorm"),
            self.hidden,
            false,
        );
    }

    pub(super) fn mamba2(&self, fields: &mut Fields, inner: Option<u64>, norm: bool) -> Option<Mamba2> {
        let expanded = fields.needed("mamba_expand")?.saturating_mul(self.hidden);
        Some(Mamba2 {
            hidden: self.hidden,
            inner: inner.unwrap_or(expanded),
            heads: fields.needed("mamba_n_heads")?,
            groups: fields.needed("mamba_n_groups")?,
            state: fields.needed("mamba_d_state")?,
            kernel: fields.needed("mamba_d_conv")?,
            proj_bias: fields.flag("mamba_proj_bias", false),
            conv_bias: fields.flag("mamba_conv_bias", true),
            norm,
        })
    }

    /// The layers between token embedding, last norm and head.
    pub(super) fn model<K: PartialEq + Copy>(
        &self,
        fields: &mut Fields,
        kinds: Vec<K>,
        tied: bool,
        count: impl Fn(&mut Tensors, K),
    ) -> Architecture {
        let stack = arrange(kinds.into_iter(), |kind| {
            let mut t = Tensors::new(Group::Norm);
            count(&mut t, kind);
            t.layer()
        });
        let mut head = causal_head(fields, false);
        head.other = Tensors::new(Group::FinalNorm).norm(paths!("norm"), self.hidden, false).params();
        let tied = fields.flag("tie_word_embeddings", tied);
        model(self.symbols, vec![weights::EMBED], stack, head, tied)
    }
}
