//! Prints how right the estimate is on the measured runs: `./dev accuracy`. With `--write` it also renews the page's
//! table, `public/accuracy.json`.

use trainmem::accuracy::{Case, Judged, distribution, grouped};
use trainmem::text::Lang;

const CASES: &str = include_str!("../data/measured.jsonl");

fn main() {
    let cases: Vec<Case> = CASES.lines().filter_map(Case::read).collect();
    let judged: Vec<Judged> = cases.iter().filter_map(Case::judge).collect();
    println!("{} published runs, {} of them with a model that is supported\n", cases.len(), judged.len());
    println!("{:28} {:28} cases  median  |typical|  9 of 10  near  in band", "regime", "figure");
    for ((regime, metric), group) in grouped(&judged) {
        let of = distribution(&group);
        println!(
            "{:28} {:28} {:5} {:+6.1}%   {:6.1}%  {:6.1}%  {:3.0}%     {:3.0}%",
            regime.name(Lang::En),
            metric.name(Lang::En),
            of.cases,
            100.0 * of.median,
            100.0 * of.typical,
            100.0 * of.ninth,
            100.0 * of.near,
            100.0 * of.in_band,
        );
    }
    let mut far: Vec<&Judged> = judged.iter().filter(|one| !one.near()).collect();
    far.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    println!("\nfurther off than their source explains ({}):", far.len());
    for one in far {
        let reason = one.reason().map_or("no reason found yet", |reason| reason.text().en);
        println!("{:+8.1}%  {:10} {}: {reason}", 100.0 * one.error(), one.case.id, one.case.source);
    }
    if std::env::args().any(|argument| argument == "--write") {
        let table = trainmem::accuracy::table(&judged);
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/public/accuracy.json"), table)
            .expect("public/ can be written");
    }
}
