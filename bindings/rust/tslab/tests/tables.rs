//! Handles are refused when they should be, and values are moved, not copied.

use std::collections::HashSet;
use std::rc::Rc;

use tslab::{epoch, Handle, Release, Table};

#[test]
fn stale_foreign_and_made_up_handles_are_refused() {
    let mut table = Table::new();
    let other = Table::new();
    let first = table.insert(String::from("first"));
    let foreign = other.insert(String::from("foreign"));
    assert_eq!(table.get(first).unwrap(), "first");
    assert_eq!(table.get(foreign), None);
    assert_eq!(table.remove(first).unwrap(), "first");
    assert_eq!(table.remove(first), None);
    let again = table.insert(String::from("in its place"));
    assert_eq!(table.get(first), None);
    table.get_mut(again).unwrap().push('!');
    assert_eq!(table.get(again).unwrap(), "in its place!");
    for bit in 0..64 {
        let wrong = Handle::from_raw(again.to_raw() ^ 1 << bit);
        assert_eq!(wrong.and_then(|handle| table.get(handle)), None, "bit {bit}");
    }
    assert_eq!(Handle::from_raw(again.to_raw()), Some(again));
    assert_eq!(Handle::<String>::from_raw(0), None);
    drop((table.remove(again), other));
}

#[test]
fn removing_moves_the_value_out() {
    let counted = Rc::new(());
    let mut table = Table::of(epoch::Options::new(Release).label(c"table").open().unwrap());
    let handles: Vec<_> = (0..1000).map(|_| table.insert(Rc::clone(&counted))).collect();
    assert_eq!(Rc::strong_count(&counted), 1001);
    assert_eq!(handles.iter().collect::<HashSet<_>>().len(), 1000);
    for handle in handles {
        drop(table.remove(handle).unwrap());
    }
    assert_eq!(Rc::strong_count(&counted), 1);
}

#[test]
fn objects_of_any_size_up_to_the_limit() {
    let mut nothings = Table::new();
    let nothing = nothings.insert(());
    assert_eq!(nothings.remove(nothing), Some(()));
    let large = Table::new();
    let handle = large.insert([7u8; 32 * 1024]);
    assert_eq!(large.get(handle).unwrap(), &[7; 32 * 1024]);
}

#[test]
fn threads_share_a_table() {
    let table = Table::new();
    let handles: Vec<Handle<usize>> = std::thread::scope(|threads| {
        let workers: Vec<_> =
            (0..4).map(|_| threads.spawn(|| (0..1000).map(|at| table.insert(at)).collect::<Vec<_>>())).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(handles.iter().map(|&handle| table.get(handle).copied().unwrap()).eq((0..4).flat_map(|_| 0..1000)));
}
