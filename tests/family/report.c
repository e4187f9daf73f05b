/* The parts of the family that tell about the heap: mallinfo2, malloc_info, malloc_stats, malloc_trim, mallopt. */
#include "check.h"

#include <dlfcn.h>
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

static bool is_drop_in(void)
{
    return dlsym(RTLD_DEFAULT, "tslab_version") != NULL;
}

/* The number behind the first of these texts at or behind `from`, and the text that follows the number. */
static size_t number_behind(const char *from, const char *text, const char *then)
{
    const char *const at = from == NULL ? NULL : strstr(from, text);
    char *end = NULL;
    CHECK_SAY(at != NULL, "there is no %s", text);
    const size_t number = strtoull(at + strlen(text), &end, 10);
    CHECK_SAY(strncmp(end, then, strlen(then)) == 0, "%s%zu is followed by %.40s", text, number, end);
    return number;
}

static size_t size_behind(const char *from, const char *text)
{
    const char *const at = from == NULL ? NULL : strstr(from, text);
    CHECK_SAY(at != NULL, "there is no %s", text);
    (void)number_behind(at, text, "\" size=\"");
    return number_behind(strstr(at, "size="), "size=\"", "\"/>");
}

/* As monitors of servers read it (netdata, extensions of databases): the sums behind the last heap. */
static size_t used_by_sums(const char *info)
{
    const char *sums = info;
    for (const char *at = info; (at = strstr(at, "</heap>")) != NULL; at++) {
        sums = at;
    }
    const size_t fast = size_behind(sums, "<total type=\"fast\" count=\""),
                 rest = size_behind(sums, "<total type=\"rest\" count=\"");
    const size_t mapped = size_behind(sums, "<total type=\"mmap\" count=\"");
    return number_behind(sums, "<system type=\"current\" size=\"", "\"/>") + mapped - fast - rest;
}

/* As KLEE reads it: the last of each element. */
static size_t used_by_last(const char *info)
{
    static const char *const texts[] = { "<total type=\"fast\" count=\"", "<total type=\"rest\" count=\"",
                                         "<total type=\"mmap\" count=\"" };
    size_t sizes[COUNT_OF(texts)];
    const char *last = info;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (const char *at = info; (at = strstr(at, texts[i])) != NULL; at++) {
            sizes[i] = size_behind(at, texts[i]);
        }
    }
    for (const char *at = info; (at = strstr(at, "<system type=\"current\"")) != NULL; at++) {
        last = at;
    }
    return number_behind(last, "size=\"", "\"/>") + sizes[2] - sizes[0] - sizes[1];
}

/* Both say what is allocated, within a tenth. */
static void test_readers(void)
{
    const size_t wanted = (size_t)count * size;
    char info[1 << 16];
    size_t length = 0;
    FILE *const file = tmpfile();
    CHECK(file != NULL);
    allocate_all();
    char *const large = malloc(wanted);
    CHECK(large != NULL && malloc_info(0, file) == 0);
    rewind(file);
    length = fread(info, 1, sizeof info - 1, file);
    info[length] = 0;
    fclose(file);
    free(large);
    free_all();
    for (int i = 0; i < 2; i++) {
        const size_t used = i == 0 ? used_by_sums(info) : used_by_last(info);
        CHECK_SAY(used > 2 * wanted - wanted / 5 && used < 2 * wanted + wanted / 5, "used: %zu, not %zu", used,
                  2 * wanted);
    }
    const size_t space = number_behind(info, "<aspace type=\"total\" size=\"", "\"/>");
    const size_t current = number_behind(info, "<system type=\"current\" size=\"", "\"/>");
    CHECK_SAY(space >= current && space < (size_t)1 << 32, "addresses: %zu", space);
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

/* Whether malloc_stats has returned although a cancellation was pending. The thread ends by that only after. */
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

/* Real-time programs ask that nothing goes back. */
static void test_trim_threshold(void)
{
    enum { NAME_BYTES = 16 };
    int (*const option_get)(const char *, char *, size_t) =
        (int (*)(const char *, char *, size_t))dlsym(RTLD_DEFAULT, "tslab_option_get");
    static const struct {
        int threshold;
        const char *purge;
    } steps[] = {
        { 1 << 20, "adaptive" }, { -1, "never" }, { -1, "never" }, { 1 << 20, "adaptive" }, { 0, "adaptive" }
    };
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        char purge[NAME_BYTES] = "";
        CHECK(mallopt(M_TRIM_THRESHOLD, steps[i].threshold) == 1);
        CHECK(option_get == NULL || option_get("purge", purge, sizeof purge) == 0);
        CHECK_SAY(option_get == NULL || strcmp(purge, steps[i].purge) == 0, "%zu: purge is %s", i, purge);
    }
}

/* Where a call changes nothing, its answer is 0. */
static void test_mallopt(void)
{
    static const int known[][2] = { { M_MMAP_THRESHOLD, 256 << 10 },
                                    { M_TOP_PAD, 1 << 20 },
                                    { M_MMAP_MAX, 0 },
                                    { M_ARENA_MAX, 2 },
                                    { M_PERTURB, 0 },
                                    { M_CHECK_ACTION, 0 },
                                    { M_MXFAST, 0 },
                                    { -12345, 1 } };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        int answer = mallopt(known[i][0], known[i][1]);
        CHECK_SAY(answer == !is_drop_in(), "mallopt(%d) is %d", known[i][0], answer);
    }
    CHECK(mallopt(M_MXFAST, 161) == 0 && mallopt(M_MXFAST, -1) == 0);
    test_trim_threshold();
    allocate_all();
    free_all();
}

int main(void)
{
    test_mallinfo2();
    test_malloc_trim();
    test_malloc_info();
    test_readers();
    test_malloc_stats();
    test_mallopt();
    return 0;
}
