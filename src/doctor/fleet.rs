//! The fewest GPUs of each kind that hold a configuration, and how they share the work.

use super::Case;
use crate::config::{Config, DataParallel, Gpu, Key, gpus};
use crate::estimate::{Fit, Verdict};

/// How many of one card are enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Which card.
    pub gpu: &'static Gpu,
    /// How many.
    pub gpus: u64,
    /// The keys that differ then, the card and the count left out.
    pub layout: Vec<(Key, String)>,
    /// How it fits.
    pub fits: Fit,
}

/// Asks layout by layout on more and more GPUs.
#[derive(Debug)]
pub struct Fleet {
    /// Cards that are not served yet, those for which the estimator says the same together.
    kinds: Vec<Vec<&'static Gpu>>,
    layouts: Vec<Config>,
    /// Of `COUNTS`.
    count: usize,
    layout: usize,
    kind: usize,
    found: Vec<Need>,
}

/// Counts that are tried: parts of a node, whole nodes, doublings.
const COUNTS: [u64; 17] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];

/// Ways to share the work among replicas, from the least communication to the most.
const STRATEGIES: [DataParallel; 6] = [
    DataParallel::Ddp,
    DataParallel::Zero1,
    DataParallel::Zero2,
    DataParallel::FsdpGradOp,
    DataParallel::Zero3,
    DataParallel::Fsdp,
];

impl Fleet {
    /// For every card of the catalogue; nothing is asked yet but which cards differ only in their memory.
    pub fn new(case: &Case) -> Self {
        let mut kinds: Vec<(u64, Vec<&'static Gpu>)> = Vec::new();
        for card in gpus() {
            // What a card changes of the estimate beside its capacity is the same for every layout.
            let Some(outcome) = case.outcome(&on(case.config(), card)) else { continue };
            match kinds.iter_mut().find(|(device, _)| *device == outcome.device.high) {
                Some((_, kind)) => kind.push(card),
                None => kinds.push((outcome.device.high, vec![card])),
            }
        }
        let mut kinds: Vec<_> = kinds.into_iter().map(|(_, kind)| kind).collect();
        for kind in &mut kinds {
            kind.sort_by_key(|card| std::cmp::Reverse(card.usable()));
        }
        let layouts = layouts(case.config(), COUNTS[0]);
        Self { kinds, layouts, count: 0, layout: 0, kind: 0, found: Vec::new() }
    }

    /// Goes on for at most so many estimates; whether all is done.
    pub fn advance(&mut self, case: &Case, estimates: usize) -> bool {
        for _ in 0..estimates {
            if self.is_done() {
                return true;
            }
            if !self.serves_one(case) {
                self.step(case);
            }
        }
        self.is_done()
    }

    /// Whether every card is served, or no count is left.
    pub fn is_done(&self) -> bool {
        self.count >= COUNTS.len() || self.kinds.iter().all(Vec::is_empty)
    }

    /// What was found: few GPUs first.
    pub fn found(&self) -> &[Need] {
        &self.found
    }

    /// Asks the layout on the largest card of the kind that is left: where it does not fit, it fits no smaller one.
    fn serves_one(&mut self, case: &Case) -> bool {
        let Some(layout) = self.layouts.get(self.layout) else { return false };
        let largest = self.kinds.iter().flatten().copied().max_by_key(|card| card.usable());
        let last = self.kinds.len();
        let Some(kind) = self.kinds.get_mut(self.kind) else { return false };
        let Some(&gpu) = kind.first() else { return false };
        let config = on(layout, gpu);
        // Tensors are the same on every card: of what is more than the largest has, no kind needs to be asked.
        if largest.is_some_and(|largest| case.is_hopeless(&on(layout, largest))) {
            self.kind = last;
            return false;
        }
        if case.outcome(&config).is_none_or(|outcome| outcome.is_hopeless()) {
            return false;
        }
        let outcome = case.judged(&config).filter(|outcome| outcome.is_at_worst(Verdict::Yes));
        let Some(outcome) = outcome else { return false };
        kind.remove(0);
        let layout_of = |(key, _): &(Key, String)| !matches!(key, Key::Gpu | Key::GpuMemory | Key::Gpus);
        let settings = case.config().changes(layout).into_iter().filter(layout_of).collect();
        self.found.push(Need { gpu, gpus: layout.gpus, layout: settings, fits: outcome.fits });
        true
    }

    /// The next kind of card, layout, count.
    fn step(&mut self, case: &Case) {
        self.kind += 1;
        if self.kind >= self.kinds.len() {
            self.kind = 0;
            self.layout += 1;
        }
        if self.layout >= self.layouts.len() {
            self.layout = 0;
            self.count += 1;
            let count = COUNTS.get(self.count);
            self.layouts = count.map_or_else(Vec::new, |count| layouts(case.config(), *count));
        }
    }
}

/// The same on another card.
fn on(config: &Config, card: &Gpu) -> Config {
    Config { gpu: Some(card.id.to_owned()), gpu_memory: None, ..config.clone() }
}

/// Parts that a model is split into along one direction.
const DEGREES: [u64; 5] = [1, 2, 4, 8, 16];

/// Ranks among which experts are shared out: whole experts on each, in powers of two and as it is. A model without
/// experts has one.
fn expert_degrees(config: &Config) -> Vec<u64> {
    let Some(experts) = config.experts() else { return vec![config.ep] };
    let mut degrees: Vec<u64> = (0..=6).map(|power| 1 << power).chain([config.ep]).collect();
    degrees.retain(|ep| experts.is_multiple_of(*ep));
    degrees.sort_unstable();
    degrees.dedup();
    degrees
}

/// The ways in which so many GPUs can share a model, those with the least communication first.
fn layouts(config: &Config, gpus: u64) -> Vec<Config> {
    let mut splits = Vec::new();
    for tp in DEGREES.into_iter().filter(|tp| *tp <= config.gpus_per_node) {
        for pp in DEGREES {
            for cp in DEGREES {
                let parts = tp * pp * cp;
                if !gpus.is_multiple_of(parts) {
                    continue;
                }
                for ep in expert_degrees(config) {
                    if gpus.is_multiple_of(config.etp.saturating_mul(ep).saturating_mul(pp).max(1)) {
                        splits.push((parts, tp, pp, cp, ep));
                    }
                }
            }
        }
    }
    splits.sort_unstable();
    let layout = |(parts, tp, pp, cp, ep): (u64, u64, u64, u64, u64), data_parallel| Config {
        gpus,
        tp,
        sp: tp > 1,
        pp,
        vpp: if pp > 1 { config.vpp } else { 1 },
        cp,
        ep,
        data_parallel: if parts == gpus { DataParallel::Ddp } else { data_parallel },
        ..config.clone()
    };
    let mut all: Vec<Config> = Vec::new();
    for split in splits {
        // One replica has nobody to share with.
        let strategies = if split.0 == gpus { 1 } else { STRATEGIES.len() };
        all.extend(STRATEGIES.into_iter().take(strategies).map(|strategy| layout(split, strategy)));
    }
    all
}
