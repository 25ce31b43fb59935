//! The estimate against physical GPUs: figures that others measured and published, with the run's settings
//! (`tests/data/measured.jsonl`, a source on each row). Nothing in the program was fitted to them.

use trainmem::accuracy::{Case, Judged, Metric, Regime, distribution, table};

fn cases() -> Vec<Case> {
    include_str!("data/measured.jsonl").lines().filter_map(Case::read).collect()
}

#[test]
fn an_a100s_own_counter() {
    let cases = cases();
    let full: Vec<&Case> =
        cases.iter().filter(|case| case.id.starts_with("m335") || case.id.starts_with("m337")).collect();
    let counted =
        full.iter().filter(|case| matches!(case.metric, Metric::Allocated | Metric::WithoutGradients));
    let mut seen = 0;
    for case in counted {
        let judged = case.judge().expect("a supported model");
        let (ours, theirs) = (judged.estimated, case.measured);
        assert!(ours.abs_diff(theirs) * 5_000 < theirs, "{}: {ours} B, measured {theirs} B", case.id);
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// What is reached today is not lost again.
#[test]
fn full_fine_tuning_on_one_gpu_is_near_on_most_runs() {
    let cases = cases();
    let judged: Vec<Judged> = cases
        .iter()
        .filter(|case| case.confident && case.regime == Regime::Full)
        .filter(|case| matches!(case.metric, Metric::Allocated | Metric::WithoutGradients))
        .filter_map(Case::judge)
        .filter(|judged| !judged.partial)
        .collect();
    let all = distribution(&judged);
    assert!(all.cases >= 10, "{all:?}");
    assert!(all.typical <= 0.01, "{all:?}");
}

/// The page shows these errors; `./dev accuracy --write` renews the file.
#[test]
fn the_pages_table_is_what_the_estimate_says_today() {
    let cases = cases();
    let judged: Vec<Judged> = cases.iter().filter_map(Case::judge).collect();
    let shown = include_str!("../public/accuracy.json");
    assert!(shown == table(&judged), "public/accuracy.json is old: run ./dev accuracy --write");
}
