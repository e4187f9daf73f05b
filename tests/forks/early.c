/* The engine starts before any constructor, and before there is an environment: options that can still take effect are
 * read later, and what is wrong among them is said once. */
#include "workers.h"

#include <tslab/tslab.h>

static void *early;
static int said[2];

static void allocate_early(void)
{
    /* Nobody reads stderr before main does. */
    if (pipe(said) == 0 && dup2(said[1], STDERR_FILENO) >= 0) {
        early = tslab_malloc(100);
    }
}

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = allocate_early;

int main(void)
{
    static char text[20000];
    int printed[2];
    dup2(STDOUT_FILENO, STDERR_FILENO);
    CHECK(early != NULL);
    tslab_free(early);
    close(said[1]);
    (void)read_to_end(said[0], text, sizeof text);
    const char *const complaint = strstr(text, "tslab: TSLAB_NONSENSE: unknown option");
    CHECK_SAY(complaint == text && strchr(text, '\n') == text + strlen(text) - 1, "stderr has: %s", text);
    CHECK(pipe(printed) == 0);
    tslab_stats_json(printed[1]);
    close(printed[1]);
    (void)read_to_end(printed[0], text, sizeof text);
    CHECK_SAY(strstr(text, "\"retain_bytes\":\"12345\"") != NULL, "the option is not set: %s", text);
    return 0;
}
