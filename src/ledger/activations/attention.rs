//! Self attention: the projections, rotary positions, and the core between them.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol, Symbols};
use super::core::{Core, Layout, core};
use super::norm::norm;
use super::relative::Bias;
use super::{A, B, D, K, Run, S, STREAM, Samples, Shared, linear, relative, replace};
use crate::architecture::{Attention, Body, Qkv, Rotary, RotaryTables, ScoreBias};
use crate::text::tensors;

/// `[b, s, a·d]`
const Q: Shape = Shape::new(&[B, S, A, D]);
/// Tokens of the other stack.
const T: Dim = Dim::Sym(Symbol::T);
/// `[b, t, k·d]`: keys and values of cross attention.
const CROSS_KV: Shape = Shape::new(&[B, T, K, D]);
/// `[b, s, k·d]`
const KV: Shape = Shape::new(&[B, S, K, D]);
/// `[b, s, (a + 2k)·d]`
const QKV: Shape = Shape::new(&[B, S, Dim::Lin(Symbol::A, 2, Symbol::K), D]);
/// Rotary cosines or sines of `width` dimensions, for every layer.
pub(super) fn rotary_table(width: Symbol, kind: RotaryTables, samples: Samples) -> Shape {
    let width = match kind {
        RotaryTables::Half => Dim::Over(width, 2),
        _ => Dim::Sym(width),
    };
    match samples {
        Samples::Packed => Shape::new(&[B, S, width]),
        Samples::Rows | Samples::Padded => Shape::new(&[S, width]),
    }
}

impl Attention {
    /// Whether it needs a mask: for padding, or for a window that some token is outside of.
    fn masked(&self, numbers: &Symbols, padding: bool) -> bool {
        padding || self.window.is_some_and(|window| numbers.get(Symbol::S) >= window)
    }
}

impl Body {
    /// Whether a fused kernel needs a mask for it.
    pub(crate) fn masked(&self, numbers: &Symbols, padding: bool) -> bool {
        matches!(self, Self::Attention(attention) if attention.masked(numbers, padding))
    }
}

/// Self attention: queries, keys and values of the same tokens.
pub(super) fn attention(tape: &mut Tape, x: Var, own: &Attention, run: &Run, shared: &mut Shared) -> Var {
    let qkv = projections(tape, x, x, own, run, Group::Attention);
    let padded = run.samples.masks() && !tape.is_of_target();
    let masked = own.masked(tape.numbers(), padded);
    let kind = (masked, S, Group::Attention);
    attend(tape, qkv, own, run, kind, (&mut shared.bias, shared.kept))
}

/// Cross attention: keys and values of the other stack's output.
#[inline(never)] // apart: a first visit has none
pub(super) fn cross_attention(
    tape: &mut Tape,
    x: Var,
    cross: &Attention,
    run: &Run,
    shared: &mut Shared,
) -> Var {
    let source = shared.source.unwrap_or(x);
    let qkv = projections(tape, x, source, cross, run, Group::CrossAttention);
    let kind = (run.samples.masks(), T, Group::CrossAttention);
    attend(tape, qkv, cross, run, kind, (&mut shared.cross_bias, shared.kept))
}

fn projections(
    tape: &mut Tape,
    x: Var,
    source: Var,
    attention: &Attention,
    run: &Run,
    group: Group,
) -> [Var; 3] {
    match attention.qkv {
        Qkv::Separate(three) => {
            let kv = if group == Group::CrossAttention { CROSS_KV } else { KV };
            let all = [(x, Q), (source, kv), (source, kv)];
            std::array::from_fn(|i| {
                tape.enter(three[i].weight.module(), group);
                linear(tape, all[i].0, three[i], all[i].1, run, &tensors::LINEAR_INPUT)
            })
        }
        Qkv::Fused(one) | Qkv::Split(one) => {
            tape.enter(one.weight.module(), group);
            let all = linear(tape, x, one, QKV, run, &tensors::LINEAR_INPUT);
            let parts = match attention.qkv {
                Qkv::Split(_) => tape.split("split", all, [Q, KV, KV]),
                _ => tape.slices("slice", all, [Q, KV, KV]),
            };
            tape.drop(all);
            parts
        }
    }
}

/// From projections to the residual stream.
fn attend(
    tape: &mut Tape,
    [mut q, mut k, v]: [Var; 3],
    attention: &Attention,
    run: &Run,
    (masked, keys, group): (bool, Dim, Group),
    (slot, kept): (&mut Option<Var>, bool),
) -> Var {
    if let Some([q_norm, k_norm]) = &attention.qk_norm {
        q = replace(tape, q, |tape, q| norm(tape, q, q_norm, run));
        k = replace(tape, k, |tape, k| norm(tape, k, k_norm, run));
    }
    if attention.rotary != Rotary::None {
        tape.enter("self_attn.rotary", Group::Attention);
        let dtype = if attention.tables.fp32() { Dtype::Fp32 } else { run.compute.weight };
        let tables = (dtype, run.samples);
        let (plain_q, plain_k) = (q, k);
        if run.dtensor.is_some() && attention.rotary == Rotary::Whole {
            [q, k] = [q, k].map(|x| super::dtensor::rotated(tape, x));
        } else {
            let times = match attention.tables {
                RotaryTables::RepeatedTwice => 2,
                kind => usize::from(kind.repeated()),
            };
            let made: Vec<_> = (0..times).map(|_| repeated_tables(tape, attention.rotary, tables)).collect();
            let turn = if attention.tables == RotaryTables::Half { rotate_halves } else { rotate };
            q = turn(tape, q, tables, attention);
            k = turn(tape, k, tables, attention);
            for table in made.into_iter().flatten() {
                tape.drop(table);
            }
        }
        tape.drop(plain_q);
        tape.drop(plain_k);
    }

    tape.enter(owner(attention), group);
    let bias = match attention.bias {
        ScoreBias::None | ScoreBias::Sinks(_) => None,
        ScoreBias::Own(table) => Some(relative::table(tape, table, attention.causal, run)),
        ScoreBias::Zeros => Some(relative::zeros(tape, keys, run, kept)),
        ScoreBias::Shared => *slot,
    };
    tape.enter(owner(attention), group);
    let settings = Core {
        kernel: run.kernel,
        low: run.compute.matmul,
        masked,
        dropout: attention.dropout > 0.0,
        softmax: attention.softmax,
        soft_cap: attention.soft_cap,
        causal: attention.causal,
        layout: match attention.rotary {
            Rotary::None => Layout::Projected,
            Rotary::Whole if attention.tables == RotaryTables::Half => Layout::Joined,
            _ if attention.tables == RotaryTables::RepeatedTwice => Layout::Rotated,
            Rotary::Whole => Layout::Rotated,
            Rotary::Joined | Rotary::Partial => Layout::Joined,
        },
        keys,
        sinks: match attention.bias {
            ScoreBias::Sinks(sinks) => Some(sinks),
            _ => None,
        },
        bias: bias.map(|var| Bias { var, heads_last: group == Group::Attention }),
    };
    let mut out = core(tape, [q, k, v], settings);
    if let Some(inner) = &attention.out_norm {
        out = replace(tape, out, |tape, x| norm(tape, x, inner, run));
    }
    tape.enter(attention.out.weight.module(), group);
    let y = linear(tape, out, attention.out, STREAM, run, &tensors::ATTENTION_OUTPUT);
    for held in [out, q, k, v] {
        tape.drop(held);
    }
    if let (Some(bias), false) = (bias, attention.bias == ScoreBias::Shared) {
        *slot = Some(bias);
    }
    y
}

/// The module that owns the projections.
fn owner(attention: &Attention) -> &'static str {
    let first = match &attention.qkv {
        Qkv::Separate([q, ..]) => q,
        Qkv::Fused(one) | Qkv::Split(one) => one,
    };
    let module = first.weight.module();
    module.rsplit_once('.').map_or(module, |(owner, _)| owner)
}

/// Cosines and sines of half the dimensions, each twice in a row, made by a layer for itself: its products keep them.
#[inline(never)] // apart: a first visit has none
fn repeated_tables(tape: &mut Tape, rotary: Rotary, (dtype, samples): (Dtype, Samples)) -> [Var; 2] {
    let width = if rotary == Rotary::Partial { Symbol::Dr } else { Symbol::D };
    [&tensors::ROTARY_COS, &tensors::ROTARY_SIN].map(|tensor| {
        let table =
            tape.constant("repeat_interleave", rotary_table(width, RotaryTables::Own, samples), dtype);
        tape.save(table, tensor);
        table
    })
}

/// Either half of a head turned by tables of half its width, and joined by `cat`, which lays the result out head by
/// head (transformers, `modeling_gpt_oss.py`).
#[inline(never)] // apart: a first visit has none
fn rotate_halves(
    tape: &mut Tape,
    projected: Var,
    (table, samples): (Dtype, Samples),
    attention: &Attention,
) -> Var {
    let whole = tape.shape(projected);
    let half = whole.with_last(Dim::Over(Symbol::D, 2));
    let wide = if table == Dtype::Fp32 { Dtype::Fp32 } else { tape.dtype(projected) };
    let head = tape.view("transpose", projected, whole, Back::Fresh);
    let tables = tape.foreign(rotary_table(Symbol::D, attention.tables, samples), table, false);
    let [first, second] = tape.split("chunk", head, [half; 2]);
    let turned = [(first, second, "sub"), (second, first, "add")].map(|(x, y, name)| {
        let straight = tape.run("mul cos", &[x, tables], half, wide, Back::Fresh);
        let crossed = tape.run("mul sin", &[y, tables], half, wide, Back::Fresh);
        let out = tape.run(name, &[straight, crossed], half, wide, Back::Through);
        tape.drop(straight);
        tape.drop(crossed);
        out
    });
    let out = tape.run("cat", &turned, whole, wide, Back::Views);
    for done in [turned[0], turned[1], first, second, head] {
        tape.drop(done);
    }
    out
}

/// `x·cos + rotate_half(x)·sin`: keeps only the tables, which are counted once for all layers.
fn rotate(tape: &mut Tape, projected: Var, (table, samples): (Dtype, Samples), attention: &Attention) -> Var {
    let rotary = attention.rotary;
    let whole = tape.shape(projected);
    let width = if rotary == Rotary::Partial { Symbol::Dr } else { Symbol::D };
    let shape = whole.with_last(Dim::Sym(width));
    let half = shape.with_last(Dim::Over(width, 2));
    let wide = if table == Dtype::Fp32 { Dtype::Fp32 } else { tape.dtype(projected) };
    // [b, a, s, d] here, [b, s, a·d] in the projection: the gradient is copied on its way back.
    let head = tape.view("transpose", projected, whole, Back::Fresh);
    let (x, passed) = if rotary == Rotary::Partial {
        let rest = whole.with_last(Dim::Sym(Symbol::Dn));
        (tape.view("slice", head, shape, Back::Fresh), Some(tape.view("slice", head, rest, Back::Fresh)))
    } else {
        (head, None)
    };
    let tables = tape.foreign(rotary_table(width, attention.tables, samples), table, false);
    let straight = tape.run("mul cos", &[x, tables], shape, wide, Back::Fresh);
    let first = tape.view("slice", x, half, Back::Fresh);
    let second = tape.view("slice", x, half, Back::Fresh);
    let dtype = tape.dtype(x);
    let negated = tape.run("neg", &[second], half, dtype, Back::Fresh);
    let turned = tape.run("cat", &[negated, first], shape, dtype, Back::Views);
    for done in [negated, first, second] {
        tape.drop(done);
    }
    let crossed = tape.run("mul sin", &[turned, tables], shape, wide, Back::Fresh);
    tape.drop(turned);
    let out = tape.run("add", &[straight, crossed], shape, wide, Back::Through);
    tape.drop(straight);
    tape.drop(crossed);
    let own = tape.dtype(projected);
    let out = if attention.tables.fp32() && own != wide {
        replace(tape, out, |tape, x| tape.run("cast", &[x], shape, own, Back::Through))
    } else {
        out
    };
    let wide = tape.dtype(out);
    let out = match (rotary, passed) {
        (Rotary::Joined, _) => replace(tape, out, |tape, x| tape.run("cat", &[x], shape, wide, Back::Views)),
        (_, Some(passed)) => {
            let joined = tape.run("cat", &[out, passed], whole, wide, Back::Views);
            tape.drop(out);
            tape.drop(passed);
            tape.drop(head);
            joined
        }
        _ => out,
    };
    tape.drop(x);
    out
}
