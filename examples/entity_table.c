/* Entities of a game that refer to each other by handles: a rocket whose target is gone finds out, instead of following
 * a pointer to whatever took its place.
 *
 * It is linked with libtslab, and malloc stays the system's. It checks itself, and exits with 1 when something is not
 * as it says. */
#include <tslab/tslab.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ASTEROIDS = 500, ROCKETS = 2000, DAMAGE = 40 };

struct asteroid {
    unsigned number;
    int strength;
};

struct rocket {
    tslab_handle target;
    unsigned steps_to_go;
};

static void expect(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "entity_table: not so: %s\n", what);
        exit(1);
    }
}

/* A generator of its own makes every run the same. */
static unsigned random_below(unsigned limit)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % limit);
}

static tslab_handle new_asteroid(tslab_epoch level, unsigned number)
{
    void *place = NULL;
    tslab_handle handle = tslab_handle_malloc(level, sizeof(struct asteroid), &place);
    expect(handle.id != 0, "there is memory for an asteroid");
    *(struct asteroid *)place = (struct asteroid){ .number = number, .strength = 100 };
    return handle;
}

static struct rocket aim(const tslab_handle *table)
{
    return (struct rocket){ .target = table[random_below(ASTEROIDS)], .steps_to_go = 1 + random_below(20) };
}

struct outcome {
    unsigned hits, lost_targets, destroyed;
};

/* Every rocket flies until it hits. An asteroid that has had enough is freed, and another one takes its place in the
 * table, and as likely as not in memory. */
static struct outcome play(tslab_epoch level, tslab_handle *table, tslab_handle *dead)
{
    static struct rocket rockets[ROCKETS];
    struct outcome outcome = { 0 };
    for (unsigned i = 0; i < ROCKETS; i++) {
        rockets[i] = aim(table);
    }
    for (unsigned flying = ROCKETS; flying > 0;) {
        for (unsigned i = 0; i < ROCKETS; i++) {
            struct rocket *rocket = &rockets[i];
            if (rocket->steps_to_go == 0 || --rocket->steps_to_go > 0) {
                continue;
            }
            struct asteroid *target = tslab_handle_get(level, rocket->target);
            if (target == NULL) {
                outcome.lost_targets++;
                *rocket = aim(table);
                continue;
            }
            outcome.hits++;
            flying--;
            target->strength -= DAMAGE;
            if (target->strength <= 0) {
                unsigned number = target->number;
                expect(tslab_handle_free(level, rocket->target) == TSLAB_OK, "the first free of an asteroid counts");
                expect(tslab_handle_free(level, rocket->target) == TSLAB_STALE, "the second one is refused");
                dead[outcome.destroyed++] = rocket->target;
                table[number] = new_asteroid(level, number);
            }
        }
    }
    return outcome;
}

int main(void)
{
    static tslab_handle table[ASTEROIDS], dead[ROCKETS];
    const struct tslab_epoch_options options = { .label = "level", .policy = TSLAB_POLICY_RELEASE };
    tslab_epoch level = tslab_epoch_open(&options), other_level = tslab_epoch_open(&options);
    expect(level.id != 0 && other_level.id != 0, "there is memory for two levels");
    for (unsigned number = 0; number < ASTEROIDS; number++) {
        table[number] = new_asteroid(level, number);
    }

    struct outcome outcome = play(level, table, dead);
    printf("%u rockets hit, %u times after they had lost their target; %u asteroids were destroyed and replaced\n",
           outcome.hits, outcome.lost_targets, outcome.destroyed);
    expect(outcome.hits == ROCKETS && outcome.lost_targets > 0 && outcome.destroyed > 0, "the game was a game");

    for (unsigned i = 0; i < outcome.destroyed; i++) {
        expect(tslab_handle_get(level, dead[i]) == NULL, "no dead handle comes back to life");
    }
    for (unsigned number = 0; number < ASTEROIDS; number++) {
        struct asteroid *asteroid = tslab_handle_get(level, table[number]);
        expect(asteroid != NULL && asteroid->number == number, "every handle in the table names its asteroid");
        expect(tslab_handle_get(other_level, table[number]) == NULL, "it names nothing in another level");
    }

    /* The level is over: all that is in it goes at once, without a walk over the table. */
    struct tslab_epoch_report report;
    expect(tslab_epoch_close(level, TSLAB_CLOSE_RECLAIM, &report) == TSLAB_OK, "nobody is inside");
    expect(report.survivors == ASTEROIDS, "the report counts the asteroids that were left");
    for (unsigned number = 0; number < ASTEROIDS; number++) {
        expect(tslab_handle_get(level, table[number]) == NULL, "handles of a level that is over name nothing");
    }
    printf("the level is over: %llu asteroids went with it, %llu KiB went back to the system\n",
           (unsigned long long)report.survivors, (unsigned long long)report.reclaimed_bytes / 1024);
    expect(tslab_epoch_close(other_level, 0, NULL) == TSLAB_OK, "the other level ends, too");
    return 0;
}
