//! `--import`: files of other programs, with what was understood of them on standard error.

use super::read_text;
use crate::config::Read;
use crate::import;
use crate::text::{Lang, cli as text};
use std::io::{self, Write as _};
use std::path::PathBuf;

/// The configuration that the files make together, with the pairs of the command line over them.
///
/// # Errors
/// The sentence that says which file could not be read, and why.
pub(super) fn over(paths: &[PathBuf], pairs: &str, asked: Read, lang: Lang) -> Result<Read, String> {
    let mut texts = Vec::with_capacity(paths.len());
    for path in paths {
        let read = read_text(path, lang)?;
        // Each alone first, so that the file is named that is to blame.
        import::read(&read).map_err(|reason| {
            let reason = reason.message(lang);
            text::CANNOT_IMPORT.fill(lang, &[("file", &path.display()), ("reason", &reason)])
        })?;
        texts.push(read);
    }
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    // What is asked counts while reading (a global batch divides by the GPUs), and goes before what was read.
    let import = import::read_all(&texts, &asked.config).map_err(|reason| reason.message(lang))?;
    let mut out = io::stderr().lock();
    for line in import.report(lang) {
        // One that cannot be written has no other place to go.
        let _ = writeln!(out, "{line}");
    }
    let mut config = import.config;
    let pairs = pairs.rsplit(['#', '?']).next().unwrap_or_default();
    for key in pairs.split('&').filter_map(|pair| pair.split('=').next()) {
        // What the key does not accept is among the problems of reading the pairs already.
        let _ = config.set(key, &asked.config.get(key));
    }
    // A model that is not shipped, too: the answer says so.
    if asked.config.model.is_some() {
        config.model = asked.config.model;
    }
    Ok(Read { config, problems: asked.problems })
}
