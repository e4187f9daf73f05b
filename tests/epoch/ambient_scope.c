/* Under the drop-in, plain allocation of any library follows the scope of its thread. */
#include "ambient_library.h"
#include "epoch.h"

#include <regex.h>
#include <time.h>

static const enum tslab_policy policies[] = { TSLAB_POLICY_DRAIN, TSLAB_POLICY_RELEASE, TSLAB_POLICY_REPORT,
                                              TSLAB_POLICY_TRAP };

static tslab_epoch opened_with_flags(enum tslab_policy policy, unsigned flags)
{
    return opened_with(&(struct tslab_epoch_options){ .policy = policy, .flags = flags });
}

static const size_t sizes[] = { 1, 24, 100, 1000, 5000, 33000, 200000 };

/* Everything that a library allocates in this scope, and where it lies. */
static void check_lands(tslab_epoch wanted)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        size_t way = 0;
        void *p;
        for (; (p = library_allocate(way, sizes[i])) != NULL; way++) {
            CHECK_SAY(same(tslab_epoch_of(p), wanted), "%zu bytes, way %zu", sizes[i], way);
            free(p);
        }
        CHECK(way == 16);
        for (way = 0; (p = library_new(way, sizes[i])) != NULL; way++) {
            CHECK_SAY(same(tslab_epoch_of(p), wanted), "%zu bytes, new of way %zu", sizes[i], way);
            library_delete(way, p, sizes[i]);
        }
        CHECK(way == 8);
    }
}

CASE(libraries_land_in_the_scope)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (unsigned flags = 0; flags <= TSLAB_OPEN_VOUCHED; flags += TSLAB_OPEN_VOUCHED) {
            const tslab_epoch epoch = opened_with_flags(policies[i], flags);
            check_lands(no_epoch);
            enter(epoch);
            check_lands(takes_plain(policies[i], flags) ? epoch : no_epoch);
            ALIVE(epoch, 0);
            leave(epoch);
            check_lands(no_epoch);
            STATUS(tslab_epoch_close(epoch, 0, NULL), TSLAB_OK);
            check_gone(epoch);
        }
    }
}

CASE(inner_scopes_count)
{
    const tslab_epoch outer = opened(), inner = opened();
    enter(outer);
    enter(inner);
    check_lands(inner);
    leave(inner);
    check_lands(outer);
    tslab_work_pause();
    check_lands(no_epoch);
    STATUS(tslab_work_resume(), TSLAB_OK);
    check_lands(outer);
    leave(outer);
    STATUS(tslab_epoch_close(outer, 0, NULL), TSLAB_OK);
    STATUS(tslab_epoch_close(inner, 0, NULL), TSLAB_OK);
}

/* Memory that a library keeps survives its scope. */
CASE(what_a_library_keeps_stays_valid)
{
    enum { TEXTS = 2000 };
    const tslab_epoch epoch = opened();
    enter(epoch);
    for (int i = 0; i < TEXTS; i++) {
        char text[64];
        snprintf(text, sizeof text, "this is text %d, which is kept", i);
        library_remember(text);
    }
    leave(epoch);
    struct tslab_epoch_report report;
    STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, &report), TSLAB_OK);
    CHECK(report.survivors == 2 * TEXTS);
    CHECK(library_count() == TEXTS);
    for (int i = 0; i < TEXTS; i++) {
        char text[64];
        snprintf(text, sizeof text, "this is text %d, which is kept", TEXTS - 1 - i);
        CHECK(strcmp(library_recall((size_t)i), text) == 0);
    }
    library_forget();
    check_gone(epoch);
}

/* Other threads free what a scope has allocated, with the scope open, left, and the epoch closed. */

enum { HANDED = 300 };

/* libc keeps things of its own, which it allocated in a scope: buffers, what it has looked up, libraries that were
 * loaded. */
CASE(libc_may_allocate_in_a_scope)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        if (policies[i] == TSLAB_POLICY_REPORT) {
            continue; /* it would tell, rightly */
        }
        const tslab_epoch epoch = opened_as("libc", policies[i]);
        enter(epoch);
        (void)filled(epoch, 100, 1);
        FILE *const file = tmpfile();
        CHECK(file != NULL && fprintf(file, "a line of %d\n", 1) > 0);
        CHECK(setenv("TSLAB_TEST_VARIABLE", "set in a scope", 1) == 0);
        const time_t now = 1234567890;
        struct tm local;
        CHECK(localtime_r(&now, &local) != NULL);
        regex_t regex;
        CHECK(regcomp(&regex, "^a (line|word) of ([0-9]+)$", REG_EXTENDED | REG_NEWLINE) == 0);
        void *const library = dlopen("libm.so.6", RTLD_NOW);
        CHECK(library != NULL);
        leave(epoch);
        STATUS(tslab_epoch_close(epoch, TSLAB_CLOSE_RECLAIM, NULL), TSLAB_OK);
        /* Somebody else uses what came back. */
        const tslab_epoch next = opened_as("next", TSLAB_POLICY_RELEASE);
        for (size_t n = 0; n < 5000; n++) {
            (void)filled(next, 16 + n % 1000, n);
        }
        char line[64];
        CHECK(fprintf(file, "a line of %d\n", 2) > 0);
        rewind(file);
        CHECK(fgets(line, sizeof line, file) != NULL && strcmp(line, "a line of 1\n") == 0);
        CHECK(regexec(&regex, line, 0, NULL, 0) == 0);
        CHECK(fgets(line, sizeof line, file) != NULL && strcmp(line, "a line of 2\n") == 0);
        CHECK(strcmp(getenv("TSLAB_TEST_VARIABLE"), "set in a scope") == 0);
        double (*const cosine)(double) = (double (*)(double))(uintptr_t)dlsym(library, "cos");
        CHECK(cosine != NULL && cosine(0) > 0.99);
        CHECK(dlclose(library) == 0);
        regfree(&regex);
        CHECK(fclose(file) == 0);
        CHECK(unsetenv("TSLAB_TEST_VARIABLE") == 0);
        STATUS(tslab_epoch_close(next, 0, NULL), TSLAB_OK);
    }
}

/* A process may end wherever it is. */

static tslab_epoch last;

static void at_the_end(void)
{
    CHECK(same(tslab_epoch_current(), last));
    free(strdup("still alive"));
    tslab_free(filled(last, 100, 1));
    check_lands(last);
}

CASE(a_process_may_end_in_a_scope)
{
    last = opened();
    enter(last);
    library_remember("at the end");
    CHECK(atexit(at_the_end) == 0);
    exit(0);
}
