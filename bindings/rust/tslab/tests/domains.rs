//! A domain is entered again and again, by threads and tasks, and ends in steps.

use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::thread;

use tslab::{stats, sys, Domain, Tslab};

#[global_allocator]
static GLOBAL: Tslab = Tslab;

fn epoch_of<T: ?Sized>(object: &T) -> u64 {
    // SAFETY: the tests pass living objects.
    unsafe { sys::tslab_epoch_of((&raw const *object).cast()) }.id
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Polls tasks in turn, on two threads, until all are done.
fn run(tasks: VecDeque<Task>) {
    let ready = Mutex::new(tasks);
    let work = || loop {
        let next = ready.lock().unwrap().pop_front();
        let Some(mut task) = next else { return };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            ready.lock().unwrap().push_back(task);
        }
    };
    thread::scope(|threads| {
        threads.spawn(work);
        work();
    });
}

/// Is pending once.
async fn step() {
    let mut done = false;
    poll_fn(|_| if std::mem::replace(&mut done, true) { Poll::Ready(()) } else { Poll::Pending }).await
}

#[test]
fn tasks_of_tenants_allocate_in_their_domains() {
    let tenants = ["red", "green", "blue"].map(|name| Domain::open(name, 0).unwrap());
    // They have room: what grows inside of a tenant lies there.
    let answers = [(); 3].map(|()| Mutex::new(Vec::<Box<[u8; 100]>>::with_capacity(100)));
    let answers: &'static _ = Box::leak(Box::new(answers));
    let mut tasks = VecDeque::new();
    for number in 0..300 {
        let task = async move {
            for _ in 0..3 {
                let scratch = vec![1u8; 1000];
                step().await; // goes on on either thread
                drop(scratch);
            }
            answers[number % 3].lock().unwrap().push(Box::new([2; 100]));
        };
        tasks.push_back(Box::pin(tenants[number % 3].in_domain(task)) as Task);
    }
    run(tasks);
    for (tenant, answers) in tenants.iter().zip(answers) {
        let report = tenant.report();
        let here = answers.lock().unwrap().iter().filter(|answer| epoch_of(&***answer) == report.epoch.id).count();
        assert_eq!(here, 100);
        assert!(report.live_bytes >= 10_000 && report.live_bytes <= report.memory_bytes);
        assert!(report.peak_bytes >= report.memory_bytes && report.resident_bytes >= report.live_bytes);
    }
    for (tenant, answers) in tenants.into_iter().zip(answers) {
        let (mut retired, mut looks) = (tenant.retire(), 0);
        while !retired.is_drained() {
            assert!(retired.report().is_draining());
            assert!(answers.lock().unwrap().pop().is_some());
            looks += 1;
        }
        assert!(answers.lock().unwrap().is_empty() && looks >= 100);
    }
}

#[test]
fn a_limit_is_the_tenants_alone() {
    let small = Domain::open("small", 4 << 20).unwrap();
    let other = Domain::open("other", 0).unwrap();
    let mut answer = Vec::<u8>::new();
    small.enter(|| assert!(answer.try_reserve(8 << 20).is_err()));
    other.enter(|| assert!(answer.try_reserve(8 << 20).is_ok()));
    assert_eq!(epoch_of(answer.as_slice()), other.report().epoch.id);
    assert!(small.report().limit_bytes == 4 << 20 && small.report().refusals == 1 && other.report().refusals == 0);
    assert!(small.report().peak_bytes <= 4 << 20 && other.report().live_bytes >= 8 << 20);
}

#[test]
fn a_retired_domain_refuses_and_its_tasks_go_on_outside() {
    let tenant = Domain::open("retired", 0).unwrap();
    let (id, allocator) = (tenant.report().epoch.id, tenant.allocator());
    let mut kept = allocator_api2::vec::Vec::new_in(allocator);
    kept.push(7);
    let mut task = Box::pin(tenant.in_domain(async {
        let inside = Box::new(1);
        step().await;
        (epoch_of(&*inside), epoch_of(&*Box::new(2)))
    }));
    let mut poll = || task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    let mut retired = tenant.retire();
    let Poll::Ready(places) = poll() else { panic!("the task is done") };
    assert_eq!(places, (id, 0));
    assert!(!retired.is_drained() && kept[0] == 7);
    assert!(allocator_api2::vec::Vec::<u64, _>::new_in(allocator).try_reserve(1).is_err());
    drop(kept);
    assert!(retired.is_drained() && stats::epochs().iter().all(|epoch| epoch.epoch.id != id));
}

#[test]
fn labels_are_cut_to_fit() {
    for (label, kept) in
        [("", ""), ("short", "short"), ("behind\0a zero", "behind"), (&"ä".repeat(20), &"ä".repeat(15))]
    {
        assert_eq!(Domain::open(label, 0).unwrap().report().label(), kept);
    }
}
