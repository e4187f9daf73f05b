/* The words of a record are stored with release and loaded with acquire: a reader that finds a word of a newer record
 * also finds that its sequence has changed. */
#include "common/record_ring.h"

#include "os/fatal.h"

#include <string.h>

static const char ring_magic[8] = { 't', 's', 'l', 'a', 'b', 'r', 'n', 'g' };

void ring_begin(struct ring *ring, void *start, size_t bytes)
{
    struct ring_header *const header = start;
    invariant((uintptr_t)start % CACHE_LINE == 0 && bytes >= RING_HEADER_BYTES + sizeof(struct ring_record));
    const size_t records = (size_t)1 << bit_highest((bytes - RING_HEADER_BYTES) / sizeof(struct ring_record));
    header->version = RING_VERSION;
    header->header_bytes = RING_HEADER_BYTES;
    header->record_bytes = sizeof(struct ring_record);
    header->records = (uint32_t)records;
    memcpy(header->magic, ring_magic, sizeof header->magic);
    *ring = (struct ring){ header, (struct ring_record *)(void *)((char *)start + RING_HEADER_BYTES), records - 1 };
    invariant(is_power_of_two(records) && load_plain(&header->next) == 0);
}

bool ring_write(const struct ring *ring, uint64_t when_ns, uint64_t what, const uint64_t word[RING_WORDS])
{
    const uint64_t number = fetch_add_relaxed(&ring->header->next, 1);
    const uint64_t writing = 2 * number + 1;
    struct ring_record *const record = &ring->records[number & ring->mask];
    uint64_t found = load_relaxed(&record->sequence);
    /* Another thread writes there, or was faster and has gone round. */
    const bool taken = (found & 1) != 0 || found > writing || !cas_acquire(&record->sequence, &found, writing);
    if (unlikely(taken)) {
        counter_add_shared(&ring->header->dropped, 1);
        return false;
    }
    invariant(load_plain(&record->sequence) == writing);
    store_release(&record->when_ns, when_ns);
    store_release(&record->what, what);
    for (unsigned i = 0; i < RING_WORDS; i++) {
        store_release(&record->word[i], word[i]);
    }
    invariant(load_plain(&record->sequence) == writing);
    store_release(&record->sequence, writing + 1);
    return true;
}

/* uncounted: only tests call it; people read the file */
bool ring_read(const struct ring *ring, uint64_t place, struct ring_entry *entry)
{
    struct ring_record *const record = &ring->records[place];
    invariant(place <= ring->mask);
    const uint64_t sequence = load_acquire(&record->sequence);
    entry->number = sequence / 2 - 1;
    entry->when_ns = load_acquire(&record->when_ns);
    entry->what = load_acquire(&record->what);
    for (unsigned i = 0; i < RING_WORDS; i++) {
        entry->word[i] = load_acquire(&record->word[i]);
    }
    return sequence != 0 && sequence % 2 == 0 && load_relaxed(&record->sequence) == sequence;
}
