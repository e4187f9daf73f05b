//! Crates on jemalloc.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn crates(criterion: &mut Criterion) {
    tslab_benches::crates(criterion, "jemalloc");
}

criterion_group!(benches, crates);
criterion_main!(benches);
