//! JSON on system.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: std::alloc::System = std::alloc::System;

fn json(criterion: &mut Criterion) {
    tslab_benches::json(criterion, "system");
}

criterion_group!(benches, json);
criterion_main!(benches);
