//! A future is inside of its epoch while it is polled, and nowhere else.

use std::future::{pending, poll_fn, Future};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use tslab::task::FutureExt;
use tslab::{stats, sys, Drain, Epoch, Report, Tslab};

#[global_allocator]
static GLOBAL: Tslab = Tslab;

fn current() -> u64 {
    // SAFETY: the function has no requirements.
    unsafe { sys::tslab_epoch_current() }.id
}

fn epoch_of<T: ?Sized>(object: &T) -> u64 {
    // SAFETY: the tests pass living objects.
    unsafe { sys::tslab_epoch_of((&raw const *object).cast()) }.id
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Is pending once.
async fn step() {
    let mut done = false;
    poll_fn(|_| if std::mem::replace(&mut done, true) { Poll::Ready(()) } else { Poll::Pending }).await
}

#[test]
fn each_step_is_inside_on_whichever_thread() {
    let epoch = Epoch::new(Drain);
    let id = epoch.id().id;
    let mut task = Box::pin(
        async move {
            let mut seen = vec![current()];
            for _ in 0..3 {
                step().await;
                seen.push(current());
            }
            (epoch_of(seen.as_slice()), seen)
        }
        .in_epoch(epoch),
    );
    for _ in 0..3 {
        task = thread::spawn(move || {
            assert!(poll(task.as_mut()).is_pending());
            assert_eq!(current(), 0);
            task
        })
        .join()
        .unwrap();
    }
    let Poll::Ready((place, seen)) = poll(task.as_mut()) else { panic!("the task is done") };
    assert_eq!((place, seen.as_slice()), (id, [id; 4].as_slice()));
    drop(task);
    assert_eq!(seen, [id; 4]); // a survivor
}

#[test]
fn a_cancelled_task_ends_before_its_epoch() {
    static DROPPED: AtomicBool = AtomicBool::new(false);
    struct Ending(Box<u64>);
    impl Drop for Ending {
        fn drop(&mut self) {
            assert!(stats::epochs().iter().any(|epoch| epoch.epoch.id == *self.0 && !epoch.is_draining()));
            DROPPED.store(true, Ordering::Relaxed);
        }
    }
    let epoch = Epoch::new(Report);
    let id = epoch.id().id;
    {
        let task = async {
            let _ending = Ending(Box::new(current()));
            pending::<()>().await;
        };
        let mut task = pin!(task.in_epoch(epoch));
        assert!(poll(task.as_mut()).is_pending());
        assert_eq!(task.epoch().stats().live_objects, 1);
    }
    assert!(DROPPED.load(Ordering::Relaxed));
    assert!(stats::epochs().iter().all(|epoch| epoch.epoch.id != id));
}
