//! Domains: the memory of a tenant, a query or a pipeline, with a name, a limit and an end.

use std::ffi::CStr;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::epoch::{inside, Lasting, Options};
use crate::stats::EpochStats;
use crate::{sys, Drain, Epoch, Error};

/// The memory of a tenant, a query or a pipeline: an epoch of [`Drain`] that lives for long, and that one enters again
/// and again. It is *open* until [`retire`](Domain::retire) or a drop, then it *drains*: its objects stay valid, and
/// their memory comes back as they are freed. With the last one it is *drained*, and gone.
///
/// ```
/// # #[global_allocator] static GLOBAL: tslab::Tslab = tslab::Tslab;
/// use tslab::Domain;
///
/// let tenant = Domain::open("tenant 7", 64 << 20)?;
/// let cached = tenant.enter(|| vec![1u8; 1 << 20]); // all that this thread allocates lands in it
/// tenant.enter(|| drop(vec![2u8; 1 << 20]));
/// let report = tenant.report();
/// assert!(report.live_bytes >= 1 << 20 && report.peak_bytes >= 2 << 20 && report.resident_bytes >= 1 << 20);
///
/// let mut retired = tenant.retire();
/// assert!(!retired.is_drained() && cached[0] == 1);
/// drop(cached);
/// assert!(retired.is_drained());
/// assert!(retired.report().peak_bytes >= 2 << 20); // as it was last seen
/// # Ok::<(), tslab::Error>(())
/// ```
///
/// Several threads and tasks may be inside at once. Domains with the same label are added up in reports, and the option
/// `epoch_limits` limits them together.
#[derive(Debug)]
pub struct Domain {
    epoch: Epoch<Drain>,
}

impl Domain {
    /// Opens a domain. Of the label 31 bytes are kept, and nothing behind a zero.
    ///
    /// The domain may have `limit` bytes of memory (as `memory_bytes` of its [report](Domain::report)), and 64 KiB more
    /// for each thread inside; 0: no limit. An allocation that would exceed it fails, in this domain alone. Most of Rust's
    /// standard library ends the program then. [`Vec::try_reserve`] and its like do not:
    ///
    /// ```
    /// # #[global_allocator] static GLOBAL: tslab::Tslab = tslab::Tslab;
    /// let tenant = tslab::Domain::open("tenant 8", 4 << 20)?;
    /// let mut answer = Vec::<u8>::new();
    /// assert!(tenant.enter(|| answer.try_reserve(8 << 20)).is_err());
    /// assert!(answer.try_reserve(8 << 20).is_ok()); // outside
    /// # Ok::<(), tslab::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`].
    pub fn open(label: &str, limit: usize) -> Result<Domain, Error> {
        let mut text = [0; 32];
        let fits = |&length: &usize| length < text.len() && label.is_char_boundary(length);
        let length = (0..=label.len()).rev().find(fits).unwrap_or(0);
        text[..length].copy_from_slice(&label.as_bytes()[..length]);
        let label = CStr::from_bytes_until_nul(&text).expect("the last byte is 0");
        Ok(Domain { epoch: Options::new(Drain).label(label).limit(limit).open()? })
    }

    /// Runs the function inside of the domain: what this thread allocates lands in it, where [`Tslab`](crate::Tslab) is
    /// the global allocator. See [`Epoch::enter`].
    pub fn enter<R>(&self, run: impl FnOnce() -> R) -> R {
        self.epoch.enter(run)
    }

    /// The future, inside of the domain during each poll, on whichever thread that is. It borrows nothing: once the domain
    /// is retired, the rest of the future runs outside.
    ///
    /// ```
    /// # #[global_allocator] static GLOBAL: tslab::Tslab = tslab::Tslab;
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// let tenant = tslab::Domain::open("tenant 9", 0)?;
    /// let task = tenant.in_domain(async { vec![0u64; 1000] });
    /// # let mut task = pin!(task);
    /// # let Poll::Ready(answer) = task.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
    /// // let answer = executor.run(task);
    /// assert!(tenant.report().live_bytes >= 8000);
    /// # drop(answer);
    /// # Ok::<(), tslab::Error>(())
    /// ```
    pub fn in_domain<F: Future>(&self, future: F) -> InDomain<F> {
        InDomain { future, id: self.epoch.id() }
    }

    /// An allocator for collections, wherever the thread is. It borrows nothing, and refuses once the domain is retired.
    pub fn allocator(&self) -> Lasting {
        self.epoch.lasting()
    }

    /// What the domain has now: `live_bytes`, `memory_bytes`, `peak_bytes`, `resident_bytes` and others, which `tslab.h`
    /// describes (`struct tslab_epoch_stats`). It takes a walk over the domain's memory records.
    pub fn report(&self) -> EpochStats {
        self.epoch.stats()
    }

    /// Ends the domain: nobody can enter it any more, and its objects stay valid until they are freed. It does not wait. A
    /// thread that is inside goes on outside.
    pub fn retire(self) -> Retired {
        let (id, last) = (self.epoch.id(), self.report());
        self.epoch.close();
        Retired { id, last }
    }
}

/// A domain that is retired, until nothing of it is left. See [`Domain::retire`].
#[derive(Clone, Debug)]
#[must_use = "look at it until it is drained, or drop it"]
pub struct Retired {
    id: sys::tslab_epoch,
    last: EpochStats,
}

impl Retired {
    /// Looks whether all objects of the domain are freed, and all its memory serves others. Nothing wakes who waits for
    /// that: look now and then, as often as you sample.
    pub fn is_drained(&mut self) -> bool {
        match EpochStats::of(self.id) {
            Some(found) => self.last = found,
            None => return true,
        }
        false
    }

    /// What it had at the last [`is_drained`](Retired::is_drained) that said no, or when it was retired.
    pub fn report(&self) -> &EpochStats {
        &self.last
    }
}

/// A future of a domain. See [`Domain::in_domain`].
#[must_use = "futures do nothing unless they are polled"]
pub struct InDomain<F> {
    future: F,
    id: sys::tslab_epoch,
}

impl<F: Future> Future for InDomain<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let id = self.id;
        // SAFETY: `future` is pinned as a part of `self`: nothing moves it, and there is no Drop of this type.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        inside(id, || future.poll(context))
    }
}

impl<F> fmt::Debug for InDomain<F> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("InDomain").field("id", &self.id).finish_non_exhaustive()
    }
}
