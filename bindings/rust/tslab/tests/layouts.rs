//! Every size and alignment, by every way to allocate: aligned, whole, kept when it is resized, and zero where that is asked.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::NonNull;
use std::slice;
use std::sync::LazyLock;

use allocator_api2::alloc::Allocator;
use tslab::{Drain, Epoch, Release, Trap, Tslab};

const SIZES: [usize; 12] = [0, 1, 7, 16, 17, 100, 1000, 4097, 32_769, 70_000, 262_145, 1_000_000];

fn layouts() -> impl Iterator<Item = Layout> {
    (0..=13).flat_map(|shift| SIZES.map(|size| Layout::from_size_align(size, 1 << shift).unwrap()))
}

/// Bytes that tell places apart.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| (0..1_000_000).map(|at| (at * 7 + at / 251) as u8).collect());

/// # Safety: p has that many bytes.
unsafe fn fill(p: NonNull<u8>, size: usize) {
    p.as_ptr().copy_from_nonoverlapping(PATTERN.as_ptr(), size);
}

/// # Safety: p has that many bytes, and they were written.
unsafe fn is_filled(p: NonNull<u8>, size: usize) -> bool {
    slice::from_raw_parts(p.as_ptr(), size) == &PATTERN[..size]
}

/// # Safety: p has that many bytes, and they were written.
unsafe fn is_zero(p: NonNull<u8>, size: usize) -> bool {
    slice::from_raw_parts(p.as_ptr(), size) == &ZEROES[..size]
}

static ZEROES: [u8; 1_000_000] = [0; 1_000_000];

fn check(allocator: impl Allocator + Copy) {
    for old in layouts() {
        let zeroed = allocator.allocate_zeroed(old).unwrap();
        assert!(zeroed.len() == old.size() && zeroed.cast::<u8>().addr().get() % old.align() == 0, "{old:?}");
        // SAFETY: the layouts are those of the allocations.
        unsafe {
            assert!(is_zero(zeroed.cast(), old.size()), "{old:?}");
            fill(zeroed.cast(), old.size());
            allocator.deallocate(zeroed.cast(), old);
        }
        for size in SIZES {
            let align = if size % 2 == 0 { old.align() } else { (old.align() * 4).min(8192) };
            let new = Layout::from_size_align(size, align).unwrap();
            // SAFETY: as above.
            unsafe {
                let p = allocator.allocate(old).unwrap().cast();
                fill(p, old.size());
                let grows = new.size() >= old.size();
                let moved = if grows { allocator.grow(p, old, new) } else { allocator.shrink(p, old, new) }.unwrap();
                assert!(moved.len() == size && moved.cast::<u8>().addr().get() % align == 0, "{old:?} to {new:?}");
                assert!(is_filled(moved.cast(), size.min(old.size())), "{old:?} to {new:?}");
                allocator.deallocate(moved.cast(), new);
            }
        }
    }
}

#[test]
fn in_epochs() {
    check(&Epoch::new(Drain));
    let release = Epoch::new(Release);
    release.enter(|| check(&release));
    check(&Epoch::new(Trap));
    let open = Epoch::new(Drain);
    check(open.lasting());
}

#[test]
fn of_the_program() {
    for old in layouts().filter(|layout| layout.size() != 0) {
        // SAFETY: the layouts are those of the allocations, and no size is 0.
        unsafe {
            let zeroed = Tslab.alloc_zeroed(old);
            assert!(is_zero(NonNull::new(zeroed).unwrap(), old.size()), "{old:?}");
            Tslab.dealloc(zeroed, old);
            for size in SIZES.into_iter().filter(|&size| size != 0) {
                let p = Tslab.alloc(old);
                fill(NonNull::new(p).unwrap(), old.size());
                let moved = NonNull::new(Tslab.realloc(p, old, size)).unwrap();
                assert!(
                    moved.addr().get() % old.align() == 0 && is_filled(moved, size.min(old.size())),
                    "{old:?} to {size}"
                );
                Tslab.dealloc(moved.as_ptr(), Layout::from_size_align(size, old.align()).unwrap());
            }
        }
    }
}

#[test]
fn too_large() {
    let layout = Layout::from_size_align(isize::MAX as usize & !15, 16).unwrap();
    assert!((&Epoch::new(Drain)).allocate(layout).is_err());
    // SAFETY: the size is not 0.
    assert!(unsafe { Tslab.alloc(layout) }.is_null());
}
