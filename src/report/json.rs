//! The report as JSON: the public contract's names, every size an integer number of bytes.

use crate::estimate::{Band, Estimate, Verdict};
use crate::ledger::{Block, ByBlock, Entry, Group};
use crate::text::Lang;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The report on many lines, for people and files.
pub fn json(estimate: &Estimate, lang: Lang) -> String {
    // Keys are strings and numbers are integers, so nothing here can fail to be written.
    let mut text = serde_json::to_string_pretty(&Report::new(estimate, lang)).unwrap_or_default();
    text.push('\n');
    text
}

/// The report on one line, without its end.
pub fn json_line(estimate: &Estimate, lang: Lang) -> String {
    serde_json::to_string(&Report::new(estimate, lang)).unwrap_or_default()
}

#[derive(serde::Serialize)]
struct Report<'a> {
    parameters: Parameters<'a>,
    blocks: Blocks<'a>,
    saved_activations: Saved<'a>,
    peak: Peak<'a>,
    between_steps: BetweenSteps,
    allocated: u64,
    reserved: Range,
    device: Range,
    host: u64,
    fits: Fits,
    stages: Vec<Stage<'a>>,
    timeline: Vec<Live>,
    ledger: Vec<Row<'a>>,
    warnings: Vec<Warning<'a>>,
}

#[derive(serde::Serialize)]
struct Parameters<'a> {
    total: u64,
    trainable: u64,
    active: u64,
    on_rank: u64,
    by_group: Groups<'a>,
}

#[derive(serde::Serialize)]
struct Saved<'a> {
    total: u64,
    autocast_weight_copies: u64,
    by_group: Groups<'a>,
}

#[derive(serde::Serialize)]
struct Peak<'a> {
    bytes: u64,
    moment: String,
    operator: &'a str,
    stage: u64,
    blocks: Blocks<'a>,
}

#[derive(serde::Serialize)]
struct BetweenSteps {
    with_gradients: u64,
    without_gradients: u64,
}

#[derive(serde::Serialize)]
struct Range {
    low: u64,
    expected: u64,
    high: u64,
}

#[derive(serde::Serialize)]
struct Fits {
    gpu: Option<&'static str>,
    capacity: u64,
    verdict: &'static str,
    spare: i64,
}

#[derive(serde::Serialize)]
#[allow(clippy::struct_field_names)] // the contract's names
struct Stage<'a> {
    stage: u64,
    layers: u64,
    chunks: u64,
    in_flight: u64,
    peak: u64,
    blocks: Blocks<'a>,
    allocated: u64,
    device: Range,
}

#[derive(serde::Serialize)]
struct Live {
    moment: String,
    live: u64,
}

#[derive(serde::Serialize)]
struct Row<'a> {
    name: String,
    block: &'static str,
    group: &'static str,
    shape: String,
    dtype: &'static str,
    count: u64,
    bytes: u64,
    at_peak: u64,
    formula: String,
    values: String,
    from: &'static str,
    until: &'static str,
    why: &'a str,
    release: &'a str,
    source: &'a str,
}

#[derive(serde::Serialize)]
struct Warning<'a> {
    key: &'a str,
    message: String,
}

/// Bytes by block. The fifth has a name of its own at the peak, where it is what the running operator works on.
struct Blocks<'a> {
    bytes: &'a ByBlock,
    fifth: &'static str,
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Block::ALL.len()))?;
        for (block, bytes) in self.bytes.iter() {
            let name = if block == Block::Overhead { self.fifth } else { block.word() };
            map.serialize_entry(name, &bytes)?;
        }
        map.end()
    }
}

/// Counts or bytes by part of the model; empty parts are left out.
struct Groups<'a>(&'a [(Group, u64)]);

impl Serialize for Groups<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (group, amount) in self.0.iter().filter(|(_, amount)| *amount > 0) {
            map.serialize_entry(group.word(), amount)?;
        }
        map.end()
    }
}

impl<'a> Report<'a> {
    fn new(estimate: &'a Estimate, lang: Lang) -> Self {
        let Estimate { parameters, saved, peak, between_steps, fits, .. } = estimate;
        Self {
            parameters: Parameters {
                total: parameters.total,
                trainable: parameters.trainable,
                active: parameters.active,
                on_rank: parameters.on_rank,
                by_group: Groups(&parameters.by_group),
            },
            blocks: Blocks { bytes: &estimate.blocks, fifth: Block::Overhead.word() },
            saved_activations: Saved {
                total: saved.total,
                autocast_weight_copies: saved.autocast_weight_copies,
                by_group: Groups(&saved.by_group),
            },
            peak: Peak {
                bytes: peak.bytes,
                moment: peak.moment.to_string(),
                operator: &peak.operator,
                stage: peak.stage,
                blocks: Blocks { bytes: &peak.blocks, fifth: "temporary" },
            },
            between_steps: BetweenSteps {
                with_gradients: between_steps.with_gradients,
                without_gradients: between_steps.without_gradients,
            },
            allocated: estimate.allocated,
            reserved: Range::from(estimate.reserved),
            device: Range::from(estimate.device),
            host: estimate.host,
            fits: Fits {
                gpu: fits.gpu.map(|gpu| gpu.id),
                capacity: fits.capacity,
                verdict: verdict(fits.verdict),
                spare: fits.spare,
            },
            stages: estimate
                .stages
                .iter()
                .map(|stage| Stage {
                    stage: stage.stage,
                    layers: stage.layers,
                    chunks: stage.chunks,
                    in_flight: stage.in_flight,
                    peak: stage.peak,
                    blocks: Blocks { bytes: &stage.blocks, fifth: "temporary" },
                    allocated: stage.allocated,
                    device: Range::from(stage.device),
                })
                .collect(),
            timeline: estimate
                .timeline
                .iter()
                .map(|instant| Live { moment: instant.moment.to_string(), live: instant.live.sum() })
                .collect(),
            ledger: estimate.ledger.iter().map(|entry| Row::new(entry, estimate, lang)).collect(),
            warnings: estimate
                .warnings
                .iter()
                .map(|problem| Warning { key: &problem.key, message: problem.message(lang) })
                .collect(),
        }
    }
}

impl<'a> Row<'a> {
    fn new(entry: &'a Entry, estimate: &Estimate, lang: Lang) -> Self {
        Self {
            name: entry.name(),
            block: entry.block.word(),
            group: entry.group.word(),
            shape: entry.shape.to_string(),
            dtype: entry.dtype.word(),
            count: entry.count,
            bytes: entry.bytes,
            at_peak: entry.at_peak,
            formula: entry.formula(),
            values: entry.values(&estimate.symbols),
            from: entry.from.word(),
            until: entry.until.word(),
            why: entry.tensor.why().get(lang),
            release: entry.tensor.release().get(lang),
            source: entry.tensor.source(),
        }
    }
}

impl From<Band> for Range {
    fn from(band: Band) -> Self {
        Self { low: band.low, expected: band.expected, high: band.high }
    }
}

/// The contract's word.
pub(crate) const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Yes => "yes",
        Verdict::Tight => "tight",
        Verdict::No => "no",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;
    use serde_json::{Value, json};

    #[test]
    fn the_fifth_block_is_temporary_at_the_peak_and_overhead_elsewhere() {
        let report: Value = serde_json::from_str(&json(&example::estimate(), Lang::En)).unwrap();
        assert_eq!(report["peak"]["blocks"]["temporary"], json!(0));
        assert_eq!(report["peak"]["blocks"].get("overhead"), None);
        assert_eq!(report["blocks"]["overhead"], json!(0));
        assert_eq!(report["blocks"]["gradients"], json!(15_u64 << 30));
    }

    #[test]
    fn a_row_and_a_warning_speak_the_language() {
        let report: Value = serde_json::from_str(&json_line(&example::estimate(), Lang::Zh)).unwrap();
        let row = &report["ledger"][0];
        assert_eq!(row["name"], "self_attn.q_proj.weight");
        assert_eq!(row["formula"], "32 · b·s·h · 2 B");
        assert_eq!(row["values"], "32 · 4·2048·4096 · 2 B");
        assert_eq!(row["why"], "前向与反向都要读。");
        assert_eq!(report["warnings"][0], json!({"key": "tp", "message": "tp=2 暂未计入"}));
    }

    #[test]
    fn empty_groups_are_left_out_and_one_line_is_one_line() {
        let line = json_line(&example::estimate(), Lang::En);
        assert!(!line.contains('\n'));
        let report: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(report["parameters"]["by_group"], json!({"attention": 8_000_000_000_u64}));
        assert_eq!(report["stages"][0]["peak"], report["peak"]["bytes"]);
    }
}
