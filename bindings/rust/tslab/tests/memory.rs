//! The memory of an epoch that is over comes back. One test alone, because all of the process is counted. The checked twin
//! keeps memory back on purpose.
#![cfg(not(feature = "checked"))]

use tslab::{stats, Epoch, Release, Tslab};

#[global_allocator]
static GLOBAL: Tslab = Tslab;

fn memory_is_used_again() {
    let mut epoch = Epoch::new(Release);
    for _ in 0..200 {
        for at in 0..100u64 {
            assert_eq!(*epoch.alloc([at; 1000]).last().unwrap(), at);
        }
        let done = epoch.advance();
        assert_eq!(done.survivors, 100);
        assert!(done.recycled_bytes >= 800_000, "{done:?}");
    }
    // 160 MB went through it.
    assert!(stats::get().committed_bytes < 64 << 20);
}

fn pages_go_back() {
    let epoch = Epoch::new(Release);
    epoch.alloc_slice(&vec![1u8; 8 << 20]);
    assert!(epoch.close_and_reclaim().reclaimed_bytes >= 8 << 20);
}

#[test]
fn memory_comes_back() {
    memory_is_used_again();
    pages_go_back();
}
