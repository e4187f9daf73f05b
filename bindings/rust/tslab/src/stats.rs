//! Statistics. They are exact while other threads are at rest.

use std::ffi::{c_char, c_int, c_uint, CStr};
use std::fs::File;
use std::io::{Read, Result, Seek};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};

use crate::sys;

pub use sys::tslab_stats as Stats;

/// Statistics of the process. `tslab.h` describes the members.
///
/// ```
/// # #[global_allocator] static GLOBAL: tslab::Tslab = tslab::Tslab;
/// let before = tslab::stats::get();
/// let numbers: Vec<Box<u32>> = (0..100).map(Box::new).collect();
/// assert!(tslab::stats::get().allocations >= before.allocations + 100);
/// # drop(numbers);
/// ```
pub fn get() -> Stats {
    let mut stats = MaybeUninit::zeroed();
    // SAFETY: numbers may be 0, and the library writes all of them.
    unsafe {
        sys::tslab_stats_get(stats.as_mut_ptr());
        stats.assume_init()
    }
}

/// One figure by its name; `None`: there is none of that name. The project's `docs/statistics.md` lists the names.
///
/// ```
/// use tslab::stats;
///
/// assert!(stats::figure(c"account.live_slots.bytes").is_some() && stats::figure(c"class.64.live").is_some());
/// assert_eq!(stats::figure(c"nonsense"), None);
/// ```
pub fn figure(name: &CStr) -> Option<u64> {
    let mut value = 0;
    // SAFETY: the name is a string, and the number is written to.
    let status = unsafe { sys::tslab_stat_get(name.as_ptr(), &mut value) };
    (status == sys::TSLAB_OK).then_some(value)
}

/// Statistics of an epoch. `tslab.h` describes the members.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct EpochStats(sys::tslab_epoch_stats);

impl EpochStats {
    pub(crate) fn of(epoch: sys::tslab_epoch) -> Option<Self> {
        let mut stats = MaybeUninit::zeroed();
        // SAFETY: as in `get`.
        unsafe {
            let status = sys::tslab_epoch_stats_get(epoch, stats.as_mut_ptr());
            (status == sys::TSLAB_OK).then(|| EpochStats(stats.assume_init()))
        }
    }

    /// The label; empty without one, or if it is not UTF-8.
    pub fn label(&self) -> &str {
        // SAFETY: the library ends it with a 0.
        unsafe { CStr::from_ptr(self.0.label.as_ptr()) }.to_str().unwrap_or("")
    }

    /// Whether the epoch is closed, and survivors keep memory.
    pub fn is_draining(&self) -> bool {
        self.0.state == sys::TSLAB_EPOCH_DRAINING
    }
}

impl Deref for EpochStats {
    type Target = sys::tslab_epoch_stats;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// The epochs that are open, or closed and not gone yet.
///
/// ```
/// use tslab::{epoch, stats, Drain};
///
/// let import = epoch::Options::new(Drain).label(c"import").open()?;
/// assert!(stats::epochs().iter().any(|epoch| epoch.label() == "import" && !epoch.is_draining()));
/// # drop(import);
/// # Ok::<(), tslab::Error>(())
/// ```
pub fn epochs() -> Vec<EpochStats> {
    let mut list = Vec::<EpochStats>::new();
    loop {
        // SAFETY: the library writes at most as many entries as there is room for.
        let count = unsafe { sys::tslab_epoch_list(list.as_mut_ptr().cast(), list.capacity()) };
        if count <= list.capacity() {
            // SAFETY: the library has written so many, each of them whole.
            unsafe { list.set_len(count) };
            return list;
        }
        list.reserve(count + count / 8);
    }
}

/// Writes a summary of the statistics as text.
///
/// # Errors
///
/// The file does not take all of it.
pub fn print(to: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the descriptor is open.
    whole(unsafe { sys::tslab_stats_print(to.as_raw_fd()) })
}

fn whole(status: sys::tslab_status) -> Result<()> {
    if status == sys::TSLAB_OK {
        Ok(())
    } else {
        Err(std::io::Error::new(std::io::ErrorKind::WriteZero, "the file does not take all of the statistics"))
    }
}

/// The statistics as JSON. The project's `docs/statistics.md` describes the members.
///
/// ```
/// let text = tslab::stats::json()?;
/// assert!(text.starts_with('{') && text.contains("committed_bytes"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// That of the system, if it has no memory for the text.
pub fn json() -> Result<String> {
    extern "C" {
        fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    }
    const MFD_CLOEXEC: c_uint = 1;
    // SAFETY: the name is a string, and the descriptor is new.
    let mut file = unsafe {
        match memfd_create(c"tslab".as_ptr(), MFD_CLOEXEC) {
            -1 => return Err(std::io::Error::last_os_error()),
            fd => File::from_raw_fd(fd),
        }
    };
    // SAFETY: the descriptor is open.
    whole(unsafe { sys::tslab_stats_json(file.as_fd().as_raw_fd()) })?;
    file.rewind()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}
