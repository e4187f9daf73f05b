//! JSON on tslab.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: tslab::Tslab = tslab::Tslab;

fn json(criterion: &mut Criterion) {
    tslab_benches::json(criterion, "tslab");
}

criterion_group!(benches, json);
criterion_main!(benches);
