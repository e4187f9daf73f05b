/* The soak program.
 *
 *   soak [--seconds N] [--rounds N] [--requests N] [--workers N] [--rest-ms N] [--seed N] [--objects N]
 *        [--policy NAME] [--fault WHAT]
 *
 * Rounds of the same amount of work, until the time or the number of rounds is over: requests on all workers while
 * others fork and threads come and go, then rest, then a trim. At rest the statistics must be what the tables say. Each
 * round is a line of JSON on stdout, with the RSS at each of its moments; whether that grows is for the reader of the
 * lines to say. The last line says that nothing is left. Whatever is wrong ends the program with a sentence.
 *
 * Faults, to see that the program and its reader find them: leak-epoch, leak-object, flip-byte, and leak-pages, which
 * takes 512 KiB a round that no allocator knows of. */
#include "soak.h"

#include "company.h"
#include "figures.h"

#include "audit/accounts.h"
#include "space/arena.h"
#include "space/depot.h"
#include "thread/keeper.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS_MOST = 16, GUESTS = 8, GUEST_REQUESTS = 8, FORKS_A_ROUND = 3, CHILD_REQUESTS = 10 };
enum { PATIENCE_SECONDS = 300, CHILD_WELL = 50, LEAKED_BYTES = 512 * 1024, ROUND_OF_FAULT = 2 };

static struct worker workers[WORKERS_MOST], guests[GUESTS], own; /* own: the main thread's */
static pthread_t worker_threads[WORKERS_MOST], guest_threads[GUESTS];
static struct {
    unsigned long seconds, rounds, requests, workers, rest_ms, seed;
    const char *fault;
} asked = { .requests = 1500, .workers = 3, .rest_ms = 200, .seed = 1, .fault = "" };

static pthread_barrier_t barrier;
static bool over;

/* Threads. */

static void meet(void)
{
    const int met = pthread_barrier_wait(&barrier);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* Nothing of the thread is left in an epoch of units, and its counters are up to date. */
static void come_to_rest(void)
{
    struct tslab_stats stats;
    tslab_work_rotate();
    CHECK(tslab_work_begin(UNIT_LABEL) == TSLAB_OK && tslab_work_end() == TSLAB_OK);
    tslab_stats_get(&stats);
}

/* A round, as a worker sees it. */
static void *work(void *argument)
{
    struct worker *const worker = argument;
    worker_begins(worker, asked.seed * 1000 + (uint64_t)(worker - workers));
    for (meet(); !over; meet()) {
        for (unsigned long n = 0; n < asked.requests; n++) {
            request(worker);
        }
        meet(); /* all have worked */
        meet(); /* the RSS was read */
        requests_rest(worker);
        meet(); /* nothing is on its way from one thread to another */
        requests_rest(worker);
        come_to_rest();
        meet(); /* all rest */
        meet(); /* that was looked at */
        (void)tslab_trim();
        meet(); /* all have trimmed */
    }
    worker_ends(worker);
    return NULL;
}

/* A thread that comes, works a little, and goes. Every other goes while it is inside of an epoch. */
static void *visit(void *argument)
{
    struct worker *const guest = argument;
    worker_begins(guest, guest->random);
    for (unsigned n = 0; n < GUEST_REQUESTS; n++) {
        request(guest);
    }
    requests_end(guest);
    CHECK((guest - guests) % 2 == 0 || tslab_epoch_enter(guest->keeper) >= 0);
    return NULL;
}

static void add(struct counters *sum, const struct counters *part)
{
#define COUNTER_ADD(name, text) sum->name += part->name;
    COUNTERS(COUNTER_ADD)
}

static void guests_come(uint64_t round)
{
    for (size_t i = 0; i < GUESTS; i++) {
        guests[i].random = asked.seed * 1000000 + round * GUESTS + i;
        make_counted(&guest_threads[i], visit, &guests[i]);
    }
}

/* Another thread frees the objects that they kept. */
static void guests_go(void)
{
    for (size_t i = 0; i < GUESTS; i++) {
        CHECK(pthread_join(guest_threads[i], NULL) == 0);
        worker_checks(&guests[i]);
        worker_ends(&guests[i]);
        add(&own.done, &guests[i].done);
        own.done.threads++;
    }
}

/* The child has all objects, and one thread. */
static _Noreturn void be_the_child(void)
{
    alarm(PATIENCE_SECONDS);
    const uint64_t reports = own.done.reports;
    worker_checks(&own);
    for (unsigned n = 0; n < CHILD_REQUESTS; n++) {
        request(&own);
    }
    requests_rest(&own);
    worker_checks(&own);
    worker_ends(&own);
    _exit(CHILD_WELL + (int)(own.done.reports - reports));
}

static void fork_one(void)
{
    const pid_t child = requests_fork();
    CHECK(child >= 0);
    if (child == 0) {
        be_the_child();
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_SAY(WIFEXITED(status) && WEXITSTATUS(status) >= CHILD_WELL, "the child of a fork ended with status %#x",
              (unsigned)status);
    own.done.reports += (uint64_t)(WEXITSTATUS(status) - CHILD_WELL);
    own.done.forks++;
}

/* At rest: the statistics against the tables, and the accounts against each other. */

struct tally {
    size_t objects, bytes; /* of slots */
    size_t run_bytes;      /* of large runs */
};

static void count_object(struct tally *tally, const char *p)
{
    const size_t unit = arena_unit(p);
    const uint32_t tag = load_plain(&arena.units[unit].tag);
    if (tag == TAG_CHUNK) {
        return; /* its epoch counts it */
    }
    if (tag_class(tag) != CLASS_NONE) {
        tally->objects++;
        tally->bytes += tslab_usable_size(p);
    } else {
        tally->run_bytes += (size_t)arena.runs[unit].units << UNIT_SHIFT;
    }
}

static void count_worker(struct tally *tally, const struct worker *worker)
{
    for (size_t i = 0; i < POOL; i++) {
        count_object(tally, worker->pool[i].p);
    }
    for (size_t i = 0; i < KEPT_HANDLES; i++) {
        count_object(tally, worker->kept[i].item.p);
    }
}

static void equal(const char *what, size_t found, size_t wanted)
{
    CHECK_SAY(found == wanted, "at rest the statistics say %zu %s, and the tables %zu", found, what, wanted);
}

static void check_epochs(const struct tslab_stats *stats)
{
    static struct tslab_epoch_stats list[64];
    const size_t count = tslab_epoch_list(list, COUNT_OF(list));
    CHECK_SAY(count <= COUNT_OF(list), "%zu epochs are there at rest", count);
    size_t keepers = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_keeper = strcmp(list[i].label, KEEPER_LABEL) == 0;
        CHECK_SAY(is_keeper || strcmp(list[i].label, UNIT_LABEL) == 0, "an epoch '%s' was never closed", list[i].label);
        CHECK_SAY(list[i].live_objects == (is_keeper ? KEPT_HANDLES : 0), "%llu objects live in an epoch '%s'",
                  (unsigned long long)list[i].live_objects, list[i].label);
        keepers += is_keeper;
    }
    equal("epochs that keep something", keepers, asked.workers + 1);
    equal("open epochs", stats->epochs_open, count);
    equal("draining epochs", stats->epochs_draining, 0);
}

/* The sum of all accounts. */
static uint64_t take_accounts(struct accounts *accounts)
{
    (void)accounts_take(accounts, RESIDENT_UNTOLD);
    uint64_t sum = 0;
    for (const struct account *a = &accounts->live_slots; (const void *)a < (const void *)(accounts + 1); a++) {
        CHECK(a->untouched_bytes <= a->bytes);
        sum += a->bytes;
    }
    return sum;
}

/* Each committed byte is in one account, as soon as nothing works behind the program's back. */
static void check_accounts(size_t live_bytes, size_t run_bytes)
{
    enum { TRIES = 100, TRY_MICROSECONDS = 10000 };
    struct accounts accounts;
    uint64_t sum = take_accounts(&accounts);
    for (unsigned i = 0; i < TRIES && (sum != accounts.committed_bytes || accounts.moving_runs.bytes != 0); i++) {
        usleep(TRY_MICROSECONDS);
        sum = take_accounts(&accounts);
    }
    equal("bytes in accounts", sum, accounts.committed_bytes);
    equal("bytes of runs in motion", accounts.moving_runs.bytes, 0);
    equal("bytes in the account of slots", accounts.live_slots.bytes, live_bytes);
    equal("bytes in the accounts of large objects", accounts.live_large.bytes + accounts.large_tails.bytes, run_bytes);
}

static void check_at_rest(struct tslab_stats *stats)
{
    struct tally tally = { 0 };
    for (size_t i = 0; i < asked.workers; i++) {
        count_worker(&tally, &workers[i]);
    }
    count_worker(&tally, &own);
    if (TSLAB_CHECKED > 1) {
        tslab_stats_get(stats);
        check_epochs(stats);
        return; /* seals and traps are in no table */
    }
    lock_acquire(&keeper.lock); /* else it may have runs in its hands */
    tslab_stats_get(stats);
    equal("objects in slabs", stats->live_objects, tally.objects);
    equal("bytes in slabs", stats->live_bytes, tally.bytes);
    equal("bytes of large objects", stats->large_bytes, tally.run_bytes);
    equal("allocations that were not freed", stats->allocations - stats->frees, tally.objects);
    /* Every unit is in use or in the depot, dirty or clean. */
    size_t all = 1 + counter_get(&depot_usage.lost_units);
    for (unsigned kind = 0; kind < RUN_KINDS; kind++) {
        all += counter_get(&depot.units[kind]);
    }
    equal("units", all, arena.committed_units);
    CHECK(stats->dirty_bytes + figure("clean_bytes") + stats->slab_bytes + stats->chunk_bytes <=
          stats->committed_bytes);
    CHECK(stats->live_bytes <= stats->slab_bytes);
    check_accounts(tally.bytes, tally.run_bytes);
    check_epochs(stats);
    lock_release(&keeper.lock);
}

static void check_that_nothing_is_left(void)
{
    struct tslab_stats stats;
    (void)tslab_trim();
    lock_acquire(&keeper.lock);
    tslab_stats_get(&stats);
    lock_release(&keeper.lock);
    equal("objects in slabs", stats.live_objects, 0);
    equal("bytes of slabs", stats.slab_bytes, 0);
    equal("bytes of large objects", stats.large_bytes, 0);
    equal("bytes in caches", stats.cached_bytes, 0);
    equal("dirty bytes", stats.dirty_bytes, 0);
    equal("bytes of chunks", stats.chunk_bytes, 0);
    equal("epochs", tslab_epoch_list(NULL, 0), 0);
}

/* Faults that are asked for. */

static void commit_fault(uint64_t round)
{
    const bool now = round == ROUND_OF_FAULT;
    if (now && strcmp(asked.fault, "leak-epoch") == 0) {
        CHECK(tslab_epoch_open(&(struct tslab_epoch_options){ .label = "forgotten" }).id != 0);
    } else if (now && strcmp(asked.fault, "leak-object") == 0) {
        CHECK(tslab_malloc(100) != NULL);
    } else if (now && strcmp(asked.fault, "flip-byte") == 0) {
        const struct item *const item = &workers[0].pool[7];
        item->p[item->size / 2] ^= 1;
    } else if (strcmp(asked.fault, "leak-pages") == 0) {
        void *const pages =
            mmap(NULL, LEAKED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        CHECK(pages != MAP_FAILED);
    }
}

/* Rounds. */

struct moments {
    size_t work_kib, rest_kib, trimmed_kib;
};

static double seconds_since(const struct timespec *begin)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

static void say_counters(void)
{
    struct counters sum = own.done;
    for (size_t i = 0; i < asked.workers; i++) {
        add(&sum, &workers[i].done);
    }
    const char *comma = "";
    printf("\"done\":{");
#define COUNTER_SAY(name, text)                                                                                        \
    printf("%s\"" #name "\":%llu", comma, (unsigned long long)sum.name);                                               \
    comma = ",";
    COUNTERS(COUNTER_SAY)
    printf("}");
}

static void say_round(uint64_t round, double seconds, const struct moments *moments, const struct tslab_stats *stats)
{
    printf("{\"kind\":\"round\",\"round\":%llu,\"seconds\":%.1f,", (unsigned long long)round, seconds);
    printf("\"rss_kib\":{\"work\":%zu,\"rest\":%zu,\"trimmed\":%zu},", moments->work_kib, moments->rest_kib,
           moments->trimmed_kib);
    printf("\"stats\":{\"live_bytes\":%zu,\"large_bytes\":%zu,\"slab_bytes\":%zu,\"cached_bytes\":%zu,"
           "\"dirty_bytes\":%zu,\"metadata_bytes\":%zu,\"committed_bytes\":%zu,\"threads\":%zu},",
           stats->live_bytes, stats->large_bytes, stats->slab_bytes, stats->cached_bytes, stats->dirty_bytes,
           stats->metadata_bytes, stats->committed_bytes, stats->threads);
    say_counters();
    printf("}\n");
    fflush(stdout);
}

static void run_round(uint64_t round, const struct timespec *begin)
{
    struct moments moments;
    struct tslab_stats stats;
    alarm(PATIENCE_SECONDS);
    meet();
    guests_come(round);
    for (unsigned n = 0; n < FORKS_A_ROUND && SOAK_FORKS; n++) {
        fork_one();
    }
    guests_go();
    meet();
    moments.work_kib = resident_kib();
    meet();
    meet();
    meet();
    commit_fault(round);
    usleep((useconds_t)asked.rest_ms * 1000);
    moments.rest_kib = resident_kib();
    for (size_t i = 0; i < asked.workers; i++) {
        worker_checks(&workers[i]);
    }
    worker_checks(&own);
    check_at_rest(&stats);
    meet();
    (void)tslab_trim();
    meet();
    moments.trimmed_kib = resident_kib();
    say_round(round, seconds_since(begin), &moments, &stats);
}

static void parse(int argc, char **argv)
{
    const struct {
        const char *name;
        unsigned long *value;
    } numbers[] = { { "--seconds", &asked.seconds },   { "--rounds", &asked.rounds },
                    { "--requests", &asked.requests }, { "--workers", &asked.workers },
                    { "--rest-ms", &asked.rest_ms },   { "--seed", &asked.seed },
                    { "--objects", &requests_objects } };
    static const char *const policies[] = { "drain", "release", "report", "trap" };
    for (int i = 1; i < argc; i += 2) {
        bool known = i + 1 < argc && strcmp(argv[i], "--fault") == 0;
        if (known) {
            asked.fault = argv[i + 1];
        }
        for (size_t n = 0; n < COUNT_OF(policies) && i + 1 < argc && strcmp(argv[i], "--policy") == 0; n++) {
            if (strcmp(argv[i + 1], policies[n]) == 0) {
                requests_policy = (enum tslab_policy)(TSLAB_POLICY_DRAIN + n);
                known = true;
            }
        }
        for (size_t n = 0; n < COUNT_OF(numbers) && i + 1 < argc; n++) {
            if (strcmp(argv[i], numbers[n].name) == 0) {
                *numbers[n].value = strtoul(argv[i + 1], NULL, 10);
                known = true;
            }
        }
        CHECK_SAY(known, "%s is no option with a value; the beginning of tests/soak/soak.c lists them", argv[i]);
    }
    CHECK_SAY(asked.workers >= 1 && asked.workers <= WORKERS_MOST, "--workers must be from 1 to %d", WORKERS_MOST);
    CHECK_SAY(requests_objects >= 20 && requests_objects <= PER_REQUEST, "--objects must be from 20 to %d",
              PER_REQUEST);
    CHECK_SAY(asked.requests > 0, "--requests must be at least 1");
    CHECK_SAY(asked.seconds > 0 || asked.rounds > 0, "--seconds or --rounds must say how long");
}

int main(int argc, char **argv)
{
    struct timespec begin;
    parse(argc, argv);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &begin) == 0);
    CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)asked.workers + 1) == 0);
    worker_begins(&own, asked.seed * 1000 + WORKERS_MOST);
    for (size_t i = 0; i < asked.workers; i++) {
        make_counted(&worker_threads[i], work, &workers[i]);
    }
    for (uint64_t round = 1; (asked.rounds == 0 || round <= asked.rounds) &&
                             (asked.seconds == 0 || seconds_since(&begin) < (double)asked.seconds);
         round++) {
        run_round(round, &begin);
    }
    over = true;
    meet();
    for (size_t i = 0; i < asked.workers; i++) {
        CHECK(pthread_join(worker_threads[i], NULL) == 0);
    }
    worker_ends(&own);
    check_that_nothing_is_left();
    printf("{\"kind\":\"end\",\"seconds\":%.1f,", seconds_since(&begin));
    say_counters();
    printf("}\n");
    return 0;
}
