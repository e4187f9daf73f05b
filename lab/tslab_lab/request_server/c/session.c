#include "session.h"

#include "work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { LOCKS = 64, CART_MOST = 3, ROW_LEAST = 64, ROW_SPREAD = 1400, PERMISSIONS_LEAST = 40, PERMISSIONS_SPREAD = 400 };

struct session {
    uint64_t number;
    uint64_t user;
    struct text *name;
    struct text *token;
    struct text *permissions;
    struct row *cart;
    uint64_t bytes; // of all its objects
};

// The table itself is mapped: it is not what is to be measured.
static struct session **places;
static uint32_t place_count;
static bool made_inside;
static pthread_mutex_t locks[LOCKS];
static atomic_ullong session_count;
static _Atomic int64_t live_count;
static _Atomic int64_t live_bytes;

static struct text *make_letters(uint64_t *random, size_t length)
{
    char letters[PERMISSIONS_LEAST + PERMISSIONS_SPREAD];
    for (size_t i = 0; i < length; i++) {
        letters[i] = (char)('a' + random_below(random, 26));
    }
    return text_make(letters, length);
}

static struct session *session_make(uint64_t number, uint64_t user)
{
    uint64_t random = number;
    const uint64_t bytes_before = tally.bytes;
    struct session *session = object_make(sizeof *session);
    *session = (struct session){ .number = number, .user = user };
    session->name = make_letters(&random, 8 + random_below(&random, 16));
    session->token = make_letters(&random, 64);
    session->permissions = make_letters(&random, PERMISSIONS_LEAST + random_below(&random, PERMISSIONS_SPREAD));
    for (uint32_t i = 1 + random_below(&random, CART_MOST); i > 0; i--) {
        struct row *row = row_make(ROW_LEAST + random_below(&random, ROW_SPREAD), (uint32_t)number);
        row->next = session->cart;
        session->cart = row;
    }
    session->bytes = tally.bytes - bytes_before;
    return session;
}

static void session_drop(struct session *session)
{
    if (session == NULL) {
        return;
    }
    atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&live_bytes, (int64_t)session->bytes, memory_order_relaxed);
    text_drop(session->name);
    text_drop(session->token);
    text_drop(session->permissions);
    rows_drop(session->cart);
    object_drop(session);
}

static struct session *session_new(uint64_t user)
{
    const uint64_t number = atomic_fetch_add_explicit(&session_count, 1, memory_order_relaxed) + 1;
    if (!made_inside) {
        IF_THERE(tslab_work_pause);
    }
    struct session *session = session_make(number, user);
    if (!made_inside) {
        IF_THERE(tslab_work_resume);
    }
    atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_bytes, (int64_t)session->bytes, memory_order_relaxed);
    return session;
}

void sessions_init(uint32_t limit, bool inside)
{
    place_count = limit;
    made_inside = inside;
    for (unsigned i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&locks[i], NULL);
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    places = mmap(NULL, (limit + 1) * sizeof(struct session *), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (places == MAP_FAILED) {
        fail("cannot map the table of sessions");
    }
    for (uint32_t i = 0; i < limit; i++) {
        places[i] = session_new(i);
    }
}

void session_create(uint64_t user)
{
    if (place_count == 0) {
        return;
    }
    // A session is no part of the request: its objects are not in the request's tally.
    const struct tally before = tally;
    struct session *session = session_new(user);
    uint64_t random = session->number;
    const uint32_t place = random_below(&random, place_count);
    pthread_mutex_lock(&locks[place % LOCKS]);
    struct session *old = places[place];
    places[place] = session;
    pthread_mutex_unlock(&locks[place % LOCKS]);
    session_drop(old);
    tally = before;
}

struct text *session_copy(uint64_t user)
{
    if (place_count == 0) {
        return NULL;
    }
    const uint32_t place = (uint32_t)(user % place_count);
    struct text *copy = NULL;
    pthread_mutex_lock(&locks[place % LOCKS]);
    const struct session *session = places[place];
    if (session != NULL) {
        text_check(session->name);
        text_check(session->token);
        for (const struct row *row = session->cart; row != NULL; row = row->next) {
            row_check(row);
        }
        copy = text_make(session->permissions->bytes, session->permissions->length);
    }
    pthread_mutex_unlock(&locks[place % LOCKS]);
    return copy;
}

uint32_t sessions_close(void)
{
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < place_count; i++) {
        dropped += places[i] != NULL;
        session_drop(places[i]);
        places[i] = NULL;
    }
    return dropped;
}

struct session_counts sessions_count(void)
{
    return (struct session_counts){
        .live = (uint64_t)atomic_load_explicit(&live_count, memory_order_relaxed),
        .created = atomic_load_explicit(&session_count, memory_order_relaxed),
        .bytes = (uint64_t)atomic_load_explicit(&live_bytes, memory_order_relaxed),
    };
}
