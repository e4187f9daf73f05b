//! The tslab memory allocator.
//!
//! As the allocator of a program:
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: tslab::Tslab = tslab::Tslab;
//!
//! fn main() {
//!     let words: Vec<String> = "serves every allocation".split(' ').map(String::from).collect();
//!     assert_eq!(words.len(), 3);
//!     assert!(tslab::stats::get().live_objects >= 3);
//! }
//! ```
//!
//! An epoch is a lifetime that a program has anyway: a request, a batch, a frame. Objects of different epochs share no
//! memory, so that the memory of an epoch comes back as a whole. [`epoch::scope`] runs a function in an epoch of its
//! own. An [`Epoch`] is an owned one. Both serve collections that take an
//! [`Allocator`](allocator_api2::alloc::Allocator). [`Table`] has objects with checked 64-bit handles. [`task::InEpoch`]
//! gives a future an epoch. [`work::unit`] marks units of work, for which the operator chooses a policy. A [`Domain`] is the
//! memory of a tenant, a query or a pipeline, which is entered again and again.
//!
//! # Which allocations land in an epoch
//!
//! - Those that name it, always: collections that were made with it, [`Epoch::alloc`], [`Table`].
//! - Inside of an epoch that keeps survivors ([`Drain`], [`Report`]), all others of this thread, too, if [`Tslab`] is the
//!   global allocator: `Box`, `Vec`, `String`. They are ordinary values. They may leave the epoch, and outlive it.
//! - Never those that do not name it, where the epoch ends its survivors ([`Release`], [`Trap`]).
//!
//! # Features
//!
//! - `malloc`: malloc and free of the whole program are tslab's, too: those of C libraries that it is linked with.
//! - `checked`: the checked twin, which ends the program at double frees, overflows and writes after free. It is slower,
//!   and meant for tests.
//! - `nightly`: [`Allocator`](allocator_api2::alloc::Allocator) is the trait of the standard library, so that its own
//!   collections take epochs and domains.
#![warn(missing_docs)]
#![cfg_attr(feature = "nightly", feature(allocator_api))]

mod domain;
pub mod epoch;
pub mod stats;
mod table;
pub mod task;
pub mod work;

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_void, CStr};
use std::fmt;

pub use domain::{Domain, InDomain, Retired};
pub use epoch::{Drain, Epoch, Release, Report, Trap};
pub use table::{Handle, Table};
pub use tslab_sys as sys;

/// The examples of the readme.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// What every allocation is aligned to.
const NATURAL_ALIGNMENT: usize = 16;

/// The allocator, for `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tslab;

// SAFETY: the functions of the library allocate and free as the trait asks: at least `size` bytes at a multiple of the
// alignment, null without memory. They do not unwind.
unsafe impl GlobalAlloc for Tslab {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= NATURAL_ALIGNMENT {
            unsafe { sys::tslab_malloc(layout.size()).cast() }
        } else {
            unsafe { sys::tslab_aligned_alloc(layout.align(), layout.size()).cast() }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, p: *mut u8, _: Layout) {
        unsafe { sys::tslab_free(p.cast()) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= NATURAL_ALIGNMENT {
            return unsafe { sys::tslab_calloc(1, layout.size()).cast() };
        }
        let p = unsafe { self.alloc(layout) };
        if !p.is_null() {
            unsafe { p.write_bytes(0, layout.size()) };
        }
        p
    }

    #[inline]
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= NATURAL_ALIGNMENT {
            return unsafe { sys::tslab_realloc(p.cast(), size).cast() };
        }
        // SAFETY: the caller sees to it that the size does not overflow when it is rounded up to the alignment.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !moved.is_null() {
            unsafe {
                p.copy_to_nonoverlapping(moved, size.min(layout.size()));
                self.dealloc(p, layout);
            }
        }
        moved
    }
}

/// Why a function did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Error {
    /// There is no memory for it.
    NoMemory,
    /// Any other status of `tslab.h` below 0.
    Other(sys::tslab_status),
}

impl Error {
    fn of(status: sys::tslab_status) -> Self {
        match status {
            sys::TSLAB_NO_MEMORY => Error::NoMemory,
            other => Error::Other(other),
        }
    }

    /// The status, as `tslab.h` names it.
    pub fn status(self) -> sys::tslab_status {
        match self {
            Error::NoMemory => sys::TSLAB_NO_MEMORY,
            Error::Other(status) => status,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the function takes any number and returns a constant.
        let text = unsafe { CStr::from_ptr(sys::tslab_status_text(self.status())) };
        to.write_str(&text.to_string_lossy())
    }
}

impl std::error::Error for Error {}

/// Gives the pages of all empty memory back to the system, and returns how many bytes that were.
///
/// ```
/// drop(vec![1u8; 10 << 20]);
/// tslab::trim();
/// ```
pub fn trim() -> usize {
    // SAFETY: the function has no requirements.
    unsafe { sys::tslab_trim() }
}

/// How many bytes may be used at the place of an object, which may be more than it was allocated with.
///
/// # Safety
///
/// `p` is null or a living object of this allocator.
///
/// ```
/// # #[global_allocator] static GLOBAL: tslab::Tslab = tslab::Tslab;
/// let text = Box::new([0u8; 100]);
/// // SAFETY: the box lives, and tslab is the global allocator.
/// assert!(unsafe { tslab::usable_size(text.as_ptr()) } >= 100);
/// ```
pub unsafe fn usable_size(p: *const u8) -> usize {
    unsafe { sys::tslab_usable_size(p.cast::<c_void>()) }
}

/// The version of the allocator.
///
/// ```
/// assert_eq!(tslab::version(), env!("CARGO_PKG_VERSION"));
/// ```
pub fn version() -> &'static str {
    // SAFETY: the function returns a string constant.
    let text = unsafe { CStr::from_ptr(sys::tslab_version()) };
    text.to_str().expect("a version is ASCII")
}
