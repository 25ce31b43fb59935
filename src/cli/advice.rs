//! `--suggest`, `--max`, `--compare`: what the doctor says in place of the report.

use super::args::{Args, Format};
use crate::config::{Config, Units};
use crate::doctor::{Case, Comparison, Consultation, Largest};
use crate::text::{Lang, cli as text};

/// What is printed.
pub(super) struct Advice {
    pub(super) printed: String,
    /// The largest value was asked for, and there is none.
    pub(super) none_fits: bool,
}

/// The answer to what was asked of the doctor; `None`: nothing was.
///
/// # Errors
/// A sentence that says why there is no answer.
pub(super) fn print(args: &Args, config: &Config, lang: Lang, units: Units) -> Result<Option<Advice>, String> {
    if !args.suggest && args.max.is_none() && args.compare.is_none() {
        return Ok(None);
    }
    let json = match args.format {
        Format::Table => false,
        Format::Json => true,
        _ => return Err(text::NO_SUCH_FORMAT.get(lang).to_owned()),
    };
    let mut none_fits = false;
    let printed = if let Some(variable) = &args.max {
        let largest = Largest::of(config, variable);
        none_fits = largest.tight.is_none();
        if json { largest.json() } else { largest.table(lang) }
    } else if let Some(link) = &args.compare {
        let comparison = Comparison::of(config, &Config::from_link(link).config).map_err(|problems| {
            let messages: Vec<String> = problems.iter().map(|problem| problem.message(lang)).collect();
            messages.join("; ")
        })?;
        if json { comparison.json() } else { comparison.table(lang, units) }
    } else {
        let case = Case::of(config).map_err(|problems| {
            problems.iter().map(|problem| problem.message(lang)).collect::<Vec<_>>().join("; ")
        })?;
        let consultation = Consultation::complete(case);
        if json { consultation.json(lang) } else { consultation.table(lang, units) }
    };
    Ok(Some(Advice { printed, none_fits }))
}
