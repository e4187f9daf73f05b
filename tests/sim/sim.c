/* Runs the protocols of the engine under the scheduler (docs/protocols/README.md):
 *
 *   sim brief|quick|full GROUP...
 *
 * tries all interleavings of the scenarios of these groups, up to their number of preemptions; brief: one fewer than
 * quick, where that has several.
 *
 *   sim random|random-epoch FIRST COUNT
 *
 * runs as many random scripts under random schedules, by the seeds from FIRST on; random-epoch: with epochs.
 *
 *   sim canary GROUP...
 *
 * is the same as full, and succeeds when a fault is found: for engines with a seeded one. A group that there is not is
 * a mistake in each of these. */
#include "memory.h"
#include "scenarios.h"

#include "common/option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { CANARY_PREEMPTIONS = 4, RANDOM_THREADS = 3, STALE_READS = 1, WEAK_QUICK = 1, WEAK_FULL = 2 };

static const struct scenario *current;
static const char *const *scripts;

static void body(int thread)
{
    world_follow(thread, scripts[thread]);
}

static int thread_count(const char *const *of)
{
    int n = 0;
    while (n < THREADS_MAX && of[n] != NULL) {
        n++;
    }
    return n;
}

/* Or switches sampling on, with the gates of others taken. */
static bool anyone_forks(const char *const *of)
{
    bool forks = false;
    for (int t = 0; t < THREADS_MAX && of[t] != NULL; t++) {
        forks |= strpbrk(of[t], "kjK[") != NULL;
    }
    return forks;
}

/* How many loads of an engine under the memory model may be stale. */
static int stale_reads(void)
{
    return memory_is_watched() ? STALE_READS : 0;
}

/* How many preemptions are tried. Stale loads multiply the runs, and are found beside few of them. */
static int preemptions_of(const struct scenario *scenario, bool all)
{
    const int most = all ? scenario->full : scenario->quick;
    const int weak = all ? WEAK_FULL : WEAK_QUICK;
    return memory_is_watched() && weak < most ? weak : most;
}

/* One run from the start state. NULL, or what is wrong. */
static const char *run_once(const struct sim_run *run)
{
    world_reset();
    if (!sim_run(run)) {
        return sim_failure();
    }
    const char *wrong = sim_check(oracle_rest);
    return wrong != NULL ? wrong : sim_check(world_tear_down);
}

/* Every schedule of a scenario with at most so many preemptions. NULL, or what is wrong with the first that fails. */
static const char *explore(const struct scenario *scenario, int preemptions, uint64_t *schedules)
{
    current = scenario;
    scripts = scenario->scripts;
    const struct sim_run run = { thread_count(scripts),  preemptions, stale_reads(),
                                 !anyone_forks(scripts), body,        oracle_step };
    world_set_up(&scenario->start);
    sim_explore_start();
    const char *wrong = NULL;
    while (wrong == NULL && sim_explore_next()) {
        wrong = run_once(&run);
        (*schedules)++;
    }
    return wrong;
}

/* The same, and shows the failure with the fewest preemptions. */
static const char *explore_and_say(const struct scenario *scenario, int most, uint64_t *schedules)
{
    const char *wrong = explore(scenario, most, schedules);
    if (wrong == NULL) {
        return NULL;
    }
    int preemptions = 0;
    for (uint64_t again = 0; (wrong = explore(scenario, preemptions, &again)) == NULL;) {
        preemptions++;
    }
    fprintf(stderr, "%s: %s: with %d preemptions: %s\n", scenario->group, scenario->name, preemptions, wrong);
    sim_print_trace();
    return wrong;
}

static bool full, brief;

static void test_scenario(void **state)
{
    const struct scenario *scenario = *state;
    const int usual = preemptions_of(scenario, full);
    const int most = brief && usual > 1 ? usual - 1 : usual;
    uint64_t schedules = 0;
    const clock_t start = clock();
    const char *wrong = explore_and_say(scenario, most, &schedules);
    printf("%9llu schedules, up to %d preemptions, %5.1f s  %s\n", (unsigned long long)schedules, most,
           (double)(clock() - start) / CLOCKS_PER_SEC, scenario->name);
    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
}

/* Random scripts. */

static char script[THREADS_MAX][64];
static const char *random_scripts[THREADS_MAX];
static struct world_start random_start;

static bool random_epochs;

/* Whether its start, or what is done in it, has to do with epochs. */
static bool is_about_epochs(const struct scenario *scenario)
{
    return strpbrk(scenario->start.setup, "ONTPIW") != NULL || scenario->start.policy != 0;
}

/* A start for random scripts. A release ends objects that the scripts may just free, which is no fault of the engine:
 * there is none in them. */
static const struct scenario *random_scenario(void)
{
    const struct scenario *scenario;
    do {
        scenario = &scenarios[sim_random(scenario_count)];
    } while (is_about_epochs(scenario) != random_epochs || strpbrk(scenario->start.setup, "PRTI") != NULL ||
             scenario->start.units != 0);
    return scenario;
}

static void make_random_script(char *text, bool forks)
{
    static const char *const epoch_words[] = { "E",  "E",  "L",  "L",  "C",  "O",  "E1", "L1", "C1", "O1", "V", "a1",
                                               "a2", "a2", "a3", "f",  "F",  "f",  "F",  "M1", "U",  "s",  "w", "A2",
                                               "A3", "S2", "S3", "H",  "H1", "D",  "D1", "J",  "y",  "z",  "t", "x",
                                               "N",  "N1", "c",  "c1", "W",  "Y",  "W",  "Y",  "!",  "i",  "(", ")",
                                               "B2", "B3", "Z3", "Z4", "I2", "E2", "L2", "Z",  "X1", "B4", "f", "F" };
    static const char *const words[] = { "a1", "a2", "a3", "a4", "a2", "a3", "f",  "F",  "g", "G",  "f",
                                         "G",  "g",  "e",  "v",  "t",  "m2", "u",  "r",  "x", "n1", "b",
                                         "s",  "B2", "B3", "B2", "Z2", "Z4", "Z3", "B4", "o", "h",  "i",
                                         "f",  "F",  "a4", "$",  "$",  "a4", "f",  "f",  "a2" };
    static const char *const fork_words[] = { "k", "j", "K" };
    const unsigned n = 2 + sim_random(random_epochs ? 12 : 8);
    text[0] = 0;
    for (unsigned i = 0; i < n; i++) {
        strcat(text, forks && i == n / 2 ? fork_words[sim_random(3)]
                     : random_epochs     ? epoch_words[sim_random(sizeof epoch_words / sizeof *epoch_words)]
                                         : words[sim_random(sizeof words / sizeof *words)]);
    }
}

static const char *run_random(uint64_t seed)
{
    sim_random_start(seed);
    current = random_scenario();
    random_start = current->start;
    random_start.magazines = sim_random(2) != 0;
    random_start.retains = sim_random(4) != 0;
    random_start.policy = (uint64_t)sim_random(3) << CHOICE_SHIFT | sim_random(WORK_MANUAL + 1);
    bool forks = sim_random(4) == 0;
    for (int t = 0; t < RANDOM_THREADS; t++) {
        make_random_script(script[t], forks && t == 0);
        random_scripts[t] = script[t];
    }
    scripts = random_scripts;
    const struct sim_run run = { RANDOM_THREADS, 0, 0, !forks, body, oracle_step };
    world_set_up(&random_start);
    return run_once(&run);
}

static uint64_t random_first, random_count;

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = random_first; seed < random_first + random_count; seed++) {
        const char *wrong = run_random(seed);
        if (wrong != NULL) {
            fprintf(stderr, "seed %llu: start \"%s\", magazines %d, retains %d, %s | %s | %s: %s\n",
                    (unsigned long long)seed, current->start.setup, random_start.magazines, random_start.retains,
                    script[0], script[1], script[2], wrong);
            sim_print_trace();
            fail_msg("%s", wrong);
        }
    }
}

static bool is_named(const struct scenario *scenario, int count, char **groups)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(groups[i], scenario->group) == 0) {
            return true;
        }
    }
    return count == 0;
}

/* A name of no group is a mistake: a test of nothing would pass. */
static bool are_groups(int count, char **groups)
{
    for (int i = 0; i < count; i++) {
        unsigned number = 0;
        while (number < scenario_count && !is_named(&scenarios[number], 1, &groups[i])) {
            number++;
        }
        if (number == scenario_count) {
            fprintf(stderr, "sim: there is no group %s\n", groups[i]);
            return false;
        }
    }
    return true;
}

static int canary_group_count;
static char **canary_groups;

static void test_canary(void **state)
{
    (void)state;
    uint64_t schedules = 0;
    for (int preemptions = 0; preemptions <= CANARY_PREEMPTIONS; preemptions++) {
        for (unsigned i = 0; i < scenario_count; i++) {
            if (preemptions <= preemptions_of(&scenarios[i], true) &&
                is_named(&scenarios[i], canary_group_count, canary_groups)) {
                const char *wrong = explore(&scenarios[i], preemptions, &schedules);
                if (wrong != NULL) {
                    printf("found in schedule %llu, with %d preemptions, in \"%s\": %s\n",
                           (unsigned long long)schedules, preemptions, scenarios[i].name, wrong);
                    return;
                }
            }
        }
    }
    fail_msg("not found in %llu schedules", (unsigned long long)schedules);
}

int main(int argc, char **argv)
{
    struct CMUnitTest *const tests = calloc(scenario_count, sizeof *tests);
    if (tests == NULL) {
        perror("sim");
        return 2;
    }
    size_t count = 0;
    const char *mode = argc > 1 ? argv[1] : "";
    if ((strcmp(mode, "random") == 0 || strcmp(mode, "random-epoch") == 0) && argc == 4) {
        random_epochs = strcmp(mode, "random-epoch") == 0;
        random_first = strtoull(argv[2], NULL, 10);
        random_count = strtoull(argv[3], NULL, 10);
        if (random_count == 0) {
            fprintf(stderr, "sim: %s is no number of 1 or more\n", argv[3]);
            return 2;
        }
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_random);
    } else if (argc > 2 && !are_groups(argc - 2, argv + 2)) {
        return 2;
    } else if (strcmp(mode, "canary") == 0) {
        canary_group_count = argc - 2;
        canary_groups = argv + 2;
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_canary);
    } else if (strcmp(mode, "brief") == 0 || strcmp(mode, "quick") == 0 || strcmp(mode, "full") == 0) {
        full = strcmp(mode, "full") == 0;
        brief = strcmp(mode, "brief") == 0;
        for (unsigned i = 0; i < scenario_count; i++) {
            if (is_named(&scenarios[i], argc - 2, argv + 2)) {
                tests[count++] = (struct CMUnitTest){ scenarios[i].name, test_scenario, NULL, NULL,
                                                      (void *)(uintptr_t)&scenarios[i] };
            }
        }
    } else {
        fprintf(stderr, "usage: sim brief|quick|full|canary [GROUP...], or sim random|random-epoch FIRST COUNT\n");
        return 2;
    }
    return _cmocka_run_group_tests("sim", tests, count, NULL, NULL);
}
