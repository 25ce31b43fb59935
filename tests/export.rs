//! Files for other programs: reading back what was written gives the same configuration wherever both can say it.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // helpers of tests fail as tests do

use proptest::prelude::*;
use proptest::sample::select;
use trainmem::config::{Config, Key, Section, presets};
use trainmem::export::{Export, Kind, write};
use trainmem::import::{Format, read};

fn config(link: &str) -> Config {
    let read = Config::from_link(link);
    assert!(read.problems.is_empty(), "{link}: {:?}", read.problems);
    read.config
}

/// Pairs of keys and values, one from each list, joined to a link.
fn any_of(lists: &'static [&'static [&'static str]]) -> impl Strategy<Value = String> {
    lists.iter().map(|list| select(*list)).collect::<Vec<_>>().prop_map(|pairs| pairs.join("&"))
}

const BATCH: &[&str] = &["", "batch=2", "batch=4", "batch=7", "batch=32"];
const ACCUMULATION: &[&str] = &["", "accumulation=2", "accumulation=8", "accumulation=16"];
const GPUS: &[&str] = &["gpus=8", "gpus=16", "gpus=64", "gpus=512"];
const SEQ: &[&str] = &["", "seq=512", "seq=4096", "seq=100000"];
const MODELS: &[&str] = &[
    "",
    "model=llama-2-7b",
    "model=qwen2.5-7b",
    "model=qwen3-8b",
    "model=mistral-7b-v0.3",
    "model=llama-3.2-1b",
    "model=mixtral-8x7b",
];
const RECOMPUTE: &[&str] = &["", "recompute=full"];
const ATTENTION: &[&str] = &["", "attention=flash", "attention=eager"];
const ZERO: &[&str] = &[
    "",
    "data_parallel=zero1",
    "data_parallel=zero2",
    "data_parallel=zero3",
    "data_parallel=zero1&offload=optimizer",
    "data_parallel=zero3&offload=optimizer,parameters",
    "data_parallel=zero3&offload=parameters",
];
/// Those of them that are `DeepSpeed`'s whatever the precision.
const SHARDED: &[&str] =
    &["data_parallel=zero1", "data_parallel=zero2", "data_parallel=zero3&offload=optimizer,parameters"];
const FSDP: &[&str] = &[
    "data_parallel=fsdp",
    "data_parallel=fsdp-grad-op",
    "data_parallel=hsdp&shard_size=4",
    "data_parallel=fsdp&fsdp_version=1",
    "data_parallel=fsdp&offload=optimizer,parameters",
    "data_parallel=fsdp-grad-op&fsdp_version=1&use_orig_params=true",
    "data_parallel=hsdp&fsdp_version=1",
];
const BUCKETS: &[&str] = &[
    "",
    "reduce_bucket_size=2e8",
    "allgather_bucket_size=12345&overlap_comm=true",
    "contiguous_gradients=false&stage3_max_live_parameters=1e9",
    "overlap_comm=false&reduce_dtype=fp32&grad_dtype=fp32",
    "deepspeed=%7B%22zero_optimization%22:%7B%22sub_group_size%22:1000,%22offload_param%22:%7B%22buffer_count%22:3%7D%7D%7D",
];
const ADAPTERS: &[&str] = &[
    "method=lora&precision=bf16&autocast=bf16",
    "method=lora&precision=fp16&autocast=fp16&lora_rank=64&lora_targets=q_proj,v_proj",
    "method=qlora&quantization=nf4&precision=bf16&autocast=bf16",
    "method=qlora&quantization=nf4-double&precision=bf16&autocast=bf16&lora_rank=16&lora_dropout=0.1",
    "method=qlora&quantization=int8&precision=fp16&autocast=fp16&modules_to_save=lm_head",
];
const TRAINER_OPTIMIZERS: &[&str] = &[
    "",
    "optimizer_impl=fused",
    "optimizer_impl=foreach",
    "optimizer_impl=for-loop",
    "optimizer=adamw-8bit",
    "optimizer=adamw-paged-8bit",
    "optimizer=adafactor",
    "optimizer=sgd",
    "optimizer=lion",
    "optimizer=galore",
    "optimizer=galore&optimizer_impl=in-backward",
    "optimizer=apollo",
    "optimizer=lomo",
];
const KERNELS: &[&str] = &["", "loss=fused&fast_kernels=liger", "packed=true", "compile=true"];

/// What each kind can say.
#[allow(clippy::too_many_lines, reason = "a table: what each kind can say")]
fn sayable(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::Deepspeed => any_of(&[
            BATCH,
            ACCUMULATION,
            GPUS,
            ZERO,
            BUCKETS,
            &["", "tp=2", "tp=4"],
            &[
                "",
                "precision=fp16-mixed",
                "precision=fp32",
                "precision=bf16-autocast",
                "precision=fp16-autocast",
            ],
            &[
                "",
                "optimizer_impl=fused",
                "optimizer_impl=foreach",
                "optimizer=lion",
                "optimizer=muon",
                "optimizer=sgd",
                "optimizer=sgd-momentum",
            ],
        ])
        .boxed(),
        Kind::Accelerate => prop_oneof![
            any_of(&[
                FSDP,
                &["gpus=16", "gpus=64", "gpus=512"],
                RECOMPUTE,
                &["", "precision=fp16-mixed", "precision=fp32"],
                &["", "compile=true", "cp=2", "tp=2"]
            ]),
            any_of(&[
                &["", "data_parallel=zero2", "data_parallel=zero3&offload=optimizer,parameters"],
                GPUS,
                ACCUMULATION,
                &["", "precision=fp16-mixed"]
            ]),
            any_of(&[
                &["gpus=1", "gpus=4", "gpus=32"],
                &["precision=bf16-autocast", "precision=fp16-autocast", "precision=fp32"]
            ]),
        ]
        .boxed(),
        Kind::TrainingArguments | Kind::Command => {
            let gpus: &[&str] = if kind == Kind::Command {
                &["", "gpus=4", "gpus=8", "gpus=64", "gpus=32&gpus_per_node=4"]
            } else {
                &[""]
            };
            let common = any_of(&[
                BATCH,
                ACCUMULATION,
                SEQ,
                MODELS,
                RECOMPUTE,
                ATTENTION,
                TRAINER_OPTIMIZERS,
                KERNELS,
            ]);
            let engine = prop_oneof![
                any_of(&[&[
                    "precision=bf16-autocast",
                    "precision=fp32",
                    "precision=bf16",
                    "precision=fp16",
                    "precision=bf16&autocast=bf16"
                ]]),
                any_of(&[SHARDED, BUCKETS, &["", "precision=fp16-mixed", "precision=bf16-autocast"]]),
                any_of(&[
                    &["data_parallel=fsdp", "data_parallel=fsdp-grad-op"],
                    &["", "precision=fp16-mixed"]
                ]),
                any_of(&[&[
                    "data_parallel=fsdp&fsdp_version=1&offload=optimizer,parameters",
                    "data_parallel=hsdp"
                ]]),
                any_of(&[ADAPTERS]),
            ];
            (common, engine, select(gpus))
                .prop_map(|(common, engine, gpus)| [&common, &engine, gpus].join("&"))
                .boxed()
        }
        Kind::LlamaFactory => {
            let common = any_of(&[
                BATCH,
                ACCUMULATION,
                SEQ,
                MODELS,
                RECOMPUTE,
                ATTENTION,
                TRAINER_OPTIMIZERS,
                KERNELS,
            ]);
            let engine = prop_oneof![
                any_of(&[&["precision=bf16-autocast", "precision=fp32", "precision=bf16"]]),
                any_of(&[SHARDED, BUCKETS, &["", "precision=fp16-mixed"]]),
                any_of(&[
                    &["data_parallel=fsdp", "data_parallel=fsdp-grad-op"],
                    &["", "precision=fp16-mixed"]
                ]),
                any_of(&[ADAPTERS]),
                any_of(&[&["method=lora&precision=bf16&lora_dtype=bf16"]]),
            ];
            (common, engine).prop_map(|(common, engine)| [common, engine].join("&")).boxed()
        }
        Kind::Megatron => any_of(&[
            &["stack=megatron-core"],
            BATCH,
            ACCUMULATION,
            &["gpus=64", "gpus=512"],
            SEQ,
            MODELS,
            &["", "precision=fp16-mixed", "precision=fp32", "precision=fp8-mixed"],
            &[
                "",
                "tp=4&sp=true",
                "tp=2&pp=4",
                "pp=8&vpp=2",
                "cp=4&cp_comm_type=a2a",
                "pp=2&decoder_first_pipeline_num_layers=10",
            ],
            &[
                "",
                "recompute=full",
                "recompute=selective&recompute_modules=core_attn,mlp",
                "recompute=full&distribute_saved_activations=true",
            ],
            &[
                "",
                "data_parallel=zero1",
                "data_parallel=zero1&overlap_grad_reduce=true&overlap_param_gather=true",
                "data_parallel=zero3",
                "data_parallel=zero2",
                "data_parallel=fsdp",
                "offload=optimizer&data_parallel=zero1",
            ],
            &["", "attention=flash", "attention=eager", "optimizer=sgd-momentum", "optimizer=muon"],
            &[
                "",
                "grad_dtype=fp32",
                "grad_dtype=bf16",
                "gradient_accumulation_fusion=false&cross_entropy_loss_fusion=true",
                "transformer_impl=local",
            ],
            &["", "dropout=0.1"],
        ])
        .boxed(),
    }
}

fn returns(kind: Kind, link: &str) -> Result<(), TestCaseError> {
    let config = config(link);
    let Export { text, left_out } = write(kind, &config);
    prop_assert!(left_out.is_empty(), "{link}\n{text}\n{left_out:?}");
    let import = read(&text).unwrap();
    prop_assert!(import.problems.is_empty(), "{link}\n{text}\n{:?}", import.problems);
    // Nothing of what was written may be a word that its own reader does not know.
    let unknown: Vec<_> = import
        .ignored
        .iter()
        .filter(|one| one.why.may_matter() && !one.value.eq_ignore_ascii_case("auto"))
        .collect();
    prop_assert!(unknown.is_empty(), "{link}\n{text}\n{unknown:?}");
    Ok(())
}

macro_rules! round_trips {
    ($($name:ident $kind:ident;)+) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
            $(#[test]
            fn $name(link in sayable(Kind::$kind)) {
                returns(Kind::$kind, &link)?;
            })+
        }
    };
}

round_trips! {
    deepspeed_comes_back Deepspeed;
    accelerate_comes_back Accelerate;
    training_arguments_come_back TrainingArguments;
    a_command_comes_back Command;
    llama_factory_comes_back LlamaFactory;
    megatron_comes_back Megatron;
}

/// A value that a key accepts.
fn value(key: Key) -> BoxedStrategy<String> {
    use trainmem::config::Kind as Accepts;
    match key.kind() {
        Accepts::Choice(words) => select(words).prop_map(str::to_owned).boxed(),
        Accepts::List(words) => {
            prop::collection::vec(select(words), 1..3).prop_map(|words| words.join(",")).boxed()
        }
        Accepts::Count { min, max } | Accepts::Tokens { min, max } | Accepts::Bytes { min, max } => {
            (min..=max).prop_map(|number| number.to_string()).boxed()
        }
        Accepts::Model => select(presets()).prop_map(|preset| preset.id.clone()).boxed(),
        Accepts::Gpu => Just("h100-80g".to_owned()).boxed(),
        Accepts::Probability | Accepts::Number => {
            (0.0..1.0_f64).prop_map(|number| number.to_string()).boxed()
        }
        Accepts::Flag => any::<bool>().prop_map(|flag| flag.to_string()).boxed(),
        Accepts::Text => "[ -~]{0,20}".boxed(),
        Accepts::Object | Accepts::Any => {
            select(&["{\"a\": {\"b\": 1}}", "{\"zero_optimization\": {\"stage\": []}}", "{}"][..])
                .prop_map(str::to_owned)
                .boxed()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_is_written_as_its_format_and_the_rest_is_listed(
        pairs in prop::collection::vec(select(Key::ALL).prop_flat_map(|key| value(key).prop_map(move |value| (key, value))), 0..25)
    ) {
        let mut config = Config::default();
        for (key, value) in pairs {
            let _ = config.set(key.word(), &value);
        }
        for &kind in Kind::ALL {
            let Export { text, left_out } = write(kind, &config);
            let import = read(&text).unwrap();
            let format = match kind {
                Kind::Deepspeed => Format::Deepspeed,
                Kind::Accelerate => Format::Accelerate,
                Kind::TrainingArguments => Format::TrainingArguments,
                Kind::Command => Format::Command,
                Kind::LlamaFactory => Format::LlamaFactory,
                Kind::Megatron => Format::Megatron,
            };
            prop_assert_eq!(import.formats, [format], "{}", text);
            // The keys that are listed and those that came back are all.
            for key in Key::ALL.iter().filter(|key| key.section() == Section::Cluster) {
                let listed = left_out.iter().any(|one| one.key == key.word());
                let same = config.get(key.word()) == import.config.get(key.word());
                prop_assert!(listed != same, "{}\n{}", key.word(), text);
            }
        }
    }
}
