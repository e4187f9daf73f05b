/* Calls that must be refused, and must change nothing. */
#include "model.h"
#include "names.h"

#include <errno.h>

/* A value that names no epoch of ours; {0} when it came out as one that does. */
static tslab_epoch made_up_epoch(const struct operation *operation)
{
    const struct model *const model = model_some(operation->place);
    const uint64_t near = value_of(model).id;
    const uint64_t bits = (uint64_t)operation->value << 32 | operation->value;
    const tslab_epoch epoch = { operation->index % 4 == 0   ? bits
                                : operation->index % 4 == 1 ? near ^ (uint64_t)1 << operation->value % 64
                                : operation->index % 4 == 2 ? near + (operation->value % 40) - 20
                                                            : operation->value % 5 };
    return model_of(epoch) == NULL ? epoch : no_epoch;
}

static void try_epoch(const struct operation *operation, tslab_epoch epoch)
{
    struct tslab_epoch_options options = { .label = "of nobody", .parent = epoch };
    if (epoch.id != 0) {
        errno = 0;
        CHECK(tslab_epoch_open(&options).id == 0 && errno == EINVAL);
        options.parent = no_epoch;
        options.instance.id = epoch.id;
        errno = 0;
        CHECK(tslab_epoch_open(&options).id == 0 && errno == EINVAL);
    }
    const struct object *const object = objects.count == 0 ? NULL : &objects.all[operation->value % objects.count];
    if (object != NULL && object->handle.id != 0) {
        CHECK(tslab_handle_get(epoch, object->handle) == NULL);
        STATUS(tslab_handle_free(epoch, object->handle), TSLAB_STALE);
    }
    CHECK(tslab_instance_root((tslab_instance){ epoch.id }).id == 0);
    STATUS(tslab_instance_limit((tslab_instance){ epoch.id }, 1), TSLAB_STALE);
    STATUS(tslab_instance_close((tslab_instance){ epoch.id }, 0, NULL), TSLAB_STALE);
    check_gone(epoch);
}

static void try_handle(tslab_epoch epoch, tslab_handle handle)
{
    CHECK(tslab_handle_get(epoch, handle) == NULL);
    STATUS(tslab_handle_free(epoch, handle), TSLAB_STALE);
}

/* An old one, in the epoch that it was of and in another. */
static void try_old_handle(const struct operation *operation)
{
    const size_t at = operation->index % OLD;
    try_handle(world.old_handles[at].epoch, world.old_handles[at].handle);
    try_handle(value_of(model_some(operation->place)), world.old_handles[at].handle);
}

/* One that is right, in an epoch that it is not of; and one that differs from it in a bit. */
static void try_wrong_handle(const struct operation *operation)
{
    const struct model *const model = model_some(operation->place);
    const struct object *object = NULL;
    for (size_t i = 0; i < 20 && objects.count > 0 && (object == NULL || object->handle.id == 0); i++) {
        object = &objects.all[(operation->index + i) % objects.count];
    }
    if (object == NULL || object->handle.id == 0) {
        try_handle(value_of(model), (tslab_handle){ operation->value });
        return;
    }
    if (object->owner != model) {
        try_handle(value_of(model), object->handle);
    }
    try_handle(value_of(object->owner), (tslab_handle){ object->handle.id ^ (uint64_t)1 << operation->value % 64 });
    CHECK(tslab_handle_get(value_of(object->owner), object->handle) == object->start);
}

void try_stale(const struct operation *operation)
{
    switch (operation->way) {
    case 0:
        try_epoch(operation, world.old_epochs[operation->index % OLD]);
        break;
    case 1:
        try_epoch(operation, made_up_epoch(operation));
        break;
    case 2:
        STATUS(tslab_instance_close(world.old_instance, 0, NULL), TSLAB_STALE);
        break;
    case 3:
        try_handle(value_of(model_some(operation->place)),
                   (tslab_handle){ (uint64_t)operation->value << 32 | operation->index });
        break;
    case 4:
    case 5:
        try_wrong_handle(operation);
        break;
    default:
        try_old_handle(operation);
    }
}

#define REFUSES(call, error)                                                                                           \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        CHECK((call) == NULL && errno == (error));                                                                     \
    } while (0)

static void try_sizes(const struct operation *operation)
{
    const size_t huge = unseen(SIZE_MAX - operation->value % 70000);
    const size_t half = unseen((size_t)PTRDIFF_MAX + 1 + operation->value);
    const size_t count = unseen((size_t)1 << 33);
    void *const p = objects.count == 0 || objects.all[0].handle.id != 0 ? NULL : objects.all[0].start;
    const struct model *const model = model_some(operation->place);
    const int in_epoch =
        model_grants(model) == REFUSED || (model != NULL && model->state != TSLAB_EPOCH_OPEN) ? EINVAL : ENOMEM;
    switch (operation->index % 12) {
    case 0:
        REFUSES(tslab_malloc(huge), ENOMEM);
        REFUSES(NAME(malloc)(half), ENOMEM);
        break;
    case 1:
        REFUSES(tslab_calloc(count, count), ENOMEM);
        REFUSES(NAME(calloc)(half, 2), ENOMEM);
        break;
    case 2:
        REFUSES(tslab_realloc(p, half), ENOMEM);
        REFUSES(NAME(realloc)(p, huge), ENOMEM);
        break;
    case 3:
        REFUSES(NAME(reallocarray)(p, count, count), ENOMEM);
        break;
    case 4:
        REFUSES(tslab_aligned_alloc(64, huge), ENOMEM);
        REFUSES(tslab_aligned_alloc((size_t)1 << 63, 1), ENOMEM);
        break;
    case 5:
        REFUSES(NAME(memalign)((size_t)1 << 62, 1), ENOMEM);
        REFUSES(NAME(memalign)(huge, 1), EINVAL);
        break;
    case 6:
        REFUSES(NAME(pvalloc)(huge | 0xf000), ENOMEM);
        REFUSES(NAME(valloc)(half), ENOMEM);
        break;
    case 7:
        REFUSES(tslab_epoch_malloc(value_of(model), half), in_epoch);
        break;
    case 8:
        REFUSES(tslab_epoch_calloc(value_of(model), count, count), ENOMEM);
        break;
    case 9:
        REFUSES(tslab_epoch_aligned_alloc(value_of(model), 64, huge), in_epoch);
        break;
    default: {
        void *where = &world;
        errno = ERANGE;
        CHECK(NAME(posix_memalign)(&where, 64, half) == ENOMEM && where == (void *)&world && errno == ENOMEM);
    }
    }
    if (p != NULL) {
        object_check(&objects.all[0]);
    }
}

static void try_alignments(const struct operation *operation)
{
    const struct model *const model = model_some(operation->place);
    const size_t odd = operation->index % 16 == 0 ? 0 : (size_t)3 << operation->index % 60;
    void *where = &world;
    REFUSES(tslab_aligned_alloc(odd, 100), EINVAL);
    REFUSES(tslab_epoch_aligned_alloc(value_of(model), odd, 100), EINVAL);
    errno = ERANGE;
    CHECK(NAME(posix_memalign)(&where, odd, 100) == EINVAL && where == (void *)&world && errno == ERANGE);
    CHECK(NAME(posix_memalign)(&where, 4, 100) == EINVAL && where == (void *)&world);
}

void try_invalid(const struct operation *operation)
{
    const struct model *const model = model_some(operation->place);
    const tslab_epoch epoch = value_of(model);
    struct tslab_epoch_options options = { .policy = (enum tslab_policy)(TSLAB_POLICY_TRAP + 1 + operation->index) };
    struct tslab_epoch_report report;
    tslab_epoch advanced = epoch;
    const tslab_close_flags how = (tslab_close_flags)(1 + operation->value % 1000 * 2);
    switch (operation->way) {
    case 0:
        errno = 0;
        CHECK(tslab_epoch_open(&options).id == 0 && errno == EINVAL);
        break;
    case 1:
        options.policy = TSLAB_POLICY_DRAIN;
        options.flags = (tslab_open_flags)(3u << operation->index % 30);
        errno = 0;
        CHECK(tslab_epoch_open(&options).id == 0 && errno == EINVAL);
        break;
    case 2:
        if (model != NULL) {
            STATUS(tslab_epoch_close(epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_epoch_release(epoch, how, &report), TSLAB_INVALID);
            STATUS(tslab_epoch_advance(&advanced, how, &report), TSLAB_INVALID);
            CHECK(same(advanced, epoch));
        }
        STATUS(tslab_epoch_advance(NULL, 0, NULL), TSLAB_INVALID);
        break;
    case 3:
        if (model != NULL) {
            STATUS(tslab_epoch_stats_get(epoch, NULL), TSLAB_INVALID);
        }
        CHECK(tslab_status_text((enum tslab_status)operation->value)[0] != 0 &&
              tslab_status_text(TSLAB_INVALID)[0] != 0);
        CHECK(tslab_status_name((enum tslab_status)operation->value)[0] != 0);
        break;
    case 4:
    case 5:
        try_alignments(operation);
        break;
    default:
        try_sizes(operation);
    }
}
