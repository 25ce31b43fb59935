//! `--json-lines`: one configuration per line in, one report per line out.

use crate::config::{Config, Read};
use crate::report;
use crate::text::{Lang, cli as text};
use std::io::{self, BufRead, BufReader, BufWriter, Write};

/// Answers every line in order and tells whether all were good.
///
/// A bad line gives `{"error": …}` in its place. Lines of nothing but white space are no configurations and give
/// nothing, so that a file may end in one. What was answered is written out as soon as no further line has arrived,
/// so that a program may ask, wait, and ask again.
///
/// # Errors
/// When a line cannot be read from `input` or an answer not be written to `output`.
pub(super) fn answer(input: impl io::Read, output: impl Write, lang: Option<Lang>) -> io::Result<bool> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let mut line = Vec::new();
    let mut all_good = true;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match report(&line, lang) {
            Ok(report) => output.write_all(report.as_bytes())?,
            Err(error) => {
                all_good = false;
                serde_json::to_writer(&mut output, &serde_json::json!({ "error": error }))?;
            }
        }
        output.write_all(b"\n")?;
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    output.flush()?;
    Ok(all_good)
}

/// The report on one configuration, or the sentences that say why there is none.
fn report(line: &[u8], lang: Option<Lang>) -> Result<String, String> {
    let Ok(line) = std::str::from_utf8(line) else {
        return Err(text::NOT_UTF8.get(lang.unwrap_or_default()).to_owned());
    };
    let in_lang = lang.unwrap_or_default();
    let Read { config, problems } = Config::from_json(line).map_err(|problem| problem.message(in_lang))?;
    let lang = lang.or(config.page.lang).unwrap_or_default();
    match super::answer(&config, problems) {
        Ok(answer) => Ok(report::json_line(&answer, lang)),
        Err((_, fatal)) => {
            let messages: Vec<String> = fatal.iter().map(|problem| problem.message(lang)).collect();
            Err(messages.join("; "))
        }
    }
}
