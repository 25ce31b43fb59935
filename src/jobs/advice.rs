//! What the doctor says of a configuration, a few estimates at a time.

use super::{Step, Task};
use crate::config::{Config, Problem, Units};
use crate::doctor::{Case, Comparison, Consultation};
use crate::estimate::Reserve;
use crate::text::Lang;
use serde_json::json;

/// Estimates in one step: a few milliseconds on a slow machine.
const ESTIMATES: usize = 32;

/// Starts an examination.
pub(super) fn begin(lang: Lang, units: Units, link: &str) -> Box<dyn Task> {
    match Case::of(&Config::from_link(link).config, Reserve::Replayed) {
        Ok(case) => Box::new(Advice { consultation: Consultation::new(case), lang, units, told: false }),
        Err(problems) => {
            let error = error(&problems, lang);
            super::at_once(move || error)
        }
    }
}

struct Advice {
    consultation: Consultation,
    lang: Lang,
    units: Units,
    /// What is found first was told.
    told: bool,
}

impl Task for Advice {
    fn step(&mut self) -> Step {
        if self.consultation.advance(ESTIMATES) {
            return Step::Done(self.consultation.json(self.lang, self.units));
        }
        if !self.told && self.consultation.knows_all_but_the_fleet() {
            self.told = true;
            return Step::Progress(self.consultation.json(self.lang, self.units));
        }
        Step::More
    }
}

/// Both configurations' answers, key by key and tensor by tensor.
pub(super) fn compare(lang: Lang, before: &str, after: &str) -> String {
    let (before, after) = (Config::from_link(before).config, Config::from_link(after.trim()).config);
    match Comparison::of(&before, &after, Reserve::Replayed) {
        Ok(comparison) => comparison.json(),
        Err(problems) => error(&problems, lang),
    }
}

fn error(problems: &[Problem], lang: Lang) -> String {
    let messages: Vec<String> = problems.iter().map(|problem| problem.message(lang)).collect();
    json!({ "error": messages.join("; ") }).to_string()
}
