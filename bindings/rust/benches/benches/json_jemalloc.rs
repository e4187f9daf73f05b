//! JSON on jemalloc.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn json(criterion: &mut Criterion) {
    tslab_benches::json(criterion, "jemalloc");
}

criterion_group!(benches, json);
criterion_main!(benches);
