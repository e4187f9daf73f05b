//! The functions, types and constants of `tslab.h`, as they are. That header is their manual. The crate `tslab` has an
//! interface for Rust.
//!
//! ```
//! use tslab_sys::*;
//!
//! // SAFETY: the pointers are valid, and nobody uses `p` after the close.
//! unsafe {
//!     let epoch = tslab_epoch_open(core::ptr::null());
//!     let p = tslab_epoch_malloc(epoch, 100);
//!     assert_eq!(tslab_epoch_of(p), epoch);
//!     tslab_free(p);
//!     let mut report = core::mem::zeroed::<tslab_epoch_report>();
//!     let status = tslab_epoch_close(epoch, 0, &mut report);
//!     assert_eq!((status, report.survivors), (TSLAB_OK, 0));
//! }
//! ```
#![no_std]

#[allow(non_camel_case_types)]
#[rustfmt::skip]
mod declarations;

pub use declarations::*;
