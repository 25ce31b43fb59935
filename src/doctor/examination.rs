//! Every single change and the best pairs, each asked of the estimator.

use super::compare::difference;
use super::{Case, Change, Outcome, Price, Reason, changes};
use crate::config::{Config, Key};

/// Some changes, and what comes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Prescription {
    /// What is changed.
    pub changes: Vec<Change>,
    /// The keys that differ then, and their values (empty: the default).
    pub settings: Vec<(Key, String)>,
    /// Fewer live tensors at the peak (bytes; negative: more).
    pub saved: i64,
    /// Less on the device, as expected (bytes).
    pub device_saved: i64,
    /// The answer then.
    pub outcome: Outcome,
}

impl Prescription {
    /// Makes the changes; `None` where [`Case::answer`] has no answer to them.
    pub fn of(case: &Case, changes: &[Change]) -> Option<Self> {
        let config = Change::all(case.config(), changes);
        case.judged(&config).map(|outcome| Self::with(case, changes, &config, outcome))
    }

    /// The same without a verdict as a report gives it.
    fn sketch(case: &Case, changes: &[Change]) -> Option<Self> {
        let config = Change::all(case.config(), changes);
        case.outcome(&config).map(|outcome| Self::with(case, changes, &config, outcome))
    }

    fn with(case: &Case, changes: &[Change], config: &Config, outcome: Outcome) -> Self {
        let now = case.estimate();
        Self {
            changes: changes.to_vec(),
            settings: case.config().changes(config),
            saved: difference(outcome.peak, now.peak.bytes),
            device_saved: difference(outcome.device.expected, now.device.expected),
            outcome,
        }
    }

    /// Whether anything is saved.
    pub fn saves(&self) -> bool {
        self.saved > 0 || (self.saved == 0 && self.device_saved > 0)
    }

    /// The dearest of its prices.
    pub fn price(&self) -> Price {
        self.changes.iter().map(|change| change.remedy.price).max().unwrap_or(Price::Free)
    }

    /// Whether the saving is worth a line.
    fn matters(&self) -> bool {
        let peak = self.outcome.peak.saturating_add_signed(self.saved);
        self.saves() && self.saved.max(self.device_saved).unsigned_abs() > peak / TRIFLE
    }

    const fn rank(&self) -> (i64, i64) {
        (self.saved, self.device_saved)
    }
}

/// A change that people reach for and that saves nothing here.
#[derive(Clone, Debug, PartialEq)]
pub struct Useless {
    /// Which.
    pub change: Change,
    /// The key that it sets.
    pub settings: Vec<(Key, String)>,
    /// Why.
    pub reason: Reason,
}

/// A smaller part of the peak is less than what the caching allocator's rounding moves.
const TRIFLE: u64 = 1000;
/// How many pairs are kept.
const PAIRS: usize = 6;

/// All single changes, then all pairs of those that can be made.
#[derive(Debug)]
pub struct Examination {
    todo: Vec<Change>,
    next: usize,
    pairs: Vec<(Change, Change)>,
    next_pair: usize,
    valid: Vec<Prescription>,
    singles: Vec<Prescription>,
    best: Vec<Prescription>,
    useless: Vec<Useless>,
}

impl Examination {
    /// Nothing is asked yet.
    pub fn new(case: &Case) -> Self {
        Self {
            todo: changes(case.config()),
            next: 0,
            pairs: Vec::new(),
            next_pair: 0,
            valid: Vec::new(),
            singles: Vec::new(),
            best: Vec::new(),
            useless: Vec::new(),
        }
    }

    /// Goes on for at most so many estimates; whether all is done.
    pub fn advance(&mut self, case: &Case, estimates: usize) -> bool {
        let mut left = estimates;
        while left > 0 {
            left = left.saturating_sub(if self.next < self.todo.len() { case.effort() } else { 1 });
            if let Some(change) = self.todo.get(self.next).copied() {
                self.next += 1;
                self.single(case, change);
                if self.next == self.todo.len() {
                    self.finish_singles();
                }
            } else if let Some(pair) = self.pairs.get(self.next_pair).copied() {
                self.next_pair += 1;
                self.pair(case, pair);
                if self.next_pair == self.pairs.len() {
                    self.judge_pairs(case);
                }
            } else {
                return true;
            }
        }
        self.is_done()
    }

    /// Whether all is asked.
    pub fn is_done(&self) -> bool {
        self.next == self.todo.len() && self.next_pair == self.pairs.len()
    }

    /// Single changes that save something, the most first; of one remedy the mildest that fits, else the strongest.
    pub fn singles(&self) -> &[Prescription] {
        &self.singles
    }

    /// The pairs that save most, and more than either of their changes alone.
    pub fn pairs(&self) -> &[Prescription] {
        &self.best
    }

    /// Changes that people reach for and that save nothing here.
    pub fn useless(&self) -> &[Useless] {
        &self.useless
    }

    fn single(&mut self, case: &Case, change: Change) {
        let Some(found) = Prescription::of(case, &[change]) else { return };
        let said = self.says_useless(change) || !change.is_seen(case.reserve());
        if !found.saves() && change.remedy.common && !said {
            let config = Change::all(case.config(), &[change]);
            if let Some(after) = case.answer(&config) {
                let reason = Reason::of(case.estimate(), &after);
                self.useless.push(Useless { change, settings: found.settings.clone(), reason });
            }
        }
        self.valid.push(found);
    }

    /// Of a remedy with a number, one is enough.
    fn says_useless(&self, change: Change) -> bool {
        self.useless.iter().any(|useless| std::ptr::eq(useless.change.remedy, change.remedy))
    }

    fn finish_singles(&mut self) {
        for found in &self.valid {
            match self.singles.iter_mut().find(|kept| remedy(kept) == remedy(found)) {
                Some(kept) if better(found, kept) => *kept = found.clone(),
                Some(_) => {}
                None => self.singles.push(found.clone()),
            }
        }
        self.pair_up();
        self.useless.retain(|useless| {
            let saves =
                |found: &Prescription| found.saves() && remedy(found) == Some(useless.change.remedy.id);
            !self.singles.iter().any(saves)
        });
        self.singles.retain(Prescription::matters);
        self.singles.sort_by_key(|found| std::cmp::Reverse(found.rank()));
    }

    /// Pairs of different remedies, one number of each.
    fn pair_up(&mut self) {
        let mut rest = self.singles.iter().filter_map(|found| found.changes.first().copied());
        while let Some(first) = rest.next() {
            let others = rest.clone().filter(|second| !first.excludes(second));
            self.pairs.extend(others.map(|second| (first, second)));
        }
    }

    fn pair(&mut self, case: &Case, (first, second): (Change, Change)) {
        let Some(found) = Prescription::sketch(case, &[first, second]) else { return };
        let peak = found.outcome.peak.saturating_add_signed(found.saved);
        let alone = |change: Change| {
            self.valid.iter().find(|found| found.changes == [change]).map_or(0, |found| found.saved)
        };
        let most = alone(first).max(alone(second)).max(0);
        if found.saved > most && found.saved.unsigned_abs() > peak / TRIFLE {
            let place =
                self.best.iter().position(|other| other.saved < found.saved).unwrap_or(self.best.len());
            self.best.insert(place, found);
            self.best.truncate(PAIRS);
        }
    }
}

impl Examination {
    /// The pairs that are shown get the verdict that a report gives.
    fn judge_pairs(&mut self, case: &Case) {
        for pair in &mut self.best {
            if let Some(judged) = Prescription::of(case, &pair.changes) {
                *pair = judged;
            }
        }
    }
}

/// Which remedy a single change is.
fn remedy(single: &Prescription) -> Option<&'static str> {
    single.changes.first().map(|change| change.remedy.id)
}

/// Of one remedy with two numbers: what fits goes before what does not, then the milder (which came first), then what
/// saves more.
fn better(found: &Prescription, kept: &Prescription) -> bool {
    let (fits, fitted) = (found.outcome.fits.verdict as u8, kept.outcome.fits.verdict as u8);
    let none = crate::estimate::Verdict::No as u8;
    fits < fitted || (fits == none && fitted == none && found.rank() > kept.rank())
}
