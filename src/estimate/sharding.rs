//! Whether sharding pays: what an engine's buffers hold at the worst instant against what it takes away.

use super::rank::Rank;
use crate::config::{Config, Problem, ProblemKind};
use crate::ledger::Block;
use crate::ledger::engine::{Engine, Script};
use crate::text::estimate as words;
use crate::text::tensors;
use crate::timeline::{Buffers, Worst};
use crate::units::size;

/// A warning where the buffers are larger.
pub(super) fn raises(
    config: &Config,
    engine: &Engine,
    rank: &Rank,
    script: Option<&Script>,
    worst: &Worst,
    buffers: &Buffers,
) -> Option<Problem> {
    let script = script?;
    let others = engine.shards().saturating_sub(1);
    // What is in host memory is gone from here whatever the buffers.
    if others == 0 || engine.offloads().contains(&true) {
        return None;
    }
    let bucket = |tensor| std::ptr::eq(tensor, &raw const tensors::REDUCE_BUCKET);
    let counted = |block: Block, alive: &[u64], bucketed: bool| {
        let alive = script.buffers.iter().zip(alive).filter(|(buffer, _)| !buffer.between_parts);
        alive.fold(0_u64, |sum, (buffer, alive)| {
            let rows =
                buffer.rows.iter().filter(|row| (row.block == block) != (bucket(row.tensor) && bucketed));
            rows.fold(sum, |sum, row| sum.saturating_add(row.bytes.saturating_mul(*alive)))
        })
    };
    let made = counted(Block::Overhead, &worst.engine.alive, true).saturating_add(rank.bucket());
    let gradients = counted(Block::Gradients, &buffers.at_step, false);
    let [parameters, states, sharded_gradients] = engine.shares_of();
    let [stored_parameters, stored_states] = rank.stored();
    let mut taken = 0_u64;
    for (sharded, bytes) in
        [(parameters, stored_parameters), (states, stored_states), (sharded_gradients, gradients)]
    {
        if sharded {
            taken = taken.saturating_add(bytes.saturating_mul(others));
        }
    }
    (made > taken).then(|| Problem {
        key: "data_parallel".to_owned(),
        value: config.data_parallel.word().to_owned(),
        kind: ProblemKind::Fact {
            rule: words::SHARDING_RAISES,
            values: Box::new([
                ("made", size(made, config.page.units)),
                ("saved", size(taken, config.page.units)),
            ]),
        },
    })
}
