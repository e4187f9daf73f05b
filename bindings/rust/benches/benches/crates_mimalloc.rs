//! Crates on mimalloc.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn crates(criterion: &mut Criterion) {
    tslab_benches::crates(criterion, "mimalloc");
}

criterion_group!(benches, crates);
criterion_main!(benches);
