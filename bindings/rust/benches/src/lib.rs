//! What three known crates do, and little of it besides allocating in many sizes. Each benchmark `crates_*` runs it on another
//! allocator of the program.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use regex::Regex;
use serde_json::{json, Value};

/// Orders of a shop, as text of about 200 KB.
fn orders() -> String {
    let order = |number: usize| {
        json!({
            "number": number,
            "customer": { "name": format!("customer {}", number % 97), "city": "x".repeat(number % 40) },
            "lines": (0..number % 9).map(|line| json!({ "article": format!("{line:08}"), "price": line as f64 * 1.25 }))
                .collect::<Vec<_>>(),
            "notes": (number % 5 == 0).then(|| "n".repeat(number % 700)),
        })
    };
    Value::Array((0..600).map(order).collect()).to_string()
}

/// Parses JSON into a tree, and drops the tree: on one thread, and on another one.
fn serde_json(criterion: &mut Criterion, allocator: &str) {
    let text = orders();
    let parse = || serde_json::from_str::<Value>(&text).expect("the text is JSON");
    let mut group = criterion.benchmark_group("serde_json");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function(format!("parse and drop/{allocator}"), |bencher| bencher.iter(|| drop(black_box(parse()))));
    group.bench_function(format!("parse, and drop on another thread/{allocator}"), |bencher| {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<Value>(4);
        std::thread::scope(|threads| {
            threads.spawn(move || receiver.into_iter().for_each(drop));
            bencher.iter(|| sender.send(parse()).expect("the other thread waits"));
            drop(sender);
        });
    });
    group.finish();
}

/// Compiles a pattern, which has automata of many small parts.
fn regex(criterion: &mut Criterion, allocator: &str) {
    const PATTERN: &str = r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<time>[\d:.]+)(?P<zone>Z|[+-]\d\d:?\d\d)?\s+(?P<level>info|warn|error)\s+(\w+\.?)+";
    let mut group = criterion.benchmark_group("regex");
    group.bench_function(format!("compile and drop/{allocator}"), |bencher| {
        bencher.iter(|| drop(black_box(Regex::new(PATTERN).expect("the pattern is one"))));
    });
    group.finish();
}

/// Parses this file into a syntax tree, and drops the tree.
fn syn(criterion: &mut Criterion, allocator: &str) {
    let mut group = criterion.benchmark_group("syn");
    group.bench_function(format!("parse and drop/{allocator}"), |bencher| {
        bencher.iter(|| drop(black_box(syn::parse_file(include_str!("lib.rs")).expect("the file is Rust"))));
    });
    group.finish();
}

/// Measures the three.
pub fn crates(criterion: &mut Criterion, allocator: &str) {
    serde_json(criterion, allocator);
    regex(criterion, allocator);
    syn(criterion, allocator);
}
