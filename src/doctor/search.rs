//! The cheapest set of changes that fits.
//!
//! Sets are asked in the order of their price: by the dearest change first, then the next dearest, and so on, so that
//! of two sets the one is cheaper whose dearest change is, and one with a change left out always is. Of equally cheap
//! ones the one is best that has the lowest peak; so the few with the lowest peaks are judged, first the lowest.

use super::{Case, Change, Outcome, Prescription, changes};
use crate::estimate::Verdict;

/// Changes in one set at most.
pub const MOST_CHANGES: usize = 4;
/// Equally cheap sets that are judged, those with the lowest peaks.
pub const JUDGED: usize = 3;

/// The sets that are asked, and what was found.
#[derive(Debug)]
pub struct Search {
    choices: Vec<Change>,
    sets: Vec<Set>,
    next: usize,
    /// Of the sets of the present price: those with the lowest peaks, the lowest first.
    lowest: Vec<(u64, Vec<Change>)>,
    sure: Option<Prescription>,
    tight: Option<Prescription>,
}

/// Which choices, by index; `u8::MAX` is none.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// Prices from the dearest to the cheapest, a byte each.
    price: u32,
    members: [u8; MOST_CHANGES],
}

impl Search {
    /// All sets of up to [`MOST_CHANGES`] changes that people reach for; nothing is asked yet, and nothing will be
    /// where the configuration fits as it is.
    pub fn new(case: &Case) -> Self {
        let mut choices = changes(case.config());
        choices.retain(|change| change.remedy.common);
        choices.retain(|change| case.outcome(&Change::all(case.config(), &[*change])).is_some());
        choices.truncate(usize::from(u8::MAX));
        let mut sets = Vec::new();
        if case.estimate().fits.verdict != Verdict::Yes {
            extend(&choices, &mut Vec::new(), 0, &mut sets);
            sets.sort_by_key(|set| set.price);
        }
        Self { choices, sets, next: 0, lowest: Vec::new(), sure: None, tight: None }
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Goes on for at most so many estimates; whether the search is over.
    pub fn advance(&mut self, case: &Case, estimates: usize) -> bool {
        let mut left = estimates;
        while left > 0 && !self.is_done() {
            left = left.saturating_sub(1 + self.ask(case) * case.effort());
        }
        self.is_done()
    }

    /// Asks the next set, and judges those of its price where it is the last; how many were judged.
    fn ask(&mut self, case: &Case) -> usize {
        let Some(set) = self.sets.get(self.next).copied() else { return 0 };
        self.next += 1;
        let changes = self.changes(set);
        let config = Change::all(case.config(), &changes);
        if !case.is_hopeless(&config)
            && let Some(outcome) = case.outcome(&config)
        {
            self.note(&outcome, changes);
        }
        let goes_on = self.sets.get(self.next).is_some_and(|next| next.price == set.price);
        if goes_on { 0 } else { self.judge(case) }
    }

    fn note(&mut self, outcome: &Outcome, changes: Vec<Change>) {
        if outcome.is_hopeless() {
            return;
        }
        let place = self.lowest.iter().position(|(peak, _)| *peak > outcome.peak);
        let place = place.unwrap_or(self.lowest.len());
        self.lowest.insert(place, (outcome.peak, changes));
        self.lowest.truncate(JUDGED);
    }

    fn judge(&mut self, case: &Case) -> usize {
        let mut judged = 0;
        for (_, changes) in std::mem::take(&mut self.lowest) {
            let Some(found) = Prescription::of(case, &changes) else { continue };
            judged += 1;
            if self.tight.is_none() && found.outcome.is_at_worst(Verdict::Tight) {
                self.tight = Some(found.clone());
            }
            if found.outcome.is_at_worst(Verdict::Yes) {
                self.sure = Some(found);
                self.next = self.sets.len();
                break;
            }
        }
        judged
    }

    /// Whether the search is over.
    pub fn is_done(&self) -> bool {
        self.next == self.sets.len()
    }

    /// The cheapest set with which even the high end of the device band fits, as far as was asked.
    pub fn sure(&self) -> Option<&Prescription> {
        self.sure.as_ref()
    }

    /// The cheapest set with which the expected total fits.
    pub fn tight(&self) -> Option<&Prescription> {
        self.tight.as_ref()
    }

    fn changes(&self, set: Set) -> Vec<Change> {
        set.members.iter().filter_map(|index| self.choices.get(usize::from(*index)).copied()).collect()
    }
}

/// Adds every set that begins with `chosen` and goes on with choices from `from`.
fn extend(choices: &[Change], chosen: &mut Vec<u8>, from: usize, sets: &mut Vec<Set>) {
    for (index, choice) in choices.iter().enumerate().skip(from) {
        let excluded = chosen.iter().any(|other| choices[usize::from(*other)].excludes(choice));
        let Ok(member) = u8::try_from(index) else { return };
        if excluded {
            continue;
        }
        chosen.push(member);
        sets.push(Set::of(choices, chosen));
        if chosen.len() < MOST_CHANGES {
            extend(choices, chosen, index + 1, sets);
        }
        chosen.pop();
    }
}

impl Set {
    fn of(choices: &[Change], chosen: &[u8]) -> Self {
        let mut prices: Vec<u8> =
            chosen.iter().map(|index| choices[usize::from(*index)].remedy.price as u8).collect();
        prices.sort_unstable_by(|a, b| b.cmp(a));
        prices.resize(MOST_CHANGES, 0);
        let price = prices.iter().fold(0, |sum, price| sum << 8 | u32::from(*price));
        let mut members = [u8::MAX; MOST_CHANGES];
        for (member, index) in members.iter_mut().zip(chosen) {
            *member = *index;
        }
        Self { price, members }
    }
}
