//! The doctor's answers as JSON: sizes in whole bytes, names as in the report.

use super::{Comparison, Consultation, Largest, Need, Prescription, Useless, describe, price, why};
use crate::config::{Key, Units};
use crate::estimate::Fit;
use crate::report::verdict;
use crate::sweep::MOST;
use crate::text::Lang;
use serde_json::{Map, Value, json};

fn pretty(value: &Value) -> String {
    // Keys are strings and numbers are integers, so nothing here can fail to be written.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn settings(settings: &[(Key, String)]) -> Value {
    let pairs = settings.iter().map(|(key, value)| (key.word().to_owned(), value.as_str().into()));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn fits(fit: &Fit) -> Value {
    json!({
        "gpu": fit.gpu.map(|gpu| gpu.id),
        "capacity": fit.capacity,
        "verdict": verdict(fit.verdict),
        "spare": fit.spare,
    })
}

fn prescription(found: &Prescription, lang: Lang) -> Value {
    let changes = found.changes.iter().map(|change| {
        let slowdown = change.slowdown();
        json!({
            "id": change.remedy.id,
            "name": describe(&[*change], lang),
            "price": change.remedy.price.word(),
            "cost": change.remedy.cost.get(lang),
            "slowdown_percent": slowdown.map(|slowdown| [slowdown.low, slowdown.high]),
            "same_result": change.remedy.price.keeps_the_result(),
            "source": change.remedy.source,
        })
    });
    json!({
        "changes": changes.collect::<Vec<_>>(),
        "settings": settings(&found.settings),
        "saved": found.saved,
        "device_saved": found.device_saved,
        "price": price(&found.changes, lang),
        "fits": fits(&found.outcome.fits),
    })
}

fn useless(useless: &Useless, lang: Lang, units: Units) -> Value {
    json!({
        "id": useless.change.remedy.id,
        "name": describe(&[useless.change], lang),
        "settings": settings(&useless.settings),
        "reason": why(&useless.reason, lang, units),
    })
}

fn need(need: &Need) -> Value {
    json!({ "gpus": need.gpus, "settings": settings(&need.layout), "fits": fits(&need.fits) })
}

impl Consultation {
    /// What to change; sizes within sentences are in `units`.
    pub fn json(&self, lang: Lang, units: Units) -> String {
        let all =
            |found: &[Prescription]| found.iter().map(|found| prescription(found, lang)).collect::<Vec<_>>();
        pretty(&json!({
            "fits": fits(&self.case.estimate().fits),
            "cheapest": {
                "yes": self.search.sure().map(|found| prescription(found, lang)),
                "tight": self.search.tight().map(|found| prescription(found, lang)),
            },
            "changes": all(self.examination.singles()),
            "pairs": all(self.examination.pairs()),
            "useless": self.examination.useless().iter().map(|found| useless(found, lang, units)).collect::<Vec<_>>(),
            "largest": self.largest().iter().map(Largest::value).collect::<Vec<_>>(),
            "fewest": self.fleet.found().iter().map(need).collect::<Vec<_>>(),
        }))
    }
}

impl Largest {
    /// The largest values: a number, `null` for none, `"any"`.
    pub fn json(&self) -> String {
        pretty(&self.value())
    }

    fn value(&self) -> Value {
        let value = |value: Option<u64>| match value {
            Some(MOST) => Value::from("any"),
            value => value.into(),
        };
        json!({ "key": self.variable.key(), "yes": value(self.sure), "tight": value(self.tight) })
    }
}

impl Comparison {
    /// The keys and the rows that differ.
    pub fn json(&self) -> String {
        let rows = self.rows().into_iter().map(|row| {
            json!({
                "name": row.name,
                "block": row.block.word(),
                "group": row.group.word(),
                "before": row.before,
                "after": row.after,
                "difference": row.grown(),
            })
        });
        let keys = self
            .keys()
            .into_iter()
            .map(|(key, before, after)| (key.word().to_owned(), json!({ "before": before, "after": after })));
        let (before, after) = (self.before.estimate(), self.after.estimate());
        let side = |estimate: &crate::estimate::Estimate| {
            json!({
                "peak": estimate.peak.bytes,
                "moment": estimate.peak.moment.to_string(),
                "fits": fits(&estimate.fits),
            })
        };
        pretty(&json!({
            "before": side(before),
            "after": side(after),
            "difference": super::compare::difference(before.peak.bytes, after.peak.bytes),
            "keys": keys.collect::<Map<_, _>>(),
            "rows": rows.collect::<Vec<_>>(),
        }))
    }
}
