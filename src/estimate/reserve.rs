//! What the caching allocator reserves: found by replaying whole steps, not by a factor.

use super::setup::flag;
use super::{Band, Estimate, Ground, totals};
use crate::allocator::{self, Card, Order};
use crate::architecture::Architecture;
use crate::config::{Config, Problem};
use crate::ledger::Parts;

/// How what the allocator reserves is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reserve {
    /// By the band that is typical of runs: at once.
    #[default]
    Typical,
    /// By [`refine`].
    Replayed,
}

/// [`super::of`], with what is reserved found in this way.
pub fn of_with(model: &Architecture, config: &Config, reserve: Reserve) -> Estimate {
    let mut estimate = super::of(model, config);
    if reserve == Reserve::Replayed {
        refine(model, config, &mut estimate);
    }
    estimate
}

/// [`super::estimate()`], and [`refine`]d.
///
/// # Errors
/// As [`super::estimate()`].
pub fn refined(config: &Config) -> Result<Estimate, Vec<Problem>> {
    let model = Architecture::of(config)?;
    Ok(of_with(&model, config, Reserve::Replayed))
}

/// Replaces the estimate's bands of what is reserved, and all that follows from them, by what a replay of the allocator
/// finds. It takes some hundred times as long as the estimate itself.
///
/// Expected is what a training program gets that makes its optimizer states at the end of the first step; the band spans
/// this and a program that has them from the start, and 5 % on each side: of 396 runs of the real allocator at full
/// model size, 99 % are within 5 % of the replay (half of them within 0.2 %).
pub fn refine(model: &Architecture, config: &Config, estimate: &mut Estimate) {
    // Of what does not fit at all, the reader asks how much it would take.
    let room = totals::capacity(config).saturating_sub(totals::CONTEXT);
    let room = if estimate.allocated > room { u64::MAX } else { room };
    let replay = |order| replay(model, config, room, order);
    let Some((usual, resident)) = replay(Order::Training).zip(replay(Order::StatesFirst)) else { return };
    let twentieth = |bytes: u64| bytes / 20;
    let (least, most) = (usual.min(resident), usual.max(resident));
    let band = Band {
        low: least.saturating_sub(twentieth(least)).max(estimate.allocated),
        expected: usual,
        high: most.saturating_add(twentieth(most)),
    };
    adopt(config, estimate, band);
}

/// Takes over what a replay found for this very configuration.
pub fn adopt(config: &Config, estimate: &mut Estimate, reserved: Band) {
    estimate.reserved = reserved;
    estimate.device = totals::device(&estimate.reserved);
    // Only a run without a pipeline is replayed.
    if let [stage] = estimate.stages.as_mut_slice() {
        stage.device = estimate.device;
    }
    estimate.fits = totals::fit(config, &estimate.device);
}

/// Bytes that PyTorch's caching allocator reserves on a card with endless room, for a step before which the optimizer's
/// states are there and nothing is cached.
///
/// `None` where it is not known what runs, or more than a model's own step runs on a rank.
pub fn replay_one_step(model: &Architecture, config: &Config) -> Option<u64> {
    replay(model, config, u64::MAX, Order::StatesFirst)
}

fn replay(model: &Architecture, config: &Config, room: u64, order: Order) -> Option<u64> {
    let ground = Ground::of(model, config);
    let Ground { layout, setup, symbols, plan, .. } = &ground;
    let [stage] = layout.stages.as_slice() else { return None };
    let chunk = stage.chunks.first().filter(|_| ground.modelled && config.gpus <= 1)?;
    let exchanged = symbols.exchanged();
    let parts = Parts::of(ground.model(model), [symbols, &exchanged], plan, layout);
    let job = ground.job(model, config, Some(&parts));
    let rank = job.rank(stage);
    let workspaces = totals::workspaces(totals::card(config), setup.megatron.as_ref());
    let card = Card { room, expandable: flag(config, "expandable_segments") };
    let lasting = rank.lasting(&workspaces);
    Some(allocator::reserved((&parts, plan, chunk), &lasting, card, order))
}
