/* Objects: allocated in every way, freed, resized and looked at. */
#include "model.h"
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_full(void)
{
    return objects.count >= world.objects_most || objects.bytes >= world.bytes_most;
}

static struct object *some_object(uint32_t index)
{
    return objects.count == 0 ? NULL : &objects.all[(size_t)index * 40503 % objects.count];
}

static void born(void *p, size_t asked, size_t alignment, struct model *owner, tslab_handle handle)
{
    struct object *const object = object_born(p, asked, alignment);
    object->owner = owner;
    object->handle = handle;
    model_count(owner, object, true);
}

/* Plain allocation is refused only where memory is short. */
static void plain_born(void *p, size_t asked, size_t alignment)
{
    if (p == NULL) {
        CHECK_SAY(world.may_refuse && errno == ENOMEM, "%zu bytes at a multiple of %zu were refused: %s", asked,
                  alignment, strerror(errno));
        return;
    }
    born(p, asked, alignment, model_landed(p), (tslab_handle){ 0 });
}

void allocate_plain(const struct operation *operation)
{
    if (is_full()) {
        free_one(operation);
        return;
    }
    const size_t size = operation_size(operation->value), alignment = operation_alignment(operation->index);
    errno = 0;
    switch (operation->way) {
    case 0: {
        const size_t count = 1 + operation->index % 5;
        void *const p = tslab_calloc(count, size / count);
        CHECK(p == NULL || is_zero(p, size / count * count));
        plain_born(p, size / count * count, 16);
        break;
    }
    case 1:
        plain_born(tslab_aligned_alloc(alignment, size), size, alignment);
        break;
    case 2:
        plain_born(tslab_realloc(NULL, size), size, 16);
        break;
    default:
        plain_born(tslab_malloc(size), size, 16);
    }
}

static void posix_memalign_born(size_t alignment, size_t size)
{
    void *p = &world;
    errno = ERANGE;
    alignment = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    const int error = NAME(posix_memalign)(&p, alignment, size);
    CHECK(errno == (error == 0 ? ERANGE : ENOMEM));
    errno = error;
    CHECK(error == 0 || p == (void *)&world);
    plain_born(error == 0 ? p : NULL, size, alignment);
}

/* Whether the operation calls a function by the other name that glibc has for it. */
static bool second_name(const struct operation *operation)
{
    return operation->value % 2 != 0;
}

/* memalign takes any alignment, and means the next power of two. */
static void memalign_born(const struct operation *operation, size_t size)
{
    const size_t wanted = operation->index % 5000;
    size_t alignment = 1;
    while (alignment < wanted) {
        alignment *= 2;
    }
    plain_born((second_name(operation) ? NAME(__libc_memalign) : NAME(memalign))(wanted, size), size, alignment);
}

static void strndup_born(const struct operation *operation)
{
    char text[300];
    const size_t length = operation->index % sizeof text, most = operation->value % sizeof text;
    memset(text, 'x', sizeof text);
    text[length] = 0;
    char *const copy = NAME(strndup)(text, most);
    const size_t copied = length < most ? length : most;
    CHECK(copy == NULL || (strlen(copy) == copied && memcmp(copy, text, copied) == 0));
    plain_born(copy, copied + 1, 16);
}

/* An operator that may throw is called only where nothing makes it: there is no C++ here that could catch. */
static void cxx_born(unsigned which, size_t size, size_t alignment)
{
    static void *(*const plain[])(size_t) = { NAME(_Znwm), NAME(_Znam) };
    static void *(*const aligned[])(size_t, size_t) = { NAME(_ZnwmSt11align_val_t), NAME(_ZnamSt11align_val_t) };
    static void *(*const quiet[])(size_t, const void *) = { NAME(_ZnwmRKSt9nothrow_t), NAME(_ZnamRKSt9nothrow_t) };
    static void *(*const quiet_aligned[])(size_t, size_t, const void *) = { NAME(_ZnwmSt11align_val_tRKSt9nothrow_t),
                                                                            NAME(_ZnamSt11align_val_tRKSt9nothrow_t) };
    static const char nothrow;
    const unsigned form = which % (world.may_refuse ? 4 : 8) / 2, of_array = which % 2;
    plain_born(form == 0   ? quiet[of_array](size, &nothrow)
               : form == 1 ? quiet_aligned[of_array](size, alignment, &nothrow)
               : form == 2 ? plain[of_array](size)
                           : aligned[of_array](size, alignment),
               size, form % 2 == 0 ? 1 : alignment);
}

static void cxx_free(unsigned which, void *p, size_t size, size_t alignment)
{
    static void (*const plain[])(void *) = { NAME(_ZdlPv), NAME(_ZdaPv) };
    static void (*const of_one[])(void *, size_t) = { NAME(_ZdlPvm), NAME(_ZdaPvm), NAME(_ZdlPvSt11align_val_t),
                                                      NAME(_ZdaPvSt11align_val_t) };
    static void (*const of_both[])(void *, size_t, size_t) = { NAME(_ZdlPvmSt11align_val_t),
                                                               NAME(_ZdaPvmSt11align_val_t) };
    static const char nothrow;
    which %= 12;
    if (which < 2) {
        plain[which](p);
    } else if (which < 6) {
        of_one[which - 2](p, which < 4 ? size : alignment);
    } else if (which < 8) {
        of_both[which - 6](p, size, alignment);
    } else if (which < 10) {
        (which == 8 ? NAME(_ZdlPvRKSt9nothrow_t) : NAME(_ZdaPvRKSt9nothrow_t))(p, &nothrow);
    } else {
        (which == 10 ? NAME(_ZdlPvSt11align_val_tRKSt9nothrow_t)
                     : NAME(_ZdaPvSt11align_val_tRKSt9nothrow_t))(p, alignment, &nothrow);
    }
}

void allocate_by_libc(const struct operation *operation)
{
    if (is_full()) {
        free_one(operation);
        return;
    }
    const size_t size = operation_size(operation->value), alignment = operation_alignment(operation->index);
    errno = 0;
    switch (operation->way) {
    case 0: {
        void *const p = (second_name(operation) ? NAME(__libc_calloc) : NAME(calloc))(size, 1);
        CHECK(p == NULL || is_zero(p, size));
        plain_born(p, size, 16);
        break;
    }
    case 1:
        memalign_born(operation, size);
        break;
    case 2:
        posix_memalign_born(alignment, size);
        break;
    case 3:
        plain_born(NAME(aligned_alloc)(alignment, size), size, alignment);
        break;
    case 4:
        if (operation->index % 4 == 0) {
            plain_born((second_name(operation) ? NAME(__libc_valloc) : NAME(valloc))(size), size, 4096);
        } else if (operation->index % 4 == 1) {
            plain_born((second_name(operation) ? NAME(__libc_pvalloc) : NAME(pvalloc))(size),
                       (size + 4095) / 4096 * 4096, 4096);
        } else {
            strndup_born(operation);
        }
        break;
    case 5: {
        const size_t count = 1 + operation->index % 7;
        plain_born(NAME(reallocarray)(NULL, count, size / count), size / count * count, 16);
        break;
    }
    case 6:
        cxx_born(operation->index % 8, size, alignment);
        break;
    default:
        plain_born((second_name(operation) ? NAME(__libc_malloc) : NAME(malloc))(size), size, 16);
    }
}

/* Compares the answer of an allocation that named an epoch with the one expected. */
static void born_in(struct model *model, void *p, size_t asked, size_t alignment, tslab_handle handle)
{
    const enum grant grant = model_grants(model);
    if (p == NULL) {
        const int wanted = grant == EITHER && world.may_refuse && model->state == TSLAB_EPOCH_OPEN ? ENOMEM : EINVAL;
        CHECK_SAY(grant != GRANTED && errno == wanted, "%zu bytes in epoch %#llx were refused: %s", asked,
                  (unsigned long long)value_of(model).id, strerror(errno));
        return;
    }
    CHECK_SAY(grant != REFUSED, "an epoch that is closed serves %zu bytes", asked);
    CHECK(same(tslab_epoch_of(p), model->epoch));
    born(p, asked, alignment, model, handle);
}

void allocate_in_epoch(const struct operation *operation)
{
    if (is_full()) {
        free_one(operation);
        return;
    }
    struct model *const model = model_some(operation->place);
    const tslab_epoch epoch = value_of(model);
    const size_t size = operation_size(operation->value), alignment = operation_alignment(operation->index);
    errno = 0;
    switch (operation->way) {
    case 0: {
        const size_t count = 1 + operation->index % 3;
        void *const p = tslab_epoch_calloc(epoch, count, size / count);
        CHECK(p == NULL || is_zero(p, size / count * count));
        born_in(model, p, size / count * count, 16, (tslab_handle){ 0 });
        break;
    }
    case 1:
        born_in(model, tslab_epoch_aligned_alloc(epoch, alignment, size), size, alignment, (tslab_handle){ 0 });
        break;
    default:
        born_in(model, tslab_epoch_malloc(epoch, size), size, 16, (tslab_handle){ 0 });
    }
}

static void allocate_handle(struct model *model, size_t size, bool wants_address)
{
    errno = 0;
    void *p = NULL;
    const tslab_handle handle = tslab_handle_malloc(value_of(model), size, wants_address ? &p : NULL);
    CHECK(handle.id != 0 || p == NULL);
    if (handle.id != 0 && !wants_address) {
        p = tslab_handle_get(value_of(model), handle);
        CHECK(p != NULL);
    }
    CHECK(handle.id == 0 || model->state == TSLAB_EPOCH_OPEN);
    born_in(model, p, size, 16, handle);
}

void allocate_with_handle(const struct operation *operation)
{
    if (is_full()) {
        free_one(operation);
        return;
    }
    allocate_handle(model_some(operation->place), operation_size(operation->value), operation->way != 0);
}

void allocate_many(const struct operation *operation)
{
    struct model *const model = model_some(operation->place);
    const size_t size = operation_size(operation->value) % 5000;
    for (unsigned n = operation->index % 400; n > 0 && !is_full(); n--) {
        errno = 0;
        if (operation->way < 4) {
            plain_born(tslab_malloc(size), size, 16);
        } else if (operation->way < 7) {
            born_in(model, tslab_epoch_malloc(value_of(model), size), size, 16, (tslab_handle){ 0 });
        } else {
            allocate_handle(model, size, true);
        }
    }
}

/* An epoch keeps its objects in another way when it has used up some memory: this makes it do so. */
void grow_old(const struct operation *operation)
{
    enum { PIECES = 150, PIECE_BYTES = 17000 };
    const struct model *const model = model_some(operation->place);
    for (unsigned i = 0; i < PIECES && model_grants(model) == GRANTED; i++) {
        void *const p = tslab_epoch_malloc(model->epoch, PIECE_BYTES);
        CHECK(p != NULL && same(tslab_epoch_of(p), model->epoch));
        tslab_free(p);
    }
}

static void free_with_handle(struct object *object)
{
    struct model *const owner = object->owner;
    const tslab_handle handle = object->handle;
    const tslab_epoch epoch = owner->epoch;
    CHECK(tslab_handle_get(epoch, handle) == object->start);
    model_count(owner, object, false);
    object_dies(object);
    world.old_handles[world.old_at % OLD].epoch = epoch;
    world.old_handles[world.old_at++ % OLD].handle = handle;
    STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
    CHECK(tslab_handle_get(epoch, handle) == NULL);
    STATUS(tslab_handle_free(epoch, handle), TSLAB_STALE);
    model_check_drained(owner);
}

void free_one(const struct operation *operation)
{
    struct object *const object = some_object(operation->index);
    if (object == NULL) {
        tslab_free(NULL);
        NAME(free)(NULL);
        return;
    }
    if (object->handle.id != 0) {
        free_with_handle(object);
        return;
    }
    struct model *const owner = object->owner;
    void *const p = object->start;
    const size_t asked = object->asked, alignment = object->alignment;
    model_count(owner, object, false);
    object_dies(object);
    errno = (int)operation->index;
    switch (operation->way) {
    case 0:
        CHECK(tslab_realloc(p, 0) == NULL);
        break;
    case 1:
        CHECK(NAME(realloc)(p, unseen(0)) == NULL);
        break;
    case 2:
        NAME(free_sized)(p, asked);
        break;
    case 3:
        NAME(free_aligned_sized)(p, alignment, asked);
        break;
    case 4:
        NAME(free)(p);
        break;
    case 5:
        (second_name(operation) ? NAME(__libc_free) : NAME(cfree))(p);
        break;
    case 6:
        cxx_free(operation->value, p, asked, alignment);
        break;
    default:
        tslab_free(p);
    }
    CHECK(operation->way < 2 || errno == (int)operation->index);
    model_check_drained(owner);
}

void free_many(const struct operation *operation)
{
    struct operation each = *operation;
    for (unsigned n = operation->value % 400; n > 0 && objects.count > 0; n--) {
        free_one(&each);
        each.index = (each.index + (operation->way < 4 ? 0 : 40503)) & 0xffff;
    }
}

static void *reallocated(const struct operation *operation, void *p, size_t size)
{
    switch (operation->way) {
    case 0:
        return (second_name(operation) ? NAME(__libc_realloc) : NAME(realloc))(p, size);
    case 1:
        return NAME(reallocarray)(p, size, unseen(1));
    default:
        return tslab_realloc(p, size);
    }
}

void resize_one(const struct operation *operation)
{
    struct object *const object = some_object(operation->index);
    if (object == NULL || object->handle.id != 0 || objects.bytes > 2 * world.bytes_most) {
        return;
    }
    struct model *const owner = object->owner;
    char *const before = object->start;
    const size_t given = operation_size(operation->value);
    const size_t size = 1 + (operation->way < 4    ? given
                             : operation->way == 4 ? object->asked / 2
                             : operation->way == 5 ? object->asked + given % 64
                             : operation->way == 6 ? object->asked + object->asked / 2 % 300000
                                                   : object->usable - object->usable / (1 + given % 8));
    errno = 0;
    object_check(object);
    char *const p = reallocated(operation, before, size);
    if (p == NULL) {
        CHECK_SAY(world.may_refuse && errno == ENOMEM, "%zu bytes were refused: %s", size, strerror(errno));
        object_check(object);
        return;
    }
    struct model *new_owner = owner;
    if (owner != NULL && owner->state != TSLAB_EPOCH_OPEN && p != before) {
        new_owner = model_landed(p);
    }
    CHECK(same(tslab_epoch_of(p), value_of(new_owner)));
    model_count(owner, object, false);
    object_moved(object, p, size);
    object->owner = new_owner;
    model_count(new_owner, object, true);
    if (new_owner != owner) {
        model_check_drained(owner);
    }
}

void look_at_one(const struct operation *operation)
{
    const struct object *const object = some_object(operation->index);
    if (object != NULL) {
        object_check(object);
        CHECK(same(tslab_epoch_of(object->start), value_of(object->owner)));
        CHECK(NAME(malloc_usable_size)(object->start) == object->usable);
        CHECK(object->handle.id == 0 || tslab_handle_get(object->owner->epoch, object->handle) == object->start);
    }
    CHECK(tslab_usable_size(NULL) == 0 && NAME(malloc_usable_size)(NULL) == 0);
}
