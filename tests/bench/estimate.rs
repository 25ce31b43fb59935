//! How many estimates one core gives in a second, how many links it reads, how long a search takes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use trainmem::config::Config;
use trainmem::doctor::{Case, Change, Fleet, Search, changes};
use trainmem::estimate::{Reserve, estimate};

/// What the page starts with (32 layers), the deepest preset (80), and each engine.
const CASES: [(&str, &str); 7] = [
    ("default", ""),
    ("qwen2.5-72b", "model=qwen2.5-72b"),
    ("ddp", "gpus=8"),
    ("fsdp2", "gpus=8&data_parallel=fsdp"),
    ("fsdp1", "gpus=8&data_parallel=fsdp&fsdp_version=1"),
    ("zero2", "gpus=8&data_parallel=zero2"),
    ("zero3", "gpus=8&data_parallel=zero3"),
];

fn estimates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("estimate");
    group.throughput(Throughput::Elements(1));
    for (name, link) in CASES {
        let config = Config::from_link(link).config;
        estimate(&config).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        group.bench_function(name, |bencher| bencher.iter(|| estimate(black_box(&config))));
    }
    // A job of a thousand GPUs: every stage of the pipeline is estimated.
    let alone =
        Config::from_link(&JOB.replace("&gpus=1024&pp=16&vpp=2&ep=64&schedule=interleaved", "")).config;
    group.bench_function("deepseek-v3 on one GPU", |bencher| bencher.iter(|| estimate(black_box(&alone))));
    let job = Config::from_link(JOB);
    assert!(job.problems.is_empty(), "{:?}", job.problems);
    group.bench_function("deepseek-v3 on 1024 GPUs", |bencher| {
        bencher.iter(|| estimate(black_box(&job.config)));
    });
    group.finish();
}

/// `DeepSeek-V3`: 61 layers, 256 experts.
const JOB: &str = "model_type=deepseek_v3&hidden_size=7168&num_hidden_layers=61&num_attention_heads=128\
                   &num_key_value_heads=128&intermediate_size=18432&vocab_size=129280&n_routed_experts=256\
                   &num_experts_per_tok=8&moe_intermediate_size=2048&n_shared_experts=1&first_k_dense_replace=3\
                   &q_lora_rank=1536&kv_lora_rank=512&qk_nope_head_dim=128&qk_rope_head_dim=64&v_head_dim=128\
                   &stack=megatron-core&seq=4096&accumulation=32&gpus=1024&pp=16&vpp=2&ep=64&schedule=interleaved\
                   &data_parallel=zero1&attention=flash&gpu=h800-80g&moe_grouped_gemm=true";

const LINK: &str = "https://host.example/#v=1&model=qwen3-8b&hidden_size=5120&batch=4&seq=8k&precision=bf16-autocast\
                    &optimizer=adamw-8bit&attention=flash&recompute=full&gpu=h100-80g&gpus=8&data_parallel=zero3";

fn links(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("link");
    group.throughput(Throughput::Elements(1));
    let read = Config::from_link(LINK);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    group.bench_function("read", |bencher| bencher.iter(|| Config::from_link(black_box(LINK))));
    group.bench_function("write", |bencher| bencher.iter(|| black_box(&read.config).to_link()));
    group.finish();
}

/// What a search asks: this many configurations of a 70B model, each a set of changes that people reach for.
const ASKED: usize = 10_000;

fn searches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("doctor");
    group.sample_size(10);
    let link = "model=llama-3.1-70b&precision=bf16-autocast&batch=8&gpus=8&gpu=rtx-4090";
    let case = Case::of(&Config::from_link(link).config, Reserve::Typical)
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    let choices: Vec<Change> = changes(case.config());
    let sets = choices.iter().flat_map(|a| choices.iter().map(move |b| [*a, *b]));
    let configs: Vec<Config> = sets
        .cycle()
        .map(|set| Change::all(case.config(), &set))
        .filter(|config| case.outcome(config).is_some())
        .take(ASKED)
        .collect();
    group.throughput(Throughput::Elements(ASKED as u64));
    group.bench_function("10,000 configurations of a 70B model", |bencher| {
        bencher.iter(|| configs.iter().filter_map(|config| case.outcome(black_box(config))).count());
    });
    group.bench_function("the cheapest set that fits", |bencher| {
        bencher.iter(|| {
            let mut search = Search::new(&case);
            while !search.advance(&case, 64) {}
            search.len()
        });
    });
    // Whole nodes of a mixture of experts: each way to share out the experts is asked as well.
    let case = Case::of(&Config::from_link(JOB).config, Reserve::Typical)
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    group.bench_function("the fewest GPUs for DeepSeek-V3", |bencher| {
        bencher.iter(|| {
            let mut fleet = Fleet::new(&case);
            while !fleet.advance(&case, 64) {}
            fleet.found().len()
        });
    });
    group.finish();
}

criterion_group!(benches, estimates, links, searches);
criterion_main!(benches);
