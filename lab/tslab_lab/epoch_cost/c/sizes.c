// Requests of any size. A request allocates objects of 16 to 448 bytes until they are KB together, writes the first
// byte of each, and frees all in the order in which they were made. usage: sizes WAY-KB MILLISECONDS
//
//   malloc      no epoch
//   drain       an epoch that drains, opened, entered, left and closed for each request
//   survivor    the same, and one object of each request is freed when 100 others have come

#include "program.h"

enum { KEPT = 100, SIZE_LEAST = 16, SIZE_MOST = 448 };

static uint32_t *sizes;
static char **objects;
static unsigned count;
static bool in_epoch, survives;
static char *kept[KEPT];
static uint64_t served;

static void serve(void)
{
    tslab_epoch epoch = { 0 };
    if (in_epoch) {
        epoch = open_epoch(TSLAB_POLICY_DRAIN, 0);
        enter_epoch(epoch, TSLAB_OK);
    }
    for (unsigned i = 0; i < count; i++) {
        objects[i] = malloc(sizes[i]);
        *(volatile char *)objects[i] = (char)i;
    }
    if (survives) {
        char **const place = &kept[served++ % KEPT];
        char *const before = *place;
        *place = objects[count / 2];
        objects[count / 2] = before;
    }
    for (unsigned i = 0; i < count; i++) {
        free(objects[i]);
    }
    if (in_epoch) {
        leave_epoch(epoch);
        close_epoch(epoch, 0);
    }
}

int main(int words, char **word)
{
    const uint64_t milliseconds = amount_of(words, word);
    const char *const dash = strchr(word[1], '-');
    const uint64_t bytes = dash == NULL ? 0 : strtoull(dash + 1, NULL, 10) * 1000;
    in_epoch = strncmp(word[1], "malloc", 6) != 0;
    survives = strncmp(word[1], "survivor", 8) == 0;
    if (bytes == 0) {
        fail("wants a way and a number of KB, as drain-50");
    }
    if (in_epoch) {
        require_epochs(program_name);
    }
    const uint64_t most = bytes / SIZE_LEAST + 1;
    sizes = calloc(most, sizeof *sizes);
    objects = calloc(most, sizeof *objects);
    uint64_t random = 1;
    for (uint64_t sum = 0; sum < bytes; sum += sizes[count++]) {
        sizes[count] = random_between(&random, SIZE_LEAST, SIZE_MOST);
    }
    uint64_t requests = 0;
    double spent = 0;
    for (uint64_t phase = 0; phase < 2; phase++) { // the first is a warm-up
        const double began = cpu_seconds(), wanted = (double)milliseconds / (phase == 0 ? 1e4 : 1e3);
        for (requests = 0, spent = 0; spent < wanted; requests++) {
            serve();
            spent = cpu_seconds() - began;
        }
    }
    printf("{\"operations\": %llu, \"seconds\": %.9f}\n", (unsigned long long)(requests * count), spent);
    return 0;
}
