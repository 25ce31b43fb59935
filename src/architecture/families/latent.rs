//! Multi-head latent attention, as DeepSeek-V2 brought it.

use super::{Dropout, Switch};
use crate::architecture::fields::Fields;
use crate::architecture::weights::{A, H, Names};
use crate::architecture::{LatentAttention, LatentQuery, Linear, Norm, linear, norm};
use crate::ledger::{Dim, Symbol, Symbols};

/// A latent attention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latent {
    /// Of the projections down to latents and of the output; the ones up from latents have none.
    pub(super) bias: Switch,
}

const R: Dim = Dim::Sym(Symbol::R);
const RQ: Dim = Dim::Sym(Symbol::Rq);
/// `dn + dr`: a query or key.
const QK: Dim = Dim::Lin(Symbol::Dn, 1, Symbol::Dr);

const Q_PROJ: Names = linear!("self_attn.q_proj", Attention, [A, QK], H);
const Q_A: Names = linear!("self_attn.q_a_proj", Attention, [RQ], H);
const Q_NORM: Names = norm!("self_attn.q_a_layernorm", Attention, [RQ]);
const Q_B: Names = linear!("self_attn.q_b_proj", Attention, [A, QK], RQ);
const KV_A: Names =
    linear!("self_attn.kv_a_proj_with_mqa", Attention, [Dim::Lin(Symbol::R, 1, Symbol::Dr)], H);
const KV_NORM: Names = norm!("self_attn.kv_a_layernorm", Attention, [R]);
const KV_B: Names = linear!("self_attn.kv_b_proj", Attention, [A, Dim::Lin(Symbol::Dn, 1, Symbol::Dv)], R);
const OUT: Names = linear!("self_attn.o_proj", Attention, [H], Dim::Mul(Symbol::A, Symbol::Dv));

/// Reads the latent sizes into `symbols`.
#[inline(never)] // apart: a first visit has none
pub(super) fn compose(
    latent: &Latent,
    fields: &mut Fields,
    symbols: &mut Symbols,
    dropout: &Dropout,
) -> Option<LatentAttention> {
    let needed = [
        (Symbol::R, "kv_lora_rank"),
        (Symbol::Dn, "qk_nope_head_dim"),
        (Symbol::Dr, "qk_rope_head_dim"),
        (Symbol::Dv, "v_head_dim"),
    ]
    .map(|(symbol, key)| fields.needed(key).map(|size| symbols.set(symbol, size)));
    if needed.contains(&None) {
        return None;
    }
    let rank = fields.size("q_lora_rank");
    let bias = latent.bias.read(fields);
    let query = match rank {
        None => LatentQuery::Direct(Linear::new(Q_PROJ, false)),
        Some(rank) => {
            symbols.set(Symbol::Rq, rank);
            LatentQuery::LowRank(Linear::new(Q_A, bias), Norm::rms(Q_NORM.0), Linear::new(Q_B, false))
        }
    };
    Some(LatentAttention {
        query,
        kv_a: Linear::new(KV_A, bias),
        kv_norm: Norm::rms(KV_NORM.0),
        kv_b: Linear::new(KV_B, false),
        out: Linear::new(OUT, bias),
        dropout: dropout.read(fields, ("attention_dropout", 0.0)),
    })
}
