#include "soak.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

static const tslab_epoch no_epoch = { 0 };

/* Objects. */

static struct item born(struct worker *worker, void *p, size_t size)
{
    CHECK_SAY(p != NULL, "%zu bytes were refused: %s", size, strerror(errno));
    CHECK((uintptr_t)p % 16 == 0 && tslab_usable_size(p) >= size);
    const struct item item = { .p = p, .size = size, .seed = random_next(&worker->random) };
    pattern_fill(p, size, item.seed);
    worker->done.objects++;
    worker->done.bytes += size;
    worker->done.large += size > 32 * 1024;
    return item;
}

static void check(struct worker *worker, const struct item *item)
{
    CHECK_SAY(pattern_holds(item->p, item->size, item->seed), "%zu bytes at %p were overwritten", item->size,
              (void *)item->p);
    worker->done.checked_bytes += item->size;
}

static void dies(struct worker *worker, struct item *item)
{
    if (item->p != NULL) {
        check(worker, item);
        tslab_free(item->p);
        item->p = NULL;
    }
}

static void grows_or_shrinks(struct worker *worker, struct item *item, size_t size)
{
    check(worker, item);
    char *const p = tslab_realloc(item->p, size);
    CHECK_SAY(p != NULL, "%zu bytes were refused: %s", size, strerror(errno));
    CHECK_SAY(pattern_holds(p, item->size < size ? item->size : size, item->seed),
              "realloc from %zu to %zu lost contents", item->size, size);
    item->p = p;
    item->size = size;
    pattern_fill(p, size, item->seed);
    worker->done.reallocations++;
}

/* Mostly those of a request, some of every kind. */
static size_t some_size(struct worker *worker)
{
    const size_t what = below(worker, 1000);
    return what < 850   ? 1 + below(worker, 448)
           : what < 960 ? 1 + below(worker, 4000)
           : what < 995 ? 1 + below(worker, 33000)
                        : 1 + below(worker, 200000);
}

/* Plain allocation, in one of its ways. */
static struct item plain(struct worker *worker, size_t size)
{
    const size_t way = below(worker, 16);
    if (way == 0) {
        void *const p = tslab_calloc(1, size);
        CHECK(p != NULL && all_zero(p, size));
        return born(worker, p, size);
    }
    if (way == 1) {
        const size_t alignment = (size_t)1 << below(worker, 13);
        void *const p = tslab_aligned_alloc(alignment, size);
        CHECK((uintptr_t)p % alignment == 0);
        return born(worker, p, size);
    }
    return born(worker, tslab_malloc(size), size);
}

static struct item in_epoch(struct worker *worker, tslab_epoch epoch, size_t size)
{
    const bool zero = one_in(worker, 10);
    void *const p = zero ? tslab_epoch_calloc(epoch, 1, size) : tslab_epoch_malloc(epoch, size);
    CHECK(p == NULL || (tslab_epoch_of(p).id == epoch.id && (!zero || all_zero(p, size))));
    return born(worker, p, size);
}

/* Boxes: objects on their way to the thread that frees them. Threads that meet at none are in no order. */

enum { BOXES = 512, SCOPES = 32, SCOPE_ITEMS = 40 };

static struct box {
    atomic_flag taken;
    struct item item;
} boxes[BOXES];

static void take(atomic_flag *taken)
{
    while (atomic_flag_test_and_set_explicit(taken, memory_order_acquire)) {
        sched_yield();
    }
}

static void leave(atomic_flag *taken)
{
    atomic_flag_clear_explicit(taken, memory_order_release);
}

/* Puts an item into a box, if any, and ends what another thread has put there. */
static void swap(struct worker *worker, struct box *box, struct item item)
{
    take(&box->taken);
    struct item found = box->item;
    box->item = item;
    leave(&box->taken);
    worker->done.handed_objects += found.p != NULL;
    dies(worker, &found);
}

static void hand_over(struct worker *worker, struct item *item)
{
    check(worker, item);
    swap(worker, &boxes[below(worker, BOXES)], *item);
    item->p = NULL;
}

static void hand_over_all(struct worker *worker, struct item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].p != NULL) {
            hand_over(worker, &items[i]);
        }
    }
}

/* Ends some that others have posted, or the worker itself: which ones, chance says. */
static void read_mail(struct worker *worker, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        swap(worker, &boxes[count == BOXES ? n : below(worker, BOXES)], (struct item){ .p = NULL });
    }
}

/* Epochs. */

static tslab_epoch opened(struct worker *worker, const struct tslab_epoch_options *options)
{
    const tslab_epoch epoch = tslab_epoch_open(options);
    CHECK_SAY(epoch.id != 0, "no epoch was opened: %s", strerror(errno));
    worker->done.epochs++;
    return epoch;
}

static void enters(tslab_epoch epoch)
{
    const int status = tslab_epoch_enter(epoch);
    CHECK_SAY(status == TSLAB_OK || status == TSLAB_EXPLICIT, "enter: %s", tslab_status_text(status));
}

static void is_ok(int status)
{
    CHECK_SAY(status == TSLAB_OK, "%s", tslab_status_text(status));
}

static bool dooms(enum tslab_policy policy)
{
    return policy == TSLAB_POLICY_RELEASE || policy == TSLAB_POLICY_TRAP;
}

/* Checks the objects in an epoch that is about to end with all in it. Returns how many live. */
static uint64_t survivors(struct worker *worker, enum tslab_policy policy, struct item *items, size_t count)
{
    uint64_t survivors = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].p != NULL && dooms(policy)) {
            check(worker, &items[i]);
        }
        survivors += items[i].p != NULL;
    }
    worker->done.reports += policy == TSLAB_POLICY_REPORT && survivors > 0;
    return survivors;
}

/* After its end. An epoch that drains goes to another thread. */
static void is_closed(struct worker *worker, tslab_epoch epoch, enum tslab_policy policy, struct item *items,
                      size_t count)
{
    struct tslab_epoch_stats stats;
    CHECK(!dooms(policy) || tslab_epoch_stats_get(epoch, &stats) == TSLAB_STALE);
    if (!dooms(policy)) {
        hand_over_all(worker, items, count);
    }
}

static void closes(struct worker *worker, tslab_epoch epoch, enum tslab_policy policy, struct item *items, size_t count)
{
    const uint64_t live = survivors(worker, policy, items, count);
    struct tslab_epoch_report report;
    is_ok(tslab_epoch_close(epoch, one_in(worker, 200) ? TSLAB_CLOSE_RECLAIM : 0, &report));
    CHECK_SAY(report.survivors == live, "%llu survivors were reported, not %llu", (unsigned long long)report.survivors,
              (unsigned long long)live);
    is_closed(worker, epoch, policy, items, count);
}

/* Or from the inside, before the objects are freed: the thread ends it as it leaves. */
static void closes_early(struct worker *worker, tslab_epoch epoch, enum tslab_policy policy, struct item *items,
                         size_t count)
{
    CHECK(tslab_epoch_close(epoch, 0, NULL) == TSLAB_PENDING);
    for (size_t i = 0; i < count; i++) {
        if (policy == TSLAB_POLICY_REPORT || !one_in(worker, 15)) {
            dies(worker, &items[i]);
        }
    }
    (void)survivors(worker, policy, items, count);
    is_ok(tslab_epoch_leave(epoch));
    is_closed(worker, epoch, policy, items, count);
}

enum tslab_policy requests_policy = TSLAB_POLICY_DEFAULT;
unsigned long requests_objects = PER_REQUEST;

static enum tslab_policy some_policy(struct worker *worker)
{
    static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN,   TSLAB_POLICY_DRAIN,   TSLAB_POLICY_RELEASE,
                                                  TSLAB_POLICY_RELEASE, TSLAB_POLICY_RELEASE, TSLAB_POLICY_TRAP,
                                                  TSLAB_POLICY_REPORT,  TSLAB_POLICY_DRAIN };
    return requests_policy != TSLAB_POLICY_DEFAULT ? requests_policy : policies[below(worker, COUNT_OF(policies))];
}

/* Most are freed, some change their size. */
static void use(struct worker *worker, struct item *items, size_t count, size_t survive_one_in)
{
    for (size_t i = 0; i < count; i++) {
        if (one_in(worker, 20)) {
            grows_or_shrinks(worker, &items[i], 1 + below(worker, 2 * items[i].size));
        }
        if (!one_in(worker, survive_one_in)) {
            dies(worker, &items[i]);
        }
    }
}

/* One that has an epoch of any policy, and is inside of it. */
static void request_inside(struct worker *worker)
{
    struct item items[PER_REQUEST];
    const size_t count = requests_objects / 20 + below(worker, requests_objects * 19 / 20);
    const struct tslab_epoch_options options = {
        .label = "request",
        .policy = some_policy(worker),
        .flags = TSLAB_OPEN_VOUCHED,
    };
    const tslab_epoch epoch = opened(worker, &options);
    enters(epoch);
    for (size_t i = 0; i < count; i++) {
        items[i] = plain(worker, some_size(worker));
        CHECK(i % 16 != 0 || tslab_epoch_of(items[i].p).id == epoch.id);
    }
    if (one_in(worker, 10)) {
        closes_early(worker, epoch, options.policy, items, count);
        return;
    }
    /* A report is a line on stderr, so only few have reason for one. */
    use(worker, items, count, options.policy == TSLAB_POLICY_REPORT && !one_in(worker, 500) ? SIZE_MAX : 15);
    is_ok(tslab_epoch_leave(epoch));
    closes(worker, epoch, options.policy, items, count);
}

/* One that names its epoch, and has handles, too. */
static void request_by_name(struct worker *worker)
{
    struct item items[PER_REQUEST];
    tslab_handle handles[PER_REQUEST / 10];
    struct item of_handles[COUNT_OF(handles)];
    const size_t handle_count = requests_objects / 10;
    const enum tslab_policy drawn = some_policy(worker);
    const enum tslab_policy policy = drawn == TSLAB_POLICY_REPORT ? TSLAB_POLICY_DRAIN : drawn;
    const tslab_epoch epoch = opened(worker, &(struct tslab_epoch_options){ .label = "by name", .policy = policy });
    const size_t count = requests_objects / 20 + below(worker, requests_objects / 2);
    for (size_t i = 0; i < count; i++) {
        items[i] = in_epoch(worker, epoch, some_size(worker));
    }
    for (size_t i = 0; i < handle_count; i++) {
        const size_t size = 1 + below(worker, 600);
        void *p;
        handles[i] = tslab_handle_malloc(epoch, size, &p);
        CHECK(handles[i].id != 0);
        of_handles[i] = born(worker, p, size);
        worker->done.handles++;
    }
    for (size_t i = 0; i < handle_count; i++) {
        CHECK(tslab_handle_get(epoch, handles[i]) == of_handles[i].p);
        check(worker, &of_handles[i]);
        is_ok(tslab_handle_free(epoch, handles[i]));
        CHECK(tslab_handle_free(epoch, handles[i]) == TSLAB_STALE && tslab_handle_get(epoch, handles[i]) == NULL);
    }
    use(worker, items, count, 10);
    closes(worker, epoch, policy, items, count);
}

/* One of many in an epoch that is exchanged now and then. */
static void request_rotating(struct worker *worker)
{
    enum { REQUESTS = 50 };
    struct item items[PER_REQUEST / 4];
    const size_t count = requests_objects / 4;
    if (worker->rotating.id == 0) {
        worker->rotating = opened(worker, &(struct tslab_epoch_options){ .label = "rotating" });
    }
    enters(worker->rotating);
    for (size_t i = 0; i < count; i++) {
        items[i] = plain(worker, some_size(worker));
    }
    use(worker, items, count, 30);
    hand_over_all(worker, items, count);
    if (++worker->requests_in_it % REQUESTS == 0) {
        is_ok(tslab_epoch_advance(&worker->rotating, 0, NULL));
        worker->done.epochs++;
    }
    CHECK(tslab_epoch_current().id == worker->rotating.id);
    is_ok(tslab_epoch_leave(worker->rotating));
}

/* One that another thread goes on with, in a box of its own. */
struct scope {
    tslab_epoch epoch;
    enum tslab_policy policy;
    unsigned turns; /* that it has had */
    struct item items[SCOPE_ITEMS];
};

static struct scope_box {
    atomic_flag taken;
    struct scope scope; /* its epoch {0}: none */
} scopes[SCOPES];

static bool scope_take(struct scope_box *box, struct scope *scope)
{
    take(&box->taken);
    *scope = box->scope;
    box->scope.epoch = no_epoch;
    leave(&box->taken);
    return scope->epoch.id != 0;
}

static bool scope_put(struct scope_box *box, const struct scope *scope)
{
    take(&box->taken);
    const bool has_room = box->scope.epoch.id == 0;
    if (has_room) {
        box->scope = *scope;
    }
    leave(&box->taken);
    return has_room;
}

static void request_handed(struct worker *worker)
{
    enum { TURNS = 6 };
    struct scope scope;
    if (one_in(worker, 3) || !scope_take(&scopes[below(worker, SCOPES)], &scope)) {
        const enum tslab_policy policy = some_policy(worker);
        scope = (struct scope){ .policy = policy == TSLAB_POLICY_REPORT ? TSLAB_POLICY_DRAIN : policy };
        scope.epoch = opened(worker, &(struct tslab_epoch_options){
                                         .label = "handed over", .policy = scope.policy, .flags = TSLAB_OPEN_VOUCHED });
    } else {
        worker->done.handed_scopes++;
    }
    enters(scope.epoch);
    for (size_t i = 0; i < SCOPE_ITEMS; i++) {
        if (scope.items[i].p != NULL && one_in(worker, 2)) {
            dies(worker, &scope.items[i]);
        }
        if (scope.items[i].p == NULL) {
            scope.items[i] = plain(worker, some_size(worker));
        }
        CHECK(tslab_epoch_of(scope.items[i].p).id == scope.epoch.id);
    }
    is_ok(tslab_epoch_leave(scope.epoch));
    if (scope.turns++ == TURNS || !scope_put(&scopes[below(worker, SCOPES)], &scope)) {
        closes(worker, scope.epoch, scope.policy, scope.items, SCOPE_ITEMS);
    }
}

/* Some time in the epoch of all, which anybody may close at any time. */
static _Atomic uint64_t shared;

static void shared_opens(struct worker *worker)
{
    uint64_t none = 0;
    const tslab_epoch epoch = opened(worker, &(struct tslab_epoch_options){ .label = "shared" });
    if (!atomic_compare_exchange_strong(&shared, &none, epoch.id)) {
        is_ok(tslab_epoch_close(epoch, 0, NULL));
    }
}

static void shared_advances(struct worker *worker, tslab_epoch epoch)
{
    const tslab_epoch old = epoch;
    const int status = tslab_epoch_advance(&epoch, 0, NULL);
    CHECK(status == TSLAB_OK || status == TSLAB_PENDING || status == TSLAB_STALE || status == TSLAB_CLOSED);
    if (status >= 0) {
        CHECK(epoch.id != old.id);
        atomic_store(&shared, epoch.id);
        worker->done.epochs++;
    }
}

static void request_shared(struct worker *worker)
{
    const tslab_epoch epoch = { atomic_load(&shared) };
    if (epoch.id == 0) {
        shared_opens(worker);
    } else if (one_in(worker, 10)) {
        shared_advances(worker, epoch);
    } else if (tslab_epoch_enter(epoch) >= 0) {
        CHECK(tslab_epoch_current().id == epoch.id);
        for (size_t i = below(worker, 20); i > 0; i--) {
            struct item item = plain(worker, some_size(worker));
            hand_over(worker, &item);
        }
        is_ok(tslab_epoch_leave(epoch));
        worker->done.visits++;
    }
}

/* The option epoch_policy says what that means. */
static void request_as_unit(struct worker *worker)
{
    struct item items[60];
    const size_t count = requests_objects * 3 / 20;
    is_ok(tslab_work_begin(UNIT_LABEL));
    const tslab_epoch epoch = tslab_epoch_current();
    for (size_t i = 0; i < count; i++) {
        items[i] = plain(worker, some_size(worker));
        CHECK(tslab_epoch_of(items[i].p).id == epoch.id);
    }
    tslab_work_pause();
    struct item outside = plain(worker, some_size(worker));
    CHECK(tslab_epoch_of(outside.p).id == 0);
    is_ok(tslab_work_resume());
    use(worker, items, count, 10);
    is_ok(tslab_work_end());
    worker->done.units++;
    hand_over(worker, &outside);
    hand_over_all(worker, items, count);
    if (one_in(worker, 500)) {
        tslab_work_rotate();
    }
}

/* An instance, with its root and two more epochs. */
static void request_in_instance(struct worker *worker)
{
    struct item items[3][50];
    const tslab_instance instance = tslab_instance_open("soak");
    CHECK(instance.id != 0);
    worker->done.instances++;
    tslab_epoch epochs[3] = { tslab_instance_root(instance) };
    for (size_t e = 1; e < COUNT_OF(epochs); e++) {
        epochs[e] = opened(worker, &(struct tslab_epoch_options){ .instance = instance, .parent = epochs[0] });
    }
    for (size_t e = 0; e < COUNT_OF(epochs); e++) {
        for (size_t i = 0; i < COUNT_OF(items[e]); i++) {
            items[e][i] = in_epoch(worker, epochs[e], some_size(worker));
        }
    }
    for (size_t e = 0; e < COUNT_OF(epochs); e++) {
        for (size_t i = 0; i < COUNT_OF(items[e]); i++) {
            check(worker, &items[e][i]);
        }
    }
    struct tslab_epoch_report report;
    is_ok(tslab_instance_close(instance, 0, &report));
    CHECK(report.survivors == COUNT_OF(epochs) * COUNT_OF(items[0]));
}

/* Large objects that change their size. */
static void request_large(struct worker *worker)
{
    struct item items[4];
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        items[i] = plain(worker, 40000 + below(worker, 600000));
    }
    for (size_t n = 0; n < 6; n++) {
        struct item *const item = &items[below(worker, COUNT_OF(items))];
        grows_or_shrinks(worker, item, 1 + item->size / 2 + below(worker, item->size + 1));
    }
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        if (one_in(worker, 3)) {
            hand_over(worker, &items[i]);
        }
        dies(worker, &items[i]);
    }
}

/* Many small objects at once, freed in another order. */
static void request_burst(struct worker *worker)
{
    enum { MOST = 20000 };
    struct item *const items = malloc(MOST * sizeof *items); /* of libc */
    CHECK(items != NULL);
    const size_t count = MOST / 2 + below(worker, MOST / 2), size = 16 + below(worker, 240);
    for (size_t i = 0; i < count; i++) {
        items[i] = born(worker, tslab_malloc(size), size);
    }
    for (size_t i = 0; i < count; i++) {
        dies(worker, &items[i * 7919 % count]);
    }
    for (size_t i = 0; i < count; i++) {
        dies(worker, &items[i]); /* where the step has a common divisor with the number */
    }
    free(items);
}

void request(struct worker *worker)
{
    static const struct {
        unsigned weight;
        void (*act)(struct worker *);
    } kinds[] = {
        { 300, request_inside },     { 150, request_by_name }, { 150, request_rotating },
        { 150, request_handed },     { 150, request_as_unit }, { 150, request_shared },
        { 20, request_in_instance }, { 40, request_large },    { 2, request_burst },
    };
    /* Small requests are many, and about epochs. */
    const size_t all = requests_objects < PER_REQUEST ? 300 + 5 * 150 + 20 : 300 + 5 * 150 + 20 + 40 + 2;
    size_t what = below(worker, all), kind = 0;
    while (what >= kinds[kind].weight) {
        what -= kinds[kind++].weight;
    }
    kinds[kind].act(worker);
    worker->done.requests++;
    pool_replace(worker, requests_objects / 20);
    read_mail(worker, requests_objects / 10);
    CHECK(tslab_epoch_current().id == 0);
    if (one_in(worker, 5000)) {
        (void)tslab_trim();
    }
}

/* The working set. */

static void kept_renew(struct worker *worker, struct kept_handle *kept)
{
    if (kept->handle.id != 0) {
        CHECK(tslab_handle_get(worker->keeper, kept->handle) == kept->item.p);
        check(worker, &kept->item);
        is_ok(tslab_handle_free(worker->keeper, kept->handle));
    }
    const size_t size = 1 + below(worker, 2000);
    void *p;
    kept->handle = tslab_handle_malloc(worker->keeper, size, &p);
    CHECK(kept->handle.id != 0);
    kept->item = born(worker, p, size);
    worker->done.handles++;
}

void pool_replace(struct worker *worker, size_t times)
{
    for (size_t n = 0; n < times; n++) {
        struct item *const item = &worker->pool[below(worker, POOL)];
        if (item->p != NULL && one_in(worker, 10)) {
            grows_or_shrinks(worker, item, some_size(worker));
        } else if (item->p != NULL && one_in(worker, 10)) {
            hand_over(worker, item);
        }
        dies(worker, item);
        *item = plain(worker, some_size(worker));
    }
    kept_renew(worker, &worker->kept[below(worker, KEPT_HANDLES)]);
}

void worker_begins(struct worker *worker, uint64_t seed)
{
    *worker = (struct worker){ .random = (seed + 1) * 0x9e3779b97f4a7c15u };
    worker->keeper = opened(worker, &(struct tslab_epoch_options){ .label = KEEPER_LABEL });
    for (size_t i = 0; i < POOL; i++) {
        worker->pool[i] = plain(worker, some_size(worker));
    }
    for (size_t i = 0; i < KEPT_HANDLES; i++) {
        kept_renew(worker, &worker->kept[i]);
    }
}

void worker_checks(struct worker *worker)
{
    for (size_t i = 0; i < POOL; i++) {
        check(worker, &worker->pool[i]);
    }
    for (size_t i = 0; i < KEPT_HANDLES; i++) {
        CHECK(tslab_handle_get(worker->keeper, worker->kept[i].handle) == worker->kept[i].item.p);
        check(worker, &worker->kept[i].item);
    }
}

void worker_ends(struct worker *worker)
{
    for (size_t i = 0; i < POOL; i++) {
        dies(worker, &worker->pool[i]);
    }
    for (size_t i = 0; i < KEPT_HANDLES; i++) {
        check(worker, &worker->kept[i].item);
        is_ok(tslab_handle_free(worker->keeper, worker->kept[i].handle));
    }
    is_ok(tslab_epoch_close(worker->keeper, 0, NULL));
    worker->keeper = no_epoch;
}

void requests_end(struct worker *worker)
{
    if (worker->rotating.id != 0) {
        is_ok(tslab_epoch_close(worker->rotating, 0, NULL));
        worker->rotating = no_epoch;
    }
}

void requests_rest(struct worker *worker)
{
    struct scope scope;
    for (size_t i = 0; i < SCOPES; i++) {
        if (scope_take(&scopes[i], &scope)) {
            closes(worker, scope.epoch, scope.policy, scope.items, SCOPE_ITEMS);
        }
    }
    const tslab_epoch epoch = { atomic_exchange(&shared, 0) };
    if (epoch.id != 0) {
        is_ok(tslab_epoch_close(epoch, 0, NULL));
    }
    requests_end(worker);
    read_mail(worker, BOXES);
}

int requests_fork(void)
{
    for (size_t i = 0; i < BOXES + SCOPES; i++) {
        take(i < BOXES ? &boxes[i].taken : &scopes[i - BOXES].taken);
    }
    const pid_t child = fork();
    for (size_t i = 0; i < BOXES + SCOPES; i++) {
        leave(i < BOXES ? &boxes[i].taken : &scopes[i - BOXES].taken);
    }
    return child;
}
