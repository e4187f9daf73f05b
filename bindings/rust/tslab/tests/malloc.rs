//! With the feature `malloc`, what libraries of C allocate is tslab's, too, and lands in epochs.

use std::ffi::{c_char, c_void};

use tslab::{sys, Drain, Epoch, Tslab};

#[global_allocator]
static GLOBAL: Tslab = Tslab;

extern "C" {
    fn strdup(text: *const c_char) -> *mut c_char;
    fn free(p: *mut c_void);
}

#[test]
fn libc_allocates_in_epochs() {
    let epoch = Epoch::new(Drain);
    // SAFETY: the copy lives until it is freed. Its malloc and this free are both tslab's.
    unsafe {
        let copy = epoch.enter(|| strdup(c"a text that libc copies".as_ptr()));
        assert_eq!(sys::tslab_epoch_of(copy.cast()), epoch.id());
        free(copy.cast());
    }
    assert_eq!(epoch.close().survivors, 0);
}
