//! What was asked: one [`Config`] behind link, JSON file, command line and page.
//!
//! `keys` is the vocabulary: one table that says of each key its name, section, kind, effect and field. Link
//! ([`Config::from_link`], [`Config::to_link`]), JSON ([`Config::from_json`], [`Config::to_json`]) and the form
//! ([`Config::get`], [`Config::set`]) all go through it. [`Config::checked`] looks at the keys together, before they
//! are estimated. Whatever is not accepted becomes a [`Problem`] that names the key, and never stops the rest.

mod access;
mod check;
mod choices;
mod fields;
mod gpus;
mod hub;
mod json;
mod keys;
mod kind;
mod link;
mod presets;
mod problem;
mod slot;

pub use access::Name;
pub use choices::{
    Attention, DataParallel, GradDtype, LoraDtype, Loss, Method, Offload, Optimizer, OptimizerImpl,
    Precision, Quantization, Recompute, Schedule, Stack, Theme, Units, View,
};
pub use fields::{FIELDS, Field};
pub use gpus::{Gpu, gpu, gpus};
pub use hub::{ENDPOINT, Named, by_name, config_address, repository};
pub use json::LONGEST_JSON;
pub use keys::{Effect, Key, Section};
pub use kind::{Kind, LONGEST_TEXT};
pub use link::LONGEST_LINK;
pub use presets::{Preset, preset, presets};
pub use problem::{Problem, ProblemKind};

use serde_json::{Map, Value};

/// The model preset of an empty configuration.
pub const DEFAULT_MODEL: &str = "llama-3.1-8b";
/// The card of an empty configuration.
pub const DEFAULT_GPU: &str = "a100-80g";

/// One configuration of a training run; every key of the public contract.
///
/// Field names are the contract's key names. `Default` is version 1 of the defaults, which never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    // Model
    /// Preset id; `None` means [`DEFAULT_MODEL`] unless `params` or `architecture` says otherwise.
    pub model: Option<String>,
    /// Parameter count for the quick estimate.
    pub params: Option<u64>,
    /// Fields of `config.json` that were given: the whole model, or overrides of the preset.
    pub architecture: Map<String, Value>,
    // Training
    /// What is trained.
    pub method: Method,
    /// LoRA rank.
    pub lora_rank: u64,
    /// LoRA targets: `all-linear`, `q,v`, or module names.
    pub lora_targets: String,
    /// Dtype of the adapters.
    pub lora_dtype: LoraDtype,
    /// Storage of the frozen base under `qlora`.
    pub quantization: Quantization,
    /// Weights, compute and master copy.
    pub precision: Precision,
    /// Dtype of the gradients.
    pub grad_dtype: GradDtype,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// Implementation, which decides the temporaries.
    pub optimizer_impl: OptimizerImpl,
    /// Micro-batch on one data-parallel rank.
    pub batch: u64,
    /// Tokens per sequence.
    pub seq: u64,
    /// Micro-batches per step.
    pub accumulation: u64,
    /// Attention kernel.
    pub attention: Attention,
    /// Activation recomputation.
    pub recompute: Recompute,
    /// Recompute only the first n layers.
    pub recompute_layers: Option<u64>,
    /// Loss kernel.
    pub loss: Loss,
    /// Chunks of the chunked loss.
    pub loss_chunks: Option<u64>,
    /// Whose kernels decide what is kept for backward.
    pub stack: Stack,
    /// Dropout probability; `None`: as the architecture says.
    pub dropout: Option<f64>,
    // Cluster
    /// Catalogue id; `None` means [`DEFAULT_GPU`] unless `gpu_memory` is given.
    pub gpu: Option<String>,
    /// Explicit capacity in bytes.
    pub gpu_memory: Option<u64>,
    /// All GPUs of the job.
    pub gpus: u64,
    /// GPUs of one node.
    pub gpus_per_node: u64,
    /// Tensor parallel degree.
    pub tp: u64,
    /// Sequence parallel.
    pub sp: bool,
    /// Pipeline parallel degree.
    pub pp: u64,
    /// Virtual pipeline stages per rank.
    pub vpp: u64,
    /// Pipeline schedule.
    pub schedule: Schedule,
    /// Context parallel degree.
    pub cp: u64,
    /// Expert parallel degree.
    pub ep: u64,
    /// Expert tensor parallel degree.
    pub etp: u64,
    /// Data parallel strategy.
    pub data_parallel: DataParallel,
    /// What lives in host memory.
    pub offload: Vec<Offload>,
    // Advanced
    /// Settings that frameworks name themselves, by their names; only given ones are present.
    pub advanced: Map<String, Value>,
    // Page only
    /// How the page shows it.
    pub page: Page,
}

/// What came of reading a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// What was understood, defaults elsewhere.
    pub config: Config,
    /// What was not: each names its key, its value, and what is used instead.
    pub problems: Vec<Problem>,
}

/// Keys that change no figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Language; `None`: the browser's.
    pub lang: Option<crate::text::Lang>,
    /// Colours.
    pub theme: Theme,
    /// Decimal or binary sizes.
    pub units: Units,
    /// Which view.
    pub view: View,
    /// Shown inside another page.
    pub embed: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            model: None,
            params: None,
            architecture: Map::new(),
            method: Method::default(),
            lora_rank: 8,
            lora_targets: "all-linear".to_owned(),
            lora_dtype: LoraDtype::default(),
            quantization: Quantization::default(),
            precision: Precision::default(),
            grad_dtype: GradDtype::default(),
            optimizer: Optimizer::default(),
            optimizer_impl: OptimizerImpl::default(),
            batch: 1,
            seq: 2048,
            accumulation: 1,
            attention: Attention::default(),
            recompute: Recompute::default(),
            recompute_layers: None,
            loss: Loss::default(),
            loss_chunks: None,
            stack: Stack::default(),
            dropout: None,
            gpu: None,
            gpu_memory: None,
            gpus: 1,
            gpus_per_node: 8,
            tp: 1,
            sp: false,
            pp: 1,
            vpp: 1,
            schedule: Schedule::default(),
            cp: 1,
            ep: 1,
            etp: 1,
            data_parallel: DataParallel::default(),
            offload: Vec::new(),
            advanced: Map::new(),
            page: Page::default(),
        }
    }
}
