/* The text is written line by line into a buffer on the stack. The table of classes asks for each class twice, so that
 * it needs no room for all of them. */
#include "report/accounts_text.h"

#include "audit/accounts.h"
#include "audit/census.h"
#include "os/fatal.h"
#include "os/text.h"
#include "report/sized_structs.h"
#include "report/statistics.h"

enum { NAME_COLUMNS = 22, BYTE_COLUMNS = 16, COUNT_COLUMNS = 11, CLASSES_TOLD = 12 };

/* Room for lines of less than half a KiB beyond what text_send_part leaves. */
enum { LINES_BYTES = REPORT_PART_BYTES + 512 };

TSLAB_API enum tslab_status tslab_accounts_get_sized(struct tslab_accounts *accounts, size_t size)
{
    if (accounts == NULL || !sized_is_valid(size)) {
        return TSLAB_INVALID;
    }
    struct tslab_accounts found;
    (void)accounts_take(&found, NULL);
    sized_give(accounts, size, &found, sizeof found);
    return TSLAB_OK;
}

TSLAB_API enum tslab_status tslab_class_stats_get_sized(uint32_t number, struct tslab_class_stats *stats, size_t size)
{
    if (number >= CLASS_LIMIT - 1 || stats == NULL || !sized_is_valid(size)) {
        return TSLAB_INVALID;
    }
    struct tslab_class_stats found;
    stats_class_get(number + 1, &found);
    sized_give(stats, size, &found, sizeof found);
    return TSLAB_OK;
}

static void print_account(struct text *text, const char *name, uint64_t bytes, uint64_t untouched)
{
    if (bytes != 0) {
        text_string(text, "  ");
        text_column(text, name, NAME_COLUMNS);
        text_number(text, bytes, BYTE_COLUMNS);
        text_number(text, untouched, BYTE_COLUMNS);
        text_string(text, "\n");
    }
}

void accounts_print(int fd)
{
    char buffer[LINES_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    struct tslab_accounts accounts;
    accounts_take_resident(&accounts);
    text_string(&text, "accounts of memory\n  ");
    text_column(&text, "", NAME_COLUMNS);
    text_right(&text, "bytes", BYTE_COLUMNS);
    text_right(&text, "untouched", BYTE_COLUMNS);
    text_string(&text, "\n");
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        const struct tslab_account *const account = account_of(&accounts, i);
        print_account(&text, account_names[i], account->bytes, account->untouched_bytes);
        text_send_part(&text, fd);
    }
    print_account(&text, "committed", accounts.committed_bytes, accounts.untouched_bytes);
    text_send(&text, fd);
}

/* The bytes of a class that have pages, and that nobody has: free slots, and what is behind the last ones. */
static uint64_t waste_of(unsigned class)
{
    struct census_class sum;
    census_class(class, false, &sum);
    const uint64_t idle = sum.free_slots * class_geometry[class].size + sum.slabs * census_tail_bytes(class);
    return idle > sum.untouched_bytes ? idle - sum.untouched_bytes : 0;
}

static void print_fragments(struct text *text, unsigned class, uint64_t waste)
{
    struct tslab_class_stats stats;
    invariant(class != CLASS_NONE && waste != 0);
    stats_class_get(class, &stats);
    const uint64_t cells[] = { stats.size,          waste,
                               stats.live_objects,  stats_cached_slots(&stats),
                               stats.slabs,         stats.slabs_full,
                               stats.slabs_partial, stats.slabs_empty,
                               stats.pages,         stats.pages_free,
                               stats.pages_kept_1,  stats.pages_kept_2,
                               stats.pages_kept_4 };
    for (unsigned i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        text_number(text, cells[i], i == 0 ? 7 : COUNT_COLUMNS);
    }
    text_string(text, "\n");
}

unsigned class_with_most(const uint64_t bytes[CLASS_LIMIT])
{
    unsigned most = CLASS_NONE;
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        most = bytes[c] > bytes[most] ? c : most;
    }
    invariant(bytes[CLASS_NONE] == 0);
    return most;
}

void classes_print(int fd)
{
    static const char *const heads[] = { "size",  "waste", "live", "cached", "slabs",  "full",  "partial",
                                         "empty", "pages", "free", "kept-1", "kept-2", "kept-4" };
    char buffer[LINES_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    uint64_t wasted[CLASS_LIMIT] = { 0 };
    for (unsigned c = 1; c < CLASS_LIMIT; c++) {
        wasted[c] = waste_of(c);
    }
    text_string(&text, "fragmentation, the classes that waste most first\n");
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        text_right(&text, heads[i], i == 0 ? 7 : COUNT_COLUMNS);
    }
    text_string(&text, "\n");
    unsigned class;
    for (unsigned i = 0; i < CLASSES_TOLD && (class = class_with_most(wasted)) != CLASS_NONE; i++) {
        print_fragments(&text, class, wasted[class]);
        wasted[class] = 0;
        text_send_part(&text, fd);
    }
    text_send(&text, fd);
}
