//! The native command line: one configuration in, one report out; or one per line.

mod advice;
mod args;
mod figure;
mod import;
mod lines;
mod oom;

use crate::config::{Config, Problem, ProblemKind, Read, Units};
use crate::estimate::{Estimate, Verdict, refined};
use crate::export::{self, Kind};
use crate::report;
use crate::text::{Lang, Text, cli as text, export as words};
use args::{Args, Format};
use std::fmt::Display;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// A line of `--json-lines` was bad, or the output could not be written.
const FAILED: u8 = 1;
/// The configuration could not be read or estimated.
const UNREADABLE: u8 = 2;
/// `--must-fit`, and it does not.
const DOES_NOT_FIT: u8 = 3;

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    let args = Args::read();
    let lang = args.lang.unwrap_or_else(args::locale);
    let done = if args.json_lines {
        lines::answer(io::stdin().lock(), io::stdout().lock(), args.lang)
            .map(|all_good| if all_good { 0 } else { FAILED })
    } else if let Some(message) = &args.oom {
        oom::diagnose(&args, message)
    } else {
        one(&args)
    };
    match done {
        Ok(status) => status.into(),
        // Whoever reads has read enough (`| head`): not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say(text::ERROR, &text::BROKE_OFF.fill(lang, &[("reason", &error)]), lang);
            FAILED.into()
        }
    }
}

/// Answers one configuration and returns the exit status.
///
/// # Errors
/// When standard output cannot be written.
fn one(args: &Args) -> io::Result<u8> {
    let Read { config, problems } = match read(args) {
        Ok(read) => read,
        Err(message) => {
            say(text::ERROR, &message, args.lang.unwrap_or_else(args::locale));
            return Ok(UNREADABLE);
        }
    };
    let asked = args.lang.or(config.page.lang);
    let lang = asked.unwrap_or_else(args::locale);
    let units = args.units.unwrap_or(config.page.units);
    if let Some(kind) = args.export {
        return export(kind, &config, &problems, lang);
    }

    let Some(answer) = answer_or_say(&config, problems, lang) else { return Ok(UNREADABLE) };
    let lang = if args.format.is_for_people() { lang } else { asked.unwrap_or_default() };
    let (printed, none_fits) = match advice::print(args, &config, lang, units) {
        None => (print(args, &config, &answer, lang, units), false),
        Some(Ok(advice)) => (advice.printed, advice.none_fits),
        Some(Err(message)) => {
            say(text::ERROR, &message, lang);
            return Ok(UNREADABLE);
        }
    };
    write(&printed)?;
    let fits = answer.fits.verdict != Verdict::No;
    Ok(if none_fits || (args.must_fit && !fits) { DOES_NOT_FIT } else { 0 })
}

/// Writes the configuration for another program, and says what that program's file does not say.
///
/// # Errors
/// When standard output cannot be written.
fn export(kind: Kind, config: &Config, problems: &[Problem], lang: Lang) -> io::Result<u8> {
    let usable = config.checked();
    let written = export::write(kind, &usable.config);
    // Keys that are not in the figures yet are in the file all the same.
    let told = |problem: &&Problem| problem.kind != ProblemKind::NotYet;
    for problem in problems.iter().chain(&usable.problems).filter(told) {
        say(text::WARNING, &problem.message(lang), lang);
    }
    for one in &written.left_out {
        say(text::WARNING, &words::left_out(one, lang), lang);
    }
    write(&written.text)?;
    let too_long = problems.iter().any(|problem| matches!(problem.kind, ProblemKind::TooLong { .. }));
    Ok(if too_long { UNREADABLE } else { 0 })
}

/// The answer, its warnings said; or `None`, and it is said why.
fn answer_or_say(config: &Config, problems: Vec<Problem>, lang: Lang) -> Option<Estimate> {
    let (answer, warnings, fatal) = match answer(config, problems) {
        Ok(answer) => {
            let warnings = answer.warnings.clone();
            (Some(answer), warnings, Vec::new())
        }
        Err((warnings, fatal)) => (None, warnings, fatal),
    };
    for problem in warnings {
        say(text::WARNING, &problem.message(lang), lang);
    }
    for problem in fatal {
        say(text::ERROR, &problem.message(lang), lang);
    }
    answer
}

/// Writes to standard output.
///
/// # Errors
/// When it cannot be written, unless whoever reads has read enough.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// What was read, or why nothing could be.
fn read(args: &Args) -> Result<Read, String> {
    let lang = args.lang.unwrap_or_else(args::locale);
    let Some(path) = &args.json else {
        let pairs = args.config.join("&");
        let asked = Config::from_link(&pairs);
        return if args.import.is_empty() {
            Ok(asked)
        } else {
            import::over(&args.import, &pairs, asked, lang)
        };
    };
    let text = read_text(path, lang)?;
    Config::from_json(&text).map_err(|problem| problem.message(lang))
}

/// The whole of a file, or of standard input for `-`.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if path.as_os_str() != "-" {
        return std::fs::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole of a file as text, or the sentence that says why there is none.
fn read_text(path: &Path, lang: Lang) -> Result<String, String> {
    let refuse =
        |reason: &dyn Display| text::CANNOT_READ.fill(lang, &[("file", &path.display()), ("reason", reason)]);
    let bytes = read_bytes(path).map_err(|error| refuse(&error))?;
    decode(&bytes).ok_or_else(|| refuse(&text::NOT_UTF8.get(lang)))
}

/// The text that bytes are, without a byte order mark. UTF-16, which `PowerShell` redirects into files, is told by its
/// mark.
fn decode(bytes: &[u8]) -> Option<String> {
    let wide = |rest: &[u8], of: fn([u8; 2]) -> u16| {
        let (pairs, odd) = rest.as_chunks::<2>();
        let words: Vec<u16> = pairs.iter().map(|pair| of(*pair)).collect();
        String::from_utf16(&words).ok().filter(|_| odd.is_empty())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => str::from_utf8(rest).ok().map(str::to_owned),
    }
}

/// Estimates what can be estimated of `config`, with every warning of reading, checking and estimating, each once.
///
/// # Errors
/// When nothing can be estimated: the warnings so far, and the problems that are to blame.
fn answer(config: &Config, problems: Vec<Problem>) -> Result<Estimate, (Vec<Problem>, Vec<Problem>)> {
    // Of a link that is too long nothing was read: what is left are only the defaults.
    let too_long = |problem: &Problem| matches!(problem.kind, ProblemKind::TooLong { .. });
    let (fatal, mut problems): (Vec<_>, Vec<_>) = problems.into_iter().partition(too_long);
    if !fatal.is_empty() {
        return Err((problems, fatal));
    }
    let usable = config.checked();
    problems.extend(usable.problems);
    match refined(&usable.config) {
        Ok(mut answer) => {
            report::merge_warnings(&mut answer, problems);
            Ok(answer)
        }
        Err(fatal) => {
            problems.retain(|problem| !fatal.contains(problem));
            Err((problems, fatal))
        }
    }
}

/// Writes one warning or error on standard error; one that cannot be written has no other place to go.
fn say(kind: Text, message: &str, lang: Lang) {
    let _ = writeln!(io::stderr(), "{}", kind.fill(lang, &[("message", &message)]));
}

fn print(args: &Args, config: &Config, answer: &Estimate, lang: Lang, units: Units) -> String {
    match args.format {
        Format::Table => report::table(config, answer, lang, units),
        Format::Json => report::json(answer, lang),
        Format::Csv => report::csv(answer, lang),
        Format::Markdown => report::markdown(config, answer, lang, units),
        Format::Svg => figure::svg(args.figure, config, answer, lang, units),
    }
}
