//! Work that a reader waits for: asked for in words, done in steps.
//!
//! What takes longer than a frame, or is wanted by few, is a [`Request`]. The page has it done by a worker (a second
//! instance of this very program, to which only text can be passed) or, where a browser forbids workers, between the
//! frames of its own thread: `app::later` sees to that. Nothing in here knows which.
//!
//! To add one: a variant of [`Request`] with its line in [`Request::write`] and [`Request::read`], and a [`Task`] that
//! [`Request::begin`] returns. A configuration travels as its link, which holds all of it.

mod advice;
mod bring;
mod export;
mod reserve;

pub use export::Format;
pub use reserve::read_band;

use crate::config::Units;
use crate::export::Kind;
use crate::text::Lang;

/// What can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The whole report of a configuration as a file.
    Export {
        /// Which kind of file.
        format: Format,
        /// The language of its words.
        lang: Lang,
        /// The unit of its sizes, where the format has one.
        units: Units,
        /// The configuration.
        link: String,
    },
    /// A configuration as a file of another program: JSON of its `text` and, as sentences in `left_out`, what that
    /// file does not say.
    Write {
        /// Which program's.
        kind: Kind,
        /// The language of the sentences.
        lang: Lang,
        /// The configuration.
        link: String,
    },
    /// What the allocator reserves for a configuration, as a replay finds it: three numbers (low, expected, high), or
    /// nothing where there is no estimate.
    Reserve {
        /// The configuration.
        link: String,
    },
    /// What to change of a configuration: [`crate::doctor::Consultation`] as JSON; first without what takes longest.
    Advice {
        /// The language of its words.
        lang: Lang,
        /// The unit of the sizes in its sentences.
        units: Units,
        /// The configuration.
        link: String,
    },
    /// Two configurations side by side: [`crate::doctor::Comparison`] as JSON.
    Compare {
        /// The language of its words.
        lang: Lang,
        /// The first, as [`crate::config::Config::to_link`] writes it.
        before: String,
        /// The second, as somebody pasted it.
        after: String,
    },
    /// What a reader brings (a message, a file, a link): read and held against a configuration. The answer is JSON:
    /// `parts` to show, the `link` of the configuration that it leads to, and the `changes` to that.
    Bring {
        /// The language of the answer.
        lang: Lang,
        /// The unit of its sizes.
        units: Units,
        /// The configuration that is there.
        link: String,
        /// What was brought.
        text: String,
    },
}

/// Between the parts of a written request; no part but the last may hold one.
const BETWEEN: char = '\n';

impl Request {
    /// The request as text.
    pub fn write(&self) -> String {
        match self {
            Self::Export { format, lang, units, link } => {
                ["export", format.word(), lang.code(), units.word(), link].join("\n")
            }
            Self::Write { kind, lang, link } => ["write", kind.word(), lang.code(), link].join("\n"),
            Self::Reserve { link } => ["reserve", link].join("\n"),
            Self::Advice { lang, units, link } => ["advice", lang.code(), units.word(), link].join("\n"),
            Self::Compare { lang, before, after } => ["compare", lang.code(), before, after].join("\n"),
            Self::Bring { lang, units, link, text } => {
                ["bring", lang.code(), units.word(), link, text].join("\n")
            }
        }
    }

    /// The request that [`Request::write`] wrote; `None` for anything else.
    pub fn read(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(BETWEEN)?;
        match word {
            "export" => {
                let mut parts = rest.splitn(4, BETWEEN);
                Some(Self::Export {
                    format: Format::parse(parts.next()?)?,
                    lang: Lang::parse(parts.next()?)?,
                    units: Units::parse(parts.next()?)?,
                    link: parts.next()?.to_owned(),
                })
            }
            "write" => {
                let mut parts = rest.splitn(3, BETWEEN);
                Some(Self::Write {
                    kind: Kind::parse(parts.next()?)?,
                    lang: Lang::parse(parts.next()?)?,
                    link: parts.next()?.to_owned(),
                })
            }
            "reserve" => Some(Self::Reserve { link: rest.to_owned() }),
            "advice" => {
                let mut parts = rest.splitn(3, BETWEEN);
                Some(Self::Advice {
                    lang: Lang::parse(parts.next()?)?,
                    units: Units::parse(parts.next()?)?,
                    link: parts.next()?.to_owned(),
                })
            }
            "compare" => {
                let mut parts = rest.splitn(3, BETWEEN);
                Some(Self::Compare {
                    lang: Lang::parse(parts.next()?)?,
                    before: parts.next()?.to_owned(),
                    after: parts.next()?.to_owned(),
                })
            }
            "bring" => {
                let mut parts = rest.splitn(4, BETWEEN);
                Some(Self::Bring {
                    lang: Lang::parse(parts.next()?)?,
                    units: Units::parse(parts.next()?)?,
                    link: parts.next()?.to_owned(),
                    text: parts.next()?.to_owned(),
                })
            }
            _ => None,
        }
    }

    /// Starts the work.
    pub fn begin(self) -> Box<dyn Task> {
        match self {
            Self::Export { format, lang, units, link } => {
                at_once(move || export::export(format, lang, units, &link))
            }
            Self::Write { kind, lang, link } => at_once(move || export::write(kind, lang, &link)),
            Self::Reserve { link } => at_once(move || reserve::reserve(&link)),
            Self::Advice { lang, units, link } => advice::begin(lang, units, &link),
            Self::Compare { lang, before, after } => at_once(move || advice::compare(lang, &before, &after)),
            Self::Bring { lang, units, link, text } => {
                at_once(move || bring::bring(lang, units, &link, &text))
            }
        }
    }
}

/// Work in progress.
pub trait Task {
    /// Does a piece of the work that takes at most a few milliseconds. Dropping the task ends the work; a task that is
    /// done is asked no more.
    fn step(&mut self) -> Step;
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do.
    More,
    /// There is more to do, and this to be told meanwhile.
    Progress(String),
    /// The result.
    Done(String),
}

/// A task of one step.
fn at_once(work: impl FnOnce() -> String + 'static) -> Box<dyn Task> {
    struct AtOnce<F>(Option<F>);
    impl<F: FnOnce() -> String> Task for AtOnce<F> {
        fn step(&mut self) -> Step {
            self.0.take().map_or(Step::More, |work| Step::Done(work()))
        }
    }
    Box::new(AtOnce(Some(work)))
}

/// Runs a request to its end, here and now.
pub fn finish(request: Request) -> String {
    let mut task = request.begin();
    loop {
        if let Step::Done(result) = task.step() {
            return result;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Request, Step, finish};
    use crate::config::{Config, Units};
    use crate::doctor::{Case, Consultation};
    use crate::estimate::Reserve;
    use crate::export::Kind;
    use crate::text::Lang;
    use serde_json::Value;

    fn export(format: Format, link: &str) -> Request {
        Request::Export { format, lang: Lang::Zh, units: Units::Gb, link: link.to_owned() }
    }

    #[test]
    fn requests_survive_the_journey() {
        for format in Format::ALL {
            for link in ["", "model=qwen3-8b&batch=4", "a\nb"] {
                let request = export(format, link);
                assert_eq!(Request::read(&request.write()), Some(request));
            }
        }
        for link in ["", "model=qwen3-8b&batch=4", "a\nb"] {
            let (lang, units, before, after) =
                (Lang::En, Units::Gib, "v=1&batch=2".to_owned(), link.to_owned());
            for request in [
                Request::Advice { lang, units, link: link.to_owned() },
                Request::Compare { lang, before, after },
            ] {
                assert_eq!(Request::read(&request.write()), Some(request));
            }
        }
    }

    #[test]
    fn what_is_reserved_is_what_the_report_says() {
        let request = Request::Reserve { link: "batch=2&recompute=full".to_owned() };
        assert_eq!(Request::read(&request.write()), Some(request.clone()));
        let config = Config::from_link("batch=2&recompute=full").config;
        let band = crate::estimate::refined(&config).expect("a model").reserved;
        assert_eq!(super::read_band(&finish(request)), Some(band));
        assert_eq!(super::read_band(&finish(Request::Reserve { link: "model_type=x".to_owned() })), None);
    }

    #[test]
    fn what_is_brought_may_have_many_lines() {
        let text = "a\n\nb\n".to_owned();
        let link = "batch=2".to_owned();
        let request = Request::Bring { lang: Lang::En, units: Units::Gib, link, text };
        assert_eq!(Request::read(&request.write()), Some(request));
    }

    #[test]
    fn a_file_of_another_program_comes_with_what_it_does_not_say() {
        let link = "model=qwen3-8b&data_parallel=zero3&gpus=8";
        for &kind in Kind::ALL {
            let request = Request::Write { kind, lang: Lang::Zh, link: link.to_owned() };
            assert_eq!(Request::read(&request.write()), Some(request.clone()));
            let answer: Value = serde_json::from_str(&finish(request)).expect("JSON");
            let config = Config::from_link(link).config;
            let written = crate::export::write(kind, &config);
            assert_eq!(answer["text"], written.text);
            assert_eq!(answer["left_out"].as_array().map(Vec::len), Some(written.left_out.len()));
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in ["", "export", "export\npng\nzh\nGB\n", "export\ncsv\nzh\nGB", "exports\ncsv\nzh\nGB\n"] {
            assert_eq!(Request::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_export_is_what_the_command_line_prints() {
        let link = "model=qwen3-8b&batch=4";
        let config = Config::from_link(link).config;
        let estimate = crate::estimate::refined(&config).expect("a good configuration");
        let csv = finish(export(Format::Csv, link));
        assert_eq!(csv, crate::report::csv(&estimate, Lang::Zh));
        let markdown = finish(export(Format::Markdown, link));
        assert_eq!(markdown, crate::report::markdown(&config, &estimate, Lang::Zh, Units::Gb));
        let json = finish(export(Format::Json, link));
        assert_eq!(json, crate::report::json(&estimate, Lang::Zh));
    }

    #[test]
    fn advice_comes_in_steps_and_is_what_the_command_line_prints() {
        let link = "model=llama-3.2-1b&gpu=rtx-4090&batch=4";
        let request = Request::Advice { lang: Lang::Zh, units: Units::Gb, link: link.to_owned() };
        let case =
            Case::of(&Config::from_link(link).config, Reserve::Replayed).expect("a good configuration");
        let whole = Consultation::complete(case).json(Lang::Zh, Units::Gb);
        let mut task = request.begin();
        let (mut told, mut steps) = (Vec::new(), 0);
        let done = loop {
            steps += 1;
            match task.step() {
                Step::More => {}
                Step::Progress(text) => told.push(text),
                Step::Done(text) => break text,
            }
        };
        assert_eq!(done, whole);
        assert!(steps > 10 && told.len() == 1);
        let [first, whole] =
            [&told[0], &whole].map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
        assert_eq!(first["changes"], whole["changes"]);
        assert_ne!(first["fewest"], whole["fewest"]);
    }

    #[test]
    fn what_has_no_advice_says_why() {
        let link = "model_type=unheard-of".to_owned();
        for request in [
            Request::Advice { lang: Lang::En, units: Units::Gib, link: link.clone() },
            Request::Compare { lang: Lang::En, before: String::new(), after: link },
        ] {
            let answer: Value = serde_json::from_str(&finish(request)).expect("JSON");
            assert!(answer["error"].as_str().is_some_and(|error| error.contains("unheard-of")), "{answer}");
        }
    }

    #[test]
    fn an_export_without_an_answer_says_why() {
        let text = finish(export(Format::Csv, "num_hidden_layers=0&model=llama-3.1-8b&hidden_size=7"));
        assert!(!text.is_empty());
    }
}
