//! JSON on mimalloc.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn json(criterion: &mut Criterion) {
    tslab_benches::json(criterion, "mimalloc");
}

criterion_group!(benches, json);
criterion_main!(benches);
