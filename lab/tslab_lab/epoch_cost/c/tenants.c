// A server of three tenants in turns at random. Each request has 225 objects of 16 to 448 bytes, frees all but one, and
// frees the tenant's oldest of 1,000 that it kept. How long that takes, how much lies where it belongs, how far the
// tenants' live bytes are off, and what is left of a tenant's 64 MiB when all of it is freed and the tenant is retired.
//
//   domain   an epoch for each tenant, entered around each request
//   arena    an arena of jemalloc for each tenant: thread.arena at each switch, and thread.tcache.flush
//   lax      the same without the flush
//   bare     the same without the thread's cache
//   malloc   none of it

#include "request.h"

#include <malloc.h>

enum { TENANTS = 3, KEPT = 1000, WARM = 3000, LARGE_MOST = 2048, LARGE_MIB = 64 };
enum way { DOMAIN, ARENA, LAX, BARE, MALLOC, WAYS };
static const char *const names[WAYS] = { "domain", "arena", "lax", "bare", "malloc" };

int mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes) __attribute__((weak));
int mallctlnametomib(const char *name, size_t *mib, size_t *length) __attribute__((weak));
int mallctlbymib(const size_t *mib, size_t length, void *old, size_t *old_bytes, void *new, size_t new_bytes)
    __attribute__((weak));
#pragma weak tslab_epoch_stats_get

static enum way way;
static tslab_epoch epochs[TENANTS];
static unsigned arenas[TENANTS];
static size_t of_arena[2], of_flush[3], arena_length = 2, flush_length = 3;
static char *kept[TENANTS][KEPT], **large; // mapped: no part of what is measured
static uint64_t served[TENANTS], random_state = 1;

static void must(int error)
{
    if (error != 0) {
        fail("mallctl refuses");
    }
}

static size_t arena_figure(const char *form, unsigned arena)
{
    char name[64];
    size_t value = 0, bytes = sizeof value;
    snprintf(name, sizeof name, form, arena);
    must(mallctl(name, &value, &bytes, NULL, 0));
    return value;
}

static void open_all(void)
{
    if (way == DOMAIN) {
        require_epochs(program_name);
    } else if (way != MALLOC) {
        must(mallctl == NULL || mallctlnametomib("thread.arena", of_arena, &arena_length) != 0);
        must(mallctlnametomib("thread.tcache.flush", of_flush, &flush_length));
        bool cached = way != BARE;
        must(mallctl("thread.tcache.enabled", NULL, NULL, &cached, sizeof cached));
    }
    for (unsigned i = 0; i < TENANTS; i++) {
        size_t bytes = sizeof arenas[i];
        if (way == DOMAIN) {
            epochs[i] = open_epoch(TSLAB_POLICY_DRAIN, 0);
        } else if (way != MALLOC) {
            must(mallctl("arenas.create", &arenas[i], &bytes, NULL, 0));
        }
    }
}

static void enter(unsigned tenant)
{
    if (way == DOMAIN) {
        enter_epoch(epochs[tenant], TSLAB_OK);
    } else if (way != MALLOC) {
        must(mallctlbymib(of_arena, arena_length, NULL, NULL, &arenas[tenant], sizeof arenas[tenant]));
        must(way == ARENA ? mallctlbymib(of_flush, flush_length, NULL, NULL, NULL, 0) : 0);
    }
}

static void leave(unsigned tenant)
{
    if (way == DOMAIN) {
        leave_epoch(epochs[tenant]);
    }
}

static void serve(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const unsigned tenant = high_below(random_step(&random_state), TENANTS);
        enter(tenant);
        for (unsigned at = 0; at < OBJECTS; at++) {
            objects[at] = malloc(sizes[at]);
            *(volatile char *)objects[at] = (char)at;
        }
        const uint64_t number = served[tenant]++;
        const unsigned stays = (unsigned)(number % OBJECTS);
        for (unsigned at = 0; at < OBJECTS; at++) {
            if (at != stays) {
                free(objects[at]);
            }
        }
        free(kept[tenant][number % KEPT]);
        kept[tenant][number % KEPT] = objects[stays];
        leave(tenant);
    }
}

static bool is_misplaced(unsigned tenant, const void *object)
{
    unsigned arena = 0;
    size_t bytes = sizeof arena;
    if (way == DOMAIN) {
        return tslab_epoch_of(object).id != epochs[tenant].id;
    }
    must(mallctl("arenas.lookup", &arena, &bytes, &object, sizeof object));
    return arena != arenas[tenant];
}

static uint64_t live_told(unsigned tenant)
{
    struct tslab_epoch_stats stats;
    uint64_t now = 1;
    if (way == DOMAIN) {
        return tslab_epoch_stats_get(epochs[tenant], &stats) == TSLAB_OK ? stats.live_bytes : 0;
    }
    must(mallctl("epoch", NULL, NULL, &now, sizeof now));
    return arena_figure("stats.arenas.%u.small.allocated", arenas[tenant]) +
           arena_figure("stats.arenas.%u.large.allocated", arenas[tenant]);
}

static void tell_accounts(void)
{
    uint64_t live = 0, off = 0, misplaced = 0;
    for (unsigned tenant = 0; tenant < TENANTS; tenant++) {
        uint64_t own = 0;
        for (unsigned i = 0; i < KEPT && kept[tenant][i] != NULL; i++) {
            own += malloc_usable_size(kept[tenant][i]);
            misplaced += is_misplaced(tenant, kept[tenant][i]);
        }
        const uint64_t told = live_told(tenant);
        off += told > own ? told - own : own - told;
        live += own;
    }
    printf(", \"misplaced\": %llu, \"kept\": %u, \"off_bytes\": %llu, \"live_bytes\": %llu",
           (unsigned long long)misplaced, TENANTS * KEPT, (unsigned long long)off, (unsigned long long)live);
}

static void retire(unsigned tenant)
{
    char name[64];
    if (way == DOMAIN) {
        close_epoch(epochs[tenant], TSLAB_CLOSE_RECLAIM);
    } else if (way != MALLOC) {
        must(way == BARE ? 0 : mallctlbymib(of_flush, flush_length, NULL, NULL, NULL, 0));
        snprintf(name, sizeof name, "arena.%u.purge", arenas[tenant]);
        must(mallctl(name, NULL, NULL, NULL, 0));
    }
}

// The tenant gets much, all of it dies at random, and the tenant is retired.
static void end_one(unsigned tenant)
{
    const int64_t before = self_rss_kib();
    uint64_t count = 0;
    enter(tenant);
    for (uint64_t bytes = 0; bytes < (uint64_t)LARGE_MIB << 20; count++) {
        const uint32_t size = random_between(&random_state, SIZE_LEAST, LARGE_MOST);
        large[count] = memset(malloc(size), 1, size);
        bytes += size;
    }
    leave(tenant);
    const int64_t grown = self_rss_kib() - before;
    for (uint64_t i = count; i-- > 0;) {
        const uint32_t other = random_between(&random_state, 0, (uint32_t)i);
        char *const object = large[other];
        large[other] = large[i];
        free(object);
    }
    for (unsigned i = 0; i < KEPT; i++) {
        free(kept[tenant][i]);
    }
    retire(tenant);
    printf(", \"grown_kib\": %lld, \"left_kib\": %lld", (long long)grown, (long long)(self_rss_kib() - before));
}

int main(int count, char **words)
{
    const uint64_t requests = amount_of(count, words);
    while (way < WAYS && strcmp(names[way], words[1]) != 0) {
        way++;
    }
    if (way == WAYS) {
        fail("there is no such way");
    }
    sizes_make();
    large = table_map(((size_t)LARGE_MIB << 20) / 512 * sizeof *large);
    open_all();
    serve(WARM);
    const double began = cpu_seconds();
    serve(requests);
    printf("{\"operations\": %llu, \"seconds\": %.9f", (unsigned long long)requests, cpu_seconds() - began);
    if (way != MALLOC) {
        tell_accounts();
    }
    end_one(0);
    printf("}\n");
    return 0;
}
