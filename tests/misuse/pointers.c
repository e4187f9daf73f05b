/* Misuse by pointer ends the program: one line on stderr, then abort. Each case is a process of its own, and the line
 * is checked to the last digit of the address.
 *
 * A release build sees what the design sees for nothing. A checked build sees every case at the very call. An epoch
 * keeps the objects of its first while in another way than those of a long life, so a misuse is tried in the process,
 * in a young epoch and in an old one. With the drop-in (MISUSE_DROPIN), whose inside is out of reach, only in epochs.
 *
 * Most cases are scripts: letters, which do this to an object.
 *
 *   o      it is allocated, among others of its size       O      it is allocated alone
 *   H, R   it gets a handle; the handle frees it           k      objects of all sizes are allocated and freed
 *   b, B   many others are allocated; they are freed       q, Q   one other is
 *   !      what follows is misuse, of the object or of a pointer so many bytes into it
 *   f      it is freed                                     r, z   it is reallocated to more, to nothing
 *   u      its usable size is asked for                    t      memory is trimmed
 *   { }    another thread does what stands between
 *   e, l   the epoch is entered, left                      c      closed
 *   d, D   released, and its pages given back              T      another one, of TSLAB_POLICY_TRAP, takes its place
 *   x      another one is released, with an object in it */
#include "misuse.h"

#include "epoch.h"

#if !MISUSE_DROPIN
#include "common/guard.h"
#include "os/os.h"
#include "space/arena.h"
#endif

enum { OTHERS = 300, LARGE = 400000 };

static const char label[] = "misused";

static tslab_epoch epoch; /* that the case is about; {0}: the process */

static void *some(size_t size)
{
    void *const p = epoch.id != 0 ? tslab_epoch_malloc(epoch, size) : tslab_malloc(size);
    CHECK(p != NULL);
    return memset(p, 0x5a, size);
}

/* Other objects of the kind keep what the object lies in from being recycled. */
static char *object(size_t size)
{
    (void)some(size);
    char *const p = some(size);
    (void)some(size);
    return p;
}

/* The objects that the letters name. */
static struct {
    const struct misuse *misuse;
    const char *at; /* the next letter */
    char *p;
    void *other, *others[OTHERS];
    tslab_handle handle;
    bool misused;
} script;

static void use_all_sizes(void)
{
    static const size_t sizes[] = { 16, 48, 64, 80, 100, 500, 1024, 3000, 8000, 20000 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        tslab_free(object(sizes[i]));
    }
}

static void release_another(void)
{
    const tslab_epoch other = opened();
    (void)filled(other, 64, 1);
    STATUS(tslab_epoch_release(other, 0, NULL), TSLAB_OK);
}

/* A slab of an old epoch may see the misuse only when the slot comes to it, which is at the close at the latest. */
static void trim(void)
{
    if (script.misused && epoch.id != 0) {
        misuse_survived();
    }
    (void)tslab_trim();
}

static void do_to_object(char letter)
{
    const size_t size = script.misuse->size;
    void *p = script.p;
    switch (letter) {
    case 'o':
        script.p = object(size);
        break;
    case 'O':
        script.p = some(size);
        break;
    case 'H':
        script.handle = tslab_handle_malloc(epoch, size, &p);
        CHECK(script.handle.id != 0);
        script.p = p;
        break;
    case 'R':
        (void)tslab_handle_free(epoch, script.handle);
        break;
    case '!':
        script.p += script.misuse->offset;
        script.misused = true;
        misused(script.p);
        break;
    case 'f':
        tslab_free(p);
        break;
    case 'r':
        (void)keep(tslab_realloc(p, size < LARGE ? 10000 : 2 * size));
        break;
    case 'z':
        (void)keep(tslab_realloc(p, 0));
        break;
    case 'u':
        (void)tslab_usable_size(p);
        break;
    default:
        check_failed(__FILE__, __LINE__, "there is no letter %c", letter);
    }
}

static void do_to_others(char letter)
{
    const size_t size = script.misuse->size;
    for (size_t i = 0; i < OTHERS && letter == 'b'; i++) {
        script.others[i] = some(size < LARGE ? size : 10 + i * 10);
    }
    for (size_t i = 0; i < OTHERS && letter == 'B'; i++) {
        tslab_free(script.others[i]);
    }
    if (letter == 'q') {
        script.other = some(size);
    } else if (letter == 'Q') {
        tslab_free(script.other);
    }
}

static void do_to_epoch(char letter)
{
    switch (letter) {
    case 'e':
        if (epoch.id != 0) {
            enter(epoch);
        }
        break;
    case 'l':
        leave(epoch);
        break;
    case 'c':
        STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
        break;
    case 'd':
        STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
        break;
    case 'D':
        STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
        break;
    default:
        epoch = opened_as(label, TSLAB_POLICY_TRAP);
    }
}

/* Follows the script until it ends, or the part of a thread does. */
static void *follow(void *unused)
{
    while (*script.at != 0) {
        const char letter = *script.at++;
        if (letter == '}') {
            break;
        }
        if (letter == '{') {
            in_a_thread(follow, NULL);
        } else if (letter == 'k') {
            use_all_sizes();
        } else if (letter == 'x') {
            release_another();
        } else if (letter == 't') {
            trim();
        } else if (strchr("bBqQ", letter) != NULL) {
            do_to_others(letter);
        } else if (strchr("elcdDT", letter) != NULL) {
            do_to_epoch(letter);
        } else {
            do_to_object(letter);
        }
    }
    return unused;
}

static void follow_script(const struct misuse *misuse)
{
    script.misuse = misuse;
    script.at = misuse->script;
    (void)follow(NULL);
    if (epoch.id == 0) {
        return;
    }
    misuse_survived();
    if (same(tslab_epoch_current(), epoch)) {
        leave(epoch);
    }
    (void)tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, NULL);
    (void)tslab_trim();
}

#if !MISUSE_DROPIN

static void free_misused(void *p)
{
    misused(p);
    tslab_free(p);
}

MISUSE_OF(SMALL_MAX - SEAL_BYTES, twice_in_a_row_of_each_class, DOUBLE, DOUBLE)
{
    /* The parent reads the last pointer. Those before must not be seen as misused. */
    for (unsigned class = 1; class < CLASS_LIMIT; class ++) {
        tslab_free(some(class_geometry[class].size));
    }
    void *const p = some(SMALL_MAX - SEAL_BYTES);
    tslab_free(p);
    free_misused(p);
}

/* A stranger frees the objects of two slabs in turns, and what is misused among them. */
static void *free_in_turns(void *misused_one)
{
    enum { FAR = 300, IN_TURNS = 40 };
    static void *objects[FAR + IN_TURNS];
    static void **const others = &objects[FAR];
    if (misused_one == NULL) {
        for (size_t i = 0; i < COUNT_OF(objects); i++) {
            objects[i] = some(64);
        }
        return objects[2];
    }
    for (size_t i = 0; i < IN_TURNS; i++) {
        tslab_free(objects[i]);
        tslab_free(others[i]);
    }
    misused(misused_one);
    tslab_free(misused_one);
    return NULL;
}

MISUSE_OF(64, twice_among_what_is_mixed, DOUBLE, DOUBLE)
{
    in_a_thread(free_in_turns, free_in_turns(NULL));
    (void)tslab_trim(); /* the thread's heap rests until then */
}

MISUSE_OF(64, interior_among_what_is_mixed, INTERIOR, INTERIOR)
{
    in_a_thread(free_in_turns, (char *)free_in_turns(NULL) + 16);
    (void)tslab_trim();
}

/* Pointers that are no object's. */

MISUSE(foreign_stack, FOREIGN, FOREIGN)
{
    long long on_stack[4] = { 0 };
    tslab_free(some(10));
    free_misused(keep(on_stack));
}

MISUSE(foreign_static, FOREIGN, FOREIGN)
{
    static long long in_data[4];
    free_misused(keep(in_data)); /* before anything was allocated */
}

MISUSE(foreign_heap, FOREIGN, FOREIGN)
{
    tslab_free(some(10));
    free_misused(malloc(100)); /* of the system's malloc */
}

MISUSE(foreign_small_number, FOREIGN, FOREIGN)
{
    tslab_free(some(10));
    free_misused((void *)unseen(4096));
}

MISUSE(foreign_great_number, FOREIGN, FOREIGN)
{
    tslab_free(some(10));
    free_misused((void *)unseen(SIZE_MAX - 15));
}

MISUSE(foreign_before_the_arena, FOREIGN, FOREIGN)
{
    tslab_free(some(10));
    free_misused((void *)(arena.base - 64)); /* in the side tables */
}

MISUSE(foreign_beyond_what_is_committed, FOREIGN, FOREIGN)
{
    tslab_free(some(10));
    free_misused(arena_address((uint32_t)load_plain(&arena.committed_units)));
}

MISUSE(wild_in_unit_0, DOUBLE_OR_WILD, DOUBLE_OR_WILD)
{
    tslab_free(some(10));
    free_misused(arena_address(0) + 64);
}

MISUSE(wild_in_unused_units, DOUBLE_OR_WILD, DOUBLE_OR_WILD)
{
    tslab_free(some(10));
    free_misused(arena_address((uint32_t)arena.committed_units - 3));
}

MISUSE_OF(48, interior_in_the_tail, INTERIOR, INTERIOR)
{
    char *const p = object(48);
    const uint32_t first = arena.units[arena_unit(p)].first;
    free_misused(arena_address(first) + UNIT_BYTES - 16); /* 341 slots of 48 bytes leave 16 */
    (void)tslab_trim();                                   /* where a release build sees it */
}

MISUSE(realloc_foreign, FOREIGN, FOREIGN)
{
    long long on_stack[4] = { 0 };
    tslab_free(some(10));
    void *const p = keep(on_stack);
    misused(p);
    (void)keep(tslab_realloc(p, 100));
}

MISUSE(usable_size_foreign, FOREIGN, FOREIGN)
{
    static long long in_data[4];
    tslab_free(some(10));
    misused(in_data);
    (void)tslab_usable_size(in_data);
}

/* Cases that are no misuse. */

MISUSE(rightful_use, COMPLETES, COMPLETES)
{
    tslab_free(NULL);
    CHECK(tslab_usable_size(NULL) == 0);
    void *const p = some(0);
    void *const q = some(0);
    CHECK(p != q);
    tslab_free(p);
    tslab_free(q);
    for (size_t size = 1; size < 200000; size += size / 3 + 1) {
        void *const large = tslab_realloc(some(size), size * 2);
        CHECK(large != NULL && tslab_usable_size(large) >= size * 2);
        tslab_free(large);
        tslab_free(some(size));
    }
}

#endif

MISUSE_IN_EPOCHS(rightful_use_in_an_epoch, COMPLETES)
{
    void *p;
    use_all_sizes();
    for (size_t size = 16; size < 30000; size += size / 2) {
        const tslab_handle handle = tslab_handle_malloc(epoch, size, &p);
        CHECK(tslab_usable_size(p) >= size);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_STALE);
        p = tslab_realloc(filled(epoch, size, 3), size * 3);
        verify_and_free(p, size, 3);
    }
    tslab_free(NULL);
}

/* In epochs checks change when a misuse is seen, not what is said. */
enum {
    NOT = 0, /* tried there */
    TWICE = DOUBLE | DOUBLE_OR_WILD,
    INTO = INTERIOR | DOUBLE_OR_WILD,
    OF_HANDLE = INTERIOR | DOUBLE | DOUBLE_OR_WILD,
};

/* Name, size, offset, script; how it ends in the process without checks and in a checked library, and in epochs. */
SCRIPT(twice_in_a_row, 64, 0, "kof!f", DOUBLE, DOUBLE, TWICE);
SCRIPT(twice_with_others_between, 48, 0, "eobfB!f", COMPLETES, DOUBLE, TWICE);
SCRIPT(twice_by_two_threads, 48, 0, "o{f}!{f}", DOUBLE, DOUBLE, TWICE);
SCRIPT(twice_a_large_one, LARGE, 0, "Of!f", DOUBLE_OR_WILD, DOUBLE_OR_WILD, DOUBLE_OR_WILD);
SCRIPT(interior_of_a_large_one, LARGE, 16, "O!f", INTERIOR, INTERIOR, INTO);
SCRIPT(interior_of_a_large_one_far_in, LARGE, 50000, "O!f", INTERIOR, INTERIOR, INTO);
SCRIPT(interior_by_16, 64, 16, "o!ft", INTERIOR, INTERIOR, INTO);
SCRIPT(interior_by_1, 64, 1, "o!ft", INTERIOR, INTERIOR, INTO);
SCRIPT(interior_by_8_of_the_smallest, 16, 8, "o!ft", INTERIOR, INTERIOR, INTO);
SCRIPT(realloc_to_0_after_free, 64, 0, "of!z", DOUBLE, DOUBLE, TWICE);
SCRIPT(realloc_after_free, 64, 0, "of!rt", DOUBLE, DOUBLE, TWICE);
SCRIPT(realloc_interior, 64, 16, "o!r", INTERIOR, INTERIOR, INTO);
SCRIPT(usable_size_interior, 64, 1, "o!u", INTERIOR, INTERIOR, INTO);

SCRIPT(twice_in_a_row_inside, 64, 0, "ekof!f", NOT, NOT, TWICE);
SCRIPT(twice_a_greater_one, 20000, 0, "of!f", NOT, NOT, TWICE);
SCRIPT(twice_the_smallest, 1, 0, "of!f", NOT, NOT, TWICE);
SCRIPT(twice_by_owner_and_stranger, 64, 0, "eof!{f}", NOT, NOT, TWICE);
SCRIPT(twice_after_leaving, 64, 0, "eofl!f", NOT, NOT, TWICE);
SCRIPT(twice_while_it_drains, 64, 0, "ocf!f", NOT, NOT, TWICE);
SCRIPT(twice_after_close, 64, 0, "ofc!f", NOT, NOT, TWICE);
SCRIPT(twice_after_the_epoch_is_gone, 100, 0, "OfDt!f", NOT, NOT, DOUBLE_OR_WILD);
SCRIPT(interior_at_the_end, 1024, 1008, "o!f", NOT, NOT, INTO);
SCRIPT(interior_of_a_great_one, 20000, 10000, "o!f", NOT, NOT, INTO);
SCRIPT(interior_of_a_great_one_in_the_next_unit, 32000, UNIT, "o!f", NOT, NOT, INTO);
SCRIPT(interior_by_a_stranger, 64, 16, "o!{f}", NOT, NOT, INTO);
SCRIPT(interior_while_it_drains, 64, 16, "oc!f", NOT, NOT, INTO);
/* Behind the last object of a young epoch there is memory that was never handed out. */
SCRIPT(wild_behind_the_last_object, 64, 112, "O!f", NOT, NOT, TWICE | INTERIOR);
SCRIPT(after_release, 64, 0, "Oqd!f", NOT, NOT, DOUBLE_OR_WILD);
SCRIPT(a_great_one_after_release, 20000, 0, "Oqd!f", NOT, NOT, DOUBLE_OR_WILD);
SCRIPT(a_large_one_after_release, LARGE, 0, "Oqd!f", NOT, NOT, DOUBLE_OR_WILD);
SCRIPT(after_release_with_reclaim, 64, 0, "oD!f", NOT, NOT, DOUBLE_OR_WILD);
SCRIPT(after_a_trap, 64, 0, "TOc!f", NOT, NOT, DOUBLE_OR_WILD);
/* A dead object may have been freed or released by then: nothing tells which. */
SCRIPT(twice_after_another_was_released, LARGE, 0, "xOf!f", NOT, NOT, DOUBLE_OR_WILD);
/* Objects of handles are freed by them alone: the handle's own free is the second one. */
SCRIPT(the_object_of_a_handle, 100, 0, "H!fR", NOT, NOT, OF_HANDLE);
SCRIPT(the_object_of_a_handle_inside, 100, 0, "eH!fR", NOT, NOT, OF_HANDLE);
SCRIPT(the_object_of_a_handle_by_a_stranger, 100, 0, "H!{f}R", NOT, NOT, OF_HANDLE);
SCRIPT(realloc_of_the_object_of_a_handle, 100, 0, "H!rR", NOT, NOT, OF_HANDLE);
SCRIPT(into_the_object_of_a_handle, 100, 16, "H!f", NOT, NOT, OF_HANDLE);

#if !MISUSE_DROPIN
SCRIPT(twice_in_a_row_after_an_allocation, 100, 0, "OfOf!f", DOUBLE, DOUBLE, NOT);
SCRIPT(twice_after_it_went_to_its_slab, 64, 0, "oft!ft", DOUBLE, DOUBLE, NOT);
SCRIPT(twice_within_a_flush, 64, 0, "oqfQ!ft", DOUBLE, DOUBLE, NOT);
SCRIPT(twice_after_the_slab_was_recycled, 64, 0, "Oft!f", DOUBLE_OR_WILD, DOUBLE_OR_WILD, NOT);
SCRIPT(twice_in_a_row_by_a_stranger, 48, 0, "o{f!f}", DOUBLE, DOUBLE, NOT);
/* Seen when the thread ends, at the latest. */
SCRIPT(twice_by_a_stranger_with_another_between, 48, 0, "oq{fQ!f}", DOUBLE, DOUBLE, NOT);
/* Of a class whose slots strangers keep, until they end. */
SCRIPT(twice_at_the_end_of_a_thread, 64, 0, "o{f}!{f}", DOUBLE, DOUBLE, NOT);
SCRIPT(twice_a_large_one_with_others_between, LARGE, 0, "ObfB!f", DOUBLE_OR_WILD, DOUBLE_OR_WILD, NOT);
SCRIPT(interior_of_a_large_one_by_one, LARGE, 1, "O!f", INTERIOR, INTERIOR, NOT);
SCRIPT(interior_of_the_largest_class, SMALL_MAX - SEAL_BYTES, UNIT_BYTES, "o!ft", INTERIOR, INTERIOR, NOT);
SCRIPT(realloc_of_a_freed_large_one, LARGE, 0, "Of!r", DOUBLE_OR_WILD, DOUBLE_OR_WILD, NOT);
SCRIPT(usable_size_of_a_freed_large_one, LARGE, 0, "Of!u", DOUBLE_OR_WILD, DOUBLE_OR_WILD, NOT);
SCRIPT(usable_size_of_a_freed_one, 64, 0, "oft!u", COMPLETES, DOUBLE, NOT);
#endif

static void begin_young(void)
{
    epoch = opened_as(label, TSLAB_POLICY_DRAIN);
}

static void begin_old(void)
{
    begin_young();
    grow_old(epoch);
}

#if !MISUSE_DROPIN

/* The bytes that an object of a size has for its user. */
static size_t bytes_for(size_t size)
{
    const size_t room = guard_room(size);
    return (room <= SMALL_MAX ? class_geometry[class_of_size(room)].size : round_up(room, os_page_bytes())) -
           SEAL_BYTES;
}

static void begin(void)
{
}

#endif

int main(int argc, char **argv)
{
    static const struct misuse_place places[] = {
        { "in a young epoch", begin_young, .in_epoch = true },
        { "in an old epoch", begin_old, .in_epoch = true, .late = true },
#if !MISUSE_DROPIN
        { "in the process", begin, .in_epoch = false },
#endif
    };
    const struct misuse_table table = {
        .follow = follow_script,
        .places = places,
        .place_count = COUNT_OF(places),
        .label = label,
#if !MISUSE_DROPIN
        .usable = bytes_for,
#endif
    };
    return misuse_run(&table, argc, argv);
}
