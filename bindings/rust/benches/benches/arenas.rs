//! Lifetimes whose memory comes back as a whole: an epoch, a bump allocator, a typed arena, and single boxes. Each builds a
//! tree of small nodes, or fills vectors that grow, and ends it all.

use std::hint::black_box;

use allocator_api2::alloc::{Allocator, Global};
use allocator_api2::vec::Vec;
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use tslab::{epoch, Epoch, Release, Tslab};

#[global_allocator]
static GLOBAL: Tslab = Tslab;

struct Node<'a> {
    value: u64,
    left: Option<&'a Node<'a>>,
    right: Option<&'a Node<'a>>,
}

fn tree<'a>(depth: u32, alloc: &impl Fn(Node<'a>) -> &'a Node<'a>) -> &'a Node<'a> {
    let below = || (depth > 0).then(|| tree(depth - 1, alloc));
    alloc(Node { value: u64::from(depth), left: below(), right: below() })
}

fn sum(node: &Node) -> u64 {
    node.value + node.left.map_or(0, sum) + node.right.map_or(0, sum)
}

struct Boxed {
    value: u64,
    left: Option<Box<Boxed>>,
    right: Option<Box<Boxed>>,
}

fn boxed(depth: u32) -> Box<Boxed> {
    let below = || (depth > 0).then(|| boxed(depth - 1));
    Box::new(Boxed { value: u64::from(depth), left: below(), right: below() })
}

fn sum_boxed(node: &Boxed) -> u64 {
    node.value + node.left.as_deref().map_or(0, sum_boxed) + node.right.as_deref().map_or(0, sum_boxed)
}

fn trees(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tree");
    for depth in [4, 9, 15] {
        group.bench_function(BenchmarkId::new("tslab, a scope each", depth), |bencher| {
            bencher.iter(|| epoch::scope(Release, |epoch| sum(tree(depth, &|node| epoch.alloc(node)))));
        });
        group.bench_function(BenchmarkId::new("tslab, advance", depth), |bencher| {
            let mut epoch = Epoch::new(Release);
            bencher.iter(|| {
                let found = epoch.enter(|| sum(tree(depth, &|node| epoch.alloc(node))));
                epoch.advance();
                found
            });
        });
        group.bench_function(BenchmarkId::new("bumpalo, a bump each", depth), |bencher| {
            bencher.iter(|| {
                let bump = bumpalo::Bump::new();
                sum(tree(depth, &|node| bump.alloc(node)))
            });
        });
        group.bench_function(BenchmarkId::new("bumpalo, reset", depth), |bencher| {
            let mut bump = bumpalo::Bump::new();
            bencher.iter(|| {
                let found = sum(tree(depth, &|node| bump.alloc(node)));
                bump.reset();
                found
            });
        });
        group.bench_function(BenchmarkId::new("typed-arena", depth), |bencher| {
            bencher.iter(|| {
                let arena = typed_arena::Arena::new();
                // The arena is dropped at the end of the closure, so that the tree may borrow it.
                let found = sum(tree(depth, &|node| arena.alloc(node)));
                found
            });
        });
        group.bench_function(BenchmarkId::new("boxes on tslab", depth), |bencher| {
            bencher.iter(|| sum_boxed(&boxed(depth)));
        });
    }
    group.finish();
}

fn fill(allocator: impl Allocator + Copy) -> usize {
    let vectors: [Vec<usize, _>; 8] = std::array::from_fn(|at| {
        let mut vector = Vec::new_in(allocator);
        vector.extend(0..10 << at);
        vector
    });
    black_box(&vectors).iter().map(Vec::len).sum()
}

fn vectors(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("growing vectors");
    group.bench_function("tslab, a scope each", |bencher| bencher.iter(|| epoch::scope(Release, |epoch| fill(epoch))));
    group.bench_function("bumpalo, a bump each", |bencher| bencher.iter(|| fill(&bumpalo::Bump::new())));
    group.bench_function("the global allocator, tslab", |bencher| bencher.iter(|| fill(Global)));
    group.finish();
}

criterion_group!(benches, trees, vectors);
criterion_main!(benches);
