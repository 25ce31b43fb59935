//! `--oom`: what an out-of-memory message meant.

use super::args::{Args, Format, locale};
use super::{UNREADABLE, answer_or_say, decode, read, read_bytes, say, write};
use crate::config::{Config, Read};
use crate::doctor::message::{self, Beside};
use crate::estimate::{Estimate, requests};
use crate::ledger::Entry;
use crate::text::cli as text;
use std::io;
use std::path::Path;

/// The configuration that was given beside the message, and what follows from it.
struct Given {
    config: Config,
    estimate: Estimate,
    requests: Vec<Entry>,
}

/// Reads the message, holds it against the configuration where one is given, and returns the exit status.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn diagnose(args: &Args, path: &Path) -> io::Result<u8> {
    let lang = args.lang.unwrap_or_else(locale);
    let refuse = |message: &str| {
        say(text::ERROR, message, lang);
        Ok(UNREADABLE)
    };
    if !matches!(args.format, Format::Table | Format::Json) {
        return refuse(text::OOM_FORMAT.get(lang));
    }
    let standard = Path::new("-");
    if path == standard && args.json.as_deref() == Some(standard) {
        return refuse(text::ONE_INPUT.get(lang));
    }
    let log = match read_bytes(path) {
        Ok(log) => log,
        Err(reason) => {
            let values: [(&str, &dyn std::fmt::Display); 2] =
                [("file", &path.display()), ("reason", &reason)];
            return refuse(&text::CANNOT_READ.fill(lang, &values));
        }
    };
    let given = match given(args) {
        Ok(given) => given,
        Err(status) => return Ok(status),
    };
    let units = args.units.or(given.as_ref().map(|given| given.config.page.units)).unwrap_or_default();
    // A log may hold anything: what is no text is shown as such and read over.
    let log = decode(&log).unwrap_or_else(|| String::from_utf8_lossy(&log).into_owned());
    let message = message::read(&log);
    let unreadable = message.is_empty();
    let beside = given.as_ref().map(|given| Beside {
        config: &given.config,
        estimate: &given.estimate,
        requests: &given.requests,
    });
    let diagnosis = message::diagnose(message, beside);
    let printed = match args.format {
        Format::Json => message::json(&diagnosis, args.lang.unwrap_or_default()),
        _ => message::print(&diagnosis, given.is_some(), lang, units),
    };
    write(&printed)?;
    Ok(if unreadable { UNREADABLE } else { 0 })
}

/// The configuration, where one is given; or the exit status, when it cannot be read (it is said why).
fn given(args: &Args) -> Result<Option<Given>, u8> {
    if args.config.is_empty() && args.json.is_none() {
        return Ok(None);
    }
    let lang = args.lang.unwrap_or_else(locale);
    let Read { config, problems } = read(args).map_err(|message| {
        say(text::ERROR, &message, lang);
        UNREADABLE
    })?;
    let lang = args.lang.or(config.page.lang).unwrap_or_else(locale);
    let estimate = answer_or_say(&config, problems, lang).ok_or(UNREADABLE)?;
    let requests = requests(&config, &estimate).unwrap_or_default();
    Ok(Some(Given { config, estimate, requests }))
}
