#include "core/blocks.h"

#include "base/lock.h"
#include "core/class.h"
#include "core/guard.h"
#include "os/os.h"

#include <string.h>

struct block {
    void *start; /* NULL: the place is empty */
    size_t bytes;
    void *mapping; /* starts earlier when the alignment asked for it, or a guard page is before it */
    size_t mapping_bytes;
};

/* At the start of a block that the kernel did not take back. */
struct leftover {
    struct leftover *next;
    struct block block;
};

/* Open addressing with linear probing, at most half full; the table is a mapping, too. */
static struct {
    struct lock lock;
    struct block *table;
    struct block table_block;
    size_t places; /* a power of two, or 0 */
    size_t count;
    atomic_size_t bytes;
    struct leftover *leftovers;
} blocks = { .lock = LOCK_INIT(RANK_BLOCKS) };

static size_t place_of(const void *start, size_t places)
{
    return (size_t)(((uint64_t)(uintptr_t)start >> 12) * 0x9e3779b97f4a7c15u >> 20) & (places - 1);
}

static struct block *find(const void *start)
{
    if (blocks.count == 0) {
        return NULL;
    }
    for (size_t i = place_of(start, blocks.places);; i = (i + 1) & (blocks.places - 1)) {
        if (blocks.table[i].start == start) {
            return &blocks.table[i];
        }
        if (blocks.table[i].start == NULL) {
            return NULL;
        }
    }
}

static void insert(struct block *table, size_t places, struct block block)
{
    size_t i = place_of(block.start, places);
    while (table[i].start != NULL) {
        i = (i + 1) & (places - 1);
    }
    table[i] = block;
}

/* The kernel may refuse to take a mapping back, for want of mappings: then it gets the pages, and the rest when there
 * are more again. Under the lock. */
static void leave_over(struct block block)
{
    (void)os_purge(block.start, block.bytes);
    struct leftover *leftover = block.start;
    *leftover = (struct leftover){ blocks.leftovers, block };
    blocks.leftovers = leftover;
}

static void unmap_leftovers(void)
{
    while (blocks.leftovers != NULL) {
        const struct leftover copy = *blocks.leftovers;
        if (!os_unmap(copy.block.mapping, copy.block.mapping_bytes)) {
            return;
        }
        blocks.leftovers = copy.next;
    }
}

/* Maps a block of at least bytes; false: no memory. */
static bool map_block(struct block *block, size_t bytes, size_t alignment)
{
    const size_t page = os_page_bytes();
    const size_t slack = alignment > page ? alignment : 0;
    block->bytes = round_up(bytes, page);
    block->mapping_bytes = block->bytes + slack;
    if (block->bytes < bytes || block->mapping_bytes < block->bytes) {
        return false;
    }
    if (GUARDED) {
        block->start = guard_map(bytes, alignment, &block->mapping, &block->mapping_bytes);
        return block->start != NULL;
    }
    block->mapping = os_map(block->mapping_bytes);
    block->start = (void *)round_up((uintptr_t)block->mapping, max_size(alignment, page));
    return block->mapping != NULL;
}

/* Makes room for one more. Under the lock. */
static bool grow(void)
{
    if (blocks.count * 2 < blocks.places) {
        return true;
    }
    const size_t first = TSLAB_SIM ? 2 : os_page_bytes() / sizeof(struct block);
    const size_t places = blocks.places == 0 ? first : blocks.places * 2;
    struct block made;
    if (!map_block(&made, places * sizeof(struct block), 1)) {
        return false;
    }
    struct block *table = made.start;
    for (size_t i = 0; i < blocks.places; i++) {
        if (blocks.table[i].start != NULL) {
            insert(table, places, blocks.table[i]);
        }
    }
    if (blocks.places != 0 && !os_unmap(blocks.table_block.mapping, blocks.table_block.mapping_bytes)) {
        leave_over(blocks.table_block);
    }
    blocks.table_block = made;
    blocks.table = table;
    blocks.places = places;
    return true;
}

/* Empties a place and moves up those behind it that would not be found any more. */
static void erase(struct block *block)
{
    size_t hole = (size_t)(block - blocks.table);
    for (size_t i = (hole + 1) & (blocks.places - 1); blocks.table[i].start != NULL;
         i = (i + 1) & (blocks.places - 1)) {
        const size_t home = place_of(blocks.table[i].start, blocks.places);
        if (((i - home) & (blocks.places - 1)) >= ((i - hole) & (blocks.places - 1))) {
            blocks.table[hole] = blocks.table[i];
            hole = i;
        }
    }
    blocks.table[hole].start = NULL;
    blocks.count--;
}

static void unmap(struct block block)
{
    const bool done = os_unmap(block.mapping, block.mapping_bytes);
    lock_acquire(&blocks.lock);
    if (!done) {
        leave_over(block);
    } else {
        unmap_leftovers();
    }
    lock_release(&blocks.lock);
}

void *blocks_map(size_t bytes, size_t alignment)
{
    struct block block;
    if (!map_block(&block, bytes, alignment)) {
        return NULL;
    }
    lock_acquire(&blocks.lock);
    unmap_leftovers();
    const bool kept = grow();
    if (kept) {
        insert(blocks.table, blocks.places, block);
        blocks.count++;
        stat_add(&blocks.bytes, block.bytes);
    }
    lock_release(&blocks.lock);
    if (!kept) {
        unmap(block);
        return NULL;
    }
    return block.start;
}

size_t blocks_usable(const void *p)
{
    lock_acquire(&blocks.lock);
    const struct block *block = find(p);
    const size_t bytes = block == NULL ? 0 : block->bytes;
    lock_release(&blocks.lock);
    return bytes;
}

bool blocks_unmap(void *p)
{
    lock_acquire(&blocks.lock);
    struct block *block = find(p);
    const bool found = block != NULL;
    struct block copy;
    if (found) {
        copy = *block;
        erase(block);
        stat_set(&blocks.bytes, stat_get(&blocks.bytes) - copy.bytes);
    }
    lock_release(&blocks.lock);
    if (found) {
        unmap(copy);
    }
    return found;
}

size_t blocks_bytes(void)
{
    return stat_get(&blocks.bytes);
}
