//! The layouts of real configurations: nothing leaves the frame, no label covers another.

use super::measure::{bold_width, width};
use super::scene::{Align, Label, Shape};
use super::{DARK, LIGHT, Look, Scene, bar, bar_height, stages, stages_height, sweep, timeline};
use crate::config::{Config, Optimizer, Precision, Recompute, Schedule, Stack, Units};
use crate::estimate::{Estimate, Verdict, estimate};
use crate::ledger::{Block, ByBlock};
use crate::sweep::{BATCH, SEQ, what_if};
use crate::text::Lang;

fn configs() -> Vec<Config> {
    let mut out = Vec::new();
    for model in ["llama-3.1-8b", "llama-3.2-1b", "qwen2.5-72b"] {
        for gpu in ["rtx-4090", "a100-80g", "b300-288g"] {
            for precision in [Precision::Bf16, Precision::Bf16Autocast] {
                for (batch, recompute) in [(1, Recompute::Full), (16, Recompute::None)] {
                    out.push(Config {
                        model: Some(model.to_owned()),
                        gpu: Some(gpu.to_owned()),
                        optimizer: if batch == 1 { Optimizer::Sgd } else { Optimizer::Adamw },
                        precision,
                        batch,
                        recompute,
                        ..Config::default()
                    });
                }
            }
        }
    }
    out
}

/// Every figure of an answer in every size, language and unit.
fn each_scene(config: &Config, estimate: &Estimate, mut check: impl FnMut(&Scene, &Look)) {
    let sweeps = [what_if(config, &BATCH), what_if(config, &SEQ)];
    for (width, height) in [(320, 320), (480, 320), (720, 320), (1200, 320)] {
        for (lang, units, palette) in [(Lang::En, Units::Gib, &LIGHT), (Lang::Zh, Units::Gb, &DARK)] {
            let look = Look { palette, lang, units, width, height };
            check(&bar(estimate, &Look { height: bar_height(width), ..look }), &look);
            check(&bar(estimate, &look), &look);
            check(&timeline(estimate, &look), &look);
            for what_if in &sweeps {
                check(&sweep(what_if, &estimate.fits, &look), &look);
            }
        }
    }
}

/// Left, top, right, bottom.
fn extent(label: &Label) -> [f64; 4] {
    let wide = if label.bold { bold_width(&label.text, label.size) } else { width(&label.text, label.size) };
    let (x, y) = label.at;
    let left = match label.align {
        Align::Left => x,
        Align::Middle => x - wide / 2.0,
        Align::Right => x - wide,
    };
    [left, y - label.size * 0.5, left + wide, y + label.size * 0.5]
}

fn labels(scene: &Scene) -> Vec<&Label> {
    let mut labels = Vec::new();
    for shape in &scene.shapes {
        if let Shape::Label(label) = shape {
            labels.push(label);
        }
    }
    labels
}

fn labels_are_inside_and_apart(scene: &Scene, case: &dyn std::fmt::Debug) {
    let labels = labels(scene);
    for (i, label) in labels.iter().enumerate() {
        let [left, top, right, bottom] = extent(label);
        let inside =
            left >= 0.0 && top >= 0.0 && right <= f64::from(scene.width) && bottom <= f64::from(scene.height);
        assert!(inside, "{:?} at {:?} leaves {case:?}", label.text, extent(label));
        for other in &labels[..i] {
            let b = extent(other);
            let apart = right <= b[0] || b[2] <= left || bottom <= b[1] || b[3] <= top;
            assert!(apart, "{:?} covers {:?} in {case:?}", label.text, other.text);
        }
    }
}

fn shapes_are_inside(scene: &Scene, case: &dyn std::fmt::Debug) {
    for shape in &scene.shapes {
        let points = match shape {
            Shape::Rect(from, to, _) => vec![*from, *to],
            Shape::Area(points, _) | Shape::Line(points, _, _) => points.clone(),
            Shape::Dot(centre, _, _) => vec![*centre],
            Shape::Label(_) => Vec::new(),
        };
        for (x, y) in points {
            let inside = (-0.5..=f64::from(scene.width) + 0.5).contains(&x)
                && (-0.5..=f64::from(scene.height) + 0.5).contains(&y);
            assert!(inside, "({x}, {y}) of {shape:?} leaves {case:?}");
        }
    }
}

#[test]
fn labels_stay_inside_and_apart() {
    for config in configs() {
        let estimate = estimate(&config).expect("a shipped model");
        each_scene(&config, &estimate, |scene, look| {
            assert!(labels(scene).len() > 4);
            labels_are_inside_and_apart(scene, &(look, &config));
        });
    }
}

#[test]
fn shapes_stay_inside() {
    for config in configs() {
        let estimate = estimate(&config).expect("a shipped model");
        each_scene(&config, &estimate, |scene, look| shapes_are_inside(scene, look));
    }
}

/// Pipelines: short and long, in one chunk and several, that fit and that don't.
fn pipelines() -> Vec<Config> {
    let mut out = Vec::new();
    for (model, pp, vpp) in
        [("llama-3.1-8b", 1, 1), ("llama-3.1-8b", 2, 1), ("llama-3.1-70b", 8, 5), ("llama-3.1-405b", 63, 1)]
    {
        for gpu in ["rtx-4090", "h100-80g", "b300-288g"] {
            out.push(Config {
                model: Some(model.to_owned()),
                gpu: Some(gpu.to_owned()),
                stack: Stack::MegatronCore,
                gpus: pp * 8,
                tp: 8,
                pp,
                vpp,
                schedule: if vpp > 1 { Schedule::Interleaved } else { Schedule::OneFOneB },
                accumulation: 128,
                ..Config::default()
            });
        }
    }
    out
}

#[test]
fn stages_stay_inside_and_apart_and_name_the_fullest() {
    for config in pipelines() {
        let estimate = estimate(&config).expect("a shipped model");
        for width in [320, 390, 559, 560, 720, 1200] {
            for (lang, units, palette) in [(Lang::En, Units::Gib, &LIGHT), (Lang::Zh, Units::Gb, &DARK)] {
                let look = Look { palette, lang, units, width, height: stages_height(&estimate, width) };
                let scene = stages(&estimate, &look);
                labels_are_inside_and_apart(&scene, &(&look, &config));
                shapes_are_inside(&scene, &look);
                let bold = labels(&scene).into_iter().filter(|label| label.bold).count();
                // The caption and the row of the fullest, wherever it is in a long pipeline.
                assert_eq!(bold, if config.pp > 1 { 2 } else { 0 }, "{look:?} {config:?}");
            }
        }
    }
}

#[test]
fn what_a_stage_holds_sums_to_its_peak_and_the_fullest_is_the_answer() {
    for config in pipelines() {
        let estimate = estimate(&config).expect("a shipped model");
        let layers: u64 = estimate.stages.iter().map(|stage| stage.layers).sum();
        let model = crate::architecture::Architecture::of(&config).expect("a shipped model");
        assert_eq!(layers, model.layers() as u64, "every layer is in one stage");
        for stage in &estimate.stages {
            assert_eq!(stage.blocks.sum(), stage.peak);
            assert!(stage.device.expected >= stage.allocated && stage.allocated >= stage.peak);
            assert_eq!(stage.chunks, config.vpp);
            if config.vpp == 1 {
                assert_eq!(stage.in_flight, config.pp - stage.stage, "1F1B");
            }
        }
        let fullest = &estimate.stages[usize::try_from(estimate.peak.stage).unwrap()];
        assert_eq!((fullest.blocks, fullest.allocated), (estimate.peak.blocks, estimate.allocated));
        assert_eq!(fullest.device, estimate.device);
    }
}

#[test]
fn the_words_name_every_block_the_peak_and_the_card() {
    let config = Config { batch: 2, ..Config::default() };
    let estimate = estimate(&config).expect("a shipped model");
    let look = Look { palette: &LIGHT, lang: Lang::En, units: Units::Gib, width: 720, height: 196 };
    let said = bar(&estimate, &look).label;
    for (block, bytes) in estimate.peak.blocks.iter().filter(|(_, bytes)| *bytes > 0) {
        let name = crate::text::ledger::block_inline(block).get(Lang::En);
        assert!(said.contains(&format!("{name} {}", look.size(bytes))), "{block:?}: {said}");
    }
    assert!(said.contains(&look.size(estimate.device.expected)));
    assert!(said.contains("A100 80 GB"));
    let said = timeline(&estimate, &look).label;
    assert!(said.contains(&look.size(estimate.peak.bytes)), "{said}");
}

#[test]
fn the_bar_is_to_scale() {
    let estimate = estimate(&Config::default()).expect("a shipped model");
    let look = Look { palette: &LIGHT, lang: Lang::En, units: Units::Gib, width: 1000, height: 196 };
    let scene = bar(&estimate, &look);
    let most = estimate.fits.capacity.max(estimate.device.high).max(estimate.peak.bytes);
    let per_pixel = (most + most / 50) as f64 / 980.0;
    for (block, bytes) in estimate.peak.blocks.iter().filter(|(_, bytes)| *bytes > 0) {
        let colour = look.palette.block(block);
        // The first rectangle of the colour is the segment; the legend's swatch comes after it.
        let wide = scene.shapes.iter().find_map(|shape| match shape {
            Shape::Rect(from, to, paint) if paint.0 == colour => Some(to.0 - from.0),
            _ => None,
        });
        let wide = wide.expect("every block is drawn");
        assert!((wide - bytes as f64 / per_pixel).abs() <= 1.5, "{block:?}: {wide} pixels");
    }
    assert_ne!(estimate.peak.blocks.get(Block::Parameters), 0);
}

#[test]
fn extremes_are_drawn_without_a_panic() {
    let mut estimate = estimate(&Config::default()).expect("a shipped model");
    let check = |estimate: &Estimate| {
        each_scene(&Config::default(), estimate, |scene, _| assert!(scene.svg().ends_with("</svg>\n")));
    };
    estimate.timeline.clear();
    check(&estimate);
    estimate.fits.capacity = 0;
    estimate.fits.verdict = Verdict::No;
    check(&estimate);
    estimate.peak.blocks = ByBlock::default();
    estimate.peak.bytes = 0;
    (estimate.device.low, estimate.device.expected, estimate.device.high) = (0, 0, 0);
    check(&estimate);
    estimate.peak.blocks.add(Block::Parameters, u64::MAX);
    estimate.peak.bytes = u64::MAX;
    (estimate.device.low, estimate.device.expected, estimate.device.high) = (u64::MAX, u64::MAX, u64::MAX);
    check(&estimate);
}
