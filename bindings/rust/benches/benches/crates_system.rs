//! Crates on the malloc of the system.

use criterion::{criterion_group, criterion_main, Criterion};

#[global_allocator]
static GLOBAL: std::alloc::System = std::alloc::System;

fn crates(criterion: &mut Criterion) {
    tslab_benches::crates(criterion, "system");
}

criterion_group!(benches, crates);
criterion_main!(benches);
