/* The law of memory: histories at random from a seed, and three checks after each. usage: law SEED...
 *
 * serve: objects of other sizes, of the first thread, take no more fresh pages than they lie on beyond what was free,
 * an eighth and 1 MiB. rest:  after a trim there are no more pages than living objects lie on, an eighth, a hundredth
 * of the peak, and 512 KiB. limit: such objects are not refused (but for 64 KiB) below a hard limit of the pages of
 * living objects, their own bytes, an eighth of both, and 2 MiB. Each seed has two processes of its own, as the limit
 * gives memory back. A line says for each check how much of what the law allows was used. */
#include "workers.h"

#include <inttypes.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <tslab/tslab.h>
#include <unistd.h>

enum {
    OBJECTS_MOST = 200000,
    BYTES = 16 << 20,
    SESSIONS = 20,
    SURVIVES_OF = 64,
    SERVED_BYTES = 8 << 20,
    MIB_BYTES = 1 << 20
};

struct history {
    enum { NO_EPOCH, ONE_EPOCH, SESSION_EPOCHS, REQUEST_EPOCHS, EPOCH_KINDS } epochs;
    enum { IN_ORDER, IN_REVERSE, AT_RANDOM, WITH_SURVIVORS, ORDERS } order;
    unsigned threads, rounds;
    size_t least, most; /* sizes */
};

static const char *const epoch_names[] = { "no epoch", "one epoch", "an epoch a session", "an epoch a request" };
static const char *const order_names[] = { "in order", "in reverse", "at random", "with survivors" };
static const size_t sizes[][2] = { { 64, 64 }, { 16, 2000 }, { 300, 300 }, { 16, 100000 } };

struct part {
    const struct history *history;
    uint64_t random;
    tslab_epoch one, sessions[SESSIONS];
    char **objects;
    size_t *bytes;
    size_t count; /* of those that live */
};

static uint64_t draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random >> 11;
}

static struct history history_of(uint64_t seed)
{
    static const unsigned threads[] = { 1, 1, 2, 8 };
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (unsigned i = 0; i < 5; i++) {
        (void)draw(&random);
    }
    const size_t *const size = sizes[draw(&random) % COUNT_OF(sizes)];
    return (struct history){ .epochs = draw(&random) % EPOCH_KINDS,
                             .order = draw(&random) % ORDERS,
                             .threads = threads[draw(&random) % COUNT_OF(threads)],
                             .rounds = 1 + (unsigned)(draw(&random) % 4),
                             .least = size[0],
                             .most = size[1] };
}

/* Anonymous memory that is there, in bytes. */
static size_t memory(void)
{
    return kib_of("/proc/self/smaps_rollup", "Anonymous:") * 1024;
}

/* The same at its highest, with the pages of files. */
static size_t most_memory(void)
{
    return kib_of("/proc/self/status", "VmHWM:") * 1024;
}

static int compare(const void *a, const void *b)
{
    const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Memory of the test's own, which is there at once. */
static void *own(size_t bytes)
{
    void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

enum { PAGES_MOST = 2 * OBJECTS_MOST };
static uintptr_t *pages;

/* The bytes of the pages that the objects of some parts lie on. */
static size_t pages_of(const struct part *parts, unsigned count)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    size_t n = 0, different = 0;
    for (unsigned k = 0; k < count; k++) {
        for (size_t i = 0; i < parts[k].count; i++) {
            const uintptr_t start = (uintptr_t)parts[k].objects[i], end = start + parts[k].bytes[i];
            for (uintptr_t at = start / page; at * page < end; at++) {
                CHECK(n < PAGES_MOST);
                pages[n++] = at;
            }
        }
    }
    qsort(pages, n, sizeof *pages, compare);
    for (size_t i = 0; i < n; i++) {
        different += i == 0 || pages[i] != pages[i - 1];
    }
    return different * page;
}

static void enter(const struct part *part, unsigned round)
{
    const struct history *const history = part->history;
    if (history->epochs != NO_EPOCH) {
        CHECK(tslab_epoch_enter(history->epochs == ONE_EPOCH ? part->one : part->sessions[round % SESSIONS]) >= 0);
    }
}

static void leave(const struct part *part, unsigned round)
{
    const struct history *const history = part->history;
    if (history->epochs != NO_EPOCH) {
        CHECK(tslab_epoch_leave(history->epochs == ONE_EPOCH ? part->one : part->sessions[round % SESSIONS]) >= 0);
    }
}

/* Allocates objects until they have this many bytes together. */
static void fill(struct part *part, size_t least, size_t most, size_t bytes)
{
    for (size_t sum = 0; sum < bytes && part->count < OBJECTS_MOST; part->count++) {
        const size_t size = least + draw(&part->random) % (most - least + 1);
        char *const p = part->objects[part->count] = malloc(size);
        CHECK(p != NULL);
        memset(p, 1, size);
        part->bytes[part->count] = size;
        sum += size;
    }
}

static void swap(struct part *part, size_t i, size_t j)
{
    char *const p = part->objects[i];
    const size_t bytes = part->bytes[i];
    part->objects[i] = part->objects[j];
    part->bytes[i] = part->bytes[j];
    part->objects[j] = p;
    part->bytes[j] = bytes;
}

/* Frees those from `first` on, in the history's order. Those that survive follow one another behind it. */
static void empty(struct part *part, size_t first)
{
    const size_t end = part->count;
    for (size_t i = end; part->history->order == AT_RANDOM && i > first + 1; i--) {
        swap(part, i - 1, first + draw(&part->random) % (i - first));
    }
    for (size_t i = first; part->history->order == IN_REVERSE && i < first + (end - first) / 2; i++) {
        swap(part, i, end - 1 - (i - first));
    }
    part->count = first;
    for (size_t i = first; i < end; i++) {
        if (part->history->order == WITH_SURVIVORS && draw(&part->random) % SURVIVES_OF == 0) {
            swap(part, part->count++, i);
        } else {
            free(part->objects[i]);
        }
    }
}

/* A request of one of several epochs, or all of the round. */
static void *work(void *argument)
{
    struct part *const part = argument;
    const struct history *const history = part->history;
    const bool is_parted = history->epochs >= SESSION_EPOCHS;
    const unsigned requests = is_parted ? history->rounds * SESSIONS : history->rounds;
    const size_t bytes = BYTES / history->threads / (is_parted ? SESSIONS : 1);
    for (unsigned r = 0; r < requests; r++) {
        if (history->epochs == REQUEST_EPOCHS) {
            part->sessions[r % SESSIONS] = tslab_epoch_open(NULL);
        }
        const size_t before = part->count;
        enter(part, r);
        fill(part, history->least, history->most, bytes);
        empty(part, before);
        leave(part, r);
        if (history->epochs == REQUEST_EPOCHS) {
            CHECK(tslab_epoch_close(part->sessions[r % SESSIONS], 0, NULL) >= 0);
        }
    }
    return NULL;
}

static void *serve(void *part)
{
    fill(part, 600, 1999, SERVED_BYTES);
    return NULL;
}

/* The bytes that are refused of as many as serve wants. */
static size_t refused_below(size_t limit)
{
    enum { BYTES_EACH = 1300 };
    size_t refused = 0;
    CHECK(tslab_limits_set(&(struct tslab_limits){ .hard_bytes = limit }) == TSLAB_OK);
    for (size_t sum = 0; sum < SERVED_BYTES; sum += BYTES_EACH) {
        char *const p = malloc(BYTES_EACH);
        refused += p == NULL ? BYTES_EACH : 0;
        memset(p != NULL ? p : (char[BYTES_EACH]){ 0 }, 1, BYTES_EACH);
    }
    return refused;
}

static void on_a_thread(void *(*body)(void *), struct part *parts, unsigned threads)
{
    if (threads == 1) {
        (void)body(&parts[0]);
    } else {
        in_threads(threads, body, parts, sizeof *parts);
    }
}

static struct part part_of(const struct history *history, uint64_t random)
{
    struct part part = { .history = history, .random = random };
    part.objects = own(OBJECTS_MOST * sizeof *part.objects);
    part.bytes = own(OBJECTS_MOST * sizeof *part.bytes);
    return part;
}

static size_t beyond(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* Says how much of what is allowed was used. Returns whether it was too much. */
static bool judge(const char *check, size_t is, size_t allowed)
{
    printf("  %s %.2f (%zu of %zu KiB)", check, (double)is / (double)allowed, is / 1024, allowed / 1024);
    return is > allowed;
}

static bool follow(uint64_t seed, bool is_limited)
{
    const struct history history = history_of(seed);
    struct part parts[8], served = part_of(&history, seed + 99);
    const tslab_epoch one = tslab_epoch_open(NULL);
    pages = own(PAGES_MOST * sizeof *pages);
    for (unsigned i = 0; i < history.threads; i++) {
        parts[i] = part_of(&history, seed * 31 + i + 7);
        parts[i].one = one;
        for (unsigned k = 0; history.epochs == SESSION_EPOCHS && k < SESSIONS; k++) {
            parts[i].sessions[k] = tslab_epoch_open(NULL);
        }
    }
    const size_t start = memory(), high = most_memory();
    on_a_thread(work, parts, history.threads);
    const size_t live = pages_of(parts, history.threads);
    if (is_limited) {
        const size_t allowed = live + SERVED_BYTES;
        return judge("limit", refused_below(allowed + allowed / 8 + 2 * MIB_BYTES), 64 * 1024);
    }
    const size_t peak = beyond(most_memory(), high);
    const size_t before = memory(), free_bytes = beyond(before, start + live);
    on_a_thread(serve, &served, 1);
    const size_t needed = pages_of(&served, 1), fresh = beyond(memory(), before);
    printf("seed %" PRIu64 ": %s, %u threads, %u rounds of %zu to %zu bytes, freed %s:", seed,
           epoch_names[history.epochs], history.threads, history.rounds, history.least, history.most,
           order_names[history.order]);
    bool is_bad = judge("serve", fresh, beyond(needed, free_bytes) + needed / 8 + MIB_BYTES);
    while (served.count != 0) {
        free(served.objects[--served.count]);
    }
    (void)tslab_trim();
    is_bad |= judge("rest", beyond(memory(), start), live + live / 8 + peak / 100 + MIB_BYTES / 2);
    return is_bad;
}

/* Whether one of the checks fails in a process of its own. */
static bool is_bad_in_a_child(uint64_t seed, bool is_limited)
{
    fflush(stdout);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        const bool is_bad = follow(seed, is_limited);
        fflush(stdout);
        _exit(is_bad);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status != 0;
}

int main(int count, char **seeds)
{
    unsigned broken = 0;
    for (int i = 1; i < count; i++) {
        const uint64_t seed = strtoull(seeds[i], NULL, 10);
        const bool is_bad = is_bad_in_a_child(seed, false) | is_bad_in_a_child(seed, true);
        printf(is_bad ? "  BROKEN\n" : "\n");
        broken += is_bad;
    }
    return broken != 0;
}
