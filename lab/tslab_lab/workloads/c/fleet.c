// fleet: allocations as services in production make them. A file of Fleetbench's distributions has a row for each size:
// the size, how often it is asked for, and how many such objects live at the same time. Objects come in by these rates,
// and each lives for a random time (exponential) whose mean keeps as many alive as the row says; all is scaled to so
// many bytes alive.

#include "crew.h"

enum {
    ROWS_MOST = 4096,
    TEXT_MOST = 1 << 20,
    WHEEL_BITS = 16, // places of the wheel of deaths
    WHEEL = 1 << WHEEL_BITS,
    PAGE = 4096,
    SHARE_MOST = 8, // what takes more than this part of all bytes alive is left out
    SPARE = 2,      // so many times the objects that live on average may live at once
};

// `life`: how many operations an object lives, on average.
typedef struct {
    uint32_t size;
    double rate;
    double live;
    double life;
} row;

// Draws a row by its weight in constant time: a place has a row that it keeps with some probability, and another.
typedef struct {
    double keep[ROWS_MOST];
    uint32_t other[ROWS_MOST];
} lottery;

// `rounds`: how often the wheel turns until this object dies.
typedef struct {
    unsigned char *start;
    uint64_t head; // says which object this is
    uint32_t size;
    uint32_t rounds;
    uint32_t next; // of those that die at the same time, or of those that are not in use; 0 for none
} object;

typedef struct {
    object *objects;
    uint32_t *dying; // by the place on the wheel
    uint32_t unused;
    uint64_t now;
} heap;

#define PARAMETERS(X) X(operations, 0, ANY) X(profile, 0, ANY) X(live_mib, 1, 4096) X(thread_count, 1, THREADS_MOST)
PARAMETERS(PARAMETER_VARIABLE)

static actor actors[THREADS_MOST];
static heap heaps[THREADS_MOST];
static row rows[ROWS_MOST];
static uint32_t row_count;
static lottery by_rate;
static lottery by_live;
static uint32_t live_count; // of each thread

static double random_unit(actor *a)
{
    return ((double)(random_next(a) >> 11) + 0.5) / 9007199254740992.0;
}

// Of 0 < x < 1, without the library of mathematics, which would be part of what the process weighs.
static double minus_log(double x)
{
    double sum = 0;
    while (x < 0.7071) {
        x *= 2;
        sum += 0.69314718055994531;
    }
    double y = (x - 1) / (x + 1);
    double square = y * y;
    return sum - 2 * y * (1 + square * (1.0 / 3 + square * (1.0 / 5 + square * (1.0 / 7 + square / 9))));
}

static void lottery_fill(lottery *l, double (*weight)(const row *))
{
    static uint32_t small[ROWS_MOST], large[ROWS_MOST];
    uint32_t smalls = 0, larges = 0;
    double sum = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        sum += weight(&rows[i]);
    }
    for (uint32_t i = 0; i < row_count; i++) {
        l->keep[i] = weight(&rows[i]) / sum * row_count;
        l->other[i] = i;
        if (l->keep[i] < 1) {
            small[smalls++] = i;
        } else {
            large[larges++] = i;
        }
    }
    while (smalls != 0 && larges != 0) {
        uint32_t poor = small[--smalls], rich = large[larges - 1];
        l->other[poor] = rich;
        l->keep[rich] -= 1 - l->keep[poor];
        if (l->keep[rich] < 1) {
            small[smalls++] = large[--larges];
        }
    }
    for (uint32_t i = 0; i < larges; i++) {
        l->keep[large[i]] = 1;
    }
}

static const row *lottery_draw(const lottery *l, actor *a)
{
    double at = random_unit(a) * row_count;
    uint32_t i = (uint32_t)at;
    return &rows[at - i < l->keep[i] ? i : l->other[i]];
}

static double rate_of(const row *r)
{
    return r->rate;
}

static double live_of(const row *r)
{
    return r->live;
}

static void mark(const object *o, uint32_t at, uint64_t tail, int check)
{
    uint32_t length = o->size < sizeof tail ? o->size : sizeof tail;
    if (!check) {
        memcpy(o->start + at, &tail, length);
    } else if (memcmp(o->start + at, &tail, length) != 0) {
        fail("an object was damaged while it was alive");
    }
}

// At both ends where there is room, and at the start of each page, so that all of the object is in memory.
static uint64_t marks(const object *o, int check)
{
    uint64_t tail = tail_of(o->head);
    mark(o, 0, tail, check);
    for (uint32_t at = PAGE; at + 2 * sizeof tail <= o->size; at += PAGE) {
        mark(o, at, tail, check);
    }
    if (o->size >= 2 * sizeof tail) {
        mark(o, o->size - sizeof tail, tail, check);
    }
    return tail;
}

static void make(actor *a, heap *h, const row *r)
{
    uint32_t index = h->unused;
    if (index == 0) {
        fail("more objects are alive than there is room for");
    }
    object *o = &h->objects[index];
    h->unused = o->next;
    o->size = r->size;
    o->head = ++a->serial;
    o->start = timed_malloc(a, o->size);
    a->made += marks(o, 0);
    live_add(a, o->size);
    double life = minus_log(random_unit(a)) * r->life;
    uint64_t turns = life < (double)operations * SPARE ? (uint64_t)life + 1 : operations * SPARE;
    uint32_t *place = &h->dying[(h->now + turns) % WHEEL];
    o->rounds = (uint32_t)((turns - 1) >> WHEEL_BITS);
    o->next = *place;
    *place = index;
}

static void drop(actor *a, heap *h, uint32_t index)
{
    object *o = &h->objects[index];
    a->freed += marks(o, 1);
    live_add(a, -(int64_t)o->size);
    timed_free(a, o->start);
    o->next = h->unused;
    h->unused = index;
}

static void die(actor *a, heap *h)
{
    uint32_t index = h->dying[++h->now % WHEEL];
    uint32_t left = 0;
    while (index != 0) {
        object *o = &h->objects[index];
        uint32_t next = o->next;
        if (o->rounds != 0) {
            o->rounds--;
            o->next = left;
            left = index;
        } else {
            drop(a, h, index);
        }
        index = next;
    }
    h->dying[h->now % WHEEL] = left;
}

static void live_on(actor *a, uint64_t times)
{
    heap *h = &heaps[a->index];
    for (uint64_t i = 0; i < times; i++) {
        die(a, h);
        make(a, h, lottery_draw(&by_rate, a));
        if (a->index == 0 && i % 1024 == 0) {
            live_sample(actors, thread_count);
        }
    }
}

static void prepare(actor *a)
{
    for (uint32_t i = 0; i < live_count; i++) {
        make(a, &heaps[a->index], lottery_draw(&by_live, a));
    }
    live_on(a, operations / 5);
}

static void work(actor *a)
{
    live_on(a, operations);
}

static void finish(actor *a)
{
    heap *h = &heaps[a->index];
    for (uint32_t place = 0; place < WHEEL; place++) {
        for (uint32_t index = h->dying[place], next; index != 0; index = next) {
            next = h->objects[index].next;
            drop(a, h, index);
        }
    }
}

static const char *file_read(void)
{
    const char *directory = getenv("FLEETBENCH");
    require(directory != NULL,
            "name the directory of Fleetbench's distributions: lab bench fleet --fleetbench DIRECTORY");
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/TCMALLOC_%u.csv", directory, profile);
    char *text = table_map(TEXT_MOST);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    require(length < (int)sizeof path && file >= 0, "there is no such file of Fleetbench's distributions");
    require(read(file, text, TEXT_MOST - 1) < TEXT_MOST - 1, "the file of distributions is too long");
    close(file);
    return text;
}

// Rows of a size, a rate and a number, with commas between them.
static void rows_read(const char *text, double most)
{
    while (*text != '\0') {
        double values[3];
        for (unsigned i = 0; i < 3; i++) {
            char *end;
            values[i] = strtod(text, &end);
            require(end != text && (i == 2 || *end == ','), "a row of the distributions is not size, rate, number");
            text = i == 2 ? end : end + 1;
        }
        text += strspn(text, " \r\n");
        if (values[0] >= 1 && values[0] <= most && values[1] > 0) {
            require(row_count < ROWS_MOST, "the file of distributions is too long");
            rows[row_count++] = (row){ (uint32_t)values[0], values[1], values[2], 0 };
        }
    }
    require(row_count != 0, "there are no distributions in the file");
}

static void rows_scale(double bytes)
{
    double live_bytes = 0, rate = 0, live = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        live_bytes += rows[i].size * rows[i].live;
        live += rows[i].live;
        rate += rows[i].rate;
    }
    double scale = bytes / live_bytes;
    for (uint32_t i = 0; i < row_count; i++) {
        rows[i].life = rows[i].live / rows[i].rate * rate * scale;
    }
    live_count = (uint32_t)(live * scale) + 1;
    lottery_fill(&by_rate, rate_of);
    lottery_fill(&by_live, live_of);
}

int main(int count, char **words)
{
    parameters_read(count, words, (parameter[]){ PARAMETERS(PARAMETER_ROW){ 0 } });
    operations /= thread_count;
    double bytes = (double)((uint64_t)live_mib << 20) / thread_count;
    rows_read(file_read(), bytes / SHARE_MOST);
    rows_scale(bytes);
    uint32_t room = live_count * SPARE + 1000;
    for (unsigned i = 0; i < thread_count; i++) {
        actor_init(&actors[i], i);
        heaps[i] = (heap){ table_map(room * sizeof(object)), table_map(WHEEL * sizeof(uint32_t)), 1, 0 };
        for (uint32_t at = 1; at < room - 1; at++) {
            heaps[i].objects[at].next = at + 1;
        }
    }
    base_measure();
    double seconds = crew_run(actors, thread_count, (crew_parts){ prepare, work, finish });
    fact facts[] = { { "sizes", row_count }, { "live_objects", (double)live_count * thread_count } };
    report((uint64_t)operations * thread_count, seconds, actors, thread_count, facts, 2);
    return 0;
}
