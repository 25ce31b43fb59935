//! How many estimates one core gives in a second, and how many links it reads.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use trainmem::config::Config;
use trainmem::estimate::estimate;

/// What the page starts with (32 layers), and the deepest preset (80).
const CASES: [(&str, Option<&str>); 2] = [("default", None), ("qwen2.5-72b", Some("qwen2.5-72b"))];

fn estimates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("estimate");
    group.throughput(Throughput::Elements(1));
    for (name, model) in CASES {
        let config = Config { model: model.map(str::to_owned), ..Config::default() };
        estimate(&config).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        group.bench_function(name, |bencher| bencher.iter(|| estimate(black_box(&config))));
    }
    group.finish();
}

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

criterion_group!(benches, estimates, links);
criterion_main!(benches);
