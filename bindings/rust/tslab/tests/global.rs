//! What lands where when tslab is the allocator of the program.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use allocator_api2::boxed::Box as BoxIn;
use allocator_api2::vec::Vec as VecIn;
use tslab::{epoch, stats, sys, work, Drain, Epoch, Release, Tslab};

#[global_allocator]
static GLOBAL: Tslab = Tslab;

/// The epoch of an object; 0 for the process.
fn epoch_of<T: ?Sized>(object: &T) -> u64 {
    // SAFETY: the tests pass living objects.
    unsafe { sys::tslab_epoch_of((&raw const *object).cast()) }.id
}

fn current() -> u64 {
    // SAFETY: the function has no requirements.
    unsafe { sys::tslab_epoch_current() }.id
}

#[test]
fn plain_values_land_in_an_epoch_that_drains() {
    let outside = Box::new(1u64);
    assert_eq!(epoch_of(&*outside), 0);
    let epoch = Epoch::new(Drain);
    let (inside, name) = epoch.enter(|| (Box::new([2u64; 100]), String::from("a survivor of the epoch")));
    assert_eq!(epoch_of(&*inside), epoch.id().id);
    assert_eq!(epoch_of(name.as_str()), epoch.id().id);
    let id = epoch.id().id;
    assert_eq!(epoch.close().survivors, 2);
    assert!(stats::epochs().iter().any(|epoch| epoch.epoch.id == id && epoch.is_draining()));
    assert_eq!((inside[99], name.as_str()), (2, "a survivor of the epoch"));
    drop((inside, name));
    assert!(stats::epochs().iter().all(|epoch| epoch.epoch.id != id));
}

#[test]
fn plain_values_stay_out_of_an_epoch_that_releases() {
    let kept = epoch::scope(Release, |epoch| {
        let mut named = VecIn::new_in(epoch);
        named.push(1u64);
        assert_eq!(epoch_of(named.as_slice()), epoch.id().id);
        let plain = vec![7u64; 1000];
        assert_eq!(epoch_of(plain.as_slice()), 0);
        plain
    });
    assert_eq!(kept, [7; 1000]);
}

#[test]
fn a_drain_in_a_release_and_the_other_way_round() {
    epoch::scope(Drain, |outer| {
        epoch::scope(Release, |inner| {
            assert_eq!(epoch_of(&*Box::new(1)), outer.id().id);
            assert_eq!(epoch_of(inner.alloc(1)), inner.id().id);
        });
        assert_eq!(current(), outer.id().id);
    });
    assert_eq!(current(), 0);
}

#[test]
fn a_panic_leaves_and_closes() {
    let mut id = 0;
    let caught = catch_unwind(AssertUnwindSafe(|| {
        epoch::scope(Drain, |epoch| {
            id = epoch.id().id;
            let _values = VecIn::<u8, _>::with_capacity_in(100_000, epoch);
            // Unlike panic!, it prints nothing, so that the standard library keeps nothing of the epoch.
            resume_unwind(Box::new("on purpose"));
        });
    }));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "on purpose");
    assert_eq!(current(), 0);
    // The payload of the panic was boxed inside, and was a survivor until now.
    assert!(stats::epochs().iter().all(|epoch| epoch.epoch.id != id));
}

#[test]
fn lasting_values_outlive_their_epoch() {
    let epoch = Epoch::new(Drain);
    let lasting = epoch.lasting();
    let mut numbers = VecIn::new_in(lasting);
    numbers.extend(0..1000u32);
    assert_eq!(epoch.close().survivors, 1);
    assert!(BoxIn::try_new_in(1, lasting).is_err(), "a closed epoch refuses");
    // It grows all the same: the vector moves to the process.
    numbers.extend(1000..100_000);
    assert_eq!(epoch_of(numbers.as_slice()), 0);
    assert!(numbers.iter().copied().eq(0..100_000));
}

#[test]
fn an_epoch_serves_many_threads() {
    epoch::scope(Release, |epoch| {
        let parts: Vec<VecIn<usize, &Epoch<Release>>> = std::thread::scope(|threads| {
            let workers: Vec<_> = (0..4)
                .map(|thread| {
                    threads.spawn(move || {
                        let mut part = VecIn::new_in(epoch);
                        epoch.enter(|| part.extend((0..10_000).map(|at| thread * 10_000 + at)));
                        part
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        assert!(parts.iter().flatten().copied().eq(0..40_000));
        assert!(parts.iter().all(|part| epoch_of(part.as_slice()) == epoch.id().id));
    });
}

#[test]
fn a_pause_steps_outside() {
    epoch::scope(Drain, |epoch| {
        let session = work::pause(|| Box::new(1));
        assert_eq!((epoch_of(&*session), epoch_of(&*Box::new(1))), (0, epoch.id().id));
    });
    let panicked = catch_unwind(|| work::unit(c"request", || work::pause(|| -> () { resume_unwind(Box::new(0)) })));
    assert!(panicked.is_err());
    // SAFETY: no requirements. The panic has ended the pause and the unit.
    unsafe {
        assert_eq!((sys::tslab_work_resume(), sys::tslab_work_end()), (sys::TSLAB_NOT_INSIDE, sys::TSLAB_NOT_INSIDE))
    };
}

#[test]
fn reports_have_labels_and_parents() {
    let parent = epoch::Options::new(Drain).label(c"parent").open().unwrap();
    let child = epoch::Options::new(Release).label(c"a label that is longer than thirty-one bytes").parent(&parent);
    let child = child.open().unwrap();
    assert_eq!(child.stats().label(), "a label that is longer than thi");
    assert_eq!(child.stats().parent, parent.id());
    assert_eq!(child.stats().policy, sys::TSLAB_POLICY_RELEASE);
}
