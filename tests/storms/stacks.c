/*
 * Small stacks. Every function of the library is called on a stack of the smallest size that there is, with a guard
 * page below; and on a painted one, which tells how much of it the call took. The first call in the process is one of
 * them: it starts the engine.
 *
 *   stacks BYTES       no call may take more than this
 */
#include "storm.h"

#include <limits.h>
#include <malloc.h>
#include <sys/mman.h>

enum { PAINT = 0xa5, PAINTED_BYTES = 256 * 1024 };

static int null_fd;
static FILE *null_stream;
static tslab_epoch common; /* that others are inside of, too */
static void *first_object;

/* Before any constructor: of this program, or of a library. */
static void *call_first(void *unused)
{
    first_object = tslab_malloc(100);
    return unused;
}

static pthread_t smallest_thread(void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, body, argument) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    return thread;
}

static void begin(void)
{
    (void)thread_end(smallest_thread(call_first, NULL));
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = begin;

/* The called function. */

static void nothing(void)
{
}

static void allocate(void)
{
    static _Thread_local void *blocks[300];
    for (size_t size = 1; size < 400000; size += 1 + size / 8) {
        blocks[0] = ends_fill(tslab_malloc(size), size, size);
        blocks[1] = tslab_calloc(1, size);
        blocks[2] = tslab_aligned_alloc(4096, size);
        CHECK(blocks[1] != NULL && blocks[2] != NULL);
        blocks[0] = tslab_realloc(blocks[0], size * 2);
        CHECK(blocks[0] != NULL && tslab_usable_size(blocks[0]) >= size * 2);
        tslab_free(blocks[0]);
        tslab_free(blocks[1]);
        tslab_free(blocks[2]);
    }
    for (size_t size = 16; size < 40000; size *= 2) { /* magazines overflow */
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            blocks[i] = tslab_malloc(size);
        }
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            tslab_free(blocks[i]);
        }
    }
}

static void allocate_beyond(void)
{
    CHECK(tslab_malloc(unseen(SIZE_MAX / 2)) == NULL && errno == ENOMEM);
    void *const p = tslab_malloc((size_t)1 << 33); /* no page of it is touched */
    tslab_free(p);
}

static void call_family(void)
{
    void *p = NULL;
    free(keep(malloc(100)));
    free(keep(calloc(10, 10)));
    CHECK(posix_memalign(&p, 256, 1000) == 0);
    free(p);
    free(keep(memalign(8192, 10)));
    free(keep(aligned_alloc(64, 64)));
    free(keep(valloc(1)));
    free(keep(pvalloc(1)));
    p = reallocarray(NULL, 100, 10);
    CHECK(malloc_usable_size(p) >= 1000);
    free(realloc(p, 100000));
}

/* The stack of libc's own print is not the library's affair. */
static void call_reports_of_libc(void)
{
    (void)malloc_trim(0);
    (void)mallopt(M_TRIM_THRESHOLD, 1);
    (void)mallinfo2();
    if (getenv("LD_PRELOAD") != NULL) {
        malloc_stats();
        CHECK(malloc_info(0, null_stream) == 0);
    }
}

static void trim(void)
{
    tslab_free(tslab_malloc(1000000));
    (void)tslab_trim();
}

static void get_statistics(void)
{
    (void)storm_stats();
}

static void print_statistics(void)
{
    tslab_stats_print(null_fd);
}

static void print_json(void)
{
    tslab_stats_json(null_fd);
}

static void live_in_epochs(void)
{
    for (enum tslab_policy policy = TSLAB_POLICY_DRAIN; policy <= TSLAB_POLICY_TRAP; policy++) {
        const struct tslab_epoch_options options = { .label = "small", .policy = policy, .parent = common };
        tslab_epoch epoch = tslab_epoch_open(&options);
        CHECK(tslab_epoch_enter(epoch) >= 0 && tslab_epoch_enter(common) >= 0);
        void *survivor = NULL;
        for (size_t size = 1; size < 100000; size += 1 + size / 4) {
            void *const p = tslab_epoch_calloc(epoch, 1, size);
            void *const aligned = tslab_epoch_aligned_alloc(epoch, 1024, size);
            CHECK(p != NULL && aligned != NULL && tslab_epoch_of(p).id == epoch.id);
            tslab_free(aligned);
            survivor = tslab_realloc(p, size + 100);
        }
        STATUS(tslab_epoch_leave(common), TSLAB_OK);
        struct tslab_epoch_report report;
        CHECK(tslab_epoch_current().id == epoch.id);
        STATUS(tslab_epoch_advance(&epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
        CHECK(report.survivors > 0);
        if (policy == TSLAB_POLICY_DRAIN || policy == TSLAB_POLICY_REPORT) {
            tslab_free(survivor);
        }
        STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
        STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
    }
}

static void grow_old_in_an_epoch(void)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(epoch) >= 0);
    void *last = NULL;
    for (size_t bytes = 0; bytes < 8 << 20; bytes += 1000) { /* chunks, then slabs */
        tslab_free(last);
        last = tslab_epoch_malloc(epoch, 500 + bytes % 1000);
    }
    CHECK(tslab_epoch_enter(epoch) >= 0); /* once more: another hold */
    tslab_free(tslab_epoch_malloc(epoch, 10));
    STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
    STATUS(tslab_epoch_leave(epoch), TSLAB_OK);
    STATUS(tslab_epoch_release(epoch, 0, NULL), TSLAB_OK);
}

static void ask_about_epochs(void)
{
    struct tslab_epoch_stats one, many[4];
    STATUS(tslab_epoch_stats_get(common, &one), TSLAB_OK);
    CHECK(tslab_epoch_list(many, COUNT_OF(many)) >= 1);
}

static void use_handles(void)
{
    const tslab_epoch epoch = tslab_epoch_open(NULL);
    void *p;
    const tslab_handle handle = tslab_handle_malloc(epoch, 100, &p);
    CHECK(tslab_handle_get(epoch, handle) == p);
    STATUS(tslab_handle_free(epoch, handle), TSLAB_OK);
    STATUS(tslab_handle_free(epoch, handle), TSLAB_STALE);
    (void)tslab_handle_malloc(epoch, 100, NULL);
    STATUS(tslab_epoch_release(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
}

static void use_instances(void)
{
    const tslab_instance instance = tslab_instance_open("small");
    CHECK(tslab_epoch_malloc(tslab_instance_root(instance), 100) != NULL);
    struct tslab_epoch_report report;
    STATUS(tslab_instance_close(instance, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
}

static void work(void)
{
    for (int i = 0; i < 10; i++) {
        CHECK(tslab_work_begin("unit") >= 0);
        tslab_work_pause();
        tslab_free(tslab_malloc(100));
        STATUS(tslab_work_resume(), TSLAB_OK);
        STATUS(tslab_work_end(), TSLAB_OK);
        tslab_work_rotate();
    }
}

static void sample(void)
{
    STATUS(tslab_option_set("profile", "1K"), TSLAB_OK);
    allocate();
    live_in_epochs();
}

static void write_profile(void)
{
    STATUS(tslab_profile_write(null_fd), TSLAB_OK);
}

/* An allocation writes it: statistics, and the profile. */
static void write_a_due_report(void)
{
    static const char *const forms[] = { "1,1", "2,1" };
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        STATUS(tslab_option_set("stats", forms[i]), TSLAB_OK);
        usleep(20000); /* not asserted on: a report is due from then on */
        allocate();
    }
    STATUS(tslab_option_set("stats", "0"), TSLAB_OK);
}

static void be_refused(void)
{
    const struct tslab_epoch_options options = { .label = "limited", .limit_bytes = 1 << 20 };
    const tslab_epoch epoch = tslab_epoch_open(&options);
    CHECK(tslab_epoch_malloc(epoch, 2 << 20) == NULL && errno == ENOMEM);
    STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
    STATUS(tslab_option_set("purge", "sometimes"), TSLAB_INVALID);
}

static void tell_figures(void)
{
    uint64_t value;
    STATUS(tslab_stat_get("process.rss_bytes", &value), TSLAB_OK);
    STATUS(tslab_stat_get("account.live_slots.bytes", &value), TSLAB_OK);
    STATUS(tslab_stat_get("class.64.live", &value), TSLAB_OK);
    STATUS(tslab_stat_get("label.small.epochs", &value), TSLAB_OK);
}

/* Ends inside of an epoch, in which it has objects, and has warm ones. */
static void end_inside(void)
{
    live_in_epochs();
    CHECK(tslab_epoch_enter(common) >= 0);
    CHECK(tslab_epoch_malloc(common, 100) != NULL);
}

#define CALL(name)                                                                                                     \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
static const struct call {
    const char *name;
    void (*function)(void);
} calls[] = {
    CALL(nothing),
    CALL(allocate),
    CALL(allocate_beyond),
    CALL(call_family),
    CALL(call_reports_of_libc),
    CALL(trim),
    CALL(get_statistics),
    CALL(print_statistics),
    CALL(print_json),
    CALL(live_in_epochs),
    CALL(grow_old_in_an_epoch),
    CALL(ask_about_epochs),
    CALL(use_handles),
    CALL(use_instances),
    CALL(work),
    CALL(be_refused),
    CALL(tell_figures),
    CALL(sample),
    CALL(write_profile),
    CALL(write_a_due_report),
    CALL(end_inside),
};

static void *call_one(void *call)
{
    ((const struct call *)call)->function();
    return NULL;
}

/* The bytes of a painted stack that a thread with this body has touched. */
static size_t depth(const struct call *call)
{
    char *const stack = mmap(NULL, PAINTED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    memset(stack, PAINT, PAINTED_BYTES);
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, stack, PAINTED_BYTES) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, call_one, (void *)(uintptr_t)call) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    (void)thread_end(thread);
    size_t untouched = 0;
    while (untouched < PAINTED_BYTES && (unsigned char)stack[untouched] == PAINT) {
        untouched++;
    }
    CHECK(munmap(stack, PAINTED_BYTES) == 0);
    return PAINTED_BYTES - untouched;
}

int main(int argc, char **argv)
{
    const size_t limit = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    CHECK_SAY(limit > 0, "usage: stacks BYTES");
    CHECK(first_object != NULL);
    tslab_free(first_object);
    null_fd = open("/dev/null", O_WRONLY);
    /* TSLAB_POLICY_REPORT speaks there. */
    CHECK(null_fd >= 0 && dup2(null_fd, STDERR_FILENO) == STDERR_FILENO);
    null_stream = fopen("/dev/null", "w");
    CHECK(null_stream != NULL && fprintf(null_stream, "%d", 1) == 1); /* has its buffer */
    common = tslab_epoch_open(NULL);
    CHECK(tslab_epoch_enter(common) >= 0);
    const size_t least = depth(&calls[0]);
    bool fits = true;
    for (size_t i = 1; i < COUNT_OF(calls); i++) {
        const size_t all = depth(&calls[i]), bytes = all > least ? all - least : 0; /* the end of a thread varies */
        printf("%-22s %6zu bytes of stack%s\n", calls[i].name, bytes, bytes > limit ? ": too many" : "");
        fits = fits && bytes <= limit;
    }
    fflush(stdout);
    CHECK(fits);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        (void)thread_end(smallest_thread(call_one, (void *)(uintptr_t)&calls[i]));
    }
    STATUS(tslab_epoch_leave(common), TSLAB_OK);
    return 0;
}
