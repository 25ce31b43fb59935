//! Everything that the doctor has to say of one configuration.

use super::{Case, Examination, Fleet, Search};

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
}

/// Estimates between two looks at whether all is done, where nothing else waits.
const AT_ONCE: usize = 1 << 12;

impl Consultation {
    /// Nothing is asked yet.
    pub fn new(case: Case) -> Self {
        let (examination, search, fleet) = (Examination::new(&case), Search::new(&case), Fleet::new(&case));
        Self { case, examination, search, fleet }
    }

    /// Goes on for at most so many estimates; whether all is done.
    pub fn advance(&mut self, estimates: usize) -> bool {
        if !self.examination.is_done() {
            self.examination.advance(&self.case, estimates);
        } else if !self.search.is_done() {
            self.search.advance(&self.case, estimates);
        } else {
            return self.fleet.advance(&self.case, estimates);
        }
        false
    }

    /// All at once.
    pub fn complete(case: Case) -> Self {
        let mut consultation = Self::new(case);
        while !consultation.advance(AT_ONCE) {}
        consultation
    }
}
