//! Data-parallel engines: how one rank stores parameters, gradients and states, and which tensors it makes around each
//! part of a step.

mod coordinator;
mod deepspeed;
mod fsdp1;
mod fsdp2;
mod gather;
mod script;
mod units;
mod zero;

pub(crate) use deepspeed::DeepSpeed;
pub(crate) use script::{Act, Buffer, BufferId, Owner, Script, Side};
pub(crate) use units::Storage;

use units::Units;

use super::activations::DTensor;
use super::{Dtype, Entry, Parts, Stage, Symbols};
use crate::architecture::{Architecture, Weight};
use crate::config::{Config, DataParallel, Offload, Precision, Stack};
use serde_json::Value;

/// Who runs the replicas.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Engine {
    /// Nobody: one replica.
    Alone,
    Ddp(Ddp),
    Fsdp(Fsdp),
    DeepSpeed(DeepSpeed),
}

/// `torch.nn.parallel.DistributedDataParallel`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ddp {
    /// Gradients are views of the buckets (`gradient_as_bucket_view`).
    pub(crate) views: bool,
    /// All micro-batches but the last run under `no_sync`.
    pub(crate) no_sync: bool,
}

/// `fully_shard`, or `FullyShardedDataParallel`.
#[expect(clippy::struct_excessive_bools, reason = "the framework's own switches")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fsdp {
    /// `FullyShardedDataParallel`, with flat parameters.
    pub(crate) flat: bool,
    /// The program sees the parameters and not the flat ones (`use_orig_params`).
    pub(crate) visible: bool,
    /// Ranks that share the model (1: none does, `NO_SHARD`).
    pub(crate) shards: u64,
    /// Groups of them that hold the same.
    pub(crate) replicas: u64,
    /// Layers give their parameters back after forward.
    pub(crate) reshard: bool,
    /// Embedding and head are groups of their own.
    pub(crate) wrap_head: bool,
    /// The program computes the loss outside the model (torchtitan): the model's hooks run between head and loss.
    pub(crate) loss_outside: bool,
    /// `param_dtype`: what parameters are gathered in, if not their own type.
    pub(crate) param: Option<Dtype>,
    /// `reduce_dtype`, if not the gathered one.
    pub(crate) reduce: Option<Dtype>,
    /// What the micro-batches before have left.
    pub(crate) accumulated: Accumulated,
    /// Shards, their gradients and states live in host memory.
    pub(crate) offload: bool,
}

/// What one rank stores.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// Of the model's own weights.
    pub(crate) base: Vec<Weight>,
    /// Of adapters, and of trained copies of modules.
    pub(crate) adapters: Vec<Weight>,
    /// Step counters of tensors that share a flat one with another.
    pub(crate) steps: u64,
    /// What the optimizer steps on, where that is not what is trained but a copy of its own.
    pub(crate) stepped: Option<Vec<Weight>>,
}

/// Gradients that are there when the last micro-batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulated {
    /// None: there is one micro-batch.
    No,
    /// Each micro-batch is reduced: shards.
    Reduced,
    /// None is reduced before the last: whole ones.
    Whole,
}

impl Fsdp {
    /// The type in which a parameter is gathered.
    pub(crate) fn gathered(&self, stored: Dtype) -> Dtype {
        match self.param {
            Some(param) if matches!(stored, Dtype::Fp32 | Dtype::Bf16 | Dtype::Fp16) => param,
            _ => stored,
        }
    }

    /// The type in which gradients of parameters that are stored so are reduced.
    pub(crate) fn reduced(&self, stored: Dtype) -> Dtype {
        self.reduce.unwrap_or_else(|| self.gathered(stored))
    }
}

impl Engine {
    /// The engine of a configuration with so many replicas.
    pub(crate) fn of(config: &Config, replicas: u64) -> Self {
        if replicas < 2 {
            return Self::Alone;
        }
        let flag = |key: &str| config.advanced.get(key).and_then(Value::as_bool);
        let many = config.accumulation > 1;
        // A pipeline's stages are gathered once for all micro-batches, and reduced once after the last
        // (torch/distributed/pipelining/stage.py, `perform_backward`; torchtitan, `apply_fsdp`).
        let staged = config.stack == Stack::Torchtitan && config.pp > 1;
        let no_sync = flag("no_sync").unwrap_or(staged);
        let named = config.advanced.get("engine").and_then(Value::as_str);
        let megatron = named == Some("megatron") || (named.is_none() && config.stack == Stack::MegatronCore);
        let strategy = match config.data_parallel {
            DataParallel::Ddp if named == Some("deepspeed") => {
                return Self::DeepSpeed(DeepSpeed::of(config, replicas));
            }
            // The stages of ZeRO by FSDP's names.
            DataParallel::Zero1 | DataParallel::Zero2 if named == Some("fsdp") => DataParallel::FsdpGradOp,
            DataParallel::Zero3 if named == Some("fsdp") => DataParallel::Fsdp,
            // Megatron's distributed optimizer is another one.
            DataParallel::Zero1 if megatron => return Self::Alone,
            given => given,
        };
        let first_version = config.advanced.get("fsdp_version").and_then(Value::as_u64) == Some(1);
        match strategy {
            DataParallel::Ddp if !first_version => Self::Ddp(Ddp {
                views: flag("gradient_as_bucket_view").unwrap_or(false),
                no_sync: many && no_sync,
            }),
            DataParallel::Ddp | DataParallel::Fsdp | DataParallel::FsdpGradOp | DataParallel::Hsdp => {
                let number = |key: &str| config.advanced.get(key).and_then(Value::as_u64);
                let shards = match strategy {
                    DataParallel::Hsdp => number("shard_size").unwrap_or(config.gpus_per_node),
                    // `NO_SHARD`
                    DataParallel::Ddp => 1,
                    _ => number("shard_size").unwrap_or(replicas),
                };
                let shards = shards.clamp(1, replicas);
                let reduce = match config.advanced.get("reduce_dtype").and_then(Value::as_str) {
                    Some("bf16") => Some(Dtype::Bf16),
                    Some("fp32") => Some(Dtype::Fp32),
                    // What torchtitan and accelerate reduce in beside 16-bit compute.
                    _ => mixed(config).map(|_| Dtype::Fp32),
                };
                Self::Fsdp(Fsdp {
                    flat: first_version,
                    // What accelerate asks for.
                    visible: flag("use_orig_params").unwrap_or(true),
                    shards,
                    replicas: replicas / shards,
                    reshard: strategy != DataParallel::FsdpGradOp
                        && flag("reshard_after_forward").unwrap_or(!staged),
                    wrap_head: flag("fsdp_wrap_head").unwrap_or(false),
                    loss_outside: config.stack == Stack::Torchtitan,
                    param: mixed(config),
                    reduce,
                    accumulated: match (many, no_sync) {
                        (false, _) => Accumulated::No,
                        (true, false) => Accumulated::Reduced,
                        (true, true) => Accumulated::Whole,
                    },
                    offload: config.offload.iter().any(|what| *what != Offload::Activations),
                })
            }
            DataParallel::Zero1 | DataParallel::Zero2 | DataParallel::Zero3 => {
                Self::DeepSpeed(DeepSpeed::of(config, replicas))
            }
        }
    }

    /// What one rank stores of the model's own weights and of adapters (and of their gradients and states).
    pub(crate) fn shares(
        &self,
        model: &Architecture,
        storage: Storage,
        stage: &Stage,
        numbers: &Symbols,
    ) -> Shares {
        let layers: Vec<usize> = stage.layers().collect();
        let mut shares = Shares {
            base: model.weights_in(&layers, stage.embeds(), stage.ends()),
            adapters: storage
                .adapters
                .map_or_else(Vec::new, |(targets, _)| model.adapters_in(targets, &layers)),
            steps: 0,
            stepped: None,
        };
        shares.adapters.extend(model.copies_in(storage.copied.0, &layers, stage.embeds(), stage.ends()));
        match self {
            // What is quantised stays what it is, in its own flat parameter.
            Self::Fsdp(fsdp) if fsdp.flat && storage.quantized.is_none() => {
                return fsdp.flat_shares(model, storage, stage, numbers);
            }
            Self::Fsdp(fsdp) => {
                for weight in shares.base.iter_mut().chain(&mut shares.adapters) {
                    weight.param.shape = weight.param.shape.sharded(fsdp.shards);
                }
            }
            Self::DeepSpeed(deepspeed) => deepspeed.share(&mut shares, storage, numbers),
            Self::Alone | Self::Ddp(_) => {}
        }
        shares
    }

    /// The type that it gathers parameters in, where they are stored in fp32.
    pub(crate) fn gathers_in(&self) -> Option<Dtype> {
        match self {
            Self::Fsdp(fsdp) => fsdp.param,
            Self::Alone | Self::Ddp(_) | Self::DeepSpeed(_) => None,
        }
    }

    /// Whether gradients are reduced, and freed, as soon as their part's backward is over.
    pub(crate) fn takes_gradients(&self) -> bool {
        matches!(self, Self::Fsdp(fsdp) if fsdp.flat || fsdp.accumulated != Accumulated::Whole)
    }

    /// Gradients are copied into buffers as soon as they are there.
    pub(crate) fn passes_gradients(&self) -> bool {
        matches!(self, Self::DeepSpeed(deepspeed) if deepspeed.stage > 0)
    }

    /// It has rows of its own for gradients.
    pub(crate) fn holds_gradients(&self) -> bool {
        matches!(self, Self::Fsdp(_)) || self.passes_gradients()
    }

    /// The optimizer steps on an fp32 copy, whatever the type of the weights.
    pub(crate) const fn has_master(&self) -> bool {
        matches!(self, Self::DeepSpeed(_))
    }

    /// Buckets hold a copy of all gradients beside the gradients themselves.
    pub(crate) fn has_buckets(&self) -> bool {
        matches!(self, Self::Ddp(ddp) if !ddp.views || ddp.no_sync)
    }

    /// Parameters, and the optimizer's states, live in host memory.
    pub(crate) fn offloads(&self) -> [bool; 2] {
        match self {
            Self::Fsdp(fsdp) => [fsdp.offload; 2],
            Self::DeepSpeed(deepspeed) => [deepspeed.offload_parameters, deepspeed.offload],
            Self::Alone | Self::Ddp(_) => [false; 2],
        }
    }

    /// Ranks that share what is sharded.
    pub(crate) const fn shards(&self) -> u64 {
        match self {
            Self::Fsdp(fsdp) => fsdp.shards,
            Self::DeepSpeed(deepspeed) => deepspeed.ranks,
            Self::Alone | Self::Ddp(_) => 1,
        }
    }

    /// Whether parameters, states and gradients are sharded.
    pub(crate) const fn shares_of(&self) -> [bool; 3] {
        match self {
            Self::Fsdp(_) => [true; 3],
            Self::DeepSpeed(deepspeed) => [deepspeed.stage > 2, deepspeed.stage > 0, deepspeed.stage > 1],
            Self::Alone | Self::Ddp(_) => [false; 3],
        }
    }

    /// What else it holds throughout, and what in host memory (bytes).
    pub(crate) fn lasting(&self, shares: &Shares, numbers: &Symbols) -> (Vec<Entry>, u64) {
        match self {
            Self::DeepSpeed(deepspeed) => deepspeed.lasting(shares, numbers),
            _ => (Vec::new(), 0),
        }
    }

    /// What it makes and frees in a step of one stage.
    pub(crate) fn script(
        &self,
        model: &Architecture,
        (parts, stage): (&Parts, &Stage),
        storage: Storage,
        (stream, dtensor): (Dtype, Option<DTensor>),
        numbers: &Symbols,
    ) -> Option<Script> {
        if matches!(self, Self::Alone | Self::Ddp(_)) {
            return None;
        }
        let units = Units::on(model, storage, stage);
        let (positions, kinds) = (stage.layers().collect::<Vec<_>>(), layer_kinds(model));
        let order: Vec<usize> = positions.iter().filter_map(|layer| kinds.get(*layer).copied()).collect();
        let script = match self {
            Self::Fsdp(fsdp) if fsdp.flat => fsdp1::script(fsdp, &units, &order, stream, numbers),
            Self::Fsdp(fsdp) => {
                // A weight that two groups share must be in one of them.
                let fsdp = Fsdp { wrap_head: fsdp.wrap_head && !model.tied, ..*fsdp };
                let whole_embedding = dtensor.is_some_and(|dtensor| dtensor.whole_embedding);
                fsdp2::script(&fsdp, &units, &order, (stream, whole_embedding), numbers)
            }
            Self::DeepSpeed(deepspeed) => {
                deepspeed.script(&units, &order, (parts, &positions), stream, numbers)
            }
            Self::Alone | Self::Ddp(_) => return None,
        };
        let whole = stage.embeds() && stage.ends();
        Some(if whole { script } else { script.on_stage(&positions, stage.embeds(), stage.ends()) })
    }
}

/// The type that parameters are gathered in under mixed precision: they are stored in fp32.
fn mixed(config: &Config) -> Option<Dtype> {
    match config.precision {
        Precision::Bf16Mixed | Precision::Fp8Mixed => Some(Dtype::Bf16),
        Precision::Fp16Mixed => Some(Dtype::Fp16),
        _ => None,
    }
}

/// For each layer its kind; an encoder's layers come first, and so do their kinds.
fn layer_kinds(model: &Architecture) -> Vec<usize> {
    let kinds = model.encoder.as_ref().map_or(0, |encoder| encoder.kinds.len());
    let encoder = model.encoder.iter().flat_map(|encoder| &encoder.order);
    let own = model.order.iter().map(|kind| kinds + usize::from(*kind));
    encoder.map(|kind| usize::from(*kind)).chain(own).collect()
}
