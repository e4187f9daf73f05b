// The functions, types and constants of tslab.h, which is the manual. Written by declarations.py: do not edit.

use core::ffi::{c_char, c_int, c_uint, c_void};

pub type tslab_status = c_int;
pub const TSLAB_OK: tslab_status = 0;
pub const TSLAB_EXPLICIT: tslab_status = 1;
pub const TSLAB_PENDING: tslab_status = 2;
pub const TSLAB_STALE: tslab_status = -1;
pub const TSLAB_CLOSED: tslab_status = -2;
pub const TSLAB_NOT_INSIDE: tslab_status = -3;
pub const TSLAB_BUSY: tslab_status = -4;
pub const TSLAB_NO_MEMORY: tslab_status = -5;
pub const TSLAB_INVALID: tslab_status = -6;
pub const TSLAB_FIXED: tslab_status = -7;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tslab_limits {
    pub hard_bytes: usize,
    pub soft_bytes: usize,
    pub on_soft: Option<unsafe extern "C" fn(usize, usize, *mut c_void)>,
    pub context: *mut c_void,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct tslab_epoch {
    pub id: u64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct tslab_instance {
    pub id: u64,
}
pub type tslab_policy = c_uint;
pub const TSLAB_POLICY_DEFAULT: tslab_policy = 0;
pub const TSLAB_POLICY_DRAIN: tslab_policy = 0x1000001;
pub const TSLAB_POLICY_RELEASE: tslab_policy = 0x1000002;
pub const TSLAB_POLICY_REPORT: tslab_policy = 0x1000003;
pub const TSLAB_POLICY_TRAP: tslab_policy = 0x1000004;
pub type tslab_open_flag = c_uint;
pub const TSLAB_OPEN_VOUCHED: tslab_open_flag = 0x10000;
pub type tslab_close_flag = c_uint;
pub const TSLAB_CLOSE_RECLAIM: tslab_close_flag = 0x100;
pub type tslab_open_flags = tslab_open_flag;
pub type tslab_close_flags = tslab_close_flag;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tslab_epoch_options {
    pub label: *const c_char,
    pub parent: tslab_epoch,
    pub instance: tslab_instance,
    pub policy: tslab_policy,
    pub flags: tslab_open_flags,
    pub limit_bytes: usize,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tslab_epoch_report {
    pub survivors: u64,
    pub survivor_bytes: u64,
    pub recycled_bytes: u64,
    pub reclaimed_bytes: u64,
    pub rss_change_bytes: i64,
    pub age_ms: u64,
}
pub type tslab_epoch_state = c_uint;
pub const TSLAB_EPOCH_OPEN: tslab_epoch_state = 0;
pub const TSLAB_EPOCH_CLOSING: tslab_epoch_state = 1;
pub const TSLAB_EPOCH_DRAINING: tslab_epoch_state = 2;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tslab_epoch_stats {
    pub epoch: tslab_epoch,
    pub parent: tslab_epoch,
    pub instance: tslab_instance,
    pub label: [c_char; 32],
    pub policy: tslab_policy,
    pub state: tslab_epoch_state,
    pub inside: u32,
    pub age_ms: u64,
    pub closed_ms: u64,
    pub live_objects: u64,
    pub live_bytes: u64,
    pub memory_bytes: u64,
    pub recycled_runs: u64,
    pub slab_bytes: u64,
    pub chunk_bytes: u64,
    pub large_bytes: u64,
    pub cached_bytes: u64,
    pub peak_bytes: u64,
    pub resident_bytes: u64,
    pub limit_bytes: u64,
    pub refusals: u64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct tslab_handle {
    pub id: u64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tslab_stats {
    pub live_objects: u64,
    pub live_bytes: u64,
    pub large_bytes: u64,
    pub cached_bytes: u64,
    pub slab_bytes: u64,
    pub chunk_bytes: u64,
    pub dirty_bytes: u64,
    pub committed_bytes: u64,
    pub metadata_bytes: u64,
    pub allocations: u64,
    pub frees: u64,
    pub threads: u64,
    pub epochs_open: u64,
    pub epochs_draining: u64,
}
unsafe extern "C" {
    pub fn tslab_malloc(size: usize) -> *mut c_void;
    pub fn tslab_calloc(count: usize, size: usize) -> *mut c_void;
    pub fn tslab_realloc(p: *mut c_void, size: usize) -> *mut c_void;
    pub fn tslab_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    pub fn tslab_free(p: *mut c_void);
    pub fn tslab_usable_size(p: *const c_void) -> usize;
    pub fn tslab_trim() -> usize;
    pub fn tslab_status_text(status: tslab_status) -> *const c_char;
    pub fn tslab_status_name(status: tslab_status) -> *const c_char;
    pub fn tslab_option_get(name: *const c_char, value: *mut c_char, bytes: usize) -> tslab_status;
    pub fn tslab_option_set(name: *const c_char, value: *const c_char) -> tslab_status;
    pub fn tslab_limits_set(limits: *const tslab_limits) -> tslab_status;
    pub fn tslab_limits_get(limits: *mut tslab_limits) -> usize;
    pub fn tslab_epoch_open(options: *const tslab_epoch_options) -> tslab_epoch;
    pub fn tslab_epoch_enter(epoch: tslab_epoch) -> tslab_status;
    pub fn tslab_epoch_leave(epoch: tslab_epoch) -> tslab_status;
    pub fn tslab_epoch_close(epoch: tslab_epoch, flags: tslab_close_flags, report: *mut tslab_epoch_report) -> tslab_status;
    pub fn tslab_epoch_release(epoch: tslab_epoch, flags: tslab_close_flags, report: *mut tslab_epoch_report) -> tslab_status;
    pub fn tslab_epoch_advance(epoch: *mut tslab_epoch, flags: tslab_close_flags, report: *mut tslab_epoch_report) -> tslab_status;
    pub fn tslab_epoch_malloc(epoch: tslab_epoch, size: usize) -> *mut c_void;
    pub fn tslab_epoch_calloc(epoch: tslab_epoch, count: usize, size: usize) -> *mut c_void;
    pub fn tslab_epoch_aligned_alloc(epoch: tslab_epoch, alignment: usize, size: usize) -> *mut c_void;
    pub fn tslab_epoch_current() -> tslab_epoch;
    pub fn tslab_epoch_of(p: *const c_void) -> tslab_epoch;
    pub fn tslab_epoch_stats_get(epoch: tslab_epoch, stats: *mut tslab_epoch_stats) -> tslab_status;
    pub fn tslab_epoch_list(entries: *mut tslab_epoch_stats, capacity: usize) -> usize;
    pub fn tslab_handle_malloc(epoch: tslab_epoch, size: usize, p: *mut *mut c_void) -> tslab_handle;
    pub fn tslab_handle_get(epoch: tslab_epoch, handle: tslab_handle) -> *mut c_void;
    pub fn tslab_handle_free(epoch: tslab_epoch, handle: tslab_handle) -> tslab_status;
    pub fn tslab_instance_open(label: *const c_char) -> tslab_instance;
    pub fn tslab_instance_root(instance: tslab_instance) -> tslab_epoch;
    pub fn tslab_instance_limit(instance: tslab_instance, bytes: usize) -> tslab_status;
    pub fn tslab_instance_close(instance: tslab_instance, flags: tslab_close_flags, report: *mut tslab_epoch_report) -> tslab_status;
    pub fn tslab_work_begin(label: *const c_char) -> tslab_status;
    pub fn tslab_work_end() -> tslab_status;
    pub fn tslab_work_rotate();
    pub fn tslab_work_pause();
    pub fn tslab_work_resume() -> tslab_status;
    pub fn tslab_stats_get(stats: *mut tslab_stats) -> tslab_status;
    pub fn tslab_stat_get(name: *const c_char, value: *mut u64) -> tslab_status;
    pub fn tslab_stats_print(fd: c_int) -> tslab_status;
    pub fn tslab_stats_json(fd: c_int) -> tslab_status;
    pub fn tslab_profile_write(fd: c_int) -> tslab_status;
    pub fn tslab_version() -> *const c_char;
}
