/* Where things are, for debuggers: a table of names, addresses and numbers in a section of its own, `.tslab_layout`. It
 * survives strip, and is in core files' libraries, so tools/gdb/tslab.py needs neither symbols nor debug information,
 * and reads each version of the library by that version's own table. Nobody in the library reads it.
 *
 * There is a row for each variable that the script starts from, and for each field and size that it needs. */
#include "base/build.h"

#include <tslab/tslab.h>

#include "common/guard.h"
#include "malloc/engine.h"
#include "slab/epoch_record.h"
#include "slab/generation.h"
#include "space/depot.h"
#include "thread/exchange.h"
#include "thread/thread.h"

#include <stddef.h>

#define TEXT_OF_NUMBER(x)               #x
#define LIBRARY_OF(major, minor, patch) TEXT_OF_NUMBER(major) "." TEXT_OF_NUMBER(minor) "." TEXT_OF_NUMBER(patch)
#define LIBRARY                         LIBRARY_OF(TSLAB_VERSION_MAJOR, TSLAB_VERSION_MINOR, TSLAB_VERSION_PATCH)

#define AT(what)           { #what, &(what), 0 },
#define NUMBER(what)       { #what, NULL, (what) },
#define FIELD(what, field) { #what "." #field, NULL, offsetof(struct what, field) },
#define SIZE(what)         { "sizeof " #what, NULL, sizeof(struct what) },

enum { LAYOUT_VERSION = 1 };

struct layout_row {
    const char *name;
    const void *at; /* an address, or NULL: */
    uint64_t number;
};

struct layout {
    char magic[8];
    uint32_t version, rows;
    const char *library; /* its version */
    const struct layout_row *row;
};

static const struct layout_row layout_rows[] = {
    /* clang-format off */
    AT(arena) AT(class_geometry) AT(epoch_process) AT(epoch_blocks) AT(registry) AT(heap_made) AT(exchanges) AT(engine) AT(depot)
    NUMBER(UNIT_SHIFT) NUMBER(GRANULE_SHIFT) NUMBER(CLASS_LIMIT) NUMBER(WORD_SLOTS) NUMBER(CHUNK_UNITS) NUMBER(SEAL_BYTES)
    NUMBER(TAG_LARGE) NUMBER(TAG_CHUNK) NUMBER(AFFINITY_SHIFT) NUMBER(AFFINITY_HANDLE) NUMBER(PLACE_LENT)
    NUMBER(WORD_CLASS_SHIFT) NUMBER(WORD_EPOCH_SHIFT) NUMBER(EPOCH_BLOCK_SHIFT) NUMBER(EPOCH_BLOCKS) NUMBER(EPOCH_GENERATION_SHIFT)
    NUMBER(EPOCH_LABEL_BYTES) NUMBER(CODE_EXACT) NUMBER(CODE_STEP_GRANULES) NUMBER(HOT_RUNS)
    FIELD(arena, base) FIELD(arena, committed_units) FIELD(arena, units) FIELD(arena, runs) FIELD(arena, codes_of_zero)
    SIZE(unit) FIELD(unit, tag) FIELD(unit, first)
    SIZE(run) FIELD(run, word) FIELD(run, units) FIELD(run, kind) FIELD(run, large_bytes) FIELD(run, live) FIELD(run, bitmap)
    FIELD(run, empty.dirty_since_ms)
    SIZE(class_geometry) FIELD(class_geometry, size) FIELD(class_geometry, slots) FIELD(class_geometry, words) FIELD(class_geometry, units)
    SIZE(epoch) FIELD(epoch, word) FIELD(epoch, id) FIELD(epoch, label) FIELD(epoch, opened_ms) FIELD(epoch, closed_ms)
    FIELD(epoch, owner) FIELD(epoch, holds)
    FIELD(epoch_block, out) FIELD(epoch_block, records)
    FIELD(hold, cursor) FIELD(hold, next) FIELD(cursor, at) FIELD(cursor, start)
    FIELD(registry, made) FIELD(thread, heap) FIELD(thread, made_before) FIELD(thread, number)
    FIELD(heap, front) FIELD(heap, made_before) FIELD(heap, epoch) FIELD(heap, hot) FIELD(heap, rank) FIELD(heap, part)
    FIELD(front, magazine) SIZE(magazine) FIELD(magazine, top) FIELD(magazine, end) FIELD(magazine, limit)
    SIZE(heap_class) FIELD(heap_class, slab) FIELD(heap_class, claimed) FIELD(heap_class, claimed_start) FIELD(heap_class, stock)
    FIELD(heap_class, outbox) FIELD(heap_class, outbox_slots) FIELD(heap_class, retired)
    FIELD(stock_class, trays) SIZE(tray) FIELD(tray, next) FIELD(tray, count)
    SIZE(exchange) FIELD(exchange, trays)
    FIELD(engine, running) FIELD(engine, started_ms) FIELD(depot, units)
    /* clang-format on */
};

/* Not const: it holds addresses, which the loader fills in. */
__attribute__((section(".tslab_layout"), used)) static struct layout tslab_layout = {
    .magic = { 't', 's', 'l', 'a', 'b', 'l', 'a', 'y' },
    .version = LAYOUT_VERSION,
    .rows = sizeof layout_rows / sizeof layout_rows[0],
    .library = LIBRARY,
    .row = layout_rows,
};
