//! The parts of a diagnosis in words, for the terminal and the page.

use super::candidates::round_in;
use super::{Amount, Candidate, Failure, Finding, Fit, Host, Kind, Lack, Place, Process, When, cards_of};
use crate::config::Units;
use crate::ledger::{Block, Phase, Symbol};
use crate::text::{Lang, Text, ledger, oom as text};
use crate::units::size;
use std::fmt::Display;

/// A size as the message has it: as many digits as it printed.
fn amount(amount: Amount, units: Units) -> String {
    size(amount.bytes, units)
}

/// What is known of a failure: labels and values.
pub fn facts(failure: &Failure, lang: Lang, units: Units) -> Vec<(&'static str, String)> {
    let mut all = vec![(text::FROM.get(lang), text::kind(failure.kind).get(lang).to_owned())];
    let mut add = |label: Text, value: Option<String>| {
        all.extend(value.map(|value| (label.get(lang), value)));
    };
    let sized = |known: Option<Amount>| known.map(|known| amount(known, units));
    add(text::RANK, failure.rank.map(|rank| rank.to_string()));
    add(text::DEVICE, failure.device.map(|device| device.to_string()));
    add(text::ASKED, sized(failure.asked));
    add(text::SHAPE, failure.shape.as_ref().map(|(axes, kind)| format!("{axes:?} {kind}")));
    add(text::ALLOCATED, sized(failure.allocated));
    add(text::RESERVED, sized(failure.reserved));
    add(text::IN_USE, sized(failure.in_use));
    add(text::OTHERS, (!failure.others.is_empty()).then(|| processes(&failure.others, lang, units)));
    add(text::FREE, sized(failure.free));
    add(text::ALLOWED, sized(failure.allowed));
    add(text::CAPACITY, failure.capacity.map(|capacity| card(capacity, units)));
    add(text::WHEN, failure.when.map(|when| text::when(when).get(lang).to_owned()));
    add(text::PLACE, failure.place.as_ref().map(|place| place_of(place, lang)));
    let times = (failure.times > 1).then(|| text::TIMES_OVER.fill(lang, &[("times", &failure.times)]));
    add(text::TIMES, times);
    all
}

/// A capacity, with the cards that have it where they are few.
fn card(capacity: Amount, units: Units) -> String {
    let cards: Vec<&str> = cards_of(capacity).iter().map(|card| card.name).collect();
    let capacity = amount(capacity, units);
    if cards.is_empty() || cards.len() > TOLD {
        capacity
    } else {
        format!("{capacity} ({})", cards.join(", "))
    }
}

fn place_of(place: &Place, lang: Lang) -> String {
    let Place { file, line, function, code } = place;
    let values: [(&str, &dyn Display); 3] = [("file", file), ("line", line), ("function", function)];
    let sentence = if *line > 0 { text::FILE_LINE } else { text::FILE_ONLY }.fill(lang, &values);
    if code.is_empty() { sentence } else { format!("{sentence}: {code}") }
}

/// Processes and cards that are told one by one.
const TOLD: usize = 4;

fn processes(all: &[Process], lang: Lang, units: Units) -> String {
    let mut sorted = all.to_vec();
    sorted.sort_by_key(|process| std::cmp::Reverse(process.bytes));
    let one = |process: &Process| {
        text::PROCESS.fill(lang, &[("pid", &process.pid), ("bytes", &size(process.bytes, units))])
    };
    let mut told: Vec<String> = sorted.iter().take(TOLD).map(one).collect();
    if sorted.len() > TOLD {
        told.push(text::MORE_PROCESSES.fill(lang, &[("count", &(sorted.len() - TOLD))]));
    }
    told.join(if lang == Lang::Zh { "，" } else { ", " })
}

/// A finding as a sentence.
pub fn finding(finding: &Finding, lang: Lang, units: Units) -> String {
    let s = |bytes: u64| size(bytes, units);
    let plain = |text: Text| text.get(lang).to_owned();
    match finding {
        Finding::Host(Host::Refused) => plain(text::HOST_REFUSED),
        Finding::Host(Host::Killed) => plain(text::HOST_KILLED),
        Finding::Host(Host::Shared) => plain(text::HOST_SHARED),
        Finding::OnChip => plain(text::ON_CHIP),
        Finding::NoNumbers(Kind::Library) => plain(text::NO_NUMBERS_LIBRARY),
        Finding::NoNumbers(Kind::Nccl) => plain(text::NO_NUMBERS_NCCL),
        Finding::NoNumbers(_) => plain(text::NO_NUMBERS),
        Finding::WhileLoading => plain(text::WHILE_LOADING),
        Finding::InEvaluation => plain(text::IN_EVALUATION),
        Finding::FirstStep => plain(text::FIRST_STEP),
        Finding::LargerThanCard { asked, capacity } => {
            text::LARGER_THAN_CARD.fill(lang, &[("asked", &s(*asked)), ("capacity", &s(*capacity))])
        }
        Finding::Short { asked, free, lack } => {
            let sentence = if *lack == Lack::Little { text::SHORT_LITTLE } else { text::SHORT };
            let missing = s(asked.saturating_sub(*free));
            sentence.fill(lang, &[("asked", &s(*asked)), ("free", &s(*free)), ("missing", &missing)])
        }
        Finding::Refused { asked, free } => {
            text::REFUSED.fill(lang, &[("asked", &s(*asked)), ("free", &s(*free))])
        }
        Finding::Limited { allowed } => text::LIMITED.fill(lang, &[("allowed", &s(*allowed))]),
        Finding::Fragmented { idle, asked, enough } => {
            let sentence = if *enough { text::FRAGMENTED } else { text::IDLE };
            sentence.fill(lang, &[("idle", &s(*idle)), ("asked", &s(*asked))])
        }
        Finding::Graphs { private } => text::GRAPHS.fill(lang, &[("private", &s(*private))]),
        Finding::Shared { bytes, processes: all } => {
            text::SHARED.fill(lang, &[("bytes", &s(*bytes)), ("processes", &processes(all, lang, units))])
        }
        Finding::Unaccounted { bytes } => text::UNACCOUNTED.fill(lang, &[("bytes", &s(*bytes))]),
        Finding::Outside { bytes } => text::OUTSIDE.fill(lang, &[("bytes", &s(*bytes))]),
        Finding::Spilled { allocated, capacity } => {
            text::SPILLED.fill(lang, &[("allocated", &s(*allocated)), ("capacity", &s(*capacity))])
        }
        Finding::Ranks(ranks) => {
            let ranks: Vec<String> = ranks.iter().map(u64::to_string).collect();
            text::RANKS.fill(lang, &[("ranks", &ranks.join(", "))])
        }
        Finding::OtherCard { theirs, ours } => {
            text::OTHER_CARD.fill(lang, &[("theirs", &s(*theirs)), ("ours", &s(*ours))])
        }
        Finding::MoreThanEstimated { held, peak } => {
            let more = s(held.saturating_sub(*peak));
            text::MORE_THAN_ESTIMATED.fill(lang, &[("held", &s(*held)), ("peak", &s(*peak)), ("more", &more)])
        }
        Finding::ShouldFit { device, capacity } => {
            text::SHOULD_FIT.fill(lang, &[("device", &s(*device)), ("capacity", &s(*capacity))])
        }
        Finding::Explained { held, peak, later } => {
            let more = s(peak.saturating_sub(*held));
            let sentence = if *later { text::PEAK_TO_COME } else { text::AS_ESTIMATED };
            sentence.fill(lang, &[("held", &s(*held)), ("peak", &s(*peak)), ("more", &more)])
        }
    }
}

/// Under which condition a candidate's size meets the request's.
pub fn fit(fit: Fit, lang: Lang) -> String {
    match fit {
        Fit::Same => text::FITS_HERE.get(lang).to_owned(),
        Fit::As(dtype) => text::FITS_AS.fill(lang, &[("dtype", &dtype.word())]),
        Fit::Batch(batch) => text::FITS_BATCH.fill(lang, &[("batch", &batch)]),
        Fit::Seq(low, high) => {
            let round = round_in(low, high);
            // Few choose a length that is no multiple of eight: where there is one, it is meant.
            if low == high || round.is_multiple_of(8) {
                text::FITS_SEQ.fill(lang, &[("seq", &round)])
            } else {
                text::FITS_SEQS.fill(lang, &[("low", &low), ("high", &high)])
            }
        }
    }
}

/// The likeliest candidate in a few sentences: which, why it is there, what releases it.
pub fn likeliest(candidate: &Candidate, lang: Lang, units: Units) -> Vec<String> {
    let tensor = candidate.tensor();
    let name = candidate.entry.name();
    let (what, bytes) = (tensor.name.get(lang), size(candidate.bytes, units));
    let phase = asked_in(candidate, lang);
    let fit = fit(candidate.fit, lang);
    let values: [(&str, &dyn Display); 5] =
        [("name", &name), ("what", &what), ("size", &bytes), ("phase", &phase), ("fit", &fit)];
    let sentence = if candidate.fit == Fit::Same { text::LIKELIEST } else { text::LIKELIEST_IF };
    let why = text::WHY.fill(lang, &[("why", &tensor.why().get(lang))]);
    let release = text::RELEASE.fill(lang, &[("release", &tensor.release().get(lang))]);
    vec![sentence.fill(lang, &values), why, release]
}

/// When a candidate is asked for.
pub(super) fn asked_in(candidate: &Candidate, lang: Lang) -> &'static str {
    let entry = &candidate.entry;
    match (entry.from, entry.block) {
        (Phase::Always, Block::Parameters) => text::when(When::Loading).get(lang),
        (Phase::Always, Block::Optimizer) => text::when(When::Step).get(lang),
        (Phase::Always, _) => text::when(When::Setup).get(lang),
        (phase, _) => ledger::phase(phase).get(lang),
    }
}

/// A candidate's shape with its numbers, `b·s·V · 4 B`: and with numbers in the symbols' places.
pub fn formula(candidate: &Candidate) -> String {
    let entry = &candidate.entry;
    let symbols = entry.shape.formula(1, entry.dtype, None);
    format!("{symbols} = {}", entry.shape.formula(1, entry.dtype, Some(&candidate.symbols)))
}

/// The setting that a candidate's condition asks for.
pub fn setting(candidate: &Candidate) -> Option<(crate::config::Key, String)> {
    match candidate.fit {
        Fit::Same | Fit::As(_) => None,
        Fit::Batch(_) => Some((crate::config::Key::Batch, candidate.symbols.get(Symbol::B).to_string())),
        Fit::Seq(..) => Some((crate::config::Key::Seq, candidate.symbols.get(Symbol::S).to_string())),
    }
}
