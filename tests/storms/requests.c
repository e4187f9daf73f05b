/* Many threads serve requests, each in an epoch of its own. Every object carries its own proof. Some are freed by other
 * threads, before or after the epoch is closed; some survive it for long; some requests move to another thread, epoch
 * and all; some are closed while somebody is inside. Beside them is an epoch that all threads are in now and then, and
 * that somebody advances at any moment.
 *
 *   stress <threads> <requests> [policy]
 *
 * The policy is drain, release, report or trap; without it, each request has another one. Reports are on stderr. */
#include "epoch.h"

enum { ITEMS = 60, BOXES = 256, SESSIONS = 50, HOPS = 3 };

/* An object begins with its size and its seed; a pattern follows. */
struct message {
    size_t size;
    uint64_t seed;
};

static struct message *message_fill(void *p, size_t size, uint64_t seed)
{
    struct message *const message = p;
    CHECK(message != NULL && tslab_usable_size(message) >= size);
    *message = (struct message){ size, seed };
    pattern_fill(message + 1, size - sizeof *message, seed);
    return message;
}

static void message_verify(const struct message *message)
{
    CHECK_SAY(pattern_holds(message + 1, message->size - sizeof *message, message->seed), "%p was overwritten",
              (const void *)message);
}

static void message_free(struct message *message)
{
    if (message != NULL) {
        message_verify(message);
        tslab_free(message);
    }
}

struct item {
    struct message *message;
    tslab_handle handle;
};

struct request {
    tslab_epoch epoch;
    enum tslab_policy policy;
    unsigned hops; /* to other threads, that are left */
    size_t count;
    struct item items[ITEMS];
};

/* Who puts something into a box takes out what another thread has put there. */
static struct message *_Atomic messages[BOXES];
static struct request *_Atomic requests[BOXES];

static _Atomic uint64_t shared_epoch;
static atomic_size_t requests_left;
static int wanted_policy = -1;

struct worker {
    uint64_t random;
    struct message *sessions[SESSIONS];
    size_t served, moved, pending, shared, advanced;
};

static size_t chance(struct worker *worker, size_t of)
{
    return below(&worker->random, of);
}

static size_t message_size(struct worker *worker)
{
    return sizeof(struct message) + (chance(worker, 50) == 0 ? some_size(&worker->random) : chance(worker, 433));
}

/* Whether objects may outlive the epoch, and be freed by others at any time. */
static bool may_survive(enum tslab_policy policy)
{
    return policy == TSLAB_POLICY_DRAIN || policy == TSLAB_POLICY_REPORT;
}

static void add_items(struct worker *worker, struct request *request, size_t count, bool inside)
{
    for (; count > 0 && request->count < ITEMS; count--) {
        struct item *const item = &request->items[request->count++];
        const size_t size = message_size(worker), way = chance(worker, 16);
        void *p = NULL;
        item->handle.id = 0;
        if (way == 0 && size <= 32 * KILOBYTE) {
            item->handle = tslab_handle_malloc(request->epoch, size, &p);
            CHECK(item->handle.id != 0);
        } else if (way < 6 && inside && may_survive(request->policy)) {
            p = tslab_malloc(size);
        } else if (way == 6) {
            p = tslab_epoch_calloc(request->epoch, 1, size);
            CHECK(p != NULL && all_zero(p, size));
        } else {
            p = tslab_epoch_malloc(request->epoch, size);
        }
        CHECK(p != NULL && same(tslab_epoch_of(p), request->epoch));
        item->message = message_fill(p, size, random_next(&worker->random));
    }
}

static void grow_an_item(struct worker *worker, struct request *request)
{
    struct item *const item = &request->items[chance(worker, request->count)];
    if (item->handle.id == 0) {
        const size_t size = message_size(worker), old = item->message->size;
        message_verify(item->message);
        const size_t kept = size < old ? size : old;
        item->message = tslab_realloc(item->message, size);
        CHECK(item->message != NULL && same(tslab_epoch_of(item->message), request->epoch));
        CHECK(pattern_holds(item->message + 1, kept - sizeof *item->message, item->message->seed));
        (void)message_fill(item->message, size, random_next(&worker->random));
    }
}

/* Ends one item of a request in one of the ways that its policy allows. */
static void drop_item(struct worker *worker, const struct request *request, struct item *item)
{
    message_verify(item->message);
    if (item->handle.id != 0) {
        CHECK(tslab_handle_get(request->epoch, item->handle) == item->message);
        STATUS(tslab_handle_free(request->epoch, item->handle), TSLAB_OK);
        STATUS(tslab_handle_free(request->epoch, item->handle), TSLAB_STALE);
        return;
    }
    /* Survivors of a REPORT epoch are a line each, so there are few. */
    const size_t rarely = request->policy == TSLAB_POLICY_REPORT ? 4000 : 1;
    if (may_survive(request->policy) && chance(worker, 10 * rarely) == 0) {
        message_free(atomic_exchange(&messages[chance(worker, BOXES)], item->message));
    } else if (may_survive(request->policy) && chance(worker, 50 * rarely) == 0) {
        struct message **const session = &worker->sessions[chance(worker, SESSIONS)];
        message_free(*session);
        *session = item->message;
    } else if (may_survive(request->policy) || chance(worker, 2) == 0) {
        tslab_free(item->message);
    } /* else it dies with the epoch */
}

static void end_request(struct worker *worker, struct request *request)
{
    enter(request->epoch);
    add_items(worker, request, chance(worker, 10), true);
    const bool early = chance(worker, 10) == 0;
    if (early) {
        STATUS(tslab_epoch_close(request->epoch, 0, NULL), TSLAB_PENDING);
        worker->pending++;
    }
    for (size_t i = 0; i < request->count; i++) {
        drop_item(worker, request, &request->items[i]);
    }
    leave(request->epoch);
    if (!early) {
        struct tslab_epoch_report report;
        STATUS(tslab_epoch_close(request->epoch, chance(worker, 200) == 0 ? TSLAB_CLOSE_RECLAIM : 0, &report),
               TSLAB_OK);
        CHECK(report.survivors <= request->count);
    }
    free(request);
}

/* A part of the life of a request; it goes on elsewhere, or ends here. */
static void serve_request(struct worker *worker, struct request *request)
{
    while (request != NULL) {
        const bool inside = chance(worker, 8) != 0;
        if (inside) {
            enter(request->epoch);
        }
        add_items(worker, request, 1 + chance(worker, ITEMS / HOPS), inside);
        for (size_t i = chance(worker, 5); i > 0; i--) {
            grow_an_item(worker, request);
        }
        if (inside) {
            leave(request->epoch);
        }
        if (request->hops == 0) {
            end_request(worker, request);
            return;
        }
        request->hops--;
        worker->moved++;
        request = atomic_exchange(&requests[chance(worker, BOXES)], request);
    }
}

static enum tslab_policy policy_of_next(struct worker *worker)
{
    static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                                  TSLAB_POLICY_TRAP };
    return wanted_policy >= 0 ? (enum tslab_policy)wanted_policy : policies[chance(worker, COUNT_OF(policies))];
}

/* Some time in the epoch of all, which may be closed by anybody at any time. */
static void visit_shared(struct worker *worker)
{
    tslab_epoch epoch = { atomic_load(&shared_epoch) };
    if (chance(worker, 10) == 0) {
        const tslab_epoch old = epoch;
        const int status = tslab_epoch_advance(&epoch, 0, NULL);
        CHECK(status == TSLAB_OK || status == TSLAB_PENDING || status == TSLAB_STALE || status == TSLAB_CLOSED);
        if (status >= 0) {
            CHECK(!same(epoch, old));
            atomic_store(&shared_epoch, epoch.id);
            worker->advanced++;
        }
        return;
    }
    const int status = tslab_epoch_enter(epoch);
    if (status < 0) {
        CHECK(status == TSLAB_STALE || status == TSLAB_CLOSED);
        return;
    }
    CHECK(same(tslab_epoch_current(), epoch));
    worker->shared++;
    for (size_t i = chance(worker, 20); i > 0; i--) {
        const size_t size = message_size(worker);
        struct message *const message = message_fill(tslab_malloc(size), size, random_next(&worker->random));
        message_free(atomic_exchange(&messages[chance(worker, BOXES)], message));
    }
    STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
}

static bool take_one_to_serve(void)
{
    size_t left = atomic_load(&requests_left);
    while (left > 0 && !atomic_compare_exchange_weak(&requests_left, &left, left - 1)) {
    }
    return left > 0;
}

static void *work(void *argument)
{
    struct worker *const worker = argument;
    while (take_one_to_serve()) {
        struct request *const request = malloc(sizeof *request);
        CHECK(request != NULL);
        request->policy = policy_of_next(worker);
        request->epoch = opened_as("request", request->policy);
        request->hops = chance(worker, 10) == 0 ? (unsigned)chance(worker, HOPS) : 0;
        request->count = 0;
        serve_request(worker, request);
        worker->served++;
        if (chance(worker, 5) == 0) {
            visit_shared(worker);
        }
        if (chance(worker, 5000) == 0) {
            (void)tslab_trim();
        }
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        message_free(worker->sessions[i]);
    }
    return NULL;
}

/* When all is over, nothing is left of it. */
static void check_all_is_back(void)
{
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.live_objects == 0, "%zu objects live", stats.live_objects);
    CHECK_SAY(stats.large_bytes == 0, "%zu bytes of large objects", stats.large_bytes);
    CHECK_SAY(stats.slab_bytes == 0, "%zu bytes of slabs", stats.slab_bytes);
    CHECK_SAY(stats.cached_bytes == 0, "%zu bytes are cached", stats.cached_bytes);
    CHECK_SAY(stats.dirty_bytes == 0, "%zu bytes are dirty", stats.dirty_bytes);
    CHECK_SAY(stats.threads == 1, "%zu threads", stats.threads);
    CHECK_SAY(tslab_epoch_list(NULL, 0) == 0, "%zu epochs are left", tslab_epoch_list(NULL, 0));
}

static int policy_of_name(const char *name)
{
    static const char *const names[] = { "drain", "release", "report", "trap" };
    static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                                  TSLAB_POLICY_TRAP };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return (int)policies[i];
        }
    }
    check_failed(__FILE__, __LINE__, "there is no policy %s", name);
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 3 || argc == 4, "usage: stress <threads> <requests> [drain|release|report|trap]");
    const size_t count = check_count(argv[1]);
    atomic_store(&requests_left, check_count(argv[2]));
    wanted_policy = argc == 4 ? policy_of_name(argv[3]) : -1;
    struct worker *const workers = calloc(count, sizeof *workers);
    pthread_t *const threads = calloc(count, sizeof *threads);
    CHECK(workers != NULL && threads != NULL);
    atomic_store(&shared_epoch, opened_as("shared", TSLAB_POLICY_DRAIN).id);
    for (size_t i = 0; i < count; i++) {
        workers[i].random = (i + 1) * 0x9e3779b97f4a7c15u;
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    struct worker sum = { .random = 1 };
    for (size_t i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        sum.served += workers[i].served;
        sum.moved += workers[i].moved;
        sum.pending += workers[i].pending;
        sum.shared += workers[i].shared;
        sum.advanced += workers[i].advanced;
    }
    for (size_t i = 0; i < BOXES; i++) {
        if (requests[i] != NULL) {
            end_request(&sum, requests[i]);
        }
    }
    for (size_t i = 0; i < BOXES; i++) {
        message_free(atomic_exchange(&messages[i], NULL));
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        message_free(sum.sessions[i]);
    }
    STATUS(tslab_epoch_close((tslab_epoch){ atomic_load(&shared_epoch) }, 0, NULL), TSLAB_OK);
    printf("%zu requests, %zu moves, %zu closed from inside, %zu visits, %zu "
           "advances\n",
           sum.served, sum.moved, sum.pending, sum.shared, sum.advanced);
    check_all_is_back();
    free(workers);
    free(threads);
    return 0;
}
