// The same request from a pool of the Apache Portable Runtime: a pool created, 225 objects, the pool destroyed.
//
//   own       the pools are children of one whose allocator is its own, without a lock, as a server's threads have it
//   shared    the pools are children of one with the global allocator, which has a lock

#include "request.h"

#include <apr_allocator.h>
#include <apr_general.h>
#include <apr_pools.h>

static apr_pool_t *root;

static apr_pool_t *begin(void)
{
    apr_pool_t *pool;
    if (apr_pool_create(&pool, root) != APR_SUCCESS) {
        fail("a pool cannot be created");
    }
    return pool;
}

static inline __attribute__((always_inline)) void allocate(apr_pool_t *pool)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i] = apr_palloc(pool, sizes[i]);
    }
}

static void serve(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        apr_pool_t *const pool = begin();
        allocate(pool);
        apr_pool_destroy(pool);
    }
}

static void check(void)
{
    apr_pool_t *const pool = begin();
    allocate(pool);
    objects_check(8); // a pool promises no more
    apr_pool_destroy(pool);
}

static void make_root(bool shared)
{
    apr_allocator_t *allocator = NULL;
    apr_status_t made = apr_initialize();
    if (made == APR_SUCCESS && !shared) {
        made = apr_allocator_create(&allocator);
    }
    if (made == APR_SUCCESS) {
        made = apr_pool_create_ex(&root, NULL, NULL, allocator);
    }
    if (made != APR_SUCCESS) {
        fail("there is no memory for the first pool");
    }
}

int main(int count, char **words)
{
    const uint64_t milliseconds = amount_of(count, words);
    make_root(strcmp(words[1], "shared") == 0);
    sizes_make();
    check();
    time_work(serve, milliseconds);
    return 0;
}
