/* Seals are computed from the address and a secret, so they need no table. Guard pages are the ends of a reservation
 * that stay without access, and so is what stands for objects of size 0. */
#include "common/guard.h"

#if TSLAB_CHECKED > 1

#include "common/misuse.h"
#include "common/size_class.h"
#include "os/fatal.h"
#include "os/os.h"

#include <string.h>

/* Tools that watch memory are told what the program may touch, if there is one in the process: AddressSanitizer, when
 * the program is built with it, and valgrind, where this library was built with its header at hand. A library that is
 * itself built with AddressSanitizer tells it nothing: its own look at free memory would be a finding. */
#if defined __has_include
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

/* Of AddressSanitizer's interface. They are there in a process that has it. */
__attribute__((weak)) extern void __asan_poison_memory_region(void const volatile *start, size_t bytes);
__attribute__((weak)) extern void __asan_unpoison_memory_region(void const volatile *start, size_t bytes);

#if defined __SANITIZE_ADDRESS__
enum { TELLS_ASAN = 0 };
#elif defined __has_feature
enum { TELLS_ASAN = !__has_feature(address_sanitizer) };
#else
enum { TELLS_ASAN = 1 };
#endif

/* The program, or this library, may touch all of it. */
static void memcheck_open(const void *start, size_t bytes)
{
    if (TELLS_ASAN && __asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(start, bytes);
    }
#ifdef VALGRIND_MAKE_MEM_DEFINED
    (void)VALGRIND_MAKE_MEM_DEFINED(start, bytes);
#endif
}

/* Nobody may, until it is opened again. */
static void memcheck_close(const void *start, size_t bytes)
{
    if (TELLS_ASAN && __asan_poison_memory_region != NULL) {
        __asan_poison_memory_region(start, bytes);
    }
#ifdef VALGRIND_MAKE_MEM_NOACCESS
    (void)VALGRIND_MAKE_MEM_NOACCESS(start, bytes);
#endif
}

/* The low bits of the word come first in memory, so the first byte of an overflow is sure to hit them. */
enum { PROOF_BITS = 16, FILLING = 0x5e };
#define FILLING_WORD ((uint64_t)FILLING * 0x0101010101010101u)

static uint64_t secret;

static uint64_t guard_mix(uint64_t x)
{
    x = (x ^ secret) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 29;
}

/* The last word of a sealed place: the size, and PROOF_BITS that depend on it, both disguised by the address. */
static uint64_t seal_of(const void *p, size_t size)
{
    const uint64_t disguise = guard_mix((uintptr_t)p);
    return (size << PROOF_BITS | (guard_mix(disguise + size) & bit_mask(PROOF_BITS))) ^ disguise;
}

void guard_seal(void *p, size_t room, size_t size)
{
    invariant(room >= SEAL_BYTES && size <= room - SEAL_BYTES);
    char *const end = (char *)p + room - SEAL_BYTES;
    const uint64_t seal = seal_of(p, size);
    memcheck_open(p, room);
    memset((char *)p + size, FILLING, (size_t)(end - (char *)p) - size);
    memcpy(end, &seal, sizeof seal);
    memcheck_close((char *)p + size, room - size);
}

static bool is_filled(const char *at, const char *end)
{
    uint64_t word;
    for (; end - at >= (ptrdiff_t)sizeof word; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        if (word != FILLING_WORD) {
            return false;
        }
    }
    while (at < end && *at == FILLING) {
        at++;
    }
    return at == end;
}

size_t guard_sealed(const void *p, size_t room)
{
    invariant(room >= SEAL_BYTES);
    const char *const end = (const char *)p + room - SEAL_BYTES;
    uint64_t seal;
    memcheck_open(p, room);
    memcpy(&seal, end, sizeof seal);
    const size_t size = (seal ^ guard_mix((uintptr_t)p)) >> PROOF_BITS;
    const bool is_sealed = size <= room - SEAL_BYTES && seal == seal_of(p, size);
    if (unlikely(!is_sealed || !is_filled((const char *)p + size, end))) {
        misuse_of_asked("write beyond the end of", p, is_sealed ? size : 0);
    }
    memcheck_close((const char *)p + size, room - size);
    return size;
}

void guard_clear(void *p, size_t kept, size_t room)
{
    invariant(kept <= room);
    memcheck_open(p, room);
    memset((char *)p + kept, 0, room - kept);
}

void guard_bury(void *p, size_t room)
{
    guard_clear(p, 0, room);
    memcheck_close(p, room);
}

void guard_check_free(const void *p, size_t room)
{
    invariant(room % (2 * sizeof(uint64_t)) == 0); /* places are whole granules */
    const char *const bytes = p;
    memcheck_open(p, room);
    for (size_t at = 0; at < room; at += 2 * sizeof(uint64_t)) {
        uint64_t words[2];
        memcpy(words, bytes + at, sizeof words);
        if (unlikely((words[0] | words[1]) != 0)) {
            misuse("write after free into", p);
        }
    }
}

void guard_wipe(void *start, size_t bytes)
{
    const size_t page = os_page_bytes();
    const bool whole = (uintptr_t)start % page == 0 && bytes % page == 0;
    memcheck_open(start, bytes);
    if (!whole || !os_purge(start, bytes)) {
        memset(start, 0, bytes);
    }
}

void *guard_map(size_t bytes, size_t alignment, void **mapping, size_t *mapping_bytes)
{
    invariant(bytes != 0 && is_power_of_two(alignment));
    const size_t page = os_page_bytes();
    const size_t slack = alignment > page ? alignment : 0;
    const size_t inside = round_up(bytes, page);
    *mapping_bytes = inside + slack + 2 * page;
    *mapping = inside < bytes || *mapping_bytes < inside ? NULL : os_reserve(*mapping_bytes);
    if (*mapping == NULL) {
        return NULL;
    }
    char *const start = (char *)round_up((uintptr_t)*mapping + page, max_size(alignment, page));
    if (!os_commit(start, inside)) {
        (void)os_unmap(*mapping, *mapping_bytes);
        return NULL;
    }
    invariant(start >= (char *)*mapping + page && start + inside + page <= (char *)*mapping + *mapping_bytes);
    return start;
}

/* Objects of size 0. A place of the table is claimed and cleared by one atomic operation. */

enum { NOTHINGS = 1 << 17, TRIES = 64 };

static struct {
    char *start; /* NULL: there are none */
    _Atomic(void *) *objects;
    atomic_u32 next; /* where to look for a free place */
} nothing;

void guard_start(void)
{
    void *mapping;
    size_t bytes;
    secret = os_random();
    if (nothing.start == NULL) {
        nothing.objects = guard_map(NOTHINGS * sizeof nothing.objects[0], 1, &mapping, &bytes);
        nothing.start = nothing.objects == NULL ? NULL : os_reserve((size_t)NOTHINGS * GRANULE_BYTES);
    }
    invariant(nothing.start == NULL || nothing.objects != NULL);
}

void *zero_size_hide(void *object)
{
    for (unsigned i = 0; i < TRIES && object != NULL && nothing.start != NULL; i++) {
        const size_t at = fetch_add_relaxed(&nothing.next, 1) % NOTHINGS;
        void *none = NULL;
        invariant((uintptr_t)object % GRANULE_BYTES == 0);
        if (load_relaxed(&nothing.objects[at]) == NULL && cas_release(&nothing.objects[at], &none, object)) {
            return nothing.start + at * GRANULE_BYTES;
        }
    }
    return object;
}

/* The place of an address; NULL: it is none of these. */
static _Atomic(void *) *zero_size_place(const void *p)
{
    const size_t offset = (uintptr_t)p - (uintptr_t)nothing.start;
    if (nothing.start == NULL || offset >= (size_t)NOTHINGS * GRANULE_BYTES) {
        return NULL;
    }
    if (offset % GRANULE_BYTES != 0) {
        misuse_no_object(p);
    }
    return &nothing.objects[offset / GRANULE_BYTES];
}

static void *object_or_end(void *object, const void *p)
{
    if (object == NULL) {
        misuse("double or wild free of", p);
    }
    return object;
}

void *zero_size_object(const void *p)
{
    _Atomic(void *) *const place = zero_size_place(p);
    return place == NULL ? (void *)(uintptr_t)p : object_or_end(load_acquire(place), p);
}

void *zero_size_end(void *p)
{
    _Atomic(void *) *const place = zero_size_place(p);
    return place == NULL ? p : object_or_end(swap_acquire(place, NULL), p);
}

#endif
