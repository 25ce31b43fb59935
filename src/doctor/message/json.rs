//! A diagnosis as JSON: sizes are bytes, sentences in the language asked for.

use super::say::{finding, formula};
use super::{Amount, Backend, Candidate, Card, Diagnosis, Failure, Fit, Host, Kind, Process, Reading};
use crate::config::Units;
use crate::text::Lang;
use serde_json::{Map, Value, json};

/// The diagnosis on many lines.
pub fn json(diagnosis: &Diagnosis, lang: Lang) -> String {
    let message = &diagnosis.message;
    let failures: Vec<Value> = message.failures.iter().map(failure).collect();
    let settings: Map<String, Value> =
        message.settings.iter().map(|it| (it.key.word().to_owned(), it.value.clone().into())).collect();
    let findings = diagnosis
        .findings
        .iter()
        .map(|found| json!({ "finding": found.word(), "message": finding(found, lang, Units::Gib) }));
    let main = message.main().and_then(|main| message.failures.iter().position(|it| it == main));
    let report = json!({
        "failures": failures,
        "main": main,
        "readings": message.readings.iter().map(reading).collect::<Vec<_>>(),
        "cards": message.cards.iter().map(card).collect::<Vec<_>>(),
        "buffers": message.buffers,
        "settings": settings,
        "findings": findings.collect::<Vec<_>>(),
        "candidates": diagnosis.candidates.iter().map(|it| candidate(it, lang)).collect::<Vec<_>>(),
    });
    // Keys are strings and numbers are integers, so nothing here can fail to be written.
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

fn bytes(amount: Option<Amount>) -> Option<u64> {
    amount.map(|amount| amount.bytes)
}

fn failure(it: &Failure) -> Value {
    let (program, device) = kind(it.kind);
    json!({
        "program": program,
        "backend": device,
        "rank": it.rank,
        "device": it.device,
        "asked": bytes(it.asked),
        "allocated": bytes(it.allocated),
        "reserved": bytes(it.reserved),
        "private": bytes(it.private),
        "free": bytes(it.free),
        "capacity": bytes(it.capacity),
        "allowed": bytes(it.allowed),
        "in_use": bytes(it.in_use),
        "others": it.others,
        "shape": it.shape.as_ref().map(|(axes, _)| axes),
        "dtype": it.shape.as_ref().map(|(_, kind)| kind),
        "when": it.when.map(super::When::word),
        "place": it.place,
        "times": it.times,
    })
}

/// The program and, of PyTorch, the device; of the host, how.
fn kind(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Torch(backend) => {
            let backend = match backend {
                Backend::Cuda => "cuda",
                Backend::CudaAsync => "cuda_async",
                Backend::Hip => "hip",
                Backend::Xpu => "xpu",
                Backend::Npu => "npu",
                Backend::Mps => "mps",
                Backend::Other => "other",
            };
            ("torch", Some(backend))
        }
        Kind::Driver => ("driver", None),
        Kind::Library => ("library", None),
        Kind::Nccl => ("nccl", None),
        Kind::Bitsandbytes => ("bitsandbytes", None),
        Kind::Mlx => ("mlx", None),
        Kind::OnChip => ("triton", None),
        Kind::Xla => ("xla", Some("gpu")),
        Kind::Tpu => ("xla", Some("tpu")),
        Kind::TensorFlow => ("tensorflow", None),
        Kind::Paddle => ("paddle", None),
        Kind::MindSpore => ("mindspore", None),
        Kind::Host(Host::Refused) => ("host", Some("refused")),
        Kind::Host(Host::Killed) => ("host", Some("killed")),
        Kind::Host(Host::Shared) => ("host", Some("shared_memory")),
    }
}

fn reading(it: &Reading) -> Value {
    json!({
        "source": it.source.name(),
        "rank": it.rank,
        "moment": it.moment,
        "allocated": bytes(it.allocated),
        "max_allocated": bytes(it.max_allocated),
        "reserved": bytes(it.reserved),
        "max_reserved": bytes(it.max_reserved),
    })
}

fn card(it: &Card) -> Value {
    let processes: &[Process] = &it.processes;
    json!({ "index": it.index, "used": it.used, "capacity": it.capacity, "processes": processes })
}

fn candidate(it: &Candidate, lang: Lang) -> Value {
    let (fit, batch, seq) = match it.fit {
        Fit::Same => ("same", None, None),
        Fit::As(_) => ("dtype", None, None),
        Fit::Batch(batch) => ("batch", Some(batch), None),
        Fit::Seq(low, high) => ("seq", None, Some([low, high])),
    };
    json!({
        "name": it.entry.name(),
        "what": it.tensor().name.get(lang),
        "block": it.entry.block.word(),
        "phase": it.entry.from.word(),
        "shape": it.entry.shape.to_string(),
        "dtype": it.entry.dtype.word(),
        "bytes": it.bytes,
        "count": it.entry.count,
        "formula": formula(it),
        "fit": fit,
        "batch": batch,
        "seq": seq,
        "in_time": it.in_time,
        "named": it.named,
        "alike": it.alike,
        "vague": it.vague,
        "score": it.score(),
        "why": it.tensor().why().get(lang),
        "release": it.tensor().release().get(lang),
        "source": it.tensor().source(),
    })
}
