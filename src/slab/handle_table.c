/* The first block has few entries, and each block twice as many as the one before. From a length on all blocks are
 * equally long, and a directory finds them. Idle blocks wait in lists, one for each kind. */
#include "slab/handle_table.h"

#include "common/metadata.h"
#include "os/fatal.h"
#include "os/lock.h"
#include "os/os.h"
#include "space/arena.h"

enum {
    NUMBER_BITS = TSLAB_SIM ? 4 : 64 - HANDLE_TAG_BITS,
    FIRST_ENTRIES = TSLAB_SIM ? 1 : 16, /* of four cache lines */
    SMALL_BLOCKS = TSLAB_SIM ? 1 : 8,
    FULL_ENTRIES = FIRST_ENTRIES << SMALL_BLOCKS, /* of 64 KiB, as a chunk */
    FULL_BLOCKS = (1 << NUMBER_BITS) / FULL_ENTRIES,
};

enum { ENTRY_LENT = 1, ENTRY_USED = 2, ENTRY_TAG_SHIFT = 2 };

typedef _Atomic(uintptr_t) atomic_address;

struct entry {
    atomic_u64 word;       /* the tag, above two bits; 0: this epoch has not used the entry yet */
    atomic_address object; /* in a free entry, the number of the next one */
};

/* The second word of each kind of block links the idle ones. A late look never follows it. */
struct directory {
    atomic_address none[2];
    atomic_address full[1 + FULL_BLOCKS];
};

struct handle_table {
    atomic_u64 free; /* the number of the first free entry, 0: none; above it, a count of all that were taken here */
    atomic_address idle;
    atomic_u32 made; /* how many entries were ever taken */
    atomic_address directory;
    atomic_address small[SMALL_BLOCKS];
};

enum kind { KIND_TABLE, KIND_DIRECTORY, KIND_BLOCK, KIND_FULL = KIND_BLOCK + SMALL_BLOCKS, KINDS };

static struct {
    _Alignas(CACHE_LINE) struct lock lock;
    uintptr_t idle[KINDS]; /* the lowest bit of a link says that pages of the block were given back */
} pool = { .lock = LOCK_INIT(RANK_HANDLES) };

atomic_size_t handle_tables_gone_bytes;

static size_t bytes_of(enum kind kind)
{
    const size_t entries = kind < KIND_BLOCK ? 0 : (size_t)FIRST_ENTRIES << (kind - KIND_BLOCK);
    const size_t bytes = kind == KIND_TABLE       ? sizeof(struct handle_table)
                         : kind == KIND_DIRECTORY ? sizeof(struct directory)
                                                  : entries * sizeof(struct entry);
    return round_up(bytes, CACHE_LINE);
}

static atomic_address *link_of(void *block)
{
    return (atomic_address *)block + 1;
}

/* The whole pages of a block behind its link. Their bytes; 0: there is none. */
static size_t pages_of(const void *block, size_t bytes, uintptr_t *from)
{
    const uintptr_t to = round_down((uintptr_t)block + bytes, os_page_bytes());
    *from = round_up((uintptr_t)block + sizeof(uintptr_t[2]), os_page_bytes());
    return bytes < os_page_bytes() || to <= *from ? 0 : to - *from;
}

/* Takes a block, all zero. NULL: no memory. In the gate. */
static void *block_take(enum kind kind)
{
    uintptr_t from;
    invariant(kind < KINDS);
    lock_acquire(&pool.lock);
    const uintptr_t link = pool.idle[kind];
    void *const block = (void *)(link & ~(uintptr_t)1);
    if (block != NULL) {
        pool.idle[kind] = load_plain(link_of(block));
        if ((link & 1) != 0) {
            counter_sub(&handle_tables_gone_bytes, pages_of(block, bytes_of(kind), &from));
        }
        store_plain(link_of(block), 0);
    }
    lock_release(&pool.lock);
    return block != NULL ? block : metadata_alloc(bytes_of(kind));
}

static void zero(uintptr_t from, uintptr_t to)
{
    store_plain_zeros((atomic_u64 *)from, (to - from) / sizeof(uint64_t));
}

/* Gives back a block, and whole pages of a long one to the system: as much as an idle record keeps of chunks stays. */
static void block_put(enum kind kind, void *block)
{
    const size_t bytes = bytes_of(kind);
    const uintptr_t start = (uintptr_t)block, end = start + bytes;
    uintptr_t from;
    invariant(start % CACHE_LINE == 0 && bytes % CACHE_LINE == 0);
    const size_t pages = kind == KIND_DIRECTORY || kind == KIND_FULL ? pages_of(block, bytes, &from) : 0;
    const bool purged = pages != 0 && os_purge((void *)from, pages);
    zero(start, purged ? from : end);
    if (purged) {
        zero(from + pages, end);
    }
    lock_acquire(&pool.lock);
    store_plain(link_of(block), pool.idle[kind]);
    pool.idle[kind] = start | purged;
    counter_add(&handle_tables_gone_bytes, purged ? pages : 0);
    lock_release(&pool.lock);
}

/* Gives back the block at a place, if there is one. */
static void block_drop(enum kind kind, const atomic_address *place)
{
    void *const block = (void *)load_plain(place);
    if (block != NULL) {
        block_put(kind, block);
    }
}

static uint32_t position_of(uint32_t number)
{
    return number - 1 + FIRST_ENTRIES;
}

/* Where the table has the address of the block with a position: the highest bit tells which one that is. NULL: there is
 * no directory yet. */
static atomic_address *block_place(struct handle_table *table, uint32_t position)
{
    if (likely(position < FULL_ENTRIES)) {
        return &table->small[bit_highest(position / FIRST_ENTRIES)];
    }
    struct directory *const directory = (struct directory *)load_acquire(&table->directory);
    return directory == NULL ? NULL : &directory->full[position / FULL_ENTRIES];
}

/* NULL: there is no such entry yet. */
static struct entry *entry_at(struct handle_table *table, uint32_t number)
{
    const uint32_t position = position_of(number);
    invariant(number <= bit_mask(NUMBER_BITS));
    atomic_address *const place = table == NULL || number == 0 ? NULL : block_place(table, position);
    struct entry *const block = place == NULL ? NULL : (struct entry *)load_acquire(place);
    const uint32_t entries = position < FULL_ENTRIES ? 1u << bit_highest(position) : FULL_ENTRIES;
    return block == NULL ? NULL : &block[position & (entries - 1)];
}

/* The first tag of an entry: numbers that are alike give tags that are not. */
static uint64_t first_tag(uint64_t epoch, uint32_t number)
{
    const uint64_t factor =
        0x9e3779b97f4a7c15u; /* 2^64 by the golden ratio: Knuth, The Art of Computer Programming 6.4 */
    uint64_t mixed = (epoch + (arena.base >> UNIT_SHIFT)) * factor + number;
    mixed = (mixed ^ mixed >> 32) * factor;
    return (mixed ^ mixed >> 32) * factor >> (64 - HANDLE_TAG_BITS);
}

static uint32_t number_in(uint64_t handle)
{
    return (uint32_t)(handle >> HANDLE_TAG_BITS) & (uint32_t)bit_mask(NUMBER_BITS);
}

/* The word of an entry that is lent to a handle. */
static uint64_t lent_word(uint64_t handle)
{
    return (handle & bit_mask(HANDLE_TAG_BITS)) << ENTRY_TAG_SHIFT | ENTRY_USED | ENTRY_LENT;
}

/* The entry that a handle would have, if there is one. */
static struct entry *entry_named(struct handle_table *table, uint64_t handle)
{
    const uint32_t number = number_in(handle);
    return number == handle >> HANDLE_TAG_BITS ? entry_at(table, number) : NULL;
}

uint32_t handle_table_take(struct handle_table *table)
{
    uint64_t head = table == NULL ? 0 : load_acquire(&table->free);
    uint32_t number;
    while ((number = (uint32_t)(head & bit_mask(NUMBER_BITS))) != 0) {
        /* If another thread takes it first, this may read an address. Then the count has changed. */
        const uint64_t next = load_relaxed(&entry_at(table, number)->object) & bit_mask(NUMBER_BITS);
        if (cas_acquire(&table->free, &head, ((head >> NUMBER_BITS) + 1) << NUMBER_BITS | next)) {
            return number;
        }
        head = load_acquire(&table->free);
    }
    invariant(table == NULL || load_plain(&table->made) <= bit_mask(NUMBER_BITS));
    uint32_t made = table == NULL ? 0 : load_relaxed(&table->made);
    while (made < bit_mask(NUMBER_BITS) && entry_at(table, made + 1) != NULL) {
        if (cas_acquire(&table->made, &made, made + 1)) {
            return made + 1;
        }
    }
    return 0;
}

/* Makes the block whose address belongs to a place. False: no memory. */
static bool make_block(enum kind kind, atomic_address *place)
{
    uintptr_t there = load_acquire(place);
    void *const fresh = there == 0 ? block_take(kind) : NULL;
    if (fresh != NULL && !cas_acq_rel(place, &there, (uintptr_t)fresh)) {
        block_put(kind, fresh); /* another thread was first */
    }
    return fresh != NULL || there != 0;
}

bool handle_table_grow(_Atomic(struct handle_table *) *place)
{
    if (load_acquire(place) == NULL) {
        struct handle_table *const fresh = block_take(KIND_TABLE), *there = NULL;
        if (fresh == NULL) {
            return false;
        }
        if (!cas_acq_rel(place, &there, fresh)) {
            block_put(KIND_TABLE, fresh);
        }
    }
    struct handle_table *const table = load_acquire(place);
    const uint32_t made = load_relaxed(&table->made), position = position_of(made + 1);
    if (made == bit_mask(NUMBER_BITS)) {
        return false;
    }
    if (position < FULL_ENTRIES) {
        const unsigned nth = bit_highest(position / FIRST_ENTRIES);
        return make_block((enum kind)(KIND_BLOCK + nth), &table->small[nth]);
    }
    return make_block(KIND_DIRECTORY, &table->directory) && make_block(KIND_FULL, block_place(table, position));
}

uint64_t handle_table_lend(struct handle_table *table, uint64_t epoch, uint32_t number, void *object)
{
    struct entry *const entry = entry_at(table, number);
    const uint64_t word = load_relaxed(&entry->word);
    invariant((word & ENTRY_LENT) == 0);
    const uint64_t tag = word == 0 ? first_tag(epoch, number) : (word >> ENTRY_TAG_SHIFT) + 1;
    const uint64_t handle = (uint64_t)number << HANDLE_TAG_BITS | (tag & bit_mask(HANDLE_TAG_BITS));
    invariant(object != NULL && number_in(handle) == number && handle != 0);
    store_release(&entry->object, (uintptr_t)object);
    store_relaxed(&entry->word, lent_word(handle)); /* the handle comes to others by a release of the program's */
    return handle;
}

bool handle_table_link(struct handle_table *table, uint64_t epoch, uint32_t number, uint32_t next)
{
    struct entry *const entry = entry_at(table, number);
    const uint64_t word = load_relaxed(&entry->word);
    const uint64_t uses = ((word >> ENTRY_TAG_SHIFT) - first_tag(epoch, number)) & bit_mask(HANDLE_TAG_BITS);
    invariant((word & ENTRY_LENT) == 0 && next != number);
    if (word != 0 && uses == bit_mask(HANDLE_USE_BITS)) {
        return false;
    }
    /* Release: a look that takes this number for an address finds that the entry is not lent any more. */
    store_release(&entry->object, next);
    return true;
}

uint32_t handle_table_next(struct handle_table *table, uint32_t number)
{
    return (uint32_t)load_relaxed(&entry_at(table, number)->object);
}

void handle_table_put(struct handle_table *table, uint64_t epoch, uint32_t number)
{
    uint64_t head = load_relaxed(&table->free);
    invariant(number != 0 && number <= load_plain(&table->made));
    while (handle_table_link(table, epoch, number, (uint32_t)(head & bit_mask(NUMBER_BITS))) &&
           !cas_release(&table->free, &head, head >> NUMBER_BITS << NUMBER_BITS | number)) {
        head = load_relaxed(&table->free);
    }
}

void *handle_table_look(struct handle_table *table, uint64_t handle)
{
    struct entry *const entry = entry_named(table, handle);
    const uint64_t lent = lent_word(handle);
    if (entry == NULL || load_acquire(&entry->word) != lent) {
        return NULL;
    }
    const uintptr_t object = load_acquire(&entry->object);
    return load_relaxed(&entry->word) == lent ? (void *)object : NULL;
}

void *handle_table_end(struct handle_table *table, uint64_t handle, uint32_t *number)
{
    struct entry *const entry = entry_named(table, handle);
    uint64_t lent = lent_word(handle);
    if (entry == NULL || !cas_acq_rel(&entry->word, &lent, lent & ~(uint64_t)ENTRY_LENT)) {
        return NULL;
    }
    *number = number_in(handle);
    const uintptr_t object = load_relaxed(&entry->object);
    invariant(object > bit_mask(NUMBER_BITS)); /* no number of a free entry */
    return (void *)object;
}

void handle_table_drop(_Atomic(struct handle_table *) *place)
{
    struct handle_table *const table = load_acquire(place);
    if (likely(table == NULL)) {
        return;
    }
    store_release(place, NULL);
    for (unsigned i = 0; i < SMALL_BLOCKS; i++) {
        block_drop((enum kind)(KIND_BLOCK + i), &table->small[i]);
    }
    struct directory *const directory = (struct directory *)load_plain(&table->directory);
    for (unsigned i = 0; directory != NULL && i <= FULL_BLOCKS; i++) {
        block_drop(KIND_FULL, &directory->full[i]);
    }
    block_drop(KIND_DIRECTORY, &table->directory);
    block_put(KIND_TABLE, table);
}
