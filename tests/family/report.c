/* The parts of the family that tell about the heap: mallinfo2, malloc_info, malloc_stats, malloc_trim, mallopt. */
#include "check.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

enum { count = 64 * 1024, size = 1000 };
static void *blocks[count];

static void allocate_all(void)
{
    for (int i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 1, size);
    }
}

static void free_all(void)
{
    for (int i = 0; i < count; i++)
        free(blocks[i]);
}

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void test_mallinfo2(void)
{
    const size_t asked = (size_t)count * size;
    size_t before = in_use();
    allocate_all();
    size_t full = in_use();
    CHECK_SAY(full >= before + asked - asked / 16, "uordblks went from %zu to %zu with %zu allocated", before, full,
              asked);
    CHECK_SAY(full <= before + asked + asked / 4, "uordblks went from %zu to %zu with %zu allocated", before, full,
              asked);
    struct mallinfo2 info = mallinfo2();
    CHECK_SAY(info.arena + info.hblkhd >= asked, "arena + hblkhd: %zu", info.arena + info.hblkhd);
    free_all();
    size_t after = in_use();
    CHECK_SAY(after <= before + asked / 16, "uordblks is %zu after all was freed, was %zu before", after, before);

    void *large = malloc((size_t)100 << 20);
    CHECK(in_use() >= after + ((size_t)100 << 20));
    free(large);
    CHECK(in_use() < after + ((size_t)10 << 20));
}

/* The old form has ints: the same figures where they fit, and never a negative one for what is in blocks. */
static void test_mallinfo(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    allocate_all();
    const struct mallinfo2 wide = mallinfo2();
    const struct mallinfo narrow = mallinfo();
    CHECK((size_t)narrow.arena == wide.arena && (size_t)narrow.uordblks == wide.uordblks);
    CHECK((size_t)narrow.fordblks == wide.fordblks && (size_t)narrow.keepcost == wide.keepcost);
    free_all();
    void *large = malloc((size_t)3 << 30);
    CHECK(large != NULL);
    CHECK(mallinfo().uordblks >= 0 && mallinfo().arena >= 0);
    free(large);
#pragma GCC diagnostic pop
}

static void test_malloc_trim(void)
{
    malloc_trim(0); /* nothing of earlier tests is there to be used again */
    size_t before = resident_kib();
    allocate_all();
    CHECK(resident_kib() > before + 50 * 1024);
    /* One that stays, so that giving back cannot be left to chance at the upper end of a heap. */
    void *last = malloc(size);
    free_all();
    int released = malloc_trim(0);
    CHECK(released == 0 || released == 1);
    CHECK_SAY(resident_kib() < before + 8 * 1024, "%zu KiB before, %zu after malloc_trim", before, resident_kib());
    allocate_all();
    free_all();
    CHECK(malloc_trim(1 << 20) == 0 || 1);
    free(last);
    malloc_trim(0);
    malloc_trim(0);
    CHECK(resident_kib() < before + 8 * 1024);
}

static void test_malloc_info(void)
{
    char path[] = "/tmp/malloc-info-XXXXXX";
    int descriptor = mkstemp(path);
    CHECK(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    CHECK(malloc_info(1, file) == EINVAL);
    CHECK(malloc_info(0, file) == 0);
    CHECK(fclose(file) == 0);
    pid_t child = fork();
    if (child == 0) {
        const char *script = "import sys, xml.etree.ElementTree as tree\n"
                             "sys.exit(tree.parse(sys.argv[1]).getroot().tag != 'malloc')";
        execl("/usr/bin/python3", "python3", "-c", script, path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    unlink(path);
    CHECK_SAY(status == 0, "the output of malloc_info is not well-formed XML with the root <malloc>");
}

/* Whether malloc_stats has returned although a cancellation was pending; the thread ends by that only after. */
static bool stats_returned;

static void *stats_when_cancelled(void *unused)
{
    pthread_cancel(pthread_self());
    malloc_stats();
    stats_returned = true;
    pthread_testcancel();
    return unused;
}

/* malloc_stats writes to stderr, which goes to a file for the while. It is no point of cancellation. */
static void test_malloc_stats(void)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    malloc_stats();
    fflush(stderr);
    off_t written = lseek(STDERR_FILENO, 0, SEEK_END);
    pthread_t thread;
    void *result = NULL;
    CHECK(pthread_create(&thread, NULL, stats_when_cancelled, NULL) == 0 && pthread_join(thread, &result) == 0);
    off_t written_then = lseek(STDERR_FILENO, 0, SEEK_END) - written;
    dup2(saved, STDERR_FILENO);
    close(saved);
    CHECK_SAY(written > 0, "malloc_stats wrote nothing to stderr");
    CHECK(stats_returned && result == PTHREAD_CANCELED);
    CHECK_SAY(written_then >= written - written / 4, "%ld bytes, and %ld when cancelled", (long)written,
              (long)written_then);
    fclose(file);
}

static void test_mallopt(void)
{
    static const int known[][2] = { { M_MMAP_THRESHOLD, 256 << 10 },
                                    { M_TRIM_THRESHOLD, 1 << 20 },
                                    { M_TOP_PAD, 1 << 20 },
                                    { M_MMAP_MAX, 1000 },
                                    { M_ARENA_MAX, 2 },
                                    { M_PERTURB, 0 },
                                    { M_CHECK_ACTION, 0 } };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        int answer = mallopt(known[i][0], known[i][1]);
        CHECK_SAY(answer == 1, "mallopt(%d) is %d", known[i][0], answer);
    }
    CHECK(mallopt(-12345, 1) == 1);
    /* The largest chunk of a fast bin is the one value that glibc looks at. */
    CHECK(mallopt(M_MXFAST, 0) == 1 && mallopt(M_MXFAST, 160) == 1);
    CHECK(mallopt(M_MXFAST, 161) == 0 && mallopt(M_MXFAST, -1) == 0);
    allocate_all();
    free_all();
}

int main(void)
{
    test_mallinfo2();
    test_mallinfo();
    test_malloc_trim();
    test_malloc_info();
    test_malloc_stats();
    test_mallopt();
    return 0;
}
