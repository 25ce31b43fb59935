//! Multi-head latent attention (`transformer/multi_latent_attention.py`).

use super::super::super::tape::{Back, Tape, Var};
use super::super::super::{Dim, Group, Shape, Symbol, Tensor};
use super::super::{A, B, Run, S};
use super::attention::{Core, core_attention, rotate};
use super::{Megatron, SPLIT, column, duplicated, normalised, row};
use crate::architecture::{LatentAttention, LatentQuery, Linear};
use crate::text::tensors;

const DN: Dim = Dim::Sym(Symbol::Dn);
const DR: Dim = Dim::Sym(Symbol::Dr);
const R: Dim = Dim::Sym(Symbol::R);
/// `[b, s, a, dn + dr]`
const WIDE: Shape = Shape::new(&[B, S, A, Dim::Lin(Symbol::Dn, 1, Symbol::Dr)]);
const EXPANDED: Shape = Shape::new(&[B, S, A, Dim::Lin(Symbol::Dn, 1, Symbol::Dv)]);
const VALUE: Shape = Shape::new(&[B, S, A, Dim::Sym(Symbol::Dv)]);
const COMPRESSED: Shape = Shape::new(&[B, SPLIT, Dim::Lin(Symbol::R, 1, Symbol::Dr)]);

pub(super) fn latent_attention(
    tape: &mut Tape,
    x: Var,
    latent: &LatentAttention,
    run: &Run,
    megatron: &Megatron,
) -> Var {
    // Latents are small: every rank has all of them, and norms them as they are.
    let (q_input, q_up, owned) = match &latent.query {
        LatentQuery::Direct(one) => (x, *one, false),
        LatentQuery::LowRank(down, norm, up) => {
            let shape = Shape::new(&[B, SPLIT, Dim::Sym(Symbol::Rq)]);
            let low = duplicated(tape, x, *down, shape, megatron, &tensors::LINEAR_INPUT);
            let normed = normalised(tape, low, norm);
            tape.drop(low);
            (normed, *up, true)
        }
    };
    let compressed = duplicated(tape, x, latent.kv_a, COMPRESSED, megatron, &tensors::LINEAR_INPUT);
    tape.enter("self_attention", Group::Attention);
    let parts = [Shape::new(&[B, SPLIT, R]), Shape::new(&[B, SPLIT, Dim::Const(1), DR])];
    let [inner, own_positions] = tape.split("split", compressed, parts);
    tape.drop(compressed);
    let dtype = tape.dtype(own_positions);
    let positions = if megatron.sequence {
        let all = Shape::new(&[B, S, Dim::Const(1), DR]);
        let all = tape.run("all-gather", &[own_positions], all, dtype, Back::Fresh);
        tape.drop(own_positions);
        all
    } else {
        own_positions
    };
    let normed = normalised(tape, inner, &latent.kv_norm);
    tape.drop(inner);
    let kept: [(Var, &'static Tensor); 3] = [
        (q_input, &tensors::LINEAR_INPUT),
        (normed, &tensors::LINEAR_INPUT),
        (positions, &tensors::KEY_POSITIONS),
    ];
    tape.enter("self_attention", Group::Attention);
    let up = |tape: &mut Tape| projected(tape, [q_input, normed, positions], (q_up, latent.kv_b), megatron);
    let remade = megatron.again.up_projection.then(|| tape.remade(&kept, up));
    let qkv = remade.as_ref().map_or_else(|| up(tape), |remade| remade.outputs);
    let core = Core { kernel: run.kernel, dropout: latent.dropout > 0.0 };
    let out = core_attention(tape, qkv, core, megatron);
    if let Some(remade) = &remade {
        tape.discard(remade, out);
    }
    let y = row(tape, out, latent.out, megatron, &tensors::ATTENTION_OUTPUT);
    tape.drop(out);
    for held in qkv.into_iter().chain([normed, positions]).chain(owned.then_some(q_input)) {
        tape.drop(held);
    }
    y
}

/// q, k and v of each head from their latents. One kernel turns q in place and writes k and v
/// (`fusions/fused_mla_yarn_rope_apply.py`); Megatron's own operators join turned and plain parts by `cat`.
fn projected(
    tape: &mut Tape,
    [q_input, normed, positions]: [Var; 3],
    (q_up, kv_up): (Linear, Linear),
    megatron: &Megatron,
) -> [Var; 3] {
    let q = column(tape, q_input, q_up, false, WIDE, megatron, &tensors::LINEAR_INPUT);
    let kv = column(tape, normed, kv_up, false, EXPANDED, megatron, &tensors::LINEAR_INPUT);
    tape.enter("self_attention", Group::Attention);
    let dtype = tape.dtype(q);
    let plain = Shape::new(&[B, S, A, DN]);
    if megatron.engine {
        let [plain_k, plain_v] = tape.split("split", kv, [plain, VALUE]);
        let k = tape.run("rope", &[plain_k, positions], WIDE, dtype, Back::Fresh);
        let v = tape.run("rope", &[plain_v], VALUE, dtype, Back::Fresh);
        for done in [plain_k, plain_v, kv] {
            tape.drop(done);
        }
        return [q, k, v];
    }
    let [plain_q, q_positions] = tape.split("split", q, [plain, Shape::new(&[B, S, A, DR])]);
    let [plain_k, plain_v] = tape.split("split", kv, [plain, VALUE]);
    let turned_q = rotate(tape, q_positions, megatron);
    let turned_k = rotate(tape, positions, megatron);
    let wide_q = tape.run("cat", &[plain_q, turned_q], WIDE, dtype, Back::Views);
    let wide_k = tape.run("cat", &[plain_k, turned_k], WIDE, dtype, Back::Views);
    let v = tape.run("contiguous", &[plain_v], VALUE, dtype, Back::Through);
    for done in [plain_q, q_positions, plain_k, plain_v, turned_q, turned_k, q, kv] {
        tape.drop(done);
    }
    [wide_q, wide_k, v]
}
