//! A program that does nothing but allocate in many sizes: it parses JSON into a tree, and drops the tree. Each benchmark
//! `json_*` runs it on another allocator of the program.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
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

/// Measures one thread, and one whose trees another thread drops.
pub fn json(criterion: &mut Criterion, allocator: &str) {
    let text = orders();
    let parse = || serde_json::from_str::<Value>(&text).expect("the text is JSON");
    let mut group = criterion.benchmark_group("json");
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
