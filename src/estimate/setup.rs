//! How a configuration computes: element types, what the optimizer holds, which layers are recomputed.

use super::{megatron, totals};
use crate::architecture::Architecture;
use crate::architecture::adapters::{Copied, Targets};
use crate::config::{
    Attention, Config, GradDtype, LoraDtype, Loss, Method, Offload, Optimizer, OptimizerImpl, Precision,
    Problem, ProblemKind, Quantization, Recompute, Stack,
};
use crate::ledger::activations::{Compute, Criterion, DTensor, Kernel, Lora, Megatron, Run, Samples};
use crate::ledger::engine::{Engine, Storage};
use crate::ledger::optimizer::{Bits, Stepping};
use crate::ledger::quantized::{Library, Quantized};
use crate::ledger::tape::Gradients;
use crate::ledger::{Dtype, Layout, Plan};
use crate::text::estimate as words;

/// What follows from the keys, whatever the model.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) compute: Compute,
    /// Element type in which a rank keeps the model's own weights.
    pub(super) stored: Dtype,
    /// Element type in which it keeps adapters.
    pub(super) adapter: Dtype,
    /// Element type of the copies of modules that are trained beside them (peft, `modules_to_save`): the base's own;
    /// FSDP's mixed precision makes fp32 shards of all that is trained.
    pub(super) copy: Dtype,
    /// Forward runs under `torch.autocast`.
    pub(super) autocast: bool,
    /// Element type in which gradients are kept.
    pub(super) gradient: Dtype,
    /// Gradients live in a buffer that is never freed.
    pub(super) gradient_buffer: bool,
    pub(super) stepping: Stepping,
    /// The optimizer keeps a master copy of what is trained in 16 bits.
    pub(super) mastered: bool,
    /// Adapters over a frozen base.
    pub(super) lora: Option<Lora>,
    /// How the base is stored under `qlora`.
    pub(super) quantized: Option<Quantized>,
    /// How Megatron-core runs it.
    pub(super) megatron: Option<Megatron>,
    pub(super) warnings: Vec<Problem>,
}

impl Setup {
    /// `built`: Megatron-core builds the model.
    pub(super) fn of(config: &Config, engine: &Engine, layout: &Layout, built: bool) -> Self {
        let mut warnings = Vec::new();
        let low =
            if matches!(config.precision, Precision::Fp16 | Precision::Fp16Mixed | Precision::Fp16Autocast) {
                Dtype::Fp16
            } else {
                Dtype::Bf16
            };
        let (weight, matmul, master) = match config.precision {
            Precision::Fp32 => (Dtype::Fp32, Dtype::Fp32, false),
            Precision::Bf16 | Precision::Fp16 => (low, low, false),
            Precision::Bf16Autocast | Precision::Fp16Autocast => (Dtype::Fp32, low, false),
            Precision::Bf16Mixed | Precision::Fp16Mixed | Precision::Fp8Mixed => (low, low, true),
        };
        let quantized = quantized(config, low);
        // peft's `prepare_model_for_kbit_training` casts what is not quantised to fp32. Who fine-tunes this way today
        // mostly leaves it out (LLaMA-Factory, Unsloth, torchtune, `LitGPT`) or casts back (TRL, axolotl).
        let loaded = quantized.is_some_and(|stored| stored.library == Library::Bitsandbytes);
        let prepared = loaded && flag(config, "prepare_model_for_kbit_training");
        let autocast = autocast(config, prepared);
        let (adapter, weight, matmul) = match prepared {
            true if autocast => (low, Dtype::Fp32, low),
            true => (low, Dtype::Fp32, Dtype::Fp32),
            false => (weight, weight, matmul),
        };
        let lora = lora(config, adapter, &mut warnings);
        let adapter = lora.map_or(weight, |lora| lora.dtype);
        // FSDP's mixed precision keeps fp32 shards of what is trained, which are their own master copy, and computes in
        // the type that it gathers (accelerate, `FullyShardedDataParallelPlugin`, upcasts trained parameters alone).
        let gathered = engine.gathers_in();
        let (stored, adapter, lora) = match gathered {
            Some(low) => {
                let lora = lora.map(|lora| Lora { dtype: low, ..lora });
                (if lora.is_some() { weight } else { Dtype::Fp32 }, Dtype::Fp32, lora)
            }
            None => (weight, adapter, lora),
        };
        let trained = if lora.is_some() { adapter } else { stored };
        // An fp32 adapter is its own master copy.
        let mastered = engine.has_master() || master;
        let master = engine.has_master() || (master && trained != Dtype::Fp32);
        let asked = match config.grad_dtype {
            // Megatron accumulates into fp32 beside a master copy; everybody else keeps the weight's own type.
            GradDtype::Auto if master && config.stack == Stack::MegatronCore => Dtype::Fp32,
            // Adapters have gradients of their own type, and so have shards.
            _ if lora.is_some() || gathered.is_some() => trained,
            GradDtype::Auto => stored,
            GradDtype::Fp32 => Dtype::Fp32,
            GradDtype::Bf16 => Dtype::Bf16,
            GradDtype::Fp16 => Dtype::Fp16,
        };
        let gradient = if asked.bytes() < trained.bytes() {
            warnings.push(note("grad_dtype", config.grad_dtype.word(), words::GRAD_TOO_NARROW));
            trained
        } else {
            asked
        };
        if config.recompute == Recompute::Selective && !built {
            warnings.push(note("recompute", config.recompute.word(), words::SELECTIVE_OF_MEGATRON));
        }
        if config.stack == Stack::MegatronCore && !built {
            warnings.push(note("stack", config.stack.word(), words::NOT_BY_MEGATRON));
        }
        if config.attention == Attention::Flash && matmul == Dtype::Fp32 {
            warnings.push(note("attention", config.attention.word(), words::FLASH_NEEDS_16_BIT));
        }
        let stepping = Stepping {
            optimizer: config.optimizer,
            implementation: implementation(config),
            state: if master { Dtype::Fp32 } else { trained },
            master,
            rank: config
                .advanced
                .get("galore_rank")
                .and_then(serde_json::Value::as_u64)
                .unwrap_or(PROJECTION_RANK),
            bits: match config.advanced.get("optim_bits").map(text_of).as_deref() {
                Some("8") => Bits::Eight,
                Some("4") => Bits::Four,
                _ => Bits::Own,
            },
        };
        let views = matches!(engine, Engine::Ddp(ddp) if ddp.views && !ddp.no_sync);
        Self {
            compute: Compute { weight, matmul },
            stored,
            adapter,
            copy: if gathered.is_some() { Dtype::Fp32 } else { weight },
            autocast: autocast || weight != matmul,
            gradient,
            gradient_buffer: views || ((built || gradient != trained) && !stepping.in_backward()),
            mastered,
            stepping,
            lora,
            quantized,
            megatron: built.then(|| megatron::run(config, layout, &mut warnings)),
            warnings,
        }
    }

    /// How the model's parameters are stored.
    pub(super) fn storage(&self) -> Storage {
        let adapters = self.lora.map(|lora| (lora.targets, self.adapter));
        let copied = self.lora.map_or_else(Copied::default, |lora| lora.copied);
        let copied = (copied, self.copy);
        Storage { base: self.stored, quantized: self.quantized, adapters, copied }
    }

    /// How the trained copies of modules are stepped on.
    pub(super) fn stepping_of_copies(&self, engine: &Engine) -> Stepping {
        let master = engine.has_master() || (self.mastered && self.copy != Dtype::Fp32);
        Stepping { master, state: if master { Dtype::Fp32 } else { self.copy }, ..self.stepping }
    }

    pub(super) fn plan(
        &self,
        model: &Architecture,
        config: &Config,
        layout: &Layout,
        engine: &Engine,
    ) -> Plan {
        let kernel = match config.attention {
            Attention::Sdpa if config.stack == Stack::Transformers && model.eager_alone() => Kernel::Eager,
            Attention::Sdpa => Kernel::Sdpa,
            Attention::Flash => Kernel::Flash,
            Attention::Eager => Kernel::Eager,
        };
        let layers = model.layers();
        let first = config.recompute_layers.and_then(|n| usize::try_from(n).ok()).unwrap_or(layers);
        let recompute_layers = if config.recompute == Recompute::Full { first.min(layers) } else { 0 };
        let added = self.gradient_buffer || config.accumulation > 1;
        let gradients = match added {
            _ if engine.takes_gradients() => Gradients::Taken,
            _ if engine.passes_gradients() => Gradients::Added,
            _ if self.stepping.in_backward() => self.stepping.gradients(),
            true => Gradients::Added,
            false => Gradients::Born,
        };
        let packs = config.stack == Stack::Transformers && model.causal() && model.encoder.is_none();
        let samples = match (flag(config, "padding_mask"), flag(config, "packed")) {
            (true, _) => Samples::Padded,
            // torchtitan and Megatron tell packed samples apart by lengths or ids that weigh nothing.
            (false, true) if packs => Samples::Packed,
            (false, _) => Samples::Rows,
        };
        let run = Run {
            compute: self.compute,
            autocast: self.autocast,
            kernel,
            samples,
            frozen: self.lora.is_some(),
            lora: self.lora,
            checkpointed: recompute_layers > 0,
            quantized: self.quantized,
            workspace: self.counts_workspace(engine).then(|| totals::workspace(totals::card(config))),
            dtensor: (config.stack == Stack::Torchtitan).then(|| DTensor {
                sequence: layout.sp,
                vocabulary: layout.tp > 1 && switch(config, "loss_parallel").unwrap_or(true),
                ranks: layout.tp,
                whole_embedding: layout.tp > 1
                    && !model.shares_head()
                    && self.lora.is_none()
                    && match engine {
                        Engine::Alone => true,
                        Engine::Fsdp(fsdp) => !fsdp.flat,
                        Engine::Ddp(_) | Engine::DeepSpeed(_) => false,
                    },
            }),
            megatron: self.megatron,
        };
        let criterion = match config.loss {
            Loss::Standard => Criterion::Standard,
            // What torchtune's own loss starts with (`num_output_chunks`).
            Loss::Chunked => Criterion::Chunked(config.loss_chunks.unwrap_or(8)),
            Loss::Fused => Criterion::Fused,
        };
        Plan {
            run,
            gradients,
            recompute_layers,
            offloads_inputs: config.offload.contains(&Offload::Activations),
            keep_logits: flag(config, "keep_logits"),
            criterion,
            joined: self.lora.is_none() && model.shares_head() && layout.pp == 1,
        }
    }
}

impl Setup {
    /// Whether the matrix library's workspaces are counted where they are asked for. Transformer Engine has its own.
    fn counts_workspace(&self, engine: &Engine) -> bool {
        match &self.megatron {
            Some(megatron) => !megatron.engine,
            None => !matches!(engine, Engine::Alone),
        }
    }
}

/// An advanced switch that is off unless given.
pub(super) fn flag(config: &Config, key: &str) -> bool {
    switch(config, key).unwrap_or(false)
}

/// An advanced switch, where it is given.
pub(super) fn switch(config: &Config, key: &str) -> Option<bool> {
    config.advanced.get(key).and_then(serde_json::Value::as_bool)
}

/// Whether forward runs under `torch.autocast` beside adapters (the trainers' `bf16=True` over 16-bit weights): given
/// as a switch or by its 16-bit type. Frozen fp32 weights that were prepared for training expect it.
fn autocast(config: &Config, prepared: bool) -> bool {
    let adapters = matches!(config.method, Method::Lora | Method::Qlora);
    adapters
        && match config.advanced.get("autocast").map(text_of).as_deref() {
            Some("true" | "bf16" | "fp16" | "1") => true,
            Some(_) => false,
            None => prepared && config.precision != Precision::Fp32,
        }
}

/// The adapters that are trained, of type `low` where they are of the base's own. What is asked for and not known is
/// warned of.
fn lora(config: &Config, low: Dtype, warnings: &mut Vec<Problem>) -> Option<Lora> {
    matches!(config.method, Method::Lora | Method::Qlora).then(|| {
        let (targets, unknown) = Targets::parse(&config.lora_targets);
        warnings.extend(unknown.into_iter().map(|word| note("lora_targets", word, words::UNKNOWN_TARGET)));
        // peft leaves adapters in the base's own type, or makes them fp32.
        let dtype = if config.lora_dtype == LoraDtype::Bf16 { low } else { Dtype::Fp32 };
        let dropout = config.advanced.get("lora_dropout").and_then(serde_json::Value::as_f64);
        let copied = config.advanced.get("modules_to_save").map(text_of).unwrap_or_default();
        let (copied, unknown) = Copied::parse(&copied);
        warnings.extend(unknown.into_iter().map(|word| note("modules_to_save", word, words::UNCOUNTED_COPY)));
        Lora { targets, dtype, dropout: dropout.is_some_and(|p| p > 0.0), copied }
    })
}

/// A value as its text.
fn text_of(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How the frozen base is stored.
fn quantized(config: &Config, compute: Dtype) -> Option<Quantized> {
    let asked = config.method == Method::Qlora && config.quantization != Quantization::None;
    let library = match config.advanced.get("quant_method").map(text_of).as_deref() {
        Some("gptq") => Library::Gptq,
        Some("awq") => Library::Awq,
        _ => Library::Bitsandbytes,
    };
    asked.then_some(Quantized { library, storage: config.quantization, compute })
}

/// Rank of GaLore's and APOLLO's projections: what GaLore's own examples and transformers' documentation use.
const PROJECTION_RANK: u64 = 128;

/// What the framework picks under `auto`: the trainers of all three stacks ask for the fused kernel where there is
/// one (transformers `adamw_torch_fused`, torchtitan `fused`, Megatron's fused Adam).
fn implementation(config: &Config) -> OptimizerImpl {
    match (config.optimizer_impl, config.optimizer) {
        (OptimizerImpl::Auto, Optimizer::Sgd | Optimizer::SgdMomentum | Optimizer::Lion) => {
            OptimizerImpl::Foreach
        }
        (OptimizerImpl::Auto, _) => OptimizerImpl::Fused,
        (given, _) => given,
    }
}

pub(super) fn note(key: &str, value: &str, text: crate::text::Text) -> Problem {
    Problem { key: key.to_owned(), value: value.to_owned(), kind: ProblemKind::Note(text) }
}
