//! Epochs: lifetimes whose memory comes back as a whole.
//!
//! What becomes of survivors, the objects that are alive when their epoch is closed, is a policy, and a part of the type:
//!
//! | policy | survivors |
//! |---|---|
//! | [`Drain`] | stay valid; their memory comes back as they are freed |
//! | [`Report`] | the same, and a line on stderr counts them |
//! | [`Release`] | end, without a single free and without destructors |
//! | [`Trap`] | the same, and a touch of one faults; to test unsafe code |
//!
//! Values in an epoch that ends its survivors borrow the epoch, so none can leave it:
//!
//! ```compile_fail
//! # use tslab::{epoch, Release};
//! # use allocator_api2::vec::Vec;
//! let escaped = epoch::scope(Release, |epoch| Vec::<u8, _>::new_in(epoch));
//! ```
//!
//! ```compile_fail,E0505
//! # use tslab::{Epoch, Release};
//! let epoch = Epoch::new(Release);
//! let number = epoch.alloc(1);
//! drop(epoch);
//! *number += 1;
//! ```
//!
//! ```compile_fail,E0521
//! # use tslab::{epoch, Release};
//! let mut escaped = None;
//! epoch::scope(Release, |epoch| escaped = Some(epoch.alloc(1)));
//! ```
//!
//! Values in an epoch that keeps its survivors may leave it, by an allocator that borrows nothing:
//!
//! ```
//! # use tslab::{epoch, Drain};
//! # use allocator_api2::vec::Vec;
//! let left = epoch::scope(Drain, |epoch| {
//!     let mut numbers = Vec::new_in(epoch.lasting());
//!     numbers.extend([1, 2, 3]);
//!     numbers
//! });
//! assert_eq!(left.iter().sum::<i32>(), 6);
//! ```

use std::alloc::{handle_alloc_error, Layout};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};

use crate::stats::EpochStats;
use crate::{sys, Error, NATURAL_ALIGNMENT};

mod sealed {
    pub trait Sealed {
        const RAW: crate::sys::tslab_policy;
    }
}
use sealed::Sealed;

/// What becomes of survivors.
pub trait Policy: Sealed {}
/// Survivors stay valid.
pub trait Keeps: Policy {}
/// Survivors end with the epoch.
pub trait Ends: Policy {}

macro_rules! policy {
    ($(#[$words:meta])* $name:ident, $raw:ident, $kind:ident) => {
        $(#[$words])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
        impl Sealed for $name {
            const RAW: sys::tslab_policy = sys::$raw;
        }
        impl Policy for $name {}
        impl $kind for $name {}
    };
}

policy!(
    /// Survivors stay valid. Their memory comes back as they are freed.
    Drain, TSLAB_POLICY_DRAIN, Keeps
);
policy!(
    /// As [`Drain`], and a line on stderr counts survivors.
    Report, TSLAB_POLICY_REPORT, Keeps
);
policy!(
    /// Survivors end. All memory comes back at once, without frees and without destructors.
    Release, TSLAB_POLICY_RELEASE, Ends
);
policy!(
    /// As [`Release`], and a later touch of the memory faults. It shows mistakes of unsafe code.
    Trap, TSLAB_POLICY_TRAP, Ends
);

/// What closing an epoch has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Objects that were alive.
    pub survivors: u64,
    /// The bytes that they occupy.
    pub survivor_bytes: u64,
    /// Memory of the epoch that is free for any use now.
    pub recycled_bytes: u64,
    /// Given back to the system by [`Epoch::close_and_reclaim`].
    pub reclaimed_bytes: u64,
    /// How long the epoch was open.
    pub age_ms: u64,
}

/// How to open an epoch, if with more than a policy.
///
/// ```
/// use tslab::{epoch, Drain};
///
/// let epoch = epoch::Options::new(Drain).label(c"import").open()?;
/// assert_eq!(epoch.stats().label(), "import");
/// # Ok::<(), tslab::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Options<'a, P> {
    label: Option<&'a CStr>,
    parent: sys::tslab_epoch,
    limit_bytes: usize,
    policy: PhantomData<P>,
}

impl<'a, P: Policy> Options<'a, P> {
    /// Options without a label.
    pub fn new(_: P) -> Self {
        Options { label: None, parent: sys::tslab_epoch { id: 0 }, limit_bytes: 0, policy: PhantomData }
    }

    /// A name for reports, of which 31 bytes are kept. Epochs of one label are counted together.
    pub fn label(mut self, label: &'a CStr) -> Self {
        self.label = Some(label);
        self
    }

    /// The epoch that this one is a part of. It is for reports alone, and is there until this one is open:
    ///
    /// ```compile_fail,E0505
    /// use tslab::{epoch, Drain};
    ///
    /// let parent = epoch::Options::new(Drain).open()?;
    /// let options = epoch::Options::new(Drain).parent(&parent);
    /// drop(parent);
    /// options.open()?;
    /// # Ok::<(), tslab::Error>(())
    /// ```
    pub fn parent<Q: Policy>(mut self, parent: &'a Epoch<Q>) -> Self {
        self.parent = parent.id;
        self
    }

    /// The memory that the epoch may have: an allocation that would exceed it fails, in this epoch alone. Most of
    /// Rust's standard library ends the program then; [`Vec::try_reserve`] and its like do not.
    ///
    /// ```
    /// use tslab::{epoch, Release};
    ///
    /// let epoch = epoch::Options::new(Release).limit(1 << 20).open()?;
    /// let mut numbers = allocator_api2::vec::Vec::<u64, _>::new_in(&epoch);
    /// assert!(numbers.try_reserve(1000).is_ok());
    /// assert!(numbers.try_reserve(1 << 20).is_err());
    /// # Ok::<(), tslab::Error>(())
    /// ```
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit_bytes = bytes;
        self
    }

    /// Opens the epoch.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`].
    pub fn open(self) -> Result<Epoch<P>, Error> {
        let options = sys::tslab_epoch_options {
            label: self.label.map_or(ptr::null(), CStr::as_ptr),
            parent: self.parent,
            instance: sys::tslab_instance { id: 0 },
            policy: P::RAW,
            flags: 0,
            limit_bytes: self.limit_bytes,
        };
        // SAFETY: the options are whole, and the library copies the label.
        let id = unsafe { sys::tslab_epoch_open(&options) };
        // The parent is borrowed, so it exists; what is left to refuse is memory.
        if id.id == 0 {
            Err(Error::NoMemory)
        } else {
            Ok(Epoch { id, policy: PhantomData })
        }
    }

    /// As [`scope`], with these options.
    ///
    /// # Panics
    ///
    /// If there is no memory for an epoch.
    pub fn scope<R>(self, run: impl FnOnce(&Epoch<P>) -> R) -> R {
        let epoch = self.open().expect("an epoch is opened");
        epoch.enter(|| run(&epoch))
    }
}

/// Opens an epoch, runs the function inside of it, and closes it, also when the function panics.
///
/// ```
/// use allocator_api2::{boxed::Box, vec::Vec};
/// use tslab::{epoch, Epoch, Release};
///
/// struct Node<'e> {
///     value: u32,
///     children: Vec<&'e Node<'e>, &'e Epoch<Release>>,
/// }
///
/// fn sum(node: &Node) -> u32 {
///     node.value + node.children.iter().map(|child| sum(child)).sum::<u32>()
/// }
///
/// let total = epoch::scope(Release, |epoch| {
///     let leaf = |value| &*epoch.alloc(Node { value, children: Vec::new_in(epoch) });
///     let mut root = Node { value: 1, children: Vec::new_in(epoch) };
///     root.children.extend([leaf(2), leaf(3)]);
///     sum(&root)
/// });
/// assert_eq!(total, 6);
/// ```
///
/// # Panics
///
/// If there is no memory for an epoch.
pub fn scope<P: Policy, R>(policy: P, run: impl FnOnce(&Epoch<P>) -> R) -> R {
    Options::new(policy).scope(run)
}

/// An epoch that is closed when the value is dropped.
///
/// A reference to it is an [`Allocator`]. It serves any thread, and is fast inside of [`enter`](Epoch::enter).
///
/// ```
/// use tslab::{Epoch, Release};
///
/// let mut frame = Epoch::new(Release);
/// for number in 0..3 {
///     let mut names = hashbrown::HashMap::new_in(&frame);
///     names.insert(number, frame.alloc_str("a name"));
///     assert_eq!(&*names[&number], "a name");
///     drop(names);
///     frame.advance(); // the memory comes back, and the next frame begins
/// }
/// ```
#[derive(Debug)]
pub struct Epoch<P: Policy = Drain> {
    id: sys::tslab_epoch,
    policy: PhantomData<P>,
}

impl<P: Policy> Epoch<P> {
    /// Opens an epoch without a label. See [`Options`].
    ///
    /// # Panics
    ///
    /// If there is no memory for an epoch.
    pub fn new(policy: P) -> Self {
        Options::new(policy).open().expect("an epoch is opened")
    }

    /// The name of the epoch in the interface of C. Who closes it by that name, or allocates objects with handles in it,
    /// must keep what this type promises.
    pub fn id(&self) -> sys::tslab_epoch {
        self.id
    }

    /// Runs the function inside of the epoch. Calls that name it are fast there. If the epoch keeps its survivors, all
    /// other allocations of this thread land in it, too, where [`Tslab`](crate::Tslab) is the global allocator.
    ///
    /// Several threads may be inside at once. If there is no memory to enter, or the thread is about to end, the function
    /// runs outside of the epoch.
    ///
    /// ```
    /// # #[global_allocator] static GLOBAL: tslab::Tslab = tslab::Tslab;
    /// use tslab::{Drain, Epoch};
    ///
    /// let request = Epoch::new(Drain);
    /// let answer = request.enter(|| String::from("an answer"));
    /// assert_eq!(request.close().survivors, 1);
    /// assert_eq!(answer, "an answer"); // its memory comes back when it is dropped
    /// ```
    pub fn enter<R>(&self, run: impl FnOnce() -> R) -> R {
        inside(self.id, run)
    }

    /// Closes the epoch and says what that has done.
    pub fn close(self) -> Closed {
        self.end(0)
    }

    /// Closes the epoch, and gives the pages of all memory that is empty then back to the system before it returns.
    pub fn close_and_reclaim(self) -> Closed {
        self.end(sys::TSLAB_CLOSE_RECLAIM)
    }

    fn end(self, flags: sys::tslab_close_flags) -> Closed {
        let mut done = NO_REPORT;
        // SAFETY: nobody borrows the epoch. So nobody is inside or uses objects that end with it.
        let status = unsafe { sys::tslab_epoch_close(self.id, flags, &mut done) };
        if status >= 0 {
            std::mem::forget(self);
        }
        closed(&done)
    }

    /// Closes the epoch and opens the next one with the same options, which is the value from then on.
    ///
    /// # Panics
    ///
    /// If there is no memory for an epoch. Then the value is as it was.
    pub fn advance(&mut self) -> Closed {
        let mut done = NO_REPORT;
        // SAFETY: as in `end`.
        let status = unsafe { sys::tslab_epoch_advance(&mut self.id, 0, &mut done) };
        assert!(status >= 0, "advance the epoch: {}", Error::of(status));
        closed(&done)
    }

    /// What the epoch has now. It takes a walk over the epoch's memory records.
    ///
    /// # Panics
    ///
    /// If the epoch was closed by its [`id`](Epoch::id), or there is no memory.
    pub fn stats(&self) -> EpochStats {
        EpochStats::of(self.id).expect("the epoch is open")
    }

    fn place(&self, layout: Layout) -> NonNull<u8> {
        match allocate(self.id, layout, false) {
            Ok(p) => p.cast(),
            Err(AllocError) => handle_alloc_error(layout),
        }
    }
}

impl<P: Keeps> Epoch<P> {
    /// An allocator that borrows nothing: what it allocates may outlive the epoch, and so may it. Once the epoch is
    /// closed, it refuses to allocate.
    pub fn lasting(&self) -> Lasting {
        Lasting { id: self.id }
    }
}

#[allow(clippy::mut_from_ref, reason = "each call returns memory of its own")]
impl<P: Ends> Epoch<P> {
    /// Moves the value into the epoch. Its destructor never runs.
    ///
    /// ```
    /// # use tslab::{Epoch, Release};
    /// let epoch = Epoch::new(Release);
    /// let numbers = epoch.alloc([1, 2, 3]);
    /// numbers[0] = 4;
    /// assert_eq!(numbers, &[4, 2, 3]);
    /// ```
    #[inline]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        let place = self.place(Layout::new::<T>()).cast::<T>();
        // SAFETY: the place is new, fits T, and is valid as long as the epoch is borrowed.
        unsafe {
            place.write(value);
            &mut *place.as_ptr()
        }
    }

    /// Copies the slice into the epoch.
    pub fn alloc_slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
        let place = self.place(Layout::for_value(values)).cast::<T>();
        // SAFETY: as in `alloc`, for all values.
        unsafe {
            place.as_ptr().copy_from_nonoverlapping(values.as_ptr(), values.len());
            std::slice::from_raw_parts_mut(place.as_ptr(), values.len())
        }
    }

    /// Copies the text into the epoch.
    pub fn alloc_str(&self, text: &str) -> &mut str {
        // SAFETY: the bytes are those of a str.
        unsafe { std::str::from_utf8_unchecked_mut(self.alloc_slice(text.as_bytes())) }
    }
}

impl<P: Policy> Drop for Epoch<P> {
    fn drop(&mut self) {
        // SAFETY: as in `end`.
        unsafe { sys::tslab_epoch_close(self.id, 0, ptr::null_mut()) };
    }
}

/// An allocator of an epoch that keeps its survivors. See [`Epoch::lasting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lasting {
    id: sys::tslab_epoch,
}

/// Runs the function inside of the epoch, or outside if it cannot be entered.
pub(crate) fn inside<R>(id: sys::tslab_epoch, run: impl FnOnce() -> R) -> R {
    struct Inside(Option<sys::tslab_epoch>);
    impl Drop for Inside {
        fn drop(&mut self) {
            if let Some(id) = self.0 {
                // SAFETY: this thread entered, and what `run` entered it has left.
                unsafe { sys::tslab_epoch_leave(id) };
            }
        }
    }
    // SAFETY: the function has no requirements.
    let entered = unsafe { sys::tslab_epoch_enter(id) } >= 0;
    let _inside = Inside(entered.then_some(id));
    run()
}

const NO_REPORT: sys::tslab_epoch_report = sys::tslab_epoch_report {
    survivors: 0,
    survivor_bytes: 0,
    recycled_bytes: 0,
    reclaimed_bytes: 0,
    rss_change_bytes: 0,
    age_ms: 0,
};

fn closed(report: &sys::tslab_epoch_report) -> Closed {
    Closed {
        survivors: report.survivors,
        survivor_bytes: report.survivor_bytes,
        recycled_bytes: report.recycled_bytes,
        reclaimed_bytes: report.reclaimed_bytes,
        age_ms: report.age_ms,
    }
}

/// Nothing lies in the library for a layout of size 0.
fn dangling(layout: Layout) -> NonNull<[u8]> {
    let place = ptr::without_provenance_mut(layout.align());
    // SAFETY: an alignment is not 0.
    NonNull::slice_from_raw_parts(unsafe { NonNull::new_unchecked(place) }, 0)
}

#[inline]
fn allocate(epoch: sys::tslab_epoch, layout: Layout, zeroed: bool) -> Result<NonNull<[u8]>, AllocError> {
    let size = layout.size();
    if size == 0 {
        return Ok(dangling(layout));
    }
    // SAFETY: the functions have no requirements but that the alignment is a power of two.
    let p = unsafe {
        match (layout.align() <= NATURAL_ALIGNMENT, zeroed) {
            (true, false) => sys::tslab_epoch_malloc(epoch, size),
            (true, true) => sys::tslab_epoch_calloc(epoch, 1, size),
            (false, _) => sys::tslab_epoch_aligned_alloc(epoch, layout.align(), size),
        }
    };
    let place = NonNull::new(p.cast::<u8>()).ok_or(AllocError)?;
    if zeroed && layout.align() > NATURAL_ALIGNMENT {
        // SAFETY: the place has that size.
        unsafe { place.write_bytes(0, size) };
    }
    Ok(NonNull::slice_from_raw_parts(place, size))
}

/// # Safety
///
/// As for `Allocator::deallocate`.
#[inline]
unsafe fn deallocate(p: NonNull<u8>, layout: Layout) {
    if layout.size() != 0 {
        unsafe { sys::tslab_free(p.as_ptr().cast()) };
    }
}

/// # Safety
///
/// As for `Allocator::grow` and `Allocator::shrink`.
unsafe fn resize(id: sys::tslab_epoch, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
    if old.size() != 0 && new.size() != 0 && new.align() <= NATURAL_ALIGNMENT {
        // realloc keeps the object in its epoch.
        let moved = unsafe { sys::tslab_realloc(p.as_ptr().cast(), new.size()) };
        let moved = NonNull::new(moved.cast::<u8>()).ok_or(AllocError)?;
        return Ok(NonNull::slice_from_raw_parts(moved, new.size()));
    }
    let fresh = allocate(id, new, false)?;
    unsafe {
        p.copy_to_nonoverlapping(fresh.cast(), old.size().min(new.size()));
        deallocate(p, old);
    }
    Ok(fresh)
}

macro_rules! allocator {
    ([$($generics:tt)*] $kind:ty) => {
        // SAFETY: an object is valid until it is freed, or as long as the epoch is borrowed. Copies of the allocator
        // name the same epoch.
        unsafe impl<$($generics)*> Allocator for $kind {
            #[inline]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                allocate(self.id, layout, false)
            }

            #[inline]
            fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                allocate(self.id, layout, true)
            }

            #[inline]
            unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
                unsafe { deallocate(p, layout) }
            }

            unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
                unsafe { resize(self.id, p, old, new) }
            }

            unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
                unsafe { resize(self.id, p, old, new) }
            }
        }
    };
}

allocator!([P: Policy] &Epoch<P>);
allocator!([] Lasting);
