//! The doctor promises only what the estimator says: savings are differences, the largest value is the largest, a
//! search finds what trying everything finds.

#![allow(clippy::unwrap_used)] // helpers of tests fail as tests do

use proptest::prelude::*;
use trainmem::architecture::Architecture;
use trainmem::config::{
    Attention, Config, DataParallel, GradDtype, Loss, Method, Optimizer, OptimizerImpl, Precision,
    Quantization, Recompute, Stack,
};
use trainmem::doctor::{
    Case, Change, Examination, Fleet, MOST_CHANGES, Need, Outcome, Prescription, Price, REMEDIES, Reason,
    Search, changes, compare,
};
use trainmem::estimate::{Estimate, Reserve, Verdict, brief, estimate, is_hopeless, of};
use trainmem::sweep::{BATCH, LORA_RANK, MOST, SEQ, Variable, largest_that_fits};

/// Configurations of a small model on a card that is about as large as what they need.
fn configs() -> impl Strategy<Value = Config> {
    let run = (
        prop::sample::select(Precision::ALL),
        prop::sample::select(Attention::ALL),
        prop::sample::select(vec![Recompute::None, Recompute::Full]),
        prop::sample::select(Optimizer::ALL),
        prop::sample::select(OptimizerImpl::ALL),
        prop::sample::select(GradDtype::ALL),
        prop::sample::select(Loss::ALL),
        prop::sample::select(vec![Method::Full, Method::Lora, Method::Qlora]),
    );
    let sizes =
        (1_u64..9, 16_u64..600, 1_u64..3, 1_u64..40, 10_u64..40, prop::sample::select(Quantization::ALL));
    (run, sizes).prop_map(|(run, (batch, seq, accumulation, lora_rank, card, quantization))| {
        let (precision, attention, recompute, optimizer, optimizer_impl, grad_dtype, loss, method) = run;
        let mut config = Config::from_link(
            "model_type=llama&num_hidden_layers=4&num_attention_heads=4&num_key_value_heads=2&head_dim=32\
             &hidden_size=256&intermediate_size=700&vocab_size=4000",
        )
        .config;
        config.gpu_memory = Some(card << 26);
        Config {
            precision,
            attention,
            recompute,
            optimizer,
            optimizer_impl,
            grad_dtype,
            loss,
            method,
            quantization,
            batch,
            seq,
            accumulation,
            lora_rank,
            ..config
        }
    })
}

fn answer(config: &Config) -> Estimate {
    estimate(&config.checked().config).expect("these models can be read")
}

fn examine(case: &Case) -> Examination {
    let mut examination = Examination::new(case);
    while !examination.advance(case, 7) {}
    examination
}

/// What a prescription says, from two estimates of its own settings.
fn is_the_difference(case: &Case, found: &Prescription) {
    let mut config = case.config().clone();
    for (key, value) in &found.settings {
        config.set(key.word(), value).unwrap();
    }
    let (before, after) = (answer(case.config()), answer(&config));
    let signed = |bytes: u64| i64::try_from(bytes).unwrap();
    assert_eq!(found.saved, signed(before.peak.bytes) - signed(after.peak.bytes), "{:?}", found.settings);
    assert_eq!(found.device_saved, signed(before.device.expected) - signed(after.device.expected));
    assert_eq!(found.outcome.fits, after.fits);
}

/// A set's prices from the dearest to the cheapest.
fn prices(set: &[Change]) -> Vec<Price> {
    let mut prices: Vec<Price> = set.iter().map(|change| change.remedy.price).collect();
    prices.sort_by(|a, b| b.cmp(a));
    prices
}

/// The cheapest set by trying every one: its prices and its peak.
fn by_force(case: &Case, worst: Verdict) -> Option<(Vec<Price>, u64)> {
    let choices: Vec<Change> =
        changes(case.config()).into_iter().filter(|change| change.remedy.common).collect();
    let mut sets: Vec<Vec<Change>> = vec![vec![]];
    for choice in choices {
        let with = sets.iter().filter(|set| set.len() < MOST_CHANGES);
        let with = with.filter(|set| !set.iter().any(|other| other.excludes(&choice)));
        let more: Vec<_> = with.map(|set| [set.as_slice(), &[choice]].concat()).collect();
        sets.extend(more);
    }
    let answers = sets.iter().filter(|set| !set.is_empty()).filter_map(|set| {
        // A change that cannot be made alone is none.
        let alone = set.iter().all(|change| case.answer(&Change::all(case.config(), &[*change])).is_some());
        let answer = case.answer(&Change::all(case.config(), set)).filter(|_| alone)?;
        Some((prices(set), answer.peak.bytes, answer.fits.verdict))
    });
    let fitting = answers.filter(|(.., verdict)| verdict.is_at_worst(worst));
    fitting.map(|(prices, peak, _)| (prices, peak)).min()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn every_saving_is_the_difference_of_two_estimates(config in configs()) {
        let case = Case::of(&config, Reserve::Typical).unwrap();
        let examination = examine(&case);
        for found in examination.singles().iter().chain(examination.pairs()) {
            is_the_difference(&case, found);
            prop_assert!(found.saves());
        }
        let savings: Vec<i64> = examination.singles().iter().map(|found| found.saved).collect();
        prop_assert!(savings.is_sorted_by(|a, b| a >= b));
        for pair in examination.pairs() {
            for change in &pair.changes {
                let alone = Prescription::of(&case, &[*change]).unwrap();
                prop_assert!((pair.saved, pair.device_saved) > (alone.saved, alone.device_saved));
            }
        }
    }

    #[test]
    fn nothing_is_offered_that_is_replaced_or_not_taken_into_account(config in configs()) {
        let case = Case::of(&config, Reserve::Typical).unwrap();
        let known = |estimate: Estimate, config: &Config| [config.checked().problems, estimate.warnings].concat();
        let before = known(answer(case.config()), &config);
        let examination = examine(&case);
        for found in examination.singles().iter().chain(examination.pairs()) {
            let config = Change::all(case.config(), &found.changes);
            for problem in known(answer(&config), &config) {
                prop_assert!(before.contains(&problem), "{:?}: {:?}", found.settings, problem);
            }
        }
    }

    #[test]
    fn the_largest_value_fits_and_one_more_does_not(config in configs()) {
        for variable in [BATCH, SEQ, LORA_RANK] {
            for worst in [Verdict::Yes, Verdict::Tight] {
                let fits = |value| {
                    let config = variable.with(&config.checked().config, value).unwrap();
                    answer(&config).fits.verdict.is_at_worst(worst)
                };
                match largest_that_fits(&config, &variable, worst, Reserve::Typical) {
                    None => prop_assert!(!fits(1)),
                    Some(MOST) => prop_assert!(fits(1)),
                    Some(value) => prop_assert!(fits(value) && !fits(value + 1), "{} {value}", variable.key()),
                }
            }
        }
    }

    #[test]
    fn what_a_search_is_told_is_what_the_estimate_says(
        config in configs(),
        gpus in prop::sample::select(vec![1_u64, 8, 16]),
        data_parallel in prop::sample::select(DataParallel::ALL),
        (pp, tp) in prop::sample::select(vec![(1_u64, 1_u64), (2, 1), (4, 2)]),
        stack in prop::sample::select(Stack::ALL),
    ) {
        let other = Config { gpus, data_parallel, pp, tp, stack, ..config.clone() }.checked().config;
        let model = Architecture::of(&other).unwrap();
        let (brief, whole) = (brief(&model, &other), of(&model, &other));
        prop_assert_eq!(brief.peak, whole.peak.bytes);
        prop_assert_eq!(brief.device, whole.device);
        prop_assert_eq!(&brief.fits, &whole.fits);
        prop_assert_eq!(brief.warnings, whole.warnings);
        prop_assert!(!is_hopeless(&model, &other) || brief.peak > brief.fits.capacity);
        let case = Case::of(&config, Reserve::Typical).unwrap();
        prop_assert_eq!(case.outcome(&other), case.answer(&other).map(|answer| Outcome::of(&answer)));
    }

    #[test]
    fn rows_that_differ_sum_to_the_difference_of_the_peaks(first in configs(), second in configs()) {
        let (before, after) = (answer(&first), answer(&second));
        let rows = compare(&before, &after);
        let sum: i64 = rows.iter().map(trainmem::doctor::Row::grown).sum();
        prop_assert_eq!(sum, after.peak.bytes.cast_signed() - before.peak.bytes.cast_signed());
        prop_assert!(compare(&before, &before).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4) })]

    #[test]
    fn the_search_finds_what_trying_everything_finds(config in configs()) {
        let case = Case::of(&config, Reserve::Typical).unwrap();
        let mut search = Search::new(&case);
        while !search.advance(&case, 5) {}
        if case.estimate().fits.verdict == Verdict::Yes {
            prop_assert!(search.sure().is_none() && search.is_empty());
            return Ok(());
        }
        for (worst, found) in [(Verdict::Yes, search.sure()), (Verdict::Tight, search.tight())] {
            let found = found.map(|found| (prices(&found.changes), found.outcome.peak));
            prop_assert_eq!(found, by_force(&case, worst));
        }
    }
}

#[test]
fn the_table_sets_what_its_keys_accept() {
    for (at, remedy) in REMEDIES.iter().enumerate() {
        assert!(REMEDIES[..at].iter().all(|other| other.id != remedy.id), "{} twice", remedy.id);
        assert!(remedy.slowdown.is_none_or(|slowdown| slowdown.low <= slowdown.high), "{}", remedy.id);
    }
    let (mut everything, problems) = {
        let read =
            Config::from_link("batch=8&gpus=16&recompute=full&loss=chunked&loss_chunks=4&grad_dtype=fp32");
        (read.config, read.problems)
    };
    assert_eq!(problems, []);
    for method in [Method::Full, Method::Lora, Method::Qlora] {
        everything.method = method;
        for change in changes(&everything) {
            let changed = Change::all(&everything, &[change]);
            assert_ne!(changed, everything, "{}", change.remedy.id);
            for (key, value) in everything.changes(&changed) {
                assert_eq!(everything.clone().set(key.word(), &value), Ok(()), "{}", change.remedy.id);
            }
        }
    }
}

#[test]
fn a_saving_nothing_says_why() {
    let case =
        Case::of(&Config::from_link("precision=bf16&accumulation=4&attention=sdpa").config, Reserve::Typical)
            .unwrap();
    let examination = examine(&case);
    let reason = |id: &str| {
        let useless = examination.useless().iter().find(|useless| useless.change.remedy.id == id);
        useless.map(|useless| useless.reason.clone())
    };
    // PyTorch chooses flash attention itself where there is no mask.
    assert_eq!(reason("flash-attention"), Some(Reason::Unchanged));
}

/// The search for the fewest cards, to its end.
fn fleet(case: &Case, slices: usize) -> Fleet {
    let mut fleet = Fleet::new(case);
    for _ in 0..slices {
        if fleet.advance(case, 50) {
            break;
        }
    }
    fleet
}

/// The configuration that a finding stands for; the estimate agrees that it fits.
fn agreed(case: &Case, need: &Need) -> Config {
    let mut config = Config { gpu: Some(need.gpu.id.to_owned()), gpus: need.gpus, ..case.config().clone() };
    for (key, value) in &need.layout {
        config.set(key.word(), value).unwrap();
    }
    assert_eq!(answer(&config).fits, need.fits);
    assert_eq!(need.fits.verdict, Verdict::Yes, "{}", need.gpu.id);
    config
}

#[test]
fn the_fewest_cards_hold_it() {
    let case = Case::of(&Config::from_link("precision=bf16&batch=2").config, Reserve::Typical).unwrap();
    let fleet = fleet(&case, 40);
    assert!(!fleet.found().is_empty());
    for need in fleet.found() {
        agreed(&case, need);
    }
    // Whatever is larger and not listed would have been.
    let smallest =
        fleet.found().iter().filter(|need| need.gpus == 1).map(|need| need.gpu.usable()).min().unwrap();
    for gpu in trainmem::config::gpus().iter().filter(|gpu| gpu.usable() > smallest + (64 << 20)) {
        assert!(fleet.found().iter().any(|need| need.gpu == gpu && need.gpus == 1), "{}", gpu.id);
    }
}

#[test]
fn the_fewest_cards_share_out_experts() {
    let link = "model_type=mixtral&hidden_size=4096&num_hidden_layers=32&num_attention_heads=32\
                &num_key_value_heads=8&intermediate_size=14336&vocab_size=32000&num_local_experts=8\
                &num_experts_per_tok=2&stack=megatron-core&precision=bf16-mixed&attention=flash";
    let case = Case::of(&Config::from_link(link).config, Reserve::Typical).unwrap();
    let fleet = fleet(&case, 200);
    let mut shared = 0;
    for need in fleet.found() {
        let config = agreed(&case, need);
        if config.ep > 1 {
            shared += 1;
            // It would have come earlier: a layout with whole replicas of the experts does not do.
            assert_ne!(answer(&Config { ep: 1, ..config }).fits.verdict, Verdict::Yes, "{}", need.gpu.id);
        }
    }
    assert!(shared > 0, "{:?}", fleet.found());
}

#[test]
fn any_key_that_takes_a_number_can_be_varied() {
    for key in ["batch", "seq", "lora_rank", "loss_chunks", "gpus", "tp", "num_hidden_layers", "vocab_size"] {
        let variable = Variable::find(key).unwrap();
        assert_eq!(variable.key(), key);
        assert!(variable.of(&Config::default()) > 0);
    }
    for key in ["model", "precision", "params", "gpu_memory", "nothing"] {
        assert_eq!(Variable::find(key), None, "{key}");
    }
}
