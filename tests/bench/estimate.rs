//! How many estimates one core gives in a second.

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

criterion_group!(benches, estimates);
criterion_main!(benches);
