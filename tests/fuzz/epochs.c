/* Epochs, scopes and instances. */
#include "model.h"
#include "reported.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct world world;

struct model *model_of(tslab_epoch epoch)
{
    for (size_t i = 0; i < EPOCHS; i++) {
        if (epoch.id != 0 && same(world.models[i].epoch, epoch)) {
            return &world.models[i];
        }
    }
    return NULL;
}

struct model *model_free_place(void)
{
    for (size_t i = 0; i < EPOCHS; i++) {
        if (world.models[i].epoch.id == 0) {
            return &world.models[i];
        }
    }
    return NULL;
}

struct model *model_some(unsigned place)
{
    for (unsigned i = 0; i < EPOCHS; i++) {
        struct model *const model = &world.models[(place + i) % EPOCHS];
        if (model->epoch.id != 0) {
            return model;
        }
    }
    return NULL;
}

uint32_t model_inside(const struct model *model)
{
    uint32_t inside = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        inside += model->inside[lane];
    }
    return inside;
}

bool model_is_doomed(const struct model *model)
{
    return model->options.policy == TSLAB_POLICY_RELEASE || model->options.policy == TSLAB_POLICY_TRAP;
}

bool model_takes_plain(const struct model *model)
{
    return !model_is_doomed(model) || (model->options.flags & TSLAB_OPEN_VOUCHED) != 0;
}

void model_count(struct model *owner, const struct object *object, bool more)
{
    if (owner != NULL) {
        owner->objects += more ? 1 : (uint64_t)-1;
        owner->with_handles += object->handle.id == 0 ? 0 : more ? 1 : (uint64_t)-1;
        owner->bytes += more ? object->usable : (uint64_t)0 - object->usable;
    }
}

/* Its epoch is over, or about to be, and all objects with it. Their contents can be checked only before. */
static void all_die(struct model *model, void (*die)(struct object *))
{
    for (size_t i = objects.count; i-- > 0;) {
        struct object *const object = &objects.all[i];
        if (object->owner == model) {
            model_count(model, object, false);
            die(object);
        }
    }
    CHECK(model->objects == 0 && model->bytes == 0);
}

/* The place is free for another epoch. */
static void is_gone(struct model *model)
{
    const tslab_epoch epoch = model->epoch;
    CHECK(model_inside(model) == 0 && model->objects == 0);
    model->epoch = no_epoch;
    for (size_t i = 0; i < LANES; i++) {
        if (world.lanes[i].work.epoch == model) {
            world.lanes[i].work.epoch = NULL; /* it was ended by hand */
        }
    }
    world.old_epochs[world.old_at++ % OLD] = epoch;
    check_gone(epoch);
}

void model_check_drained(struct model *model)
{
    if (model != NULL && model->state == TSLAB_EPOCH_DRAINING && model->objects == 0) {
        is_gone(model);
    }
}

/* Somebody is about to end the epoch, or the last one to leave it: what this ends is checked before. */
static void objects_end_before(struct model *model, uint64_t *survivors, uint64_t *bytes)
{
    *survivors = model->objects;
    *bytes = model->bytes;
    if (model_is_doomed(model)) {
        all_die(model, object_dies);
    }
}

/* Everybody has left a closed epoch. */
static void completes(struct model *model)
{
    if (model->objects == 0) {
        is_gone(model);
        return;
    }
    model->state = TSLAB_EPOCH_DRAINING;
    if (model->options.policy == TSLAB_POLICY_REPORT) {
        progress->reports++;
    }
}

/* A lane has closed it. */
static void is_closed(struct model *model, unsigned closer)
{
    model->closed_ms = world_now_ms();
    if (model_inside(model) > 0) {
        model->state = TSLAB_EPOCH_CLOSING;
        model->closer = closer;
    } else {
        completes(model);
    }
}

static bool is_last_inside(const struct model *model, unsigned lane)
{
    return model->state == TSLAB_EPOCH_CLOSING && model_inside(model) == model->inside[lane];
}

static void scope_pushed(struct model *model)
{
    model->inside[world.here]++;
    here()->scopes[here()->depth++] = model;
}

static void scope_popped(void)
{
    struct model *const model = here()->scopes[--here()->depth];
    model->inside[world.here]--;
    if (model->state == TSLAB_EPOCH_CLOSING && model_inside(model) == 0) {
        completes(model);
    }
}

static struct model *innermost(void)
{
    return here()->depth == 0 ? NULL : here()->scopes[here()->depth - 1];
}

/* A death before the last scope is left, which the library treats as its own. */
static void before_pop(void)
{
    struct model *const model = innermost();
    uint64_t unused;
    if (is_last_inside(model, world.here) && model->inside[world.here] == 1) {
        objects_end_before(model, &unused, &unused);
    }
}

struct model *model_landed(const void *p)
{
    const struct lane *const lane = here();
    struct model *wanted = NULL;
    for (size_t i = lane->depth; i-- > 0 && wanted == NULL && lane->paused == 0;) {
        wanted = model_takes_plain(lane->scopes[i]) ? lane->scopes[i] : NULL;
    }
    const tslab_epoch found = tslab_epoch_of(p);
    if (wanted != NULL && wanted->state != TSLAB_EPOCH_OPEN &&
        !(model_grants(wanted) == EITHER && same(found, wanted->epoch))) {
        wanted = NULL;
    }
    CHECK_SAY(same(found, value_of(wanted)), "plain malloc lands in epoch %#llx, not in %#llx",
              (unsigned long long)found.id, (unsigned long long)value_of(wanted).id);
    return wanted;
}

enum grant model_grants(const struct model *model)
{
    if (model == NULL || model->state == TSLAB_EPOCH_DRAINING) {
        return REFUSED;
    }
    if (model->state == TSLAB_EPOCH_OPEN) {
        return world.may_refuse ? EITHER : GRANTED;
    }
    /* A thread inside of an epoch that another closes still gets the memory at hand. */
    return world.here != NOBODY && model->inside[world.here] > 0 && model->closer != world.here ? EITHER : REFUSED;
}

static struct model *is_open_now(struct model *model, tslab_epoch epoch, const struct tslab_epoch_options *options)
{
    CHECK(model_of(epoch) == NULL);
    for (size_t i = 0; i < OLD; i++) {
        CHECK(!same(world.old_epochs[i], epoch));
    }
    char label[sizeof model->label] = { 0 };
    if (options->label != NULL) {
        snprintf(label, sizeof label, "%s", options->label);
    }
    *model = (struct model){
        .epoch = epoch,
        .options = *options,
        .state = TSLAB_EPOCH_OPEN,
        .closer = NOBODY,
        .opened_ms = world_now_ms(),
    };
    if (options->policy == TSLAB_POLICY_DEFAULT) {
        model->options.policy = TSLAB_POLICY_DRAIN;
    }
    memcpy(model->label, label, sizeof label);
    model->options.label = model->label;
    return model;
}

/* An open that was refused: only where memory is short. */
static bool was_opened(uint64_t id)
{
    CHECK_SAY(id != 0 || (world.may_refuse && errno == ENOMEM), "opening was refused: %s", strerror(errno));
    return id != 0;
}

/* Any bytes but 0, also such as a report must not repeat as they are; and more of them than are kept. */
static void make_label(uint32_t bits, char *label, size_t room)
{
    static const char odd[] = "\n\"\\\r\t\x1b\x7f'{}[],:<>&\xff\xc3\xa4\xe2\x82\xac\xed\xa0\x80\xf0\x9f\x98\x80";
    const int used = snprintf(label, room, "fuzz %x, and what follows is cut", (unsigned)bits);
    CHECK(used > 0);
    for (size_t i = 0; bits % 4 == 0 && i < (size_t)used; i++) {
        bits = bits * 1664525 + 1013904223;
        label[i] = bits >> 24 < 128 ? odd[(bits >> 16) % (sizeof odd - 1)] : label[i];
    }
}

void epoch_open_one(const struct operation *operation)
{
    static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN,   TSLAB_POLICY_DRAIN,   TSLAB_POLICY_RELEASE,
                                                  TSLAB_POLICY_RELEASE, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                                  TSLAB_POLICY_TRAP,    TSLAB_POLICY_DRAIN };
    struct model *const place = model_free_place();
    if (place == NULL) {
        epoch_release_one(operation);
        return;
    }
    char label[48];
    make_label(operation->value, label, sizeof label);
    const struct model *const parent = (operation->index & 3) == 0 ? model_some(operation->place) : NULL;
    const struct tslab_epoch_options options = {
        .label = (operation->index & 0x30) == 0   ? NULL
                 : (operation->index & 0x80) == 0 ? "fuzz"
                                                  : label,
        .parent = value_of(parent),
        .instance =
            (operation->index & 12) == 0 ? world.instances[operation->place % INSTANCES] : (tslab_instance){ 0 },
        .policy = policies[operation->way],
        .flags = (operation->index & 0x40) == 0 ? TSLAB_OPEN_VOUCHED : 0,
    };
    static const struct tslab_epoch_options defaults = { .label = NULL };
    const bool plain = (operation->index & 0xf00) == 0;
    errno = 0;
    const tslab_epoch epoch = tslab_epoch_open(plain ? NULL : &options);
    if (was_opened(epoch.id)) {
        (void)is_open_now(place, epoch, plain ? &defaults : &options);
    }
}

static bool refused_for_memory(int status)
{
    return world.may_refuse && status == TSLAB_NO_MEMORY;
}

static void enter_model(struct model *model)
{
    if (model == NULL || here()->depth == DEPTH) {
        STATUS(tslab_epoch_enter(no_epoch), TSLAB_STALE);
        return;
    }
    const int status = tslab_epoch_enter(model->epoch);
    if (model->state != TSLAB_EPOCH_OPEN) {
        STATUS(status, TSLAB_CLOSED);
    } else if (!refused_for_memory(status)) {
        STATUS(status, model_takes_plain(model) ? world.lands : TSLAB_EXPLICIT);
        scope_pushed(model);
    }
    CHECK(same(tslab_epoch_current(), value_of(innermost())));
}

void epoch_enter_one(const struct operation *operation)
{
    struct model *const model = model_some(operation->place);
    enter_model(model == here()->work.epoch ? NULL : model);
}

static void leave_innermost(void)
{
    before_pop();
    STATUS(tslab_epoch_leave(value_of(innermost())), TSLAB_OK);
    scope_popped();
    CHECK(same(tslab_epoch_current(), value_of(innermost())));
}

struct model *epoch_leave_to_hand_over(void)
{
    struct model *const model = innermost();
    const bool is_mine = model != NULL && model == here()->work.epoch;
    if (model == NULL || is_mine) {
        return NULL;
    }
    leave_innermost();
    return model->epoch.id == 0 ? NULL : model;
}

void epoch_enter_handed(void)
{
    struct model *const model = world.handed;
    world.handed = NULL;
    if (model != NULL) {
        enter_model(model);
    }
}

void epoch_leave_one(const struct operation *operation)
{
    const struct model *const inner = innermost();
    const struct model *const other = model_some(operation->place);
    if (inner == NULL || inner == here()->work.epoch || (operation->way == 0 && operation->index % 4 == 0)) {
        if (other != NULL && other != inner) {
            STATUS(tslab_epoch_leave(other->epoch), TSLAB_NOT_INSIDE);
        }
        return;
    }
    leave_innermost();
}

static unsigned how_of(const struct operation *operation)
{
    return operation->way == 0 ? TSLAB_CLOSE_RECLAIM : 0;
}

/* Whether the user closes it, or the library does. */
static bool is_ours_to_close(const struct model *model)
{
    return model != NULL && !model->root && !model->of_work;
}

static void close_model(struct model *model, const struct operation *operation)
{
    const unsigned how = how_of(operation);
    struct tslab_epoch_report report;
    struct tslab_epoch_report *const wanted = (operation->index & 1) == 0 ? &report : NULL;
    if (model->state != TSLAB_EPOCH_OPEN) {
        STATUS(tslab_epoch_close(model->epoch, how, wanted), TSLAB_CLOSED);
        return;
    }
    uint64_t survivors = 0, bytes = 0;
    const bool pending = model_inside(model) > 0;
    if (!pending) {
        objects_end_before(model, &survivors, &bytes);
    }
    STATUS(tslab_epoch_close(model->epoch, how, wanted), pending ? TSLAB_PENDING : TSLAB_OK);
    if (!pending && wanted != NULL) {
        check_report(wanted, how, survivors, bytes);
    }
    is_closed(model, world.here);
}

static void release_model(struct model *model, const struct operation *operation)
{
    const unsigned how = how_of(operation);
    struct tslab_epoch_report report;
    if (model_inside(model) > 0) {
        STATUS(tslab_epoch_release(model->epoch, how, &report), TSLAB_BUSY);
        return;
    }
    const uint64_t survivors = model->objects, bytes = model->bytes;
    all_die(model, object_dies);
    STATUS(tslab_epoch_release(model->epoch, how, &report), TSLAB_OK);
    check_report(&report, how, survivors, bytes);
    is_gone(model);
}

static void advance_model(struct model *model, const struct operation *operation)
{
    struct model *const next = model_free_place();
    const unsigned how = how_of(operation);
    if (next == NULL) {
        return;
    }
    tslab_epoch epoch = model->epoch;
    struct tslab_epoch_report report;
    if (model->state != TSLAB_EPOCH_OPEN) {
        STATUS(tslab_epoch_advance(&epoch, how, &report), TSLAB_CLOSED);
        CHECK(same(epoch, model->epoch));
        return;
    }
    const bool moves = innermost() == model;
    const bool pending = model_inside(model) > (moves ? 1 : 0);
    uint64_t survivors = 0, bytes = 0;
    if (world.may_refuse && !pending && model_is_doomed(model)) {
        return; /* what would be checked before a refusal would be forgotten */
    }
    if (!pending) {
        objects_end_before(model, &survivors, &bytes);
    }
    const int status = tslab_epoch_advance(&epoch, how, &report);
    if (refused_for_memory(status)) {
        CHECK(same(epoch, model->epoch));
        return;
    }
    STATUS(status, pending ? TSLAB_PENDING : TSLAB_OK);
    CHECK(epoch.id != 0);
    (void)is_open_now(next, epoch, &model->options);
    if (moves) {
        model->inside[world.here]--;
        next->inside[world.here]++;
        here()->scopes[here()->depth - 1] = next;
        if (model == here()->work.epoch && here()->work.depth > 0) {
            here()->work.epoch = next;
            next->of_work = true;
        }
    }
    if (!pending) {
        check_report(&report, how, survivors, bytes);
    }
    is_closed(model, world.here);
    CHECK(same(tslab_epoch_current(), value_of(innermost())));
}

void epoch_close_one(const struct operation *operation)
{
    struct model *const model = model_some(operation->place);
    if (is_ours_to_close(model)) {
        close_model(model, operation);
    }
}

void epoch_release_one(const struct operation *operation)
{
    struct model *const model = model_some(operation->place);
    if (is_ours_to_close(model)) {
        release_model(model, operation);
    }
}

void epoch_advance_one(const struct operation *operation)
{
    struct model *const model = model_some(operation->place);
    if (is_ours_to_close(model)) {
        advance_model(model, operation);
    }
}

/* By hand, what a unit of work or an instance does. */

static void try_root(struct model *root, const struct operation *operation)
{
    const unsigned how = how_of(operation);
    tslab_epoch advanced = root->epoch;
    STATUS(tslab_epoch_close(root->epoch, how, NULL), TSLAB_INVALID);
    STATUS(tslab_epoch_release(root->epoch, how, NULL), TSLAB_INVALID);
    STATUS(tslab_epoch_advance(&advanced, how, NULL), TSLAB_INVALID);
    CHECK(same(advanced, root->epoch));
}

void by_hand_one(const struct operation *operation)
{
    struct model *model = NULL;
    for (unsigned i = 0; i < EPOCHS && model == NULL; i++) {
        struct model *const other = &world.models[(operation->place + i) % EPOCHS];
        model = other->epoch.id != 0 && (other->root || other->of_work) ? other : NULL;
    }
    if (model == NULL) {
        return;
    }
    if (model->root) {
        try_root(model, operation);
        return;
    }
    switch (operation->way) {
    case 0:
    case 1:
        close_model(model, operation);
        break;
    case 2:
        release_model(model, operation);
        break;
    case 3:
        advance_model(model, operation);
        break;
    case 4:
    case 5:
        enter_model(model);
        break;
    default:
        if (model == innermost()) {
            leave_innermost();
        }
    }
}

/* Instances. */

void instance_open_one(unsigned i)
{
    struct model *const model = model_free_place();
    world.instances[i] = (tslab_instance){ 0 };
    if (model == NULL) {
        return;
    }
    errno = 0;
    const tslab_instance instance = tslab_instance_open("an instance");
    if (!was_opened(instance.id)) {
        return;
    }
    const struct tslab_epoch_options options = {
        .label = "an instance",
        .instance = instance,
        .policy = TSLAB_POLICY_RELEASE,
    };
    world.instances[i] = instance;
    STATUS(tslab_instance_limit(instance, (size_t)1 << 40 >> i), TSLAB_OK); /* more than a case has */
    is_open_now(model, tslab_instance_root(instance), &options)->root = true;
}

static bool is_of(const struct model *model, tslab_instance instance)
{
    return model->epoch.id != 0 && model->options.instance.id == instance.id;
}

void instance_close_one(const struct operation *operation)
{
    const unsigned i = operation->place % INSTANCES, how = how_of(operation);
    const tslab_instance instance = world.instances[i];
    if (instance.id == 0) {
        STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_STALE);
        instance_open_one(i);
        return;
    }
    uint64_t survivors = 0, bytes = 0;
    bool busy = false;
    for (size_t n = 0; n < EPOCHS; n++) {
        if (is_of(&world.models[n], instance)) {
            busy |= model_inside(&world.models[n]) > 0;
            survivors += world.models[n].objects;
            bytes += world.models[n].bytes;
        }
    }
    struct tslab_epoch_report report;
    if (busy) {
        STATUS(tslab_instance_close(instance, how, &report), TSLAB_BUSY);
        return;
    }
    for (size_t n = 0; n < EPOCHS; n++) {
        if (is_of(&world.models[n], instance)) {
            all_die(&world.models[n], object_dies);
        }
    }
    STATUS(tslab_instance_close(instance, how, &report), TSLAB_OK);
    check_report(&report, how, survivors, bytes);
    for (size_t n = 0; n < EPOCHS; n++) {
        if (is_of(&world.models[n], instance)) {
            is_gone(&world.models[n]);
        }
    }
    world.old_instance = instance;
    CHECK(tslab_instance_root(instance).id == 0);
    STATUS(tslab_instance_close(instance, 0, NULL), TSLAB_STALE);
    instance_open_one(i);
}

/* Units of work. */

/* The library closes the epoch of a lane's units, if nobody has done so by hand. */
static void unit_epoch_is_over(struct lane *lane)
{
    struct model *const over = lane->work.epoch;
    lane->work.epoch = NULL;
    if (over->state == TSLAB_EPOCH_OPEN) {
        is_closed(over, world.here);
    }
}

void unit_begin(const struct operation *operation)
{
    enum { NESTED = 8 };
    struct lane *const lane = here();
    struct model *const place = model_free_place();
    const bool outermost = lane->work.depth == 0 && world.mode != MODE_NEVER;
    const char *const label = operation->way == 0 ? NULL : "a unit";
    if (lane->work.depth == NESTED || (outermost && (lane->depth == DEPTH || place == NULL))) {
        return;
    }
    const int status = tslab_work_begin(label);
    lane->work.scopes = lane->work.depth == 0 ? lane->depth : lane->work.scopes;
    lane->work.depth++;
    if (!outermost) {
        STATUS(status, TSLAB_OK);
        return;
    }
    if (lane->work.epoch != NULL && lane->work.rotations != world.rotations) {
        unit_epoch_is_over(lane);
    }
    if (lane->work.epoch != NULL && lane->work.epoch->state != TSLAB_EPOCH_OPEN) {
        lane->work.epoch = NULL; /* closed by hand */
    }
    if (refused_for_memory(status)) {
        return; /* this unit has no epoch, or is not inside of it */
    }
    STATUS(status, TSLAB_OK);
    const tslab_epoch epoch = tslab_epoch_current();
    if (lane->work.epoch == NULL) {
        const struct tslab_epoch_options options = { .label = label, .policy = TSLAB_POLICY_DRAIN };
        lane->work.epoch = is_open_now(place, epoch, &options);
        place->of_work = true;
        lane->work.units = 0;
        lane->work.rotations = world.rotations;
        lane->work.opened_ms = world_now_ms();
    }
    CHECK(same(epoch, lane->work.epoch->epoch));
    scope_pushed(lane->work.epoch);
}

static bool unit_is_due(const struct lane *lane)
{
    switch (world.mode) {
    case MODE_PER_REQUEST:
        return true;
    case MODE_BATCH:
        return lane->work.units >= world.mode_number;
    case MODE_INTERVAL:
        return world_now_ms() - lane->work.opened_ms >= world.mode_number;
    case MODE_MANUAL:
        return lane->work.rotations != world.rotations;
    default:
        return false;
    }
}

void unit_end(const struct operation *operation)
{
    struct lane *const lane = here();
    const struct model *const epoch = lane->work.depth == 1 ? lane->work.epoch : NULL;
    const bool is_inside = lane->work.depth == 1 && lane->depth > lane->work.scopes;
    const bool is_own = lane->depth == lane->work.scopes + 1 && epoch != NULL && innermost() == epoch;
    if (lane->work.depth == 0 || (is_inside && !is_own)) {
        STATUS(tslab_work_end(), TSLAB_NOT_INSIDE);
        return;
    }
    STATUS(tslab_work_end(), TSLAB_OK);
    lane->work.depth--;
    if (is_inside) {
        scope_popped();
    }
    if (epoch != NULL && lane->work.epoch != NULL) {
        lane->work.units++;
        if (unit_is_due(lane)) {
            unit_epoch_is_over(lane);
        }
    }
}

void unit_pause(const struct operation *operation)
{
    if (here()->paused < 4) {
        tslab_work_pause();
        here()->paused++;
    }
}

void unit_resume(const struct operation *operation)
{
    STATUS(tslab_work_resume(), here()->paused == 0 ? TSLAB_NOT_INSIDE : TSLAB_OK);
    here()->paused -= here()->paused != 0;
}

void units_rotate(const struct operation *operation)
{
    tslab_work_rotate();
    world.rotations++;
}

/* Ends. */

void lane_before_end(unsigned lane)
{
    for (size_t i = 0; i < EPOCHS; i++) {
        struct model *const model = &world.models[i];
        uint64_t unused;
        if (model->epoch.id != 0 && model->inside[lane] > 0 && is_last_inside(model, lane)) {
            objects_end_before(model, &unused, &unused);
        }
    }
}

/* A lane is inside of nothing any more, and its unit of work is over. */
static void lane_has_left(unsigned lane, unsigned closer)
{
    struct model *const work = world.lanes[lane].work.epoch;
    for (size_t i = 0; i < EPOCHS; i++) {
        struct model *const model = &world.models[i];
        if (model->epoch.id != 0 && model->inside[lane] > 0) {
            model->inside[lane] = 0;
            if (model->state == TSLAB_EPOCH_CLOSING && model_inside(model) == 0) {
                if (model_is_doomed(model)) {
                    all_die(model, object_is_lost);
                }
                completes(model);
            }
        }
    }
    const bool closes = work != NULL && world.lanes[lane].work.epoch == work && work->state == TSLAB_EPOCH_OPEN;
    memset(&world.lanes[lane], 0, sizeof world.lanes[lane]);
    if (closes) {
        is_closed(work, closer);
    }
}

void lane_after_end(unsigned lane)
{
    lane_has_left(lane, lane);
}

void lanes_vanish(void)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (lane != world.here) {
            lane_has_left(lane, world.here);
        }
    }
}

static void scopes_end(void)
{
    struct lane *const lane = here();
    static const struct operation nothing = { .way = 1 };
    while (lane->paused > 0) {
        unit_resume(&nothing);
    }
    while (lane->depth > 0) {
        if (innermost() == lane->work.epoch && lane->work.depth == 1 && lane->depth == lane->work.scopes + 1) {
            unit_end(&nothing);
        } else {
            leave_innermost();
        }
    }
    while (lane->work.depth > 0) {
        unit_end(&nothing);
    }
}

void everything_ends(void)
{
    if (world.here != NOBODY) {
        scopes_end();
    }
    for (size_t i = 0; i < EPOCHS; i++) {
        struct model *const model = &world.models[i];
        if (model->epoch.id != 0 && !model->root) {
            all_die(model, object_dies);
            STATUS(tslab_epoch_release(model->epoch, 0, NULL), TSLAB_OK);
            is_gone(model);
        }
    }
    for (struct operation operation = { .way = 1 }; objects.count > 0; operation.way++) {
        operation.way &= 7;
        operation.index += 40503;
        operation.index &= 0xffff;
        free_one(&operation);
    }
    for (unsigned i = 0; i < INSTANCES; i++) {
        if (world.instances[i].id != 0) {
            STATUS(tslab_instance_close(world.instances[i], TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
        }
    }
    for (size_t i = 0; i < EPOCHS; i++) {
        if (world.models[i].epoch.id != 0) {
            all_die(&world.models[i], object_dies);
            is_gone(&world.models[i]);
        }
    }
    CHECK(tslab_epoch_list(NULL, 0) == 0);
}

/* The whole state. */

static void check_stats(const struct model *model, const struct tslab_epoch_stats *given)
{
    const struct tslab_epoch_stats stats = *given;
    const uint32_t inside = model_inside(model);
    const uint32_t mine = world.here == NOBODY ? 0 : model->inside[world.here];
    CHECK(same(stats.epoch, model->epoch));
    /* The memory that another thread inside of it has at hand is known to that thread alone. */
    if (inside == mine) {
        CHECK_SAY(stats.live_objects == model->objects && bytes_agree(stats.live_bytes, model->bytes),
                  "%llu objects of %llu bytes live in epoch %#llx, not %llu of %llu",
                  (unsigned long long)stats.live_objects, (unsigned long long)stats.live_bytes,
                  (unsigned long long)model->epoch.id, (unsigned long long)model->objects,
                  (unsigned long long)model->bytes);
        CHECK(stats.memory_bytes >= model->bytes);
    }
    CHECK(stats.state == model->state && stats.policy == model->options.policy);
    CHECK((stats.inside != 0) == (inside != 0));
    CHECK(strncmp(stats.label, model->label, 31) == 0 && memchr(stats.label, 0, sizeof stats.label) != NULL);
    CHECK(stats.instance.id == model->options.instance.id && same(stats.parent, model->options.parent));
    CHECK(world_now_ms() == 0 || stats.age_ms == world_now_ms() - model->opened_ms);
    CHECK(stats.state != TSLAB_EPOCH_OPEN || stats.closed_ms == 0);
    CHECK(world_now_ms() == 0 || stats.state == TSLAB_EPOCH_OPEN ||
          stats.closed_ms == world_now_ms() - model->closed_ms);
}

void model_check_one(const struct operation *operation)
{
    const struct model *const model = model_some(operation->place);
    struct tslab_epoch_stats stats;
    if (operation->index % 4 != 0) { /* it costs a walk */
        STATUS(tslab_epoch_stats_get(no_epoch, &stats), TSLAB_STALE);
        return;
    }
    memset(&stats, 0xa5, sizeof stats);
    STATUS(tslab_epoch_stats_get(value_of(model), &stats), model == NULL ? TSLAB_STALE : TSLAB_OK);
    if (model != NULL) {
        check_stats(model, &stats);
    }
}

void models_check(void)
{
    struct tslab_epoch_stats list[EPOCHS];
    size_t live = 0, open = 0, draining = 0;
    for (size_t i = 0; i < EPOCHS; i++) {
        if (world.models[i].epoch.id != 0) {
            live++;
            open += world.models[i].state == TSLAB_EPOCH_OPEN;
            draining += world.models[i].state == TSLAB_EPOCH_DRAINING;
        }
    }
    memset(list, 0xa5, sizeof list);
    CHECK(tslab_epoch_list(list, EPOCHS) == live);
    for (size_t i = 0; i < live; i++) {
        const struct model *const model = model_of(list[i].epoch);
        CHECK(model != NULL);
        check_stats(model, &list[i]);
        for (size_t n = 0; n < i; n++) {
            CHECK(!same(list[n].epoch, list[i].epoch));
        }
    }
    CHECK(tslab_epoch_list(NULL, 0) == live);
    for (size_t i = 0; i < objects.count; i++) {
        const struct object *const object = &objects.all[i];
        CHECK(same(tslab_epoch_of(object->start), value_of(object->owner)));
        CHECK(tslab_usable_size(object->start) == object->usable);
        if (object->handle.id != 0) {
            CHECK(tslab_handle_get(object->owner->epoch, object->handle) == object->start);
        }
    }
    CHECK(world.here == NOBODY || same(tslab_epoch_current(), value_of(innermost())));
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK_SAY(stats.epochs_draining == draining && stats.epochs_open == open,
              "%zu epochs are open and %zu draining, not %zu and %zu", stats.epochs_open, stats.epochs_draining, open,
              draining);
    objects_check();
}
