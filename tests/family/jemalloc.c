/* jemalloc's names. All but what is of tslab alone must be so on jemalloc 5.3, too, where the program runs as well.
 *
 * usage: family_jemalloc docs/statistics.md    The page has the table of keys, each of which is read, by name and by
 * number, with the right and with wrong sizes. */
#include "check.h"
#include "workers.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <tslab/tslab.h>

static void *(*mallocx_)(size_t, int), *(*rallocx_)(void *, size_t, int);
static size_t (*xallocx_)(void *, size_t, size_t, int), (*sallocx_)(const void *, int), (*nallocx_)(size_t, int);
static void (*dallocx_)(void *, int), (*sdallocx_)(void *, size_t, int);
static int (*mallctl_)(const char *, void *, size_t *, void *, size_t);
static int (*nametomib_)(const char *, size_t *, size_t *);
static int (*bymib_)(const size_t *, size_t, void *, size_t *, void *, size_t);
static void (*stats_print_)(void (*)(void *, const char *), void *, const char *);
static bool is_tslab;

enum { ZERO = 0x40, TCACHE_NONE = 1 << 8, MIB = 7 };

static void *find(const char *name)
{
    void *const found = dlsym(RTLD_DEFAULT, name);
    CHECK_SAY(found != NULL, "there is no %s", name);
    return found;
}

/* Before main, as constructors of programs do. */
__attribute__((constructor)) static void look_up(void)
{
    *(void **)&mallocx_ = find("mallocx");
    *(void **)&rallocx_ = find("rallocx");
    *(void **)&xallocx_ = find("xallocx");
    *(void **)&sallocx_ = find("sallocx");
    *(void **)&nallocx_ = find("nallocx");
    *(void **)&dallocx_ = find("dallocx");
    *(void **)&sdallocx_ = find("sdallocx");
    *(void **)&mallctl_ = find("mallctl");
    *(void **)&nametomib_ = find("mallctlnametomib");
    *(void **)&bymib_ = find("mallctlbymib");
    *(void **)&stats_print_ = find("malloc_stats_print");
    is_tslab = dlsym(RTLD_DEFAULT, "tslab_version") != NULL;
    const char *version = NULL;
    size_t bytes = sizeof version;
    CHECK(mallctl_("version", &version, &bytes, NULL, 0) == 0);
    CHECK(!is_tslab || strncmp(version, "tslab ", 6) == 0);
}

static size_t size_of(const char *name)
{
    size_t value = 0, bytes = sizeof value;
    if (mallctl_(name, &value, &bytes, NULL, 0) == EINVAL)
        bytes = sizeof(unsigned);
    CHECK_SAY(mallctl_(name, &value, &bytes, NULL, 0) == 0, "%s is no number", name);
    return value;
}

static void begin_epoch(void)
{
    uint64_t epoch = 1;
    size_t bytes = sizeof epoch;
    CHECK(mallctl_("epoch", &epoch, &bytes, &epoch, bytes) == 0 && epoch > 0);
}

/* Objects of all sizes and alignments, up to 3 MB and 64 KiB. */
static void allocates(void)
{
    const int placed = (int)((size_of("arenas.create") + 1) << 20 | (size_of("tcache.create") + 2) << 8);
    for (int shift = 0; shift <= 16; shift++)
        for (size_t size = 1; size < 3000000; size += 1 + size / 3) {
            const int flags = shift | (size % 3 == 0 ? ZERO : 0) | (size % 5 == 0 ? placed : 0);
            char *p = mallocx_(size, flags);
            CHECK(p != NULL && (uintptr_t)p % ((size_t)1 << shift) == 0);
            const size_t said = nallocx_(size, flags), has = sallocx_(p, flags);
            CHECK_SAY(has >= said && (has == said || size > 200000 || shift > 14 || !is_tslab),
                      "%zu bytes, alignment 2^%d: %zu, not %zu", size, shift, has, said);
            CHECK((flags & ZERO) == 0 || all_zero(p, size));
            pattern_fill(p, size, size);
            CHECK(xallocx_(p, size, 0, flags) >= size);
            const size_t before = sallocx_(p, flags);
            const size_t wanted = size % 2 == 0 ? size * 2 + 1 : size / 2 + 1;
            p = rallocx_(p, wanted, flags);
            CHECK(p != NULL && (uintptr_t)p % ((size_t)1 << shift) == 0 && sallocx_(p, flags) >= wanted);
            CHECK(pattern_holds(p, size < wanted ? size : wanted, size));
            CHECK((flags & ZERO) == 0 || wanted <= before || all_zero(p + before, sallocx_(p, flags) - before));
            size % 7 == 0 ? sdallocx_(p, wanted, flags) : size % 7 == 1 ? free(p) : dallocx_(p, flags);
        }
    char *p = mallocx_(1000, 0);
    pattern_fill(p, 1000, 1);
    CHECK(mallocx_(unseen(PTRDIFF_MAX), 0) == NULL && rallocx_(p, unseen(PTRDIFF_MAX), 6) == NULL);
    CHECK(pattern_holds(p, 1000, 1) && nallocx_(unseen(SIZE_MAX), 0) == 0 && nallocx_(unseen(SIZE_MAX), 12) == 0);
    dallocx_(p, 0);
}

/* A row of the page's table: the key with numbers in it, the bytes of its type, and whether it is read and written. */
struct key {
    char name[80];
    size_t bytes;
    bool reads, writes;
};

static bool next_key(FILE *page, struct key *key)
{
    char line[1024], type[32], access[8];
    while (fgets(line, sizeof line, page) != NULL) {
        if (sscanf(line, "| `%79[^`]` | %31[^|]| %7[^ |] |", key->name, type, access) != 3 || access[2] != 0)
            continue;
        for (char *at = key->name; (at = strchr(at, '<')) != NULL;) {
            *at = '0';
            memmove(at + 1, at + 3, strlen(at + 3) + 1);
        }
        key->bytes = strncmp(type, "bool", 4) == 0                                          ? 1
                     : strncmp(type, "unsigned", 8) == 0 || strncmp(type, "uint32", 6) == 0 ? 4
                                                                                            : 8;
        key->reads = access[0] == 'r';
        key->writes = access[1] == 'w';
        CHECK_SAY(key->reads || access[0] == '-', "%s: access %s", key->name, access);
        return true;
    }
    return false;
}

static void reads_key(const struct key *key)
{
    size_t mib[MIB], depth = MIB, shorter = 1, one, value[2] = { 0 }, again[2] = { 0 };
    CHECK_SAY(nametomib_(key->name, mib, &depth) == 0, "there is no %s", key->name);
    CHECK(depth >= 1 && depth <= MIB && nametomib_(key->name, &one, &shorter) == 0 && shorter == 1 && one == mib[0]);
    if (!key->reads) {
        size_t bytes = key->bytes;
        CHECK_SAY(mallctl_(key->name, value, &bytes, NULL, 0) == EPERM, "%s can be read", key->name);
        CHECK(bymib_(mib, depth, value, &bytes, NULL, 0) == EPERM);
    }
    for (size_t bytes = 1; key->reads && bytes <= 16; bytes *= 2) {
        size_t told = bytes;
        /* jemalloc refuses these as a whole, for it would have made one. */
        if (bytes != key->bytes && strstr(key->name, ".create") != NULL)
            continue;
        const int error = mallctl_(key->name, value, &told, NULL, 0);
        CHECK_SAY(error == (bytes == key->bytes ? 0 : EINVAL), "%s in %zu bytes: %d", key->name, bytes, error);
        CHECK(told == (bytes < key->bytes ? bytes : key->bytes));
        told = bytes;
        CHECK(bymib_(mib, depth, again, &told, NULL, 0) == error && (!is_tslab || memcmp(value, again, told) == 0));
    }
    /* jemalloc takes hooks for an arena that it makes. */
    if (is_tslab || strcmp(key->name, "arenas.create") != 0)
        CHECK_SAY(mallctl_(key->name, NULL, NULL, value, key->bytes + 1) == (key->writes ? EINVAL : EPERM),
                  "%s can be written", key->name);
}

static void reads_all_keys(const char *path)
{
    FILE *const page = fopen(path, "r");
    CHECK(page != NULL);
    struct key key;
    unsigned keys = 0;
    char line[1024] = "";
    while (strcmp(line, "<!-- figures: JEMALLOC_KEYS -->\n") != 0)
        CHECK(fgets(line, sizeof line, page) != NULL);
    while (next_key(page, &key)) {
        /* That of arena 0 is a misuse. */
        if (strcmp(key.name, "arena.0.destroy") != 0)
            reads_key(&key);
        keys++;
    }
    fclose(page);
    CHECK_SAY(keys >= 40, "%u keys in the page", keys);
}

static void refuses(void)
{
    static const char *const absent[] = { "no_such",           "",
                                          "stats.nothing",     "stats.allocated.more",
                                          "statsallocated",    "arena.x.purge",
                                          "arena.99999.purge", "arenas.bin.9999.size",
                                          "arena.0",           "stats.arenas.77777.pactive",
                                          "arena.<i>.purge" };
    size_t mib[MIB], depth = MIB;
    for (unsigned i = 0; i < COUNT_OF(absent); i++)
        CHECK_SAY(mallctl_(absent[i], NULL, NULL, NULL, 0) == ENOENT, "there is a %s", absent[i]);
    CHECK(nametomib_("no_such", mib, &depth) == ENOENT && nametomib_("arenas.bin.9999.size", mib, &depth) == ENOENT);
    CHECK(nametomib_("arenas.bin.0.size", mib, &depth) == 0 && depth == 4);
    size_t size = 0, before = 0, bytes = sizeof size;
    for (mib[2] = 0; mib[2] < size_of("arenas.nbins"); mib[2]++, before = size)
        CHECK(bymib_(mib, depth, &size, &bytes, NULL, 0) == 0 && size > before && nallocx_(size, 0) >= size);
    CHECK(bymib_(mib, 3, &size, &bytes, NULL, 0) == ENOENT);
    mib[2] = 9999;
    CHECK(bymib_(mib, depth, &size, &bytes, NULL, 0) == ENOENT);
    ssize_t wrong = -2;
    CHECK(mallctl_("arenas.dirty_decay_ms", NULL, NULL, &wrong, sizeof wrong) == EFAULT);
    /* A program can end the caches and arenas that it makes. */
    char name[40];
    unsigned cache = (unsigned)size_of("tcache.create");
    CHECK(mallctl_("tcache.flush", NULL, NULL, &cache, sizeof cache) == 0);
    CHECK(mallctl_("tcache.destroy", NULL, NULL, &cache, sizeof cache) == 0);
    snprintf(name, sizeof name, "arena.%zu.destroy", size_of("arenas.create"));
    CHECK(mallctl_(name, NULL, NULL, NULL, 0) == 0 && mallctl_("arena.0.destroy", NULL, NULL, NULL, 0) == EFAULT);
    bool background;
    bytes = sizeof background;
    CHECK(mallctl_("background_thread", &background, &bytes, NULL, 0) == 0);
    CHECK(mallctl_("background_thread", NULL, NULL, &background, 1) == 0);
    CHECK(mallctl_("version", NULL, NULL, NULL, sizeof bytes) == EPERM);
    mib[0] = 9999;
    CHECK(bymib_(mib, 1, &size, &bytes, NULL, 0) == ENOENT);
    snprintf(name, sizeof name, "arena.%zu.purge", size_of("arenas.create"));
    CHECK(mallctl_(name, NULL, NULL, NULL, 0) == 0);
    if (is_tslab) { /* jemalloc takes these, or relies on the program */
        ssize_t long_ms = 3600001;
        background = !background;
        cache = 2;
        CHECK(mallctl_("background_thread", NULL, NULL, &background, 1) == EPERM);
        CHECK(mallctl_("tcache.flush", NULL, NULL, &cache, sizeof cache) == EFAULT);
        CHECK(mallctl_("arenas.dirty_decay_ms", NULL, NULL, &long_ms, sizeof long_ms) == EFAULT);
        CHECK(mallctl_("arena.1.dirty_decay_ms", NULL, NULL, &long_ms, sizeof long_ms) == 0);
    }
}

/* A write is read back, and purges. */
static void decays(void)
{
    static const ssize_t ms[] = { -1, 0, 700, 5000 };
    ssize_t before = 0, now = 0;
    size_t bytes = sizeof before;
    CHECK(mallctl_("arenas.dirty_decay_ms", &before, &bytes, NULL, 0) == 0);
    for (unsigned i = 0; i < COUNT_OF(ms); i++) {
        ssize_t wanted = ms[i];
        CHECK(mallctl_("arenas.dirty_decay_ms", NULL, NULL, &wanted, sizeof wanted) == 0);
        CHECK(mallctl_("arenas.dirty_decay_ms", &now, &bytes, NULL, 0) == 0 && now == ms[i]);
        CHECK(mallctl_("arena.0.dirty_decay_ms", NULL, NULL, &wanted, sizeof wanted) == 0);
        CHECK(mallctl_("arenas.muzzy_decay_ms", NULL, NULL, &wanted, sizeof wanted) == 0);
    }
    CHECK(mallctl_("arenas.dirty_decay_ms", NULL, NULL, &before, sizeof before) == 0);
}

/* None finds what it has set if another thread sets it, too. */
static void *sets_decay(void *unused)
{
    for (unsigned i = 0; i < 300000; i++) {
        ssize_t ms = -(ssize_t)(i % 2);
        CHECK(mallctl_("arenas.dirty_decay_ms", NULL, NULL, &ms, sizeof ms) == 0);
    }
    return unused;
}

static void threads_decay(void)
{
    in_threads(4, sets_decay, NULL, 0);
    decays();
}

static void purges_all(void)
{
    char name[40];
    snprintf(name, sizeof name, "arena.%zu.purge", size_of("arenas.narenas"));
    CHECK(mallctl_(name, NULL, 0, NULL, 0) == 0 && mallctl_("arena.4096.purge", NULL, NULL, NULL, 0) == 0);
    CHECK(mallctl_("arena.4096.decay", NULL, NULL, NULL, 0) == 0);
}

/* The figures are of the last epoch, true, and in the order that the manual promises. */
enum { SMALL_ONES = 60000, SMALL_BYTES = 1000, LARGE_BYTES = 32 << 20 };

static void figures_are_true(void)
{
    char **small = calloc(SMALL_ONES, sizeof *small);
    begin_epoch();
    const size_t before = size_of("stats.allocated"), resident = resident_kib(), told = size_of("stats.resident");
    for (unsigned i = 0; i < SMALL_ONES; i++)
        memset(small[i] = malloc(SMALL_BYTES), 1, SMALL_BYTES);
    char *large = malloc(LARGE_BYTES);
    memset(large, 1, LARGE_BYTES);
    CHECK(size_of("stats.allocated") == before);
    begin_epoch();
    const size_t asked = (size_t)SMALL_ONES * SMALL_BYTES + LARGE_BYTES, grown = size_of("stats.allocated") - before;
    CHECK_SAY(grown >= asked && grown < asked + asked / 20, "of %zu bytes it tells %zu", asked, grown);
    CHECK(size_of("stats.allocated") <= size_of("stats.active") && size_of("stats.active") <= size_of("stats.mapped"));
    CHECK(size_of("stats.active") <= size_of("stats.resident") && size_of("stats.metadata") > 0);
    CHECK(size_of("stats.active") % size_of("arenas.page") == 0);
    CHECK(size_of("stats.arenas.4096.pactive") * size_of("arenas.page") == size_of("stats.active"));
    CHECK(size_of("stats.arenas.4096.small.allocated") + size_of("stats.arenas.4096.large.allocated") ==
          size_of("stats.allocated"));
    const size_t really = (resident_kib() - resident) << 10, said = size_of("stats.resident") - told;
    CHECK_SAY(said < really + really / 20 && really < said + said / 20, "resident: %zu more, not %zu", said, really);
    size_t small_bytes = 0;
    for (unsigned i = 0; i < size_of("arenas.nbins"); i++) {
        char name[80];
        snprintf(name, sizeof name, "stats.arenas.4096.bins.%u.curregs", i);
        const size_t objects = size_of(name);
        snprintf(name, sizeof name, "arenas.bin.%u.size", i);
        small_bytes += objects * size_of(name);
        snprintf(name, sizeof name, "arenas.bin.%u.nregs", i);
        const size_t in_slab = size_of(name);
        snprintf(name, sizeof name, "stats.arenas.4096.bins.%u.curslabs", i);
        CHECK_SAY(objects <= size_of(name) * in_slab, "bin %u has %zu objects in %zu slabs", i, objects, size_of(name));
    }
    CHECK(small_bytes == size_of("stats.arenas.4096.small.allocated"));
    CHECK(!is_tslab || (size_of("stats.arenas.1.pactive") == 0 && size_of("stats.arenas.1.bins.3.curregs") == 0));
    for (unsigned i = 0; i < SMALL_ONES; i++)
        free(small[i]);
    free(large);
    free(small);
    purges_all();
    begin_epoch();
    CHECK(size_of("stats.allocated") < before + (before + asked) / 20);
    CHECK(size_of("stats.resident") < told + asked / 5 && resident_kib() < resident + (asked / 5 >> 10));
}

/* The thread's cache is empty after a flush. */
static void flushes(void)
{
    void *objects[100];
    uint64_t cached = 0, left = 0;
    __typeof__(tslab_stat_get) *const stat_get = is_tslab ? (__typeof__(tslab_stat_get) *)find("tslab_stat_get") : NULL;
    for (unsigned i = 0; i < COUNT_OF(objects); i++)
        objects[i] = keep(malloc(3000));
    for (unsigned i = 0; i < COUNT_OF(objects); i++)
        free(objects[i]);
    CHECK(!is_tslab || stat_get("class.3072.cached_bytes", &cached) == TSLAB_OK);
    CHECK(mallctl_("thread.tcache.flush", NULL, NULL, NULL, 0) == 0);
    CHECK(!is_tslab || stat_get("class.3072.cached_bytes", &left) == TSLAB_OK);
    CHECK_SAY(left == 0, "of %zu cached bytes %zu are left", (size_t)cached, (size_t)left);
}

/* Objects of an epoch count by themselves, not with their chunks. A program may write to as many bytes as nallocx
 * tells. */
static void in_an_epoch(void)
{
    enum { OBJECTS = 40000 };
    __typeof__(tslab_epoch_open) *const open_ = (__typeof__(tslab_epoch_open) *)find("tslab_epoch_open");
    __typeof__(tslab_epoch_enter) *const enter = (__typeof__(tslab_epoch_enter) *)find("tslab_epoch_enter");
    __typeof__(tslab_epoch_leave) *const leave = (__typeof__(tslab_epoch_leave) *)find("tslab_epoch_leave");
    static void *objects[OBJECTS];
    const tslab_epoch epoch = open_(NULL);
    size_t asked = 0, had = 0;
    begin_epoch();
    const size_t before = size_of("stats.allocated");
    CHECK(enter(epoch) == TSLAB_OK);
    for (size_t size = 1; size < 400000; size += 1 + size / 9) {
        const size_t said = nallocx_(size, 0);
        char *const p = malloc(size);
        CHECK(said >= size && sallocx_(p, 0) >= said);
        memset(p, 1, said);
        free(p);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        const size_t size = 1 + i % 300;
        objects[i] = mallocx_(size, 0);
        asked += size;
        had += sallocx_(objects[i], 0);
    }
    /* The checked library has seals behind its objects, which are not told. */
    const size_t slack = asked / 50 + (nallocx_(1, 0) == 1 ? 24 * OBJECTS : 0);
    begin_epoch();
    size_t grown = size_of("stats.allocated") - before;
    CHECK_SAY(grown >= asked && grown < had + slack, "of %zu bytes in an epoch it tells %zu", had, grown);
    for (unsigned i = 0; i < OBJECTS; i++)
        if (i % 10 != 0) {
            had -= sallocx_(objects[i], 0);
            dallocx_(objects[i], 0);
        }
    begin_epoch();
    grown = size_of("stats.allocated") - before;
    CHECK_SAY(grown >= had && grown < had + slack, "of %zu bytes that are left it tells %zu", had, grown);
    for (unsigned i = 0; i < OBJECTS; i += 10)
        dallocx_(objects[i], 0);
    CHECK(leave(epoch) == TSLAB_OK);
}

/* Threads that ask while others allocate, and forks amidst. */
static atomic_bool ends;

static void *asks(void *name)
{
    while (!ends) {
        begin_epoch();
        CHECK(size_of("stats.active") >= size_of(name) / 2);
        free(keep(malloc(20000)));
    }
    return NULL;
}

static void threads_and_forks(void)
{
    pthread_t threads[4];
    threads_begin(threads, COUNT_OF(threads), asks, (void *)"stats.allocated", 0);
    for (unsigned i = 0; i < 100; i++) {
        const pid_t child = fork();
        if (child == 0) {
            begin_epoch();
            _exit(size_of("stats.allocated") == 0);
        }
        child_ends_well(child);
    }
    ends = true;
    threads_end(threads, COUNT_OF(threads));
}

static char printed[1 << 20];

static void collect(void *at, const char *text)
{
    CHECK(at == printed && strlen(printed) + strlen(text) < sizeof printed);
    strcat(printed, text);
}

static void prints(void)
{
    const int stderr_kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    CHECK(dup2(nowhere, STDERR_FILENO) == STDERR_FILENO);
    stats_print_(NULL, NULL, NULL);
    CHECK(dup2(stderr_kept, STDERR_FILENO) == STDERR_FILENO && close(stderr_kept) == 0 && close(nowhere) == 0);
    stats_print_(collect, printed, "l");
    CHECK(strstr(printed, "arenas.page: ") != NULL || strstr(printed, "Page size: ") != NULL);
    printed[0] = 0;
    stats_print_(collect, printed, "Jmdablxe");
    int depth = 0;
    for (const char *at = printed; *at != 0; at++)
        depth += (*at == '{') - (*at == '}');
    CHECK(depth == 0 && printed[0] == '{');
    const char *const stats = strstr(printed, "\"stats\":");
    CHECK(strstr(printed, "\"jemalloc\":") != NULL && stats != NULL && strstr(stats, "\"allocated\":") != NULL);
}

int main(int count, char **words)
{
    CHECK(count == 2);
    allocates();
    reads_all_keys(words[1]);
    refuses();
    decays();
    figures_are_true();
    flushes();
    if (is_tslab)
        in_an_epoch();
    prints();
    threads_decay();
    threads_and_forks();
    return 0;
}
