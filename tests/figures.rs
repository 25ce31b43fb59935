//! The figures as SVG, compared with pictures that were looked at (`tests/snapshots/figures/*.svg`).
//!
//! `INSTA_UPDATE=always cargo test --test figures` rewrites them.

use trainmem::chart::{self, DARK, LIGHT, Look, Palette, Scene};
use trainmem::config::{Config, Optimizer, Precision, Recompute, Schedule, Stack, Units};
use trainmem::estimate::{Estimate, estimate};
use trainmem::sweep::{BATCH, SEQ, Variable, what_if};
use trainmem::text::Lang;

fn config(model: &str) -> Config {
    Config { model: Some(model.to_owned()), ..Config::default() }
}

/// Half of an 80 GB card: all blocks are visible.
fn fits() -> Config {
    Config { batch: 2, precision: Precision::Bf16, ..config("llama-3.1-8b") }
}

/// Far more than the card holds.
fn too_large() -> Config {
    Config { batch: 4, gpu: Some("rtx-4090".to_owned()), ..config("llama-3.1-8b") }
}

/// Blocks too small for a label.
fn slivers() -> Config {
    Config {
        optimizer: Optimizer::Sgd,
        recompute: Recompute::Full,
        seq: 512,
        gpu: Some("h200-141g".to_owned()),
        ..config("llama-3.2-1b")
    }
}

fn answer(config: &Config) -> Estimate {
    estimate(config).expect("a shipped model")
}

fn look(palette: &Palette, lang: Lang, width: u32, height: u32) -> Look<'_> {
    Look { palette, lang, units: Units::Gib, width, height }
}

fn same(name: &str, scene: &Scene) {
    insta::with_settings!({ snapshot_path => "snapshots/figures", prepend_module_to_snapshot => false }, {
        insta::assert_binary_snapshot!(&format!("{name}.svg"), scene.svg().into_bytes());
    });
}

/// Each case in one look on a wide page and one on a phone, so that both themes and languages are seen in both.
const LOOKS: [(&str, &Palette, Lang, u32); 4] = [
    ("light-en-wide", &LIGHT, Lang::En, 960),
    ("dark-zh-narrow", &DARK, Lang::Zh, 320),
    ("dark-zh-wide", &DARK, Lang::Zh, 960),
    ("light-en-narrow", &LIGHT, Lang::En, 320),
];

fn looks(case: usize) -> [(&'static str, &'static Palette, Lang, u32); 2] {
    let first = case % 2 * 2;
    [LOOKS[first], LOOKS[first + 1]]
}

#[test]
fn bars() {
    for (i, (case, config)) in
        [("fits", fits()), ("too-large", too_large()), ("slivers", slivers())].into_iter().enumerate()
    {
        let answer = answer(&config);
        for (name, palette, lang, width) in looks(i) {
            let look = look(palette, lang, width, chart::bar_height(width));
            same(&format!("bar-{case}-{name}"), &chart::bar(&answer, &look));
        }
    }
}

/// The first stage holds the most activations.
fn pipeline(pp: u64, vpp: u64) -> Config {
    Config {
        stack: Stack::MegatronCore,
        gpus: 8 * pp,
        tp: 8,
        sp: true,
        pp,
        vpp,
        schedule: if vpp > 1 { Schedule::Interleaved } else { Schedule::OneFOneB },
        accumulation: 64,
        seq: 8192,
        gpu: Some("h100-80g".to_owned()),
        ..config("llama-3.1-70b")
    }
}

#[test]
fn pipelines() {
    let cases = [("of-4", pipeline(4, 1)), ("interleaved", pipeline(8, 5)), ("of-20", pipeline(20, 1))];
    for (i, (case, config)) in cases.into_iter().enumerate() {
        let answer = answer(&config);
        for (name, palette, lang, width) in looks(i) {
            let look = look(palette, lang, width, chart::stages_height(&answer, width));
            same(&format!("stages-{case}-{name}"), &chart::stages(&answer, &look));
        }
    }
    let answer = answer(&fits());
    let look = look(&LIGHT, Lang::En, 960, chart::stages_height(&answer, 960));
    same("stages-of-1-light-en-wide", &chart::stages(&answer, &look));
}

#[test]
fn timelines() {
    for (i, (case, config)) in [("slivers", slivers()), ("fits", fits())].into_iter().enumerate() {
        let answer = answer(&config);
        for (name, palette, lang, width) in looks(i) {
            let look = look(palette, lang, width, 320);
            same(&format!("timeline-{case}-{name}"), &chart::timeline(&answer, &look));
        }
    }
}

#[test]
fn sweeps() {
    let cases: [(&str, Config, &Variable); 2] = [("batch", fits(), &BATCH), ("seq", slivers(), &SEQ)];
    for (i, (case, config, variable)) in cases.into_iter().enumerate() {
        let what_if = what_if(&config, variable);
        let fit = answer(&config).fits;
        for (name, palette, lang, width) in looks(i) {
            let look = look(palette, lang, width, 320);
            same(&format!("sweep-{case}-{name}"), &chart::sweep(&what_if, &fit, &look));
        }
    }
}

#[test]
fn any_number_can_be_what_varies() {
    let look = look(&LIGHT, Lang::En, 360, 320);
    for link in ["", "method=lora&gpus=8&pp=2&stack=megatron-core", "model_type=vit&hidden_size=64"] {
        let config = Config::from_link(link).config;
        let Ok(answer) = estimate(&config) else { continue };
        for variable in Variable::all() {
            let what_if = what_if(&config, &variable);
            assert!(what_if.points.is_sorted_by_key(|point| point.value), "{}", variable.key());
            assert!(
                chart::sweep(&what_if, &answer.fits, &look).svg().starts_with("<svg"),
                "{}",
                variable.key()
            );
        }
    }
    assert!(Variable::all().any(|variable| variable == BATCH));
    assert!(Variable::all().any(|variable| variable.key() == "num_hidden_layers"));
}

#[test]
fn a_document_has_title_description_and_no_script() {
    let look = look(&LIGHT, Lang::En, 960, 188);
    let svg = chart::bar(&answer(&fits()), &look).svg();
    assert!(svg.starts_with("<svg width=\"960\" height=\"188\""));
    assert!(svg.contains("role=\"img\"><title>Who eats the memory</title><desc>Stacked bar"));
    assert!(!svg.contains("script") && !svg.contains("href"));
}
