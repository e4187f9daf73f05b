/* The tests of a program. Its main function is here, unless it has one of its own. */
#include "child.h"

#include <fnmatch.h>

enum { TESTS_MOST = 96 };
struct CMUnitTest tests_listed[TESTS_MOST];
size_t tests_count;
void (*tests_body)(const void *state);
static int tests_lines[TESTS_MOST];

void test_listed(int line, const char *name, void (*test)(void **), const void *state)
{
    size_t at = tests_count++;
    CHECK(at < TESTS_MOST);
    for (; at > 0 && tests_lines[at - 1] > line; at--) {
        tests_listed[at] = tests_listed[at - 1];
        tests_lines[at] = tests_lines[at - 1];
    }
    tests_lines[at] = line;
    tests_listed[at] = (struct CMUnitTest){ name, test, NULL, NULL, (void *)(uintptr_t)state };
}

int tests_run(void)
{
    return _cmocka_run_group_tests("tests", tests_listed, tests_count, NULL, NULL);
}

int tests_main(int argc, char **argv)
{
    size_t named = 0;
    for (size_t i = 0; i < tests_count && argc > 1; i++) {
        if (fnmatch(argv[argc - 1], tests_listed[i].name, 0) == 0) {
            tests_listed[named++] = tests_listed[i];
        }
    }
    CHECK_SAY(argc == 1 || named > 0, "no case is called like %s", argv[argc - 1]);
    tests_count = argc == 1 ? tests_count : named;
    if (argc == 3 && strcmp(argv[1], "--body") == 0) {
        tests_body(tests_listed[0].initial_state);
        return 0;
    }
    return tests_run();
}

__attribute__((weak)) int main(int argc, char **argv)
{
    return tests_main(argc, argv);
}
