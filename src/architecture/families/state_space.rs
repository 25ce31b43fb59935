//! State-space models: Mamba, Mamba-2, RWKV.

use super::compose::{arrange, causal_head, layers, symbols};
use super::counted::{Tensors, model, paths};
use super::{Dropout, Family};
use crate::architecture::fields::Fields;
use crate::architecture::{Architecture, weights};
use crate::ledger::{Group, Symbol};

const NAMES: &[(&str, &str)] = &[("state_size", "mamba_d_state"), ("conv_kernel", "mamba_d_conv")];

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("mamba", mamba).default(MAMBA),
    Family::own("falcon_mamba", mamba).default(MAMBA),
    Family::own("mamba2", mamba2).alias(NAMES).default(&[
        ("num_heads", 128),
        ("head_dim", 64),
        ("state_size", 128),
        ("conv_kernel", 4),
        ("n_groups", 8),
        ("expand", 2),
    ]),
    Family::own("rwkv", rwkv),
];

const MAMBA: &[(&str, u64)] = &[("state_size", 16), ("conv_kernel", 4), ("expand", 2)];

/// Sizes of a Mamba-1 mixer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mamba1 {
    pub(super) hidden: u64,
    pub(super) inner: u64,
    pub(super) state: u64,
    pub(super) kernel: u64,
    pub(super) rank: u64,
    pub(super) proj_bias: bool,
    pub(super) conv_bias: bool,
    /// Norms of the step and of the two state projections.
    pub(super) norms: bool,
}

impl Mamba1 {
    pub(super) fn count(&self, t: &mut Tensors) {
        t.group(Group::Other)
            .linear(paths!("mixer.in_proj"), 2 * self.inner, self.hidden, self.proj_bias)
            .conv(paths!("mixer.conv1d"), &[self.inner, 1, self.kernel], self.conv_bias)
            .linear(paths!("mixer.x_proj"), self.rank + 2 * self.state, self.inner, false)
            .linear(paths!("mixer.dt_proj"), self.inner, self.rank, true)
            .tensor("mixer.A_log", &[self.inner, self.state])
            .tensor("mixer.D", &[self.inner])
            .linear(paths!("mixer.out_proj"), self.hidden, self.inner, self.proj_bias);
        if self.norms {
            t.norm(paths!("mixer.dt_layernorm"), self.rank, false)
                .norm(paths!("mixer.b_layernorm"), self.state, false)
                .norm(paths!("mixer.c_layernorm"), self.state, false);
        }
    }
}

/// Sizes of a Mamba-2 mixer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mamba2 {
    pub(super) hidden: u64,
    pub(super) inner: u64,
    pub(super) heads: u64,
    pub(super) groups: u64,
    pub(super) state: u64,
    pub(super) kernel: u64,
    pub(super) proj_bias: bool,
    pub(super) conv_bias: bool,
    /// The gated norm before the output.
    pub(super) norm: bool,
}

impl Mamba2 {
    pub(super) fn count(&self, t: &mut Tensors) {
        let conv = self.inner + 2 * self.groups * self.state;
        t.group(Group::Other)
            .linear(paths!("mixer.in_proj"), self.inner + conv + self.heads, self.hidden, self.proj_bias)
            .conv(paths!("mixer.conv1d"), &[conv, 1, self.kernel], self.conv_bias)
            .tensor("mixer.dt_bias", &[self.heads])
            .tensor("mixer.A_log", &[self.heads])
            .tensor("mixer.D", &[self.heads])
            .linear(paths!("mixer.out_proj"), self.hidden, self.inner, self.proj_bias);
        if self.norm {
            t.norm(paths!("mixer.norm"), self.inner, false);
        }
    }
}

fn mamba(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let hidden = fields.needed("hidden_size");
    let layers = layers(fields, "num_hidden_layers");
    let vocab = fields.needed("vocab_size");
    let (hidden, layers, vocab) = (hidden?, layers?, vocab?);
    let rank = match fields.text("time_step_rank") {
        Some("auto") => None,
        _ => fields.size("time_step_rank"),
    };
    let inner = match fields.size("intermediate_size") {
        Some(inner) => inner,
        None => fields.needed("expand")?.saturating_mul(hidden),
    };
    let mixer = Mamba1 {
        hidden,
        inner,
        state: fields.needed("state_size")?,
        kernel: fields.needed("conv_kernel")?,
        rank: rank.unwrap_or(hidden.div_ceil(16)),
        proj_bias: fields.flag("use_bias", false),
        conv_bias: fields.flag("use_conv_bias", true),
        norms: false,
    };
    Some(stack(fields, [hidden, layers, vocab], true, |t| mixer.count(t)))
}

fn mamba2(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let hidden = fields.needed("hidden_size");
    let layers = layers(fields, "num_hidden_layers");
    let vocab = fields.needed("vocab_size");
    let (hidden, layers, vocab) = (hidden?, layers?, vocab?);
    let mixer = Mamba2 {
        hidden,
        inner: fields.needed("expand")?.saturating_mul(hidden),
        heads: fields.needed("num_heads")?,
        groups: fields.needed("n_groups")?,
        state: fields.needed("state_size")?,
        kernel: fields.needed("conv_kernel")?,
        proj_bias: fields.flag("use_bias", false),
        conv_bias: fields.flag("use_conv_bias", true),
        norm: true,
    };
    Some(stack(fields, [hidden, layers, vocab], false, |t| mixer.count(t)))
}

/// A norm and a mixer in every layer.
fn stack(
    fields: &mut Fields,
    [hidden, layers, vocab]: [u64; 3],
    tied: bool,
    mixer: impl Fn(&mut Tensors),
) -> Architecture {
    let kinds = arrange((0..layers).map(|_| ()), |()| {
        let mut t = Tensors::new(Group::Norm);
        t.norm(paths!("norm"), hidden, false);
        mixer(&mut t);
        t.layer()
    });
    let mut head = causal_head(fields, false);
    head.other = Tensors::new(Group::FinalNorm).norm(paths!("norm_f"), hidden, false).params();
    let tied = fields.flag("tie_word_embeddings", tied);
    let sizes = symbols([(Symbol::H, hidden), (Symbol::V, vocab)]);
    model(sizes, vec![weights::EMBED], kinds, head, tied)
}

/// RWKV-4: time mixing and channel mixing; the first layer norms the embedding.
fn rwkv(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let hidden = fields.needed("hidden_size");
    let layers = layers(fields, "num_hidden_layers");
    let vocab = fields.needed("vocab_size");
    let (h, layers, vocab) = (hidden?, layers?, vocab?);
    let inner = fields.size("attention_hidden_size").unwrap_or(h);
    let ffn = fields.size("intermediate_size").unwrap_or(4 * h);
    let kinds = arrange((0..layers).map(|layer| layer == 0), |first| {
        let mut t = Tensors::new(Group::Norm);
        if first {
            t.norm(paths!("pre_ln"), h, true);
        }
        t.norm(paths!("ln1"), h, true).norm(paths!("ln2"), h, true);
        t.group(Group::Attention)
            .tensor("attention.time_decay", &[inner])
            .tensor("attention.time_first", &[inner])
            .tensor("attention.time_mix_key", &[h])
            .tensor("attention.time_mix_value", &[h])
            .tensor("attention.time_mix_receptance", &[h])
            .linear(paths!("attention.key"), inner, h, false)
            .linear(paths!("attention.value"), inner, h, false)
            .linear(paths!("attention.receptance"), inner, h, false)
            .linear(paths!("attention.output"), h, inner, false);
        t.group(Group::Mlp)
            .tensor("feed_forward.time_mix_key", &[h])
            .tensor("feed_forward.time_mix_receptance", &[h])
            .linear(paths!("feed_forward.key"), ffn, h, false)
            .linear(paths!("feed_forward.receptance"), h, h, false)
            .linear(paths!("feed_forward.value"), h, ffn, false);
        t.layer()
    });
    let mut head = causal_head(fields, false);
    head.other = Tensors::new(Group::FinalNorm).norm(paths!("ln_out"), h, true).params();
    let tied = fields.flag("tie_word_embeddings", false);
    let sizes = symbols([(Symbol::H, h), (Symbol::V, vocab)]);
    Some(model(sizes, vec![weights::EMBED], kinds, head, tied))
}
