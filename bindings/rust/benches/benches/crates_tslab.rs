//! Crates on tslab.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: tslab::Tslab = tslab::Tslab;

fn crates(criterion: &mut Criterion) {
    tslab_benches::crates(criterion, "tslab");
}

criterion_group!(benches, crates);
criterion_main!(benches);
