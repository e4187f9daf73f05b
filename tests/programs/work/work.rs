//! Work for a Rust program whose allocator is the system's: collections, threads, channels, aligned types.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

#[repr(align(128))]
struct Wide([u8; 200]);

fn collections(seed: u64) -> u64 {
    let mut map = HashMap::new();
    let mut tree = BTreeMap::new();
    let mut heap = BinaryHeap::new();
    let mut queue = VecDeque::new();
    for i in 0..50_000u64 {
        let key = (i * 7919 + seed) % 10_007;
        map.entry(key).or_insert_with(Vec::new).push(i.to_string());
        tree.insert(key, format!("value {i}"));
        heap.push(key);
        queue.push_back(Rc::new(i));
        if i % 3 == 0 {
            queue.pop_front();
        }
        if i % 5 == 0 {
            tree.remove(&(key / 2));
        }
    }
    let lengths: usize = map.values().flatten().map(String::len).sum();
    lengths as u64 + tree.len() as u64 + heap.pop().unwrap() + *queue[7]
}

fn aligned() -> usize {
    let wides: Vec<Box<Wide>> = (0..500).map(|i| Box::new(Wide([i as u8; 200]))).collect();
    for wide in &wides {
        assert_eq!(&**wide as *const Wide as usize % 128, 0);
    }
    for shift in 0..16 {
        let layout = Layout::from_size_align(1000, 1 << shift).unwrap();
        unsafe {
            let zeroed = alloc_zeroed(layout);
            assert!((0..1000).all(|i| *zeroed.add(i) == 0));
            dealloc(zeroed, layout);
            let block = alloc(layout);
            block.write_bytes(7, 1000);
            let grown = realloc(block, layout, 90_000);
            assert!(grown as usize % layout.align() == 0 && (0..1000).all(|i| *grown.add(i) == 7));
            dealloc(grown, Layout::from_size_align(90_000, 1 << shift).unwrap());
        }
    }
    wides.iter().map(|wide| wide.0[199] as usize).sum()
}

/// Strings are made in many threads and dropped in one, which hands some of them back.
fn threads() -> usize {
    let (sender, receiver) = mpsc::channel::<Vec<String>>();
    let shared = Arc::new(Mutex::new(Vec::new()));
    let makers: Vec<_> = (0..8)
        .map(|number| {
            let (sender, shared) = (sender.clone(), Arc::clone(&shared));
            thread::spawn(move || {
                for i in 0..2_000 {
                    sender.send((0..i % 20).map(|n| "x".repeat(n * 10 + number)).collect()).unwrap();
                    if let Some(given) = shared.lock().unwrap().pop() {
                        drop::<String>(given);
                    }
                }
            })
        })
        .collect();
    drop(sender);
    let mut total = 0;
    for mut list in receiver {
        total += list.iter().map(String::len).sum::<usize>();
        if let Some(last) = list.pop() {
            shared.lock().unwrap().push(last);
        }
    }
    for maker in makers {
        maker.join().unwrap();
    }
    total
}

fn main() {
    println!("{} {}", collections(1), collections(2));
    println!("{}", aligned());
    println!("{}", threads());
    println!("done");
}
