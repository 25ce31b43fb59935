//! Everything that the doctor has to say of one configuration.

use super::{Case, Examination, Fleet, Largest, Search};
use crate::config::Method;
use crate::sweep::{BATCH, LORA_RANK, SEQ, Variable};

/// The examination, the search for the cheapest set, and the fewest GPUs, one after the other.
#[derive(Debug)]
pub struct Consultation {
    /// The configuration.
    pub case: Case,
    /// Single changes and pairs.
    pub examination: Examination,
    /// The cheapest set that fits.
    pub search: Search,
    /// The fewest GPUs.
    pub fleet: Fleet,
    largest: Vec<Largest>,
}

/// Estimates between two looks at whether all is done, where nothing else waits.
const AT_ONCE: usize = 1 << 12;

impl Consultation {
    /// Nothing is asked yet.
    pub fn new(case: Case) -> Self {
        let (examination, search, fleet) = (Examination::new(&case), Search::new(&case), Fleet::new(&case));
        Self { case, examination, search, fleet, largest: Vec::new() }
    }

    /// Goes on for at most so many estimates; whether all is done.
    pub fn advance(&mut self, estimates: usize) -> bool {
        if !self.examination.is_done() {
            self.examination.advance(&self.case, estimates);
        } else if !self.search.is_done() {
            self.search.advance(&self.case, estimates);
        } else if let Some(variable) = self.variables().get(self.largest.len()) {
            self.largest.push(Largest::of(self.case.config(), variable, self.case.reserve()));
        } else {
            return self.fleet.advance(&self.case, estimates);
        }
        false
    }

    /// The largest micro-batch, sequence and rank that fit.
    pub fn largest(&self) -> &[Largest] {
        &self.largest
    }

    /// The keys that can be as large as fits.
    fn variables(&self) -> &'static [Variable] {
        const ALL: &[Variable] = &[BATCH, SEQ, LORA_RANK];
        match self.case.config().method {
            Method::Lora | Method::Qlora => ALL,
            Method::Full | Method::Freeze => ALL.split_at(2).0,
        }
    }

    /// Whether all but the fewest GPUs is known.
    pub fn knows_all_but_the_fleet(&self) -> bool {
        self.search.is_done() && self.largest.len() == self.variables().len()
    }

    /// All at once.
    pub fn complete(case: Case) -> Self {
        let mut consultation = Self::new(case);
        while !consultation.advance(AT_ONCE) {}
        consultation
    }
}
