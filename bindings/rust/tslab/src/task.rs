//! Futures that own an epoch.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::epoch::Keeps;
use crate::{Drain, Epoch};

/// A future that is inside of its epoch during each poll, on whichever thread that is. Between two polls nobody is inside.
/// When it is dropped, done or not, its future goes first, and then its epoch is closed.
///
/// What the future allocates lands in the epoch, where [`Tslab`](crate::Tslab) is the global allocator. Its output is a
/// survivor: it stays valid, and keeps its piece of the epoch's memory. So is what a runtime allocates when the future
/// spawns or wakes a task. [`work::pause`](crate::work::pause) around such a call keeps that out of the epoch.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct InEpoch<F, P: Keeps = Drain> {
    // Dropped in this order.
    future: F,
    epoch: Epoch<P>,
}

impl<F, P: Keeps> InEpoch<F, P> {
    /// The epoch, for its statistics or its allocator.
    pub fn epoch(&self) -> &Epoch<P> {
        &self.epoch
    }
}

impl<F: Future, P: Keeps> Future for InEpoch<F, P> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned as a part of `self`: nothing moves it, and it is dropped in its place. `epoch` is
        // not pinned. There is no Drop of this type.
        let (future, epoch) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &this.epoch)
        };
        epoch.enter(|| future.poll(context))
    }
}

/// Gives futures an epoch.
///
/// ```
/// # #[global_allocator] static GLOBAL: tslab::Tslab = tslab::Tslab;
/// use tslab::{task::FutureExt, Drain, Epoch};
///
/// async fn answer(question: &str) -> String {
///     question.to_uppercase()
/// }
///
/// let task = answer("why").in_epoch(Epoch::new(Drain));
/// # let mut task = std::pin::pin!(task);
/// # let waker = std::task::Waker::noop();
/// # let std::task::Poll::Ready(text) = task.as_mut().poll(&mut std::task::Context::from_waker(waker)) else { panic!() };
/// # assert_eq!(text, "WHY");
/// # assert!(task.epoch().stats().live_objects >= 1);
/// # use std::future::Future;
/// // executor.spawn(task)
/// ```
pub trait FutureExt: Future + Sized {
    /// The future, inside of the epoch during each poll.
    fn in_epoch<P: Keeps>(self, epoch: Epoch<P>) -> InEpoch<Self, P> {
        InEpoch { future: self, epoch }
    }
}

impl<F: Future> FutureExt for F {}
