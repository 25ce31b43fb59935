//! A model as Megatron-core builds it: queries, keys and values in one linear, gate and up in one, and its own names
//! (`megatron/core/models/gpt/gpt_layer_specs.py`, `transformer/attention.py`, `transformer/mlp.py`).

use super::weights::{A, AD, AKK, D, F, H, M, Names};
use super::{
    Architecture, Attention, Body, GateUp, GatedMlp, LatentAttention, LatentQuery, Layer, Linear, Moe, Norm,
    Normalisation, PlainMlp, Qkv, Rotary, Sublayer, linear, norm, weights,
};
use crate::architecture::Param;
use crate::ledger::{Dim, Group, Symbol};
use serde_json::{Map, Value};

const TWO_F: Dim = Dim::Scale(2, Symbol::F);
const TWO_SHARED: Dim = Dim::Scale(2, Symbol::Shared);
const SHARED: Dim = Dim::Sym(Symbol::Shared);
const QK: Dim = Dim::Lin(Symbol::Dn, 1, Symbol::Dr);

const QKV: Names = linear!("self_attention.linear_qkv", Attention, [AKK, D], H);
const PROJ: Names = linear!("self_attention.linear_proj", Attention, [H], AD);
const Q_NORM: Names = norm!("self_attention.q_layernorm", Attention, [D]);
const K_NORM: Names = norm!("self_attention.k_layernorm", Attention, [D]);
const INPUT_NORM: Names = norm!("input_layernorm", Norm, [H]);
const MLP_NORM: Names = norm!("pre_mlp_layernorm", Norm, [H]);
const FC1_GATED: Names = linear!("mlp.linear_fc1", Mlp, [TWO_F], H);
const FC1: Names = linear!("mlp.linear_fc1", Mlp, [F], H);
const FC2: Names = linear!("mlp.linear_fc2", Mlp, [H], F);
const SHARED_FC1: Names = linear!("mlp.shared_experts.linear_fc1", SharedExperts, [TWO_SHARED], H);
const SHARED_FC1_PLAIN: Names = linear!("mlp.shared_experts.linear_fc1", SharedExperts, [SHARED], H);
const SHARED_FC2: Names = linear!("mlp.shared_experts.linear_fc2", SharedExperts, [H], SHARED);

const Q_PROJ: Names = linear!("self_attention.linear_q_proj", Attention, [A, QK], H);
const Q_DOWN: Names = linear!("self_attention.linear_q_down_proj", Attention, [Dim::Sym(Symbol::Rq)], H);
const Q_DOWN_NORM: Names = norm!("self_attention.q_layernorm", Attention, [Dim::Sym(Symbol::Rq)]);
const Q_UP: Names = linear!("self_attention.linear_q_up_proj", Attention, [A, QK], Dim::Sym(Symbol::Rq));
const KV_DOWN: Names =
    linear!("self_attention.linear_kv_down_proj", Attention, [Dim::Lin(Symbol::R, 1, Symbol::Dr)], H);
const KV_NORM: Names = norm!("self_attention.kv_layernorm", Attention, [Dim::Sym(Symbol::R)]);
const KV_UP: Names = linear!(
    "self_attention.linear_kv_up_proj",
    Attention,
    [A, Dim::Lin(Symbol::Dn, 1, Symbol::Dv)],
    Dim::Sym(Symbol::R)
);
const MLA_PROJ: Names =
    linear!("self_attention.linear_proj", Attention, [H], Dim::Mul(Symbol::A, Symbol::Dv));

/// What Megatron's own arguments say beside the fields that a `config.json` has.
#[derive(Clone, Copy, Debug)]
struct Choices {
    normalisation: Option<Normalisation>,
    rotary: Option<bool>,
    gated: Option<bool>,
    /// Experts that every token passes.
    shared: bool,
}

impl Choices {
    fn of(fields: &Map<String, Value>) -> Self {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        Self {
            normalisation: match text("normalization") {
                Some("RMSNorm") => Some(Normalisation::Rms),
                Some("LayerNorm") => Some(Normalisation::Layer),
                _ => None,
            },
            rotary: text("position_embedding_type")
                .map(|kind| kind != "learned_absolute" && kind != "absolute"),
            gated: fields.get("mlp_gated").and_then(Value::as_bool),
            shared: fields
                .get("shared_expert_intermediate_size")
                .and_then(Value::as_u64)
                .is_some_and(|n| n > 0),
        }
    }

    fn norm(self, old: &Norm, names: Names) -> Norm {
        let (weight, bias) = *names;
        let layer = match self.normalisation {
            Some(kind) => kind == Normalisation::Layer,
            None => old.kind == Normalisation::Layer,
        };
        let kind = if layer { Normalisation::Layer } else { Normalisation::Rms };
        Norm { kind, weight, bias: layer.then_some(bias) }
    }
}

impl Architecture {
    /// Whether Megatron's modules can stand for all of its own.
    pub fn modelled_by_megatron(&self) -> bool {
        let sublayers = self.kinds.iter().flat_map(|kind| &kind.sublayers);
        self.embedding.image.is_none()
            && self.embedding.tables.len() <= 2
            && self.encoder.is_none()
            && !self.final_soft_cap
            && sublayers.into_iter().all(|sublayer| match &sublayer.body {
                Body::Attention(attention) => attention.bias == super::ScoreBias::None && !attention.soft_cap,
                Body::GatedMlp(_) | Body::PlainMlp(_) | Body::LatentAttention(_) | Body::Moe(_) => true,
                Body::CrossAttention(_) | Body::Counted(_) => false,
            })
    }

    /// The same model as Megatron-core builds it; each of `ep` ranks holds as many experts. `fields` are those of the
    /// configuration: some of Megatron's choices have names of their own there (`normalization`,
    /// `position_embedding_type`, `mlp_gated`, `attention_bias`, `mlp_bias`).
    #[must_use]
    pub fn as_megatron(&self, fields: &Map<String, Value>, ep: u64) -> Self {
        let choices = Choices::of(fields);
        let biased = |key: &str| fields.get(key).and_then(Value::as_bool);
        let attention_bias = biased("attention_bias").filter(|_| choices.gated.is_some());
        let mlp_bias = biased("mlp_bias").filter(|_| choices.gated.is_some());
        let kinds = self.kinds.iter().map(|layer| Layer {
            sublayers: layer
                .sublayers
                .iter()
                .enumerate()
                .map(|(place, sublayer)| Sublayer {
                    before: sublayer
                        .before
                        .as_ref()
                        .map(|before| choices.norm(before, if place == 0 { INPUT_NORM } else { MLP_NORM })),
                    body: body(&sublayer.body, choices, (attention_bias, mlp_bias), ep),
                    ..sublayer.clone()
                })
                .collect(),
            ..layer.clone()
        });
        let mut embedding = self.embedding.clone();
        match choices.rotary {
            Some(true) => embedding.tables.truncate(1),
            Some(false) if embedding.tables.len() == 1 => {
                let rows = fields.get("max_position_embeddings").and_then(Value::as_u64).unwrap_or(0);
                embedding.tables.push(weights::positions(Dim::of(rows)));
            }
            _ => {}
        }
        let mut final_norm = self.final_norm;
        if let Some(last) = &mut final_norm {
            *last = choices.norm(last, weights::FINAL_NORM);
        }
        let mut symbols = self.symbols;
        for (symbol, key) in
            [(Symbol::M, "moe_intermediate_size"), (Symbol::Shared, "shared_expert_intermediate_size")]
        {
            if let Some(size) = fields.get(key).and_then(Value::as_u64).filter(|size| *size > 0) {
                symbols.set(symbol, size);
            }
        }
        Self { kinds: kinds.collect(), embedding, final_norm, symbols, ..self.clone() }
    }
}

fn body(
    old: &Body,
    choices: Choices,
    (attention_bias, mlp_bias): (Option<bool>, Option<bool>),
    ep: u64,
) -> Body {
    match old {
        Body::Attention(attention) => Body::Attention(self_attention(attention, choices, attention_bias)),
        Body::GatedMlp(mlp) => {
            let biased = mlp_bias.unwrap_or(mlp.down.bias.is_some());
            if choices.gated == Some(false) {
                plain(biased)
            } else {
                Body::GatedMlp(gated(FC1_GATED, FC2, mlp.width, biased))
            }
        }
        Body::PlainMlp(mlp) => {
            let biased = mlp_bias.unwrap_or(mlp.down.bias.is_some());
            if choices.gated == Some(true) {
                Body::GatedMlp(gated(FC1_GATED, FC2, F, biased))
            } else {
                plain(biased)
            }
        }
        Body::LatentAttention(latent) => Body::LatentAttention(latent_attention(latent)),
        Body::Moe(moe) => Body::Moe(mixture(moe, choices, ep)),
        other => other.clone(),
    }
}

fn self_attention(old: &Attention, choices: Choices, biased: Option<bool>) -> Attention {
    let own_bias = match &old.qkv {
        Qkv::Separate([q, ..]) => q.bias.is_some(),
        Qkv::Fused(one) | Qkv::Split(one) => one.bias.is_some(),
    };
    // `--add-qkv-bias` is the projections' own; `--disable-bias-linear` takes both.
    let (qkv, out) = match biased {
        Some(both) => (both, both),
        None => (own_bias, old.out.bias.is_some()),
    };
    Attention {
        qkv: Qkv::Split(Linear::new(QKV, qkv)),
        out: Linear::new(PROJ, out),
        qk_norm: old.qk_norm.as_ref().map(|[q, k]| [choices.norm(q, Q_NORM), choices.norm(k, K_NORM)]),
        rotary: match choices.rotary {
            Some(true) => Rotary::Whole,
            Some(false) => Rotary::None,
            None => old.rotary,
        },
        ..*old
    }
}

fn gated(fc1: Names, fc2: Names, width: Dim, biased: bool) -> GatedMlp {
    GatedMlp {
        width,
        gate_up: GateUp::Fused(Linear::new(fc1, biased)),
        act: super::Activation::Kernel,
        dropout: 0.0,
        norm: None,
        down: Linear::new(fc2, biased),
    }
}

fn plain(biased: bool) -> Body {
    Body::PlainMlp(PlainMlp {
        up: Linear::new(FC1, biased),
        act: super::Activation::Kernel,
        dropout: 0.0,
        down: Linear::new(FC2, biased),
    })
}

fn latent_attention(old: &LatentAttention) -> LatentAttention {
    let rms = |names: Names| Norm::rms(names.0);
    let one = |names| Linear::new(names, false);
    LatentAttention {
        query: match old.query {
            LatentQuery::Direct(_) => LatentQuery::Direct(one(Q_PROJ)),
            LatentQuery::LowRank(..) => LatentQuery::LowRank(one(Q_DOWN), rms(Q_DOWN_NORM), one(Q_UP)),
        },
        kv_a: one(KV_DOWN),
        kv_norm: rms(KV_NORM),
        kv_b: one(KV_UP),
        out: one(MLA_PROJ),
        dropout: old.dropout,
    }
}

/// Every rank has the router's scores of all experts, and its own experts. A sigmoid's correction bias is no parameter.
fn mixture(old: &Moe, choices: Choices, ep: u64) -> Moe {
    let experts = Dim::Sym(Symbol::E);
    let all = all_experts(ep);
    let fc1 = if choices.gated == Some(false) { M } else { Dim::Scale(2, Symbol::M) };
    let linear = |path, group, axes: &[Dim]| Linear { weight: Param::new(path, group, axes), bias: None };
    Moe {
        router: linear("mlp.router.weight", Group::Router, &[all, H]),
        routing: old.routing,
        gate_up: linear("mlp.experts.linear_fc1.weight", Group::Experts, &[experts, fc1, H]),
        down: linear("mlp.experts.linear_fc2.weight", Group::Experts, &[experts, H, M]),
        shared: (old.shared.is_some() || choices.shared).then(|| {
            let fc1 = if choices.gated == Some(false) { SHARED_FC1_PLAIN } else { SHARED_FC1 };
            gated(fc1, SHARED_FC2, SHARED, false)
        }),
        shared_gate: old
            .shared_gate
            .map(|_| linear("mlp.shared_experts.gate_weight", Group::SharedExperts, &[Dim::Const(1), H])),
        correction: None,
    }
}

/// The experts of all ranks, where `E` is those of one.
pub(crate) fn all_experts(ep: u64) -> Dim {
    match u32::try_from(ep) {
        Ok(ep) if ep > 1 => Dim::Scale(ep, Symbol::E),
        _ => Dim::Sym(Symbol::E),
    }
}
