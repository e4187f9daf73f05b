//! Units of work: what a program does again and again, such as a request.
//!
//! The program marks its units. Whoever runs it decides by `TSLAB_EPOCH_POLICY` what the marks mean: nothing (`never`, the
//! default), an epoch for each unit (`per-request`), or one for several (`batch-N`, `interval-MS`, `manual`).
//!
//! ```
//! use tslab::work;
//!
//! let mut log = Vec::new();
//! let answer = work::unit(c"request", || {
//!     let answer = "an answer".to_uppercase();
//!     work::pause(|| log.push(answer.clone())); // outlives the request
//!     answer
//! });
//! assert_eq!(log, [answer]);
//! ```

use std::ffi::CStr;
use std::marker::PhantomData;

use crate::sys;

/// Ends what began on this thread when it is dropped, also by a panic.
struct Ending(fn(), PhantomData<*mut ()>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0();
    }
}

/// Runs the function as a unit of work of this thread. Units nest, and only the outermost counts. The label, of which 31
/// bytes are kept, is for reports.
pub fn unit<R>(label: &CStr, run: impl FnOnce() -> R) -> R {
    // SAFETY: the label is copied. A unit without memory for an epoch runs without one, and is ended all the same.
    unsafe { sys::tslab_work_begin(label.as_ptr()) };
    let _ending = Ending(
        || {
            // SAFETY: the unit began on this thread.
            unsafe { sys::tslab_work_end() };
        },
        PhantomData,
    );
    run()
}

/// Runs the function outside of the unit, and of any epoch that the thread has entered. What it allocates without naming
/// an epoch belongs to the process: sessions, caches, lines of a log.
pub fn pause<R>(run: impl FnOnce() -> R) -> R {
    // SAFETY: the function has no requirements.
    unsafe { sys::tslab_work_pause() };
    let _ending = Ending(
        || {
            // SAFETY: the pause began on this thread.
            unsafe { sys::tslab_work_resume() };
        },
        PhantomData,
    );
    run()
}

/// Asks every thread to give its next unit a new epoch, under the policies whose units share one.
pub fn rotate() {
    // SAFETY: the function has no requirements.
    unsafe { sys::tslab_work_rotate() }
}
