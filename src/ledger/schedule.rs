//! Pipeline schedules: how many micro-batches have passed a rank's chunks forward but not yet backward.

use crate::config::Schedule;

/// One run through a chunk, and what waits meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Which chunk of the rank runs.
    pub(crate) chunk: usize,
    /// Forward or backward.
    pub(crate) backward: bool,
    /// How many other micro-batches wait for their backward, for each chunk of the rank.
    pub(crate) waiting: Vec<u64>,
}

/// Turns in which the most may wait, of one rank of a pipeline of `pp` ranks with `vpp` chunks each.
///
/// - `GPipe` (Huang et al. 2019, arXiv:1811.06965): every forward before the first backward.
/// - 1F1B (Narayanan et al. 2021, arXiv:2104.04473; Megatron, `schedules.py`,
///   `forward_backward_pipelining_without_interleaving`): `pp − rank` micro-batches, or all when there are fewer.
/// - Interleaved (the same, `get_pp_rank_microbatches`): `2(pp − rank − 1) + (vpp − 1)·pp` chunks warm up, and one runs.
/// - Zero bubble (Qi et al. 2024, arXiv:2401.10241, ZB-H1): weight gradients wait, so that every rank keeps what the first
///   one keeps under 1F1B.
pub(crate) fn turns(schedule: Schedule, rank: u64, pp: u64, vpp: u64, micro_batches: u64) -> Vec<Turn> {
    let all = micro_batches.max(1);
    if vpp > 1 {
        return interleaved(rank, pp, vpp, all, schedule == Schedule::Gpipe);
    }
    let flight = match schedule {
        // No pipeline: one micro-batch after another.
        _ if pp == 1 => 1,
        Schedule::Gpipe => all,
        Schedule::OneFOneB | Schedule::Interleaved => all.min(pp - rank.min(pp - 1)),
        Schedule::ZeroBubble => all.min(pp),
    };
    let turn = |backward| Turn { chunk: 0, backward, waiting: vec![flight - 1] };
    vec![turn(false), turn(true)]
}

/// More moments of one round than these are not looked at one by one: what waits changes by one chunk at a time.
const MOMENTS: u64 = 64;

#[inline(never)] // apart: a first visit has none
fn interleaved(rank: u64, pp: u64, vpp: u64, micro_batches: u64, all_first: bool) -> Vec<Turn> {
    let round = pp.saturating_mul(vpp);
    let total = micro_batches.saturating_mul(vpp);
    let warmup = if all_first {
        total.saturating_sub(1)
    } else {
        ((pp - 1 - rank.min(pp - 1)) * 2 + (vpp - 1) * pp).min(total.saturating_sub(1))
    };
    // So many of the first n runs are of this chunk: a round takes pp micro-batches through one chunk after another.
    let passed = |n: u64, chunk: u64| n / round * pp + (n % round).saturating_sub(chunk * pp).min(pp);
    let waiting = |ahead: u64, behind: u64| -> Vec<u64> {
        let of = |chunk| passed(ahead, chunk).saturating_sub(passed(behind, vpp - 1 - chunk));
        (0..vpp).map(of).collect()
    };
    let mut turns = Vec::new();
    let step = usize::try_from((round / MOMENTS).max(1)).unwrap_or(usize::MAX);
    // The last round of the warm-up, and one of what follows: one forward, one backward …
    for ahead in (warmup.saturating_sub(round)..total.min(warmup + round)).step_by(step) {
        add(&mut turns, ahead % round / pp, false, waiting(ahead, ahead.saturating_sub(warmup)));
    }
    // … and, where forwards end, backwards alone.
    for behind in (0..total.min(round)).step_by(step) {
        let chunk = vpp - 1 - behind % round / pp;
        let mut others = waiting(total.min(behind + warmup + 1), behind);
        if let Some(own) = usize::try_from(chunk).ok().and_then(|chunk| others.get_mut(chunk)) {
            *own = own.saturating_sub(1);
        }
        add(&mut turns, chunk, true, others);
    }
    turns
}

fn add(turns: &mut Vec<Turn>, chunk: u64, backward: bool, waiting: Vec<u64>) {
    let turn = Turn { chunk: usize::try_from(chunk).unwrap_or(0), backward, waiting };
    if !turns.contains(&turn) {
        turns.push(turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(schedule: Schedule, rank: u64, pp: u64, vpp: u64, micro_batches: u64) -> u64 {
        let turns = turns(schedule, rank, pp, vpp, micro_batches);
        turns.iter().map(|turn| turn.waiting.iter().sum::<u64>() + 1).max().unwrap_or(0)
    }

    #[test]
    fn each_schedule_keeps_what_its_paper_says() {
        assert_eq!(most(Schedule::Gpipe, 3, 4, 1, 8), 8);
        assert_eq!(
            (0..4).map(|rank| most(Schedule::OneFOneB, rank, 4, 1, 8)).collect::<Vec<_>>(),
            [4, 3, 2, 1]
        );
        assert_eq!(most(Schedule::OneFOneB, 0, 4, 1, 2), 2);
        assert_eq!(most(Schedule::ZeroBubble, 3, 4, 1, 8), 4);
        // 2(p − r − 1) + (v − 1)p + 1
        assert_eq!(
            (0..4).map(|rank| most(Schedule::Interleaved, rank, 4, 2, 8)).collect::<Vec<_>>(),
            [11, 9, 7, 5]
        );
        assert_eq!(most(Schedule::Interleaved, 0, 1, 1, 8), 1);
        assert_eq!(most(Schedule::Gpipe, 0, 1, 1, 8), 1);
    }

    #[test]
    fn every_chunk_has_its_turn_forward_and_backward() {
        for (pp, vpp, micro_batches) in [(2, 2, 2), (4, 3, 8), (8, 5, 8), (3, 2, 3)] {
            for rank in 0..pp {
                let turns = turns(Schedule::Interleaved, rank, pp, vpp, micro_batches);
                for chunk in 0..usize::try_from(vpp).unwrap() {
                    for backward in [false, true] {
                        assert!(turns.iter().any(|turn| turn.chunk == chunk && turn.backward == backward));
                    }
                }
            }
        }
    }
}
