//! `--suggest`, `--max`, `--compare`: what the doctor says in place of the report.

use super::args::{Args, Format};
use crate::config::{Config, Problem, Units};
use crate::doctor::{Case, Comparison, Consultation, Largest};
use crate::estimate::Reserve;
use crate::text::{Lang, cli as text};

/// What is printed.
pub(super) struct Advice {
    pub(super) printed: String,
    /// The largest value was asked for, and there is none.
    pub(super) none_fits: bool,
}

/// The answer to what was asked of the doctor, or a sentence that says why there is none; `None`: nothing was asked.
pub(super) fn print(
    args: &Args,
    config: &Config,
    lang: Lang,
    units: Units,
) -> Option<Result<Advice, String>> {
    let format = match args.format {
        Format::Table => Ok(false),
        Format::Json => Ok(true),
        _ => Err(text::NO_SUCH_FORMAT.get(lang).to_owned()),
    };
    let printed = if args.suggest {
        format.and_then(|json| suggest(config, json, lang, units))
    } else if let Some(link) = &args.compare {
        format.and_then(|json| compare(config, link, json, lang, units))
    } else {
        let largest = Largest::of(config, args.max.as_ref()?, Reserve::Replayed);
        return Some(format.map(|json| Advice {
            printed: if json { largest.json() } else { largest.table(lang) },
            none_fits: largest.tight.is_none(),
        }));
    };
    Some(printed.map(|printed| Advice { printed, none_fits: false }))
}

fn suggest(config: &Config, json: bool, lang: Lang, units: Units) -> Result<String, String> {
    let case = Case::of(config, Reserve::Replayed).map_err(|problems| sentence(&problems, lang))?;
    let consultation = Consultation::complete(case);
    Ok(if json { consultation.json(lang, units) } else { consultation.table(lang, units) })
}

fn compare(before: &Config, link: &str, json: bool, lang: Lang, units: Units) -> Result<String, String> {
    let after = Config::from_link(link);
    for problem in &after.problems {
        super::say(text::WARNING, &problem.message(lang), lang);
    }
    let comparison = Comparison::of(before, &after.config, Reserve::Replayed)
        .map_err(|problems| sentence(&problems, lang))?;
    Ok(if json { comparison.json() } else { comparison.table(lang, units) })
}

fn sentence(problems: &[Problem], lang: Lang) -> String {
    problems.iter().map(|problem| problem.message(lang)).collect::<Vec<_>>().join("; ")
}
