/* The walks for the accounts take at most one part in WALK_SHARE of the time. */
#include "audit/gauges.h"

#include "audit/accounts.h"
#include "common/record_ring.h"
#include "common/timeline.h"
#include "os/fatal.h"
#include "os/os.h"
#include "space/depot.h"

enum { WALK_NS = 100000000, WALK_SHARE = 50 };

#define NAME_AND_LINE_END(name, ...) #name "\n"
static const char sampled_names[] = ACCOUNT_FIGURES(NAME_AND_LINE_END);
_Static_assert(sizeof sampled_names <= RING_NAMES_BYTES, "the file has room for them");

static atomic_u64 next_walk_ns;

static uint64_t bytes_of(enum run_kind kind)
{
    return (uint64_t)counter_get(&depot.units[kind]) << UNIT_SHIFT;
}

static void note_accounts(uint64_t now_ns)
{
    struct accounts accounts;
    invariant(timeline_is_on());
    (void)accounts_take(&accounts, NULL);
    for (unsigned first = 0; first < ACCOUNTS; first += RING_WORDS) {
        uint64_t words[RING_WORDS];
        const unsigned count = first + RING_WORDS <= ACCOUNTS ? RING_WORDS : ACCOUNTS - first;
        invariant(count != 0 && count <= RING_WORDS);
        for (unsigned i = 0; i < count; i++) {
            words[i] = account_of(&accounts, first + i)->bytes;
        }
        timeline_note(TIMELINE_NUMBERS, first, now_ns, words, count);
    }
    const uint64_t done_ns = os_now_ns();
    const uint64_t took_ns = done_ns > now_ns ? done_ns - now_ns : 0;
    store_plain(&next_walk_ns, done_ns + max_size(WALK_NS, took_ns * WALK_SHARE));
}

static void read_gauges(void)
{
    const uint64_t now_ns = os_now_ns();
    const uint64_t words[RING_WORDS] = { os_resident_bytes(), bytes_of(RUN_USED), bytes_of(RUN_DIRTY),
                                         bytes_of(RUN_STUCK),
                                         (uint64_t)load_plain(&arena.committed_units) << UNIT_SHIFT };
    invariant(timeline.sample == read_gauges);
    timeline_note(TIMELINE_MEMORY, 0, now_ns, words, RING_WORDS);
    if (now_ns >= load_plain(&next_walk_ns)) {
        note_accounts(now_ns);
    }
}

void gauges_start(void)
{
    timeline_start(read_gauges, sampled_names);
}
