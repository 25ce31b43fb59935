//! How right is it? The estimate against figures that other people measured on real GPUs and published.
//!
//! Nothing in the program was fitted to them. A case is read from one line of JSON (`tests/data/measured.jsonl`), answered
//! like any other configuration, and compared with what was measured; [`distribution`] sums up many.

use crate::architecture::Architecture;
use crate::config::{Config, DataParallel, Method, Problem, ProblemKind, Stack};
use crate::estimate::{Band, Estimate, Reserve, of_with};
use crate::ledger::Block;
use crate::text::accuracy as text;
use crate::text::{Lang, Text};
use serde_json::{Value, json};

/// Which figure was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// The framework's own counter at its maximum.
    Allocated,
    /// The caching allocator at its maximum.
    Reserved,
    /// What `nvidia-smi` shows.
    Device,
    /// One of the three: the source does not say which.
    Unstated,
    /// Weights, gradients and states between steps.
    Static,
    /// The same without gradients.
    WithoutGradients,
    /// One block alone.
    Block(Block),
}

impl Metric {
    /// Those that the report has a figure for.
    const ALL: [Self; 9] = [
        Self::Allocated,
        Self::Reserved,
        Self::Device,
        Self::Unstated,
        Self::Static,
        Self::WithoutGradients,
        Self::Block(Block::Parameters),
        Self::Block(Block::Gradients),
        Self::Block(Block::Optimizer),
    ];

    /// The metric of a case; `None`: one that the report has no figure for (a bare context, one module alone).
    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.word() == word)
    }

    /// Its name in the data.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allocated => "allocated",
            Self::Reserved => "reserved",
            Self::Device => "device",
            Self::Unstated => "unstated",
            Self::Static => "static",
            Self::WithoutGradients => "params_optimizer",
            Self::Block(Block::Parameters) => "params",
            Self::Block(Block::Gradients) => "grads",
            Self::Block(block) => block.word(),
        }
    }

    /// Its name for people.
    pub fn name(self, lang: Lang) -> &'static str {
        let name = match self {
            Self::Allocated => text::ALLOCATED,
            Self::Reserved => text::RESERVED,
            Self::Device => text::DEVICE,
            Self::Unstated => text::UNSTATED,
            Self::Static => text::STATIC,
            Self::WithoutGradients => text::WITHOUT_GRADIENTS,
            Self::Block(block) => crate::text::ledger::block(block),
        };
        name.get(lang)
    }

    /// The answer, and the range in which the program expects the measured figure (bytes).
    fn figure(self, answer: &Estimate, stage: Option<usize>, measured: u64) -> (u64, Band) {
        let point = |bytes| (bytes, Band { low: bytes, expected: bytes, high: bytes });
        let band = |band: Band| (band.expected, band);
        match self {
            Self::Allocated => {
                let staged = stage.and_then(|stage| answer.stages.get(stage));
                point(staged.map_or(answer.allocated, |stage| stage.allocated))
            }
            Self::Reserved => band(answer.reserved),
            Self::Device => band(answer.device),
            // Anything from the lowest to the highest is right.
            Self::Unstated => {
                let (low, high) = (answer.allocated, answer.device.high);
                let expected = measured.clamp(low, high.max(low));
                (expected, Band { low, expected, high })
            }
            Self::Static => point(answer.between_steps.with_gradients),
            Self::WithoutGradients => point(answer.between_steps.without_gradients),
            Self::Block(block) => point(answer.block(block)),
        }
    }
}

/// How the run was spread over GPUs, or what was trained on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Regime {
    /// One GPU, all weights trained.
    Full,
    /// One GPU, adapters.
    Lora,
    /// One GPU, adapters over a quantised base.
    Qlora,
    /// A replica on each GPU.
    Replicated,
    /// FSDP.
    Fsdp,
    /// DeepSpeed's ZeRO.
    Zero,
    /// Megatron-core: tensor, pipeline, expert parallel, distributed optimizer.
    Megatron,
}

impl Regime {
    fn of(config: &Config) -> Self {
        if config.stack == Stack::MegatronCore {
            return Self::Megatron;
        }
        match (config.gpus, config.data_parallel, config.method) {
            (0..=1, _, Method::Lora) => Self::Lora,
            (0..=1, _, Method::Qlora) => Self::Qlora,
            (0..=1, ..) => Self::Full,
            (_, DataParallel::Ddp, _) => Self::Replicated,
            (_, DataParallel::Zero1 | DataParallel::Zero2 | DataParallel::Zero3, _) => Self::Zero,
            _ => Self::Fsdp,
        }
    }

    /// Its name for people.
    pub fn name(self, lang: Lang) -> &'static str {
        let name: Text = match self {
            Self::Full => text::FULL,
            Self::Lora => text::LORA,
            Self::Qlora => text::QLORA,
            Self::Replicated => text::REPLICATED,
            Self::Fsdp => text::FSDP,
            Self::Zero => text::ZERO,
            Self::Megatron => text::MEGATRON,
        };
        name.get(lang)
    }
}

/// Why an estimate misses, where that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Samples are shorter than the limit that the source gives.
    Lengths,
    /// Loss code of transformers before 4.50.
    OldLoss,
    /// CUDA contexts before lazy loading.
    OldContext,
    /// Kernels of the framework's own.
    OwnKernels,
    /// A setting that has no key, or no effect yet.
    NotModelled,
    /// The allocator's fragmentation.
    Fragmentation,
    /// The peak is before training: loading, converting, quantising.
    Loading,
}

impl Reason {
    const ALL: [Self; 7] = [
        Self::Lengths,
        Self::OldLoss,
        Self::OldContext,
        Self::OwnKernels,
        Self::NotModelled,
        Self::Fragmentation,
        Self::Loading,
    ];

    /// Its name in the data.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Lengths => "lengths",
            Self::OldLoss => "old_loss",
            Self::OldContext => "old_context",
            Self::OwnKernels => "own_kernels",
            Self::NotModelled => "not_modelled",
            Self::Fragmentation => "fragmentation",
            Self::Loading => "loading",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }

    /// In a sentence.
    pub const fn text(self) -> Text {
        match self {
            Self::Lengths => text::LENGTHS,
            Self::OldLoss => text::OLD_LOSS,
            Self::OldContext => text::OLD_CONTEXT,
            Self::OwnKernels => text::OWN_KERNELS,
            Self::NotModelled => text::NOT_MODELLED,
            Self::Fragmentation => text::FRAGMENTATION,
            Self::Loading => text::LOADING,
        }
    }
}

/// Settings that stand for what every estimate assumes: sequences of equal length.
const WITHOUT_SIZE: &[&str] = &["packed"];

/// A published measurement.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in the data.
    pub id: String,
    /// The run, as far as the source tells.
    pub config: Config,
    /// Which figure was measured.
    pub metric: Metric,
    /// How the run was spread.
    pub regime: Regime,
    /// What was measured (bytes).
    pub measured: u64,
    /// How near an honest estimate can come, given what the source leaves open (a share).
    pub tolerance: f64,
    /// The source tells everything that matters.
    pub confident: bool,
    /// Pipeline stage of the figure.
    pub stage: Option<usize>,
    /// Who measured.
    pub source: String,
    /// Where it was published.
    pub url: String,
    /// Why the estimate misses, where that was found.
    pub reason: Option<Reason>,
}

impl Case {
    /// Reads one line of the data. `None`: no figure of the report answers it.
    pub fn read(line: &str) -> Option<Self> {
        let case: Value = serde_json::from_str(line).ok()?;
        let word = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        let config = Config::from_json(&case["config"].to_string()).ok()?.config.checked().config;
        Some(Self {
            id: word("id"),
            metric: Metric::parse(case["metric"].as_str()?)?,
            regime: Regime::of(&config),
            measured: case["measured_bytes"].as_u64()?,
            tolerance: case["tolerance_hint"].as_f64().unwrap_or(0.1),
            confident: case["confidence"] == "high",
            stage: case["rank_or_stage"].as_u64().and_then(|stage| usize::try_from(stage).ok()),
            source: word("source"),
            url: word("url"),
            reason: case["reason"].as_str().and_then(Reason::parse),
            config,
        })
    }

    /// Compares the estimate. `None`: the model is not supported.
    pub fn judge(&self) -> Option<Judged<'_>> {
        let model = Architecture::of(&self.config).ok()?;
        let answer = of_with(&model, &self.config, Reserve::Replayed);
        let (estimated, band) = self.metric.figure(&answer, self.stage, self.measured);
        // The answer itself says what is not in it: settings without effect, a model that is only counted.
        let left_out = |problem: &Problem| {
            problem.kind == ProblemKind::NotYet && !WITHOUT_SIZE.contains(&problem.key.as_str())
        };
        let partial = !model.modelled() || self.config.checked().problems.iter().any(left_out);
        Some(Judged { case: self, estimated, band, partial })
    }
}

/// A case with its answer.
#[derive(Clone, Debug)]
pub struct Judged<'c> {
    /// The case.
    pub case: &'c Case,
    /// The answer (bytes).
    pub estimated: u64,
    /// The range in which the program expects the measured figure (bytes).
    pub band: Band,
    /// The answer warns that something of the run is not in it.
    pub partial: bool,
}

impl Judged<'_> {
    /// Why the estimate misses, where that is known.
    pub fn reason(&self) -> Option<Reason> {
        self.case.reason.or(self.partial.then_some(Reason::NotModelled))
    }

    /// Signed error as a share of what was measured.
    pub fn error(&self) -> f64 {
        let difference = i128::from(self.estimated) - i128::from(self.case.measured);
        #[expect(clippy::cast_precision_loss, reason = "a share that is shown with three digits")]
        let error = difference as f64 / (self.case.measured.max(1)) as f64;
        error
    }

    /// Whether it is as near as the source lets anyone come.
    pub fn near(&self) -> bool {
        self.error().abs() <= self.case.tolerance
    }

    /// Whether what was measured lies in the expected range, give or take the source's own rounding.
    pub fn in_band(&self) -> bool {
        let slack = self.case.measured / 100;
        let Band { low, high, .. } = self.band;
        (low.saturating_sub(slack)..=high.saturating_add(slack)).contains(&self.case.measured)
    }

    /// As one row of the page's table.
    fn to_json(&self) -> Value {
        let Case { id, measured, source, url, regime, metric, .. } = self.case;
        json!({
            "id": id,
            "regime": both(|lang| regime.name(lang)),
            "figure": both(|lang| metric.name(lang)),
            "measured": measured,
            "estimated": self.estimated,
            "error": rounded(self.error()),
            "source": source,
            "url": url,
            "reason": self.reason().map(|reason| both(|lang| reason.text().get(lang))),
        })
    }
}

/// Both languages of a word.
fn both(word: impl Fn(Lang) -> &'static str) -> Value {
    json!({ "en": word(Lang::En), "zh": word(Lang::Zh) })
}

/// To a thousandth: the page shows no more.
fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

/// What many errors are like (shares; signs kept in `median` only).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    /// How many cases.
    pub cases: usize,
    /// Median of the signed errors.
    pub median: f64,
    /// Median of the errors' sizes.
    pub typical: f64,
    /// Nine of ten errors are no larger.
    pub ninth: f64,
    /// Share of cases that are as near as their source lets anyone come.
    pub near: f64,
    /// Share of cases whose figure lies in the expected range.
    pub in_band: f64,
}

/// Sums up.
pub fn distribution(judged: &[Judged]) -> Distribution {
    let cases = judged.len();
    if cases == 0 {
        return Distribution::default();
    }
    let mut signed: Vec<f64> = judged.iter().map(Judged::error).collect();
    signed.sort_by(f64::total_cmp);
    let mut sizes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "a few hundred cases")]
    let share = |hits: usize| hits as f64 / cases as f64;
    let at = |sorted: &[f64], tenths: usize| sorted.get((cases - 1) * tenths / 10).copied().unwrap_or(0.0);
    Distribution {
        cases,
        median: at(&signed, 5),
        typical: at(&sizes, 5),
        ninth: at(&sizes, 9),
        near: share(judged.iter().filter(|one| one.near()).count()),
        in_band: share(judged.iter().filter(|one| one.in_band()).count()),
    }
}

/// Groups by regime and metric, in that order.
pub fn grouped<'c>(judged: &[Judged<'c>]) -> Vec<((Regime, Metric), Vec<Judged<'c>>)> {
    let mut groups: Vec<((Regime, Metric), Vec<Judged>)> = Vec::new();
    for one in judged {
        let key = (one.case.regime, one.case.metric);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(one.clone()),
            None => groups.push((key, vec![one.clone()])),
        }
    }
    groups.sort_by_key(|(key, _)| *key);
    groups
}

/// The page's table: groups by regime and figure, then the cases, the worst first, one a line.
pub fn table(judged: &[Judged]) -> String {
    let groups = grouped(judged).into_iter().map(|((regime, metric), group)| {
        let of = distribution(&group);
        let row = json!({
            "regime": both(|lang| regime.name(lang)),
            "figure": both(|lang| metric.name(lang)),
            "cases": of.cases,
            "median": rounded(of.median),
            "typical": rounded(of.typical),
            "ninth": rounded(of.ninth),
            "near": rounded(of.near),
        });
        row.to_string()
    });
    let groups: Vec<String> = groups.collect();
    let mut cases: Vec<&Judged> = judged.iter().collect();
    cases.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    let cases: Vec<String> = cases.iter().map(|case| case.to_json().to_string()).collect();
    format!("{{\"groups\":[\n{}\n],\"cases\":[\n{}\n]}}\n", groups.join(",\n"), cases.join(",\n"))
}
