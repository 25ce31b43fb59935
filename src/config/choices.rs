//! The keys whose value is one word of a short list.

/// Declares an enum whose variants carry the contract's spelling.
macro_rules! choices {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$vdoc:meta])* $variant:ident = $word:literal, )+ } )+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name { $( $(#[$vdoc])* $variant, )+ }

        impl $name {
            /// Every value, the default first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Every spelling, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The contract's spelling.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads the contract's spelling.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    )+ };
}

choices! {
    /// What is trained.
    Method {
        /// Every weight.
        #[default] Full = "full",
        /// Low-rank adapters over a frozen base.
        Lora = "lora",
        /// The same over a quantised base.
        Qlora = "qlora",
        /// Part of the model frozen.
        Freeze = "freeze",
    }
    /// Dtype of LoRA adapters.
    LoraDtype {
        /// What peft does by default.
        #[default] Fp32 = "fp32",
        /// 16 bit.
        Bf16 = "bf16",
    }
    /// Storage of the frozen base weights of `qlora`.
    Quantization {
        /// Not quantised.
        #[default] None = "none",
        /// 8-bit integers.
        Int8 = "int8",
        /// 4-bit `NormalFloat`.
        Nf4 = "nf4",
        /// 4-bit with quantised statistics.
        Nf4Double = "nf4-double",
    }
    /// Weights, compute, and master copy.
    Precision {
        /// bf16 weights, fp32 master copy held by the optimizer.
        #[default] Bf16Mixed = "bf16-mixed",
        /// fp16 weights, fp32 master copy held by the optimizer.
        Fp16Mixed = "fp16-mixed",
        /// fp32 weights, bf16 compute.
        Bf16Autocast = "bf16-autocast",
        /// fp32 weights, fp16 compute.
        Fp16Autocast = "fp16-autocast",
        /// All fp32.
        Fp32 = "fp32",
        /// Pure bf16.
        Bf16 = "bf16",
        /// Pure fp16.
        Fp16 = "fp16",
        /// bf16 weights with fp8 matrix products and an fp32 master copy.
        Fp8Mixed = "fp8-mixed",
    }
    /// Dtype of the gradients.
    GradDtype {
        /// As the precision and the stack say.
        #[default] Auto = "auto",
        /// 4 bytes.
        Fp32 = "fp32",
        /// 2 bytes.
        Bf16 = "bf16",
        /// 2 bytes.
        Fp16 = "fp16",
    }
    /// Optimizer.
    Optimizer {
        /// Two moments.
        #[default] Adamw = "adamw",
        /// Two 8-bit moments with block statistics.
        Adamw8bit = "adamw-8bit",
        /// The same in pageable memory.
        AdamwPaged8bit = "adamw-paged-8bit",
        /// No state.
        Sgd = "sgd",
        /// One momentum.
        SgdMomentum = "sgd-momentum",
        /// Row and column sums.
        Adafactor = "adafactor",
        /// One momentum, sign update.
        Lion = "lion",
        /// One momentum for matrices, Adam for the rest.
        Muon = "muon",
        /// One momentum, one second moment per block.
        AdamMini = "adam-mini",
        /// Adam in a projected space.
        Galore = "galore",
        /// Adam in a randomly projected space.
        Apollo = "apollo",
        /// Steps inside backward, no state.
        Lomo = "lomo",
    }
    /// Implementation of the optimizer step.
    OptimizerImpl {
        /// What the framework picks.
        #[default] Auto = "auto",
        /// Lists of tensors at once; one more copy of the parameters.
        Foreach = "foreach",
        /// One kernel, no temporaries.
        Fused = "fused",
        /// Tensor by tensor.
        ForLoop = "for-loop",
        /// Within backward, layer by layer.
        InBackward = "in-backward",
    }
    /// Attention kernel.
    Attention {
        /// PyTorch's own choice among flash, memory-efficient and math.
        #[default] Sdpa = "sdpa",
        /// Flash attention.
        Flash = "flash",
        /// Scores held in memory.
        Eager = "eager",
    }
    /// Activation recomputation.
    Recompute {
        /// Everything is kept.
        #[default] None = "none",
        /// What the framework's policy keeps.
        Selective = "selective",
        /// One layer input a layer.
        Full = "full",
    }
    /// Loss kernel.
    Loss {
        /// Logits, their fp32 copy, log-softmax.
        #[default] Standard = "standard",
        /// In chunks.
        Chunked = "chunked",
        /// Logits never held.
        Fused = "fused",
    }
    /// Whose kernels decide what is kept for backward.
    Stack {
        /// Hugging Face.
        #[default] Transformers = "transformers",
        /// Megatron-core with Transformer Engine.
        MegatronCore = "megatron-core",
        /// torchtitan.
        Torchtitan = "torchtitan",
    }
    /// Pipeline schedule.
    Schedule {
        /// One forward, one backward.
        #[default] OneFOneB = "1f1b",
        /// All forwards first.
        Gpipe = "gpipe",
        /// Virtual stages.
        Interleaved = "interleaved",
        /// Weight gradients delayed.
        ZeroBubble = "zero-bubble",
    }
    /// Data parallel strategy.
    DataParallel {
        /// Replicas.
        #[default] Ddp = "ddp",
        /// Optimizer states sharded.
        Zero1 = "zero1",
        /// And gradients.
        Zero2 = "zero2",
        /// And parameters.
        Zero3 = "zero3",
        /// Fully sharded.
        Fsdp = "fsdp",
        /// Gradients and states sharded.
        FsdpGradOp = "fsdp-grad-op",
        /// Sharded within a node, replicated between nodes.
        Hsdp = "hsdp",
    }
    /// What lives in host memory.
    Offload {
        /// Optimizer states.
        #[default] Optimizer = "optimizer",
        /// Parameters.
        Parameters = "parameters",
        /// Saved activations.
        Activations = "activations",
    }
    /// Colours of the page.
    Theme {
        /// As the system says.
        #[default] Auto = "auto",
        /// Dark on white.
        Light = "light",
        /// Light on dark.
        Dark = "dark",
    }
    /// Unit of sizes.
    Units {
        /// 2³⁰ bytes.
        #[default] Gib = "GiB",
        /// 10⁹ bytes.
        Gb = "GB",
    }
    /// Which view of the page.
    View {
        /// The real architecture.
        #[default] Detailed = "detailed",
        /// The article's four lines.
        Quick = "quick",
        /// From an error message.
        Diagnose = "diagnose",
    }
}
