/* Mailboxes, on an engine that has them (REMOTE_MAILBOX, limits.h), with real threads: mail comes home, what nobody
 * takes goes back, and nothing is lost where all threads free for all others. */
#include "child.h"

#include "malloc/current_thread.h"
#include "thread/mailbox.h"

#include <pthread.h>
#include <tslab/tslab.h>

enum { SIZE = 48, MAILED_MOST = LETTERS * LETTER_SLOTS, BEYOND = 100, OBJECTS = MAILED_MOST + BEYOND };

static void *objects[OBJECTS], *again[2 * OBJECTS];
static size_t object_count;
static uint32_t writer;
static pthread_barrier_t turn;

static struct class_sums sums(void)
{
    struct class_sums of = { 0 };
    heap_add(front_current->heap, class_of_size(SIZE), &of);
    return of;
}

static size_t mailed(void)
{
    return mailbox_slots(writer, class_of_size(SIZE));
}

static void *allocated(void)
{
    void *const p = tslab_malloc(SIZE);
    CHECK(p != NULL);
    pattern_fill(p, SIZE, 7);
    return p;
}

/* Frees what the main thread has allocated, and ends when it says so. */
static void *free_for_main(void *argument)
{
    (void)argument;
    tslab_free(keep(tslab_malloc(1)));
    writer = front_current->heap->affinity;
    for (size_t i = 0; i < object_count; i++) {
        CHECK(pattern_holds(objects[i], SIZE, 7));
        tslab_free(objects[i]);
    }
    CHECK(sums().remote_frees == object_count);
    (void)pthread_barrier_wait(&turn);
    (void)pthread_barrier_wait(&turn);
    return NULL;
}

/* The other thread has freed so many objects, and lives. */
static pthread_t let_free(size_t count)
{
    pthread_t thread;
    object_count = count;
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    for (size_t i = 0; i < count; i++) {
        objects[i] = allocated();
    }
    CHECK(pthread_create(&thread, NULL, free_for_main, NULL) == 0);
    (void)pthread_barrier_wait(&turn);
    return thread;
}

static void end(pthread_t thread)
{
    (void)pthread_barrier_wait(&turn);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void nothing_is_left(void)
{
    (void)tslab_trim();
    struct tslab_stats stats;
    tslab_stats_get(&stats);
    CHECK(stats.live_objects == 0 && stats.cached_bytes == 0 && stats.slabs_opened == stats.slabs_recycled);
}

static bool was_freed(const void *p)
{
    for (size_t i = 0; i < MAILED_MOST; i++) {
        if (objects[i] == p) {
            return true;
        }
    }
    return false;
}

/* The mail is what the home allocates next, when its magazine is empty. What no letter had room for is in the slabs. */
static void mail_comes(const void *argument)
{
    (void)argument;
    const pthread_t thread = let_free(OBJECTS);
    CHECK_SAY(mailed() == MAILED_MOST, "%zu slots are in the mail", mailed());
    const struct class_sums before = sums();
    size_t n = 0, in_magazine = 0, came = 0;
    for (; sums().refills == before.refills; n++) {
        again[n] = allocated();
        came += was_freed(again[n]);
        in_magazine += mailed() == MAILED_MOST;
        CHECK(n < COUNT_OF(again) - 1);
    }
    CHECK_SAY(mailed() == 0 && came >= MAILED_MOST, "%zu slots came, and %zu are in the mail", came, mailed());
    CHECK_SAY(in_magazine <= WORD_SLOTS, "%zu objects came before the mail", in_magazine);
    while (n != 0) {
        tslab_free(again[--n]);
    }
    end(thread);
    nothing_is_left();
}

static void mail_comes_home(void **state)
{
    (void)state;
    child_succeeds(mail_comes, NULL, "");
}

/* Fewer slots than a letter has are never posted. */
static void part_of_a_letter(const void *argument)
{
    (void)argument;
    const pthread_t thread = let_free(LETTER_SLOTS - 1);
    CHECK(mailed() == LETTER_SLOTS - 1 && !mailbox_has_mail(front_current->heap->affinity, class_of_size(SIZE)));
    end(thread);
    CHECK(mailed() == 0);
    nothing_is_left();
}

static void mail_goes_back_with_its_writer(void **state)
{
    (void)state;
    child_succeeds(part_of_a_letter, NULL, "");
}

static void untaken_letters(const void *argument)
{
    (void)argument;
    const pthread_t thread = let_free(MAILED_MOST);
    CHECK(mailed() == MAILED_MOST && mailbox_has_mail(front_current->heap->affinity, class_of_size(SIZE)));
    end(thread);
    CHECK(mailed() == 0);
    tslab_free(allocated());
    nothing_is_left();
}

static void letters_that_nobody_takes_go_back(void **state)
{
    (void)state;
    child_succeeds(untaken_letters, NULL, "");
}

/* All free for all: each thread puts an object of its own in the place of any other one. None runs ahead of the others.
 */
enum { PLACES = 3000, THREADS = 4, LIVES = 5, TOGETHER = 500 };

static _Atomic(unsigned char *) places[PLACES];

static void free_one(unsigned char *p)
{
    CHECK(p == NULL || (p[0] <= 48 && pattern_holds(p + 1, p[0] - 1u, p[0])));
    tslab_free(p);
}

static void *replace_any(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    for (size_t i = 0; i < 40000; i++) {
        if (i % TOGETHER == 0) {
            (void)pthread_barrier_wait(&turn);
        }
        const size_t size = 1 + random_next(&random) % 48;
        unsigned char *const p = tslab_malloc(size);
        CHECK(p != NULL);
        p[0] = (unsigned char)size;
        pattern_fill(p + 1, size - 1, size);
        free_one(atomic_exchange_explicit(&places[random_next(&random) % PLACES], p, memory_order_acq_rel));
    }
    return NULL;
}

static void all_for_all(const void *argument)
{
    (void)argument;
    CHECK(pthread_barrier_init(&turn, NULL, THREADS) == 0);
    for (uintptr_t life = 0; life < LIVES; life++) {
        pthread_t threads[THREADS];
        for (uintptr_t t = 0; t < THREADS; t++) {
            CHECK(pthread_create(&threads[t], NULL, replace_any, (void *)(life * THREADS + t + 1)) == 0);
        }
        for (size_t t = 0; t < THREADS; t++) {
            CHECK(pthread_join(threads[t], NULL) == 0);
        }
    }
    for (size_t i = 0; i < PLACES; i++) {
        free_one(load_plain(&places[i]));
    }
    nothing_is_left();
}

static void all_threads_free_for_all(void **state)
{
    (void)state;
    child_succeeds(all_for_all, NULL, "");
}

/* Heaps of epochs, and those with numbers beyond the table. */
static void heaps_without_mail(const void *argument)
{
    (void)argument;
    const unsigned class = class_of_size(SIZE);
    void *const p = allocated();
    struct heap *const heap = front_current->heap;
    const uint32_t beyond = AFFINITY_FIRST_HEAP + MAILBOX_HOMES;
    CHECK(!mailbox_has_mail(heap->affinity | AFFINITY_OF_EPOCH, class) && !mailbox_has_mail(beyond, class));
    CHECK(!mailbox_put(heap->gate, heap->affinity, tag_of(class, beyond), p));
    CHECK(!mailbox_put(heap->gate, beyond, heap->front.magazine[class].tag, p));
    tslab_free(p);
    nothing_is_left();
}

static void some_heaps_have_no_mail(void **state)
{
    (void)state;
    child_succeeds(heaps_without_mail, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mail_comes_home),
        cmocka_unit_test(mail_goes_back_with_its_writer),
        cmocka_unit_test(letters_that_nobody_takes_go_back),
        cmocka_unit_test(all_threads_free_for_all),
        cmocka_unit_test(some_heaps_have_no_mail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
