/* Random operations on epochs, scopes, objects, handles and instances, by one thread, beside a model that says what
 * each must answer, where each object belongs, and what is left when.
 *
 *   model <first seed> <seeds> <operations>
 *
 * A failure names the seed; the same arguments fail again. */
#include "epoch.h"
#include "reported.h"
#include "shadow.h"

enum { EPOCHS = 24, INSTANCES = 3, DEPTH = 12, OLD = 64, LIVE_OBJECTS = 6000, LIVE_BYTES = 64 << 20, CHECKS = 30 };

static uint64_t state;

static size_t any(size_t limit)
{
    return below(&state, limit);
}

static bool one_in(size_t n)
{
    return any(n) == 0;
}

/* The model of an epoch. A place of this table is used again when its epoch is gone. */
struct model {
    tslab_epoch epoch; /* {0}: the place is free */
    struct tslab_epoch_options options;
    char label[64];
    enum tslab_epoch_state state;
    bool root; /* of an instance: it is not closed by itself */
    uint32_t inside;
    uint64_t objects, bytes;
};

static struct model models[EPOCHS];
static tslab_instance instances[INSTANCES];
static struct model *scopes[DEPTH]; /* this thread's, the innermost last */
static size_t depth;

/* Values that were right once. */
static tslab_epoch old_epochs[OLD];
static struct {
    tslab_epoch epoch;
    tslab_handle handle;
} old_handles[OLD];

/* The objects, and beside each whose it is: NULL, the process's. */
static struct shadow shadow;
static struct {
    struct model *owner;
    tslab_handle handle;
} * owned;
static size_t owned_capacity;

/* Objects. */

static struct model *model_of(tslab_epoch epoch)
{
    for (size_t i = 0; i < EPOCHS; i++) {
        if (epoch.id != 0 && same(models[i].epoch, epoch)) {
            return &models[i];
        }
    }
    return NULL;
}

static void remember_epoch(tslab_epoch epoch)
{
    old_epochs[any(OLD)] = epoch;
}

static void count(struct model *owner, const struct object *object, bool more)
{
    if (owner != NULL) {
        owner->objects += more ? 1 : (uint64_t)-1;
        owner->bytes += more ? object->usable : (uint64_t)0 - object->usable;
    }
}

static void born(void *p, size_t asked, size_t alignment, struct model *owner, tslab_handle handle)
{
    CHECK_SAY(p != NULL, "%zu bytes were refused", asked);
    CHECK(same(tslab_epoch_of(p), owner == NULL ? no_epoch : owner->epoch));
    shadow_born(&shadow, p, asked, alignment);
    if (shadow.count > owned_capacity) {
        owned_capacity = shadow.capacity;
        owned = realloc(owned, owned_capacity * sizeof *owned);
        CHECK(owned != NULL);
    }
    owned[shadow.count - 1].owner = owner;
    owned[shadow.count - 1].handle = handle;
    count(owner, shadow.objects[shadow.count - 1], true);
}

/* Takes the i-th object out of the model, its contents checked. */
static void *dies(size_t i)
{
    count(owned[i].owner, shadow.objects[i], false);
    if (owned[i].handle.id != 0) {
        const size_t at = any(OLD);
        old_handles[at].epoch = owned[i].owner->epoch;
        old_handles[at].handle = owned[i].handle;
    }
    void *const p = shadow_dies(&shadow, i);
    owned[i] = owned[shadow.count];
    return p;
}

/* Its epoch is over, and all objects with it. */
static void all_die(struct model *model)
{
    for (size_t i = shadow.count; i-- > 0;) {
        if (owned[i].owner == model) {
            (void)dies(i);
        }
    }
    CHECK(model->objects == 0 && model->bytes == 0);
}

/* The place is free for another epoch. */
static void is_gone(struct model *model)
{
    CHECK(model->inside == 0 && model->objects == 0);
    check_gone(model->epoch);
    remember_epoch(model->epoch);
    model->epoch = no_epoch;
}

/* Everybody has left a closed epoch. */
static void completes(struct model *model)
{
    if (model->options.policy == TSLAB_POLICY_RELEASE || model->options.policy == TSLAB_POLICY_TRAP ||
        model->objects == 0) {
        is_gone(model);
    } else {
        model->state = TSLAB_EPOCH_DRAINING;
    }
}

/* With RELEASE and TRAP the contents are checked before the call that ends them. */
static void objects_end_before(struct model *model, uint64_t *survivors, uint64_t *bytes)
{
    *survivors = model->objects;
    *bytes = model->bytes;
    if (model->options.policy == TSLAB_POLICY_RELEASE || model->options.policy == TSLAB_POLICY_TRAP) {
        all_die(model);
    }
}

/* Where plain malloc has landed: in the innermost scope whose epoch takes it; when that is closed, in the process. */
static struct model *landed(const void *p)
{
    struct model *wanted = NULL;
    for (size_t i = depth; i-- > 0 && wanted == NULL;) {
        wanted = takes_plain(scopes[i]->options.policy, scopes[i]->options.flags) ? scopes[i] : NULL;
    }
    if (wanted != NULL && wanted->state != TSLAB_EPOCH_OPEN) {
        wanted = NULL;
    }
    const tslab_epoch found = tslab_epoch_of(p), right = wanted == NULL ? no_epoch : wanted->epoch;
    CHECK_SAY(same(found, right), "plain malloc lands in epoch %#llx, not in %#llx", (unsigned long long)found.id,
              (unsigned long long)right.id);
    return wanted;
}

static size_t model_size(void)
{
    const size_t what = any(1000);
    return what < 500   ? any(300)
           : what < 800 ? any(3000)
           : what < 960 ? any(40000)
           : what < 995 ? any(300000)
                        : any(4 << 20);
}

static struct model *some_model(void)
{
    struct model *const model = &models[any(EPOCHS)];
    return model->epoch.id != 0 ? model : NULL;
}

static void allocate_plain(void)
{
    const size_t size = model_size(), way = any(4);
    size_t alignment = 16;
    void *p;
    if (way == 0) {
        p = tslab_calloc(3, size / 3);
        CHECK(p != NULL && all_zero(p, size / 3 * 3));
        born(p, size / 3 * 3, alignment, landed(p), (tslab_handle){ 0 });
        return;
    }
    if (way == 1) {
        alignment = (size_t)1 << any(15);
        p = tslab_aligned_alloc(alignment, size);
    } else {
        p = way == 2 ? tslab_malloc(size) : tslab_realloc(NULL, size);
    }
    CHECK(p != NULL);
    born(p, size, alignment, landed(p), (tslab_handle){ 0 });
}

static void allocate_by_name(void)
{
    struct model *const model = some_model();
    const tslab_epoch epoch = model == NULL ? old_epochs[any(OLD)] : model->epoch;
    const size_t size = model_size(), way = any(4), alignment = (size_t)1 << any(15);
    tslab_handle handle = { 0 };
    void *p = NULL;
    errno = 0;
    if (way == 0) {
        p = tslab_epoch_malloc(epoch, size);
    } else if (way == 1) {
        p = tslab_epoch_calloc(epoch, 1, size);
        CHECK(p == NULL || all_zero(p, size));
    } else if (way == 2) {
        p = tslab_epoch_aligned_alloc(epoch, alignment, size);
    } else {
        handle = tslab_handle_malloc(epoch, size % 33000, &p);
        CHECK((handle.id != 0) == (p != NULL));
        if (size % 33000 > 32 * KILOBYTE) {
            CHECK(p == NULL && errno == EINVAL);
            return;
        }
    }
    if (model == NULL || model->state != TSLAB_EPOCH_OPEN) {
        CHECK(p == NULL && errno == EINVAL);
        return;
    }
    born(p, way == 3 ? size % 33000 : size, way == 2 ? alignment : 16, model, handle);
}

/* A death may be the last of a draining epoch. */
static void check_drained(struct model *model)
{
    if (model != NULL && model->state == TSLAB_EPOCH_DRAINING && model->objects == 0) {
        is_gone(model);
    }
}

static void free_one(size_t i)
{
    struct model *const owner = owned[i].owner;
    const tslab_handle handle = owned[i].handle;
    const tslab_epoch epoch = owner == NULL ? no_epoch : owner->epoch;
    void *const p = dies(i);
    if (handle.id != 0) {
        CHECK(tslab_handle_get(epoch, handle) == p);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
        CHECK(tslab_handle_get(epoch, handle) == NULL);
        STATUS(tslab_handle_free(epoch, handle), TSLAB_STALE);
    } else if (one_in(10)) {
        CHECK(tslab_realloc(p, 0) == NULL);
    } else {
        errno = (int)i;
        tslab_free(p);
        CHECK(errno == (int)i);
    }
    check_drained(owner);
}

static void free_some(void)
{
    if (shadow.count > 0) {
        free_one(any(shadow.count));
    }
}

static void free_many(void)
{
    for (size_t n = any(shadow.count + 1); n > 0; n--) {
        free_one(any(shadow.count));
    }
}

static void resize(void)
{
    if (shadow.count == 0) {
        return;
    }
    const size_t i = any(shadow.count);
    if (owned[i].handle.id != 0) {
        return;
    }
    struct model *const owner = owned[i].owner;
    const struct object *const object = shadow.objects[i];
    const char *const before = object->start;
    const size_t size = 1 + (one_in(3) ? model_size() : one_in(2) ? object->asked + any(64) : object->asked / 2);
    char *const p = tslab_realloc(object->start, size);
    CHECK(p != NULL);
    struct model *new_owner = owner;
    if (owner != NULL && owner->state != TSLAB_EPOCH_OPEN && p != before) {
        new_owner = landed(p);
    }
    CHECK(same(tslab_epoch_of(p), new_owner == NULL ? no_epoch : new_owner->epoch));
    count(owner, object, false);
    shadow_moved(&shadow, i, p, size);
    owned[i].owner = new_owner;
    count(new_owner, shadow.objects[i], true);
    if (new_owner != owner) {
        check_drained(owner);
    }
}

/* Epochs and scopes. */

static struct model *free_place(void)
{
    for (size_t i = 0; i < EPOCHS; i++) {
        if (models[i].epoch.id == 0) {
            return &models[i];
        }
    }
    return NULL;
}

static void open_one(void)
{
    struct model *const model = free_place();
    if (model == NULL) {
        return;
    }
    *model = (struct model){ .state = TSLAB_EPOCH_OPEN };
    snprintf(model->label, sizeof model->label, "seed %llx, and what follows is cut", (unsigned long long)state);
    struct model *const parent = some_model();
    model->options = (struct tslab_epoch_options){
        .label = model->label,
        .instance = one_in(4) ? instances[any(INSTANCES)] : (tslab_instance){ 0 },
        /* A report is a line on stderr, so there are few. */
        .policy = one_in(20)  ? TSLAB_POLICY_REPORT
                  : one_in(4) ? TSLAB_POLICY_TRAP
                  : one_in(3) ? TSLAB_POLICY_RELEASE
                              : TSLAB_POLICY_DRAIN,
        .flags = one_in(3) ? TSLAB_OPEN_VOUCHED : 0,
        .parent = parent != NULL && parent->state == TSLAB_EPOCH_OPEN ? parent->epoch : no_epoch,
    };
    model->epoch = opened_with(&model->options);
    CHECK(model_of(model->epoch) == model);
    for (size_t i = 0; i < OLD; i++) {
        CHECK(!same(old_epochs[i], model->epoch));
    }
}

static void enter_one(void)
{
    struct model *const model = some_model();
    if (depth == DEPTH || model == NULL) {
        STATUS(tslab_epoch_enter(no_epoch), TSLAB_STALE);
    } else if (model->state != TSLAB_EPOCH_OPEN) {
        STATUS(tslab_epoch_enter(model->epoch), TSLAB_CLOSED);
    } else {
        STATUS(tslab_epoch_enter(model->epoch), entered_status(model->options.policy, model->options.flags));
        model->inside++;
        scopes[depth++] = model;
    }
}

static void leave_one(void)
{
    struct model *const innermost = depth == 0 ? NULL : scopes[depth - 1];
    if (innermost == NULL || one_in(5)) {
        const struct model *const model = some_model();
        if (model != NULL && model != innermost) {
            STATUS(tslab_epoch_leave(model->epoch), TSLAB_NOT_INSIDE);
        }
        return;
    }
    const bool last = innermost->state == TSLAB_EPOCH_CLOSING && innermost->inside == 1;
    if (last) {
        uint64_t unused;
        objects_end_before(innermost, &unused, &unused);
    }
    STATUS(tslab_epoch_leave(innermost->epoch), TSLAB_OK);
    depth--;
    innermost->inside--;
    if (last) {
        completes(innermost);
    }
}

static void close_one(void)
{
    struct model *const model = some_model();
    const unsigned how = one_in(10) ? TSLAB_CLOSE_RECLAIM : 0;
    struct tslab_epoch_report report;
    if (model == NULL || model->root) {
        STATUS(tslab_epoch_close(old_epochs[any(OLD)], how, &report), TSLAB_STALE);
    } else if (model->state != TSLAB_EPOCH_OPEN) {
        STATUS(tslab_epoch_close(model->epoch, how, &report), TSLAB_CLOSED);
    } else if (model->inside > 0) {
        STATUS(tslab_epoch_close(model->epoch, how, &report), TSLAB_PENDING);
        model->state = TSLAB_EPOCH_CLOSING;
    } else {
        uint64_t survivors, bytes;
        objects_end_before(model, &survivors, &bytes);
        STATUS(tslab_epoch_close(model->epoch, how, &report), TSLAB_OK);
        check_report(&report, how, survivors, bytes);
        completes(model);
    }
}

static void release_one(void)
{
    struct model *const model = some_model();
    const unsigned how = one_in(10) ? TSLAB_CLOSE_RECLAIM : 0;
    struct tslab_epoch_report report;
    if (model == NULL || model->root) {
        STATUS(tslab_epoch_release(old_epochs[any(OLD)], how, &report), TSLAB_STALE);
    } else if (model->inside > 0) {
        STATUS(tslab_epoch_release(model->epoch, how, &report), TSLAB_BUSY);
    } else {
        const uint64_t survivors = model->objects, bytes = model->bytes;
        all_die(model);
        STATUS(tslab_epoch_release(model->epoch, how, &report), TSLAB_OK);
        check_report(&report, how, survivors, bytes);
        is_gone(model);
    }
}

static void advance_one(void)
{
    struct model *const model = some_model(), *const next = free_place();
    tslab_epoch epoch = model == NULL ? old_epochs[any(OLD)] : model->epoch;
    const tslab_epoch before = epoch;
    if (model == NULL) {
        STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_STALE);
        CHECK(same(epoch, before));
        return;
    }
    if (model->state != TSLAB_EPOCH_OPEN) {
        STATUS(tslab_epoch_advance(&epoch, 0, NULL), TSLAB_CLOSED);
        CHECK(same(epoch, before));
        return;
    }
    /* The parent of the next may be gone by now, which the header does not speak of. */
    if (model->root || next == NULL || (model->options.parent.id != 0 && model_of(model->options.parent) == NULL)) {
        return;
    }
    const bool inside = depth > 0 && scopes[depth - 1] == model;
    const bool pending = model->inside > (inside ? 1 : 0);
    uint64_t survivors = model->objects, bytes = model->bytes;
    struct tslab_epoch_report report;
    if (!pending) {
        objects_end_before(model, &survivors, &bytes);
    }
    STATUS(tslab_epoch_advance(&epoch, 0, &report), pending ? TSLAB_PENDING : TSLAB_OK);
    CHECK(model_of(epoch) == NULL && epoch.id != 0);
    *next = (struct model){ .epoch = epoch, .options = model->options, .state = TSLAB_EPOCH_OPEN };
    memcpy(next->label, model->label, sizeof next->label);
    next->options.label = next->label;
    if (inside) {
        scopes[depth - 1] = next;
        next->inside = 1;
        model->inside--;
    }
    if (pending) {
        model->state = TSLAB_EPOCH_CLOSING;
    } else {
        check_report(&report, 0, survivors, bytes);
        completes(model);
    }
}

/* Instances. */

static void open_instance(size_t i)
{
    struct model *const model = free_place();
    if (model == NULL) {
        instances[i] = (tslab_instance){ 0 };
        return;
    }
    *model = (struct model){ .label = "an instance", .state = TSLAB_EPOCH_OPEN, .root = true };
    model->options.policy = TSLAB_POLICY_RELEASE;
    instances[i] = tslab_instance_open(model->label);
    CHECK(instances[i].id != 0);
    model->options.label = model->label;
    model->options.instance = instances[i];
    model->epoch = tslab_instance_root(instances[i]);
    CHECK(model->epoch.id != 0);
}

static void close_instance(void)
{
    const size_t i = any(INSTANCES);
    const tslab_instance instance = instances[i];
    if (instance.id == 0) {
        STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_STALE);
        open_instance(i);
        return;
    }
    uint64_t survivors = 0, bytes = 0;
    bool busy = false;
    for (size_t n = 0; n < EPOCHS; n++) {
        if (models[n].epoch.id != 0 && models[n].options.instance.id == instance.id) {
            busy |= models[n].inside > 0;
            survivors += models[n].objects;
            bytes += models[n].bytes;
        }
    }
    struct tslab_epoch_report report;
    if (busy) {
        STATUS(tslab_instance_close(instance, 0, &report), TSLAB_BUSY);
        return;
    }
    for (size_t n = 0; n < EPOCHS; n++) {
        if (models[n].epoch.id != 0 && models[n].options.instance.id == instance.id) {
            all_die(&models[n]);
        }
    }
    STATUS(tslab_instance_close(instance, 0, &report), TSLAB_OK);
    check_report(&report, 0, survivors, bytes);
    for (size_t n = 0; n < EPOCHS; n++) {
        if (models[n].epoch.id != 0 && models[n].options.instance.id == instance.id) {
            is_gone(&models[n]);
        }
    }
    open_instance(i);
}

/* What must be refused. */

static void refuse_handles(void)
{
    const size_t at = any(OLD);
    const struct model *const model = some_model();
    const tslab_epoch epochs[] = { old_handles[at].epoch, model == NULL ? no_epoch : model->epoch };
    for (size_t i = 0; i < COUNT_OF(epochs); i++) {
        CHECK(tslab_handle_get(epochs[i], old_handles[at].handle) == NULL);
        STATUS(tslab_handle_free(epochs[i], old_handles[at].handle), TSLAB_STALE);
    }
    /* Living ones in the wrong epoch. */
    for (size_t n = 0; n < 10 && shadow.count > 0; n++) {
        const size_t i = any(shadow.count);
        if (owned[i].handle.id != 0 && owned[i].owner != model) {
            CHECK(tslab_handle_get(epochs[1], owned[i].handle) == NULL);
            STATUS(tslab_handle_free(epochs[1], owned[i].handle), TSLAB_STALE);
        }
    }
}

/* The whole state. */

static void check_models(void)
{
    struct tslab_epoch_stats list[EPOCHS];
    size_t live = 0;
    for (size_t i = 0; i < EPOCHS; i++) {
        const struct model *const model = &models[i];
        if (model->epoch.id == 0) {
            continue;
        }
        live++;
        const struct tslab_epoch_stats stats = stats_of(model->epoch);
        CHECK_SAY(stats.live_objects == model->objects && bytes_agree(stats.live_bytes, model->bytes),
                  "%llu objects of %llu bytes live in epoch %#llx, not %llu of %llu",
                  (unsigned long long)stats.live_objects, (unsigned long long)stats.live_bytes,
                  (unsigned long long)model->epoch.id, (unsigned long long)model->objects,
                  (unsigned long long)model->bytes);
        CHECK(stats.memory_bytes >= model->bytes);
        CHECK(stats.state == model->state && stats.policy == model->options.policy);
        CHECK((stats.inside != 0) == (model->inside != 0));
        CHECK(strncmp(stats.label, model->label, 31) == 0 && strlen(stats.label) <= 31);
        CHECK(stats.instance.id == model->options.instance.id && same(stats.parent, model->options.parent));
    }
    CHECK(tslab_epoch_list(list, EPOCHS) == live);
    for (size_t i = 0; i < live; i++) {
        CHECK(model_of(list[i].epoch) != NULL);
    }
    for (size_t i = 0; i < shadow.count; i++) {
        if (owned[i].handle.id != 0) {
            CHECK(tslab_handle_get(owned[i].owner->epoch, owned[i].handle) == shadow.objects[i]->start);
        }
    }
    CHECK(same(tslab_epoch_current(), depth == 0 ? no_epoch : scopes[depth - 1]->epoch));
    shadow_check(&shadow);
}

static void burst(void)
{
    void (*const allocate)(void) = one_in(2) ? allocate_plain : allocate_by_name;
    for (size_t n = any(300); n > 0; n--) {
        allocate();
    }
}

static void step(void)
{
    static const struct {
        unsigned weight;
        void (*act)(void);
    } actions[] = {
        { 200, allocate_plain }, { 250, allocate_by_name }, { 350, free_some }, { 100, resize },    { 40, open_one },
        { 60, enter_one },       { 60, leave_one },         { 15, close_one },  { 8, release_one }, { 10, advance_one },
        { 2, close_instance },   { 20, refuse_handles },    { 3, free_many },   { 8, burst },
    };
    if (shadow.count > LIVE_OBJECTS || shadow.bytes > LIVE_BYTES) {
        free_many();
        return;
    }
    unsigned all = 0;
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        all += actions[i].weight;
    }
    size_t what = any(all + 1);
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        if (what < actions[i].weight) {
            actions[i].act();
            return;
        }
        what -= actions[i].weight;
    }
    (void)tslab_trim();
}

/* Ends everything, in the order that is left. */
static void finish(void)
{
    while (depth > 0) {
        leave_one();
    }
    for (size_t i = 0; i < EPOCHS; i++) {
        if (models[i].epoch.id != 0 && !models[i].root) {
            all_die(&models[i]);
            STATUS(tslab_epoch_release(models[i].epoch, 0, NULL), TSLAB_OK);
            is_gone(&models[i]);
        }
    }
    while (shadow.count > 0) {
        free_one(any(shadow.count));
    }
    for (size_t i = 0; i < INSTANCES; i++) {
        if (instances[i].id != 0) {
            STATUS(tslab_instance_close(instances[i], TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
        }
    }
    for (size_t i = 0; i < EPOCHS; i++) {
        if (models[i].epoch.id != 0) {
            is_gone(&models[i]);
        }
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.live_objects == 0 && stats.slab_bytes == 0 && stats.large_bytes == 0 && stats.cached_bytes == 0 &&
                  stats.dirty_bytes == 0,
              "%zu objects, %zu bytes of slabs, %zu of large ones, %zu cached, "
              "%zu dirty",
              stats.live_objects, stats.slab_bytes, stats.large_bytes, stats.cached_bytes, stats.dirty_bytes);
}

static void run(uint64_t seed, size_t operations)
{
    state = (seed + 1) * 0x9e3779b97f4a7c15u;
    memset(old_epochs, 0, sizeof old_epochs);
    memset(old_handles, 0, sizeof old_handles);
    for (size_t i = 0; i < INSTANCES; i++) {
        open_instance(i);
    }
    for (size_t i = 0; i < operations; i++) {
        step();
        if (i % (operations / CHECKS + 1) == 0) {
            check_models();
        }
    }
    check_models();
    finish();
}

int main(int argc, char **argv)
{
    CHECK_SAY(argc == 4, "usage: model <first seed> <seeds> <operations>");
    const uint64_t first = strtoull(argv[1], NULL, 10), number = strtoull(argv[2], NULL, 10);
    for (uint64_t seed = first; seed < first + number; seed++) {
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        run(seed, strtoull(argv[3], NULL, 10));
    }
    free(shadow.objects);
    free(owned);
    return 0;
}
