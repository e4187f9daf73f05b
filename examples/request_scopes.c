/* Requests of a server, each in an epoch of its own: by plain malloc, and by explicit calls without a single free.
 *
 * It is linked with libtslab-malloc, so that malloc, strdup and all of libc allocate in the scope. It checks itself,
 * and exits with 1 when something is not as it says. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif
#include <tslab/tslab.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REQUESTS = 20000, WARM_REQUESTS = 1000, USERS = 100, GROWTH_LIMIT = 1 << 20 };

static void expect(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "request_scopes: not so: %s\n", what);
        exit(1);
    }
}

static bool same_epoch(tslab_epoch a, tslab_epoch b)
{
    return a.id == b.id;
}

static long resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    expect(file != NULL && fscanf(file, "%*d %ld", &pages) == 1, "/proc/self/statm tells the resident memory");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* --- The first way: handlers that know nothing of epochs -----------------------------------------------------------
 */

/* A session outlives the request that starts it. */
struct session {
    char *user;
    unsigned visits;
};

static struct session sessions[USERS];

static void remember(size_t number, const char *user)
{
    struct session *session = &sessions[number];
    if (session->user == NULL) {
        /* Without the pause the copy would be a survivor of the request. That is allowed: it would stay valid, and keep
         * the memory around it from coming back. */
        tslab_work_pause();
        session->user = strdup(user);
        tslab_work_resume();
        expect(session->user != NULL && tslab_epoch_of(session->user).id == 0, "a session belongs to the process");
    }
    session->visits++;
}

/* What a handler does all day: it copies, splits, looks up, and writes a response. The caller frees the response. */
static char *handle_request(const char *text, size_t *length)
{
    char *copy = strdup(text);
    char *response = NULL;
    FILE *out = open_memstream(&response, length);
    expect(copy != NULL && out != NULL, "there is memory for a request");
    char *rest = copy;
    for (char *pair; (pair = strsep(&rest, "&")) != NULL;) {
        char *value = strchr(pair, '=');
        expect(value != NULL, "a pair has a value");
        *value++ = '\0';
        if (strcmp(pair, "user") == 0) {
            remember((size_t)strtoul(value, NULL, 10), value);
        }
        char *line = NULL;
        expect(asprintf(&line, "%s is %s\n", pair, value) > 0, "there is memory for a line");
        fputs(line, out);
        free(line);
    }
    fclose(out);
    free(copy);
    return response;
}

static void serve(unsigned number, bool forget_the_response)
{
    const struct tslab_epoch_options options = {
        .label = forget_the_response ? "forgetful" : "request",
        .policy = forget_the_response ? TSLAB_POLICY_REPORT : TSLAB_POLICY_DRAIN,
    };
    char text[100];
    snprintf(text, sizeof text, "user=%u&path=/orders/%u&sort=date&page=%u", number % USERS, number, number % 7);

    tslab_epoch request = tslab_epoch_open(&options);
    expect(tslab_epoch_enter(request) == TSLAB_OK, "plain malloc lands in the scope");
    size_t length = 0;
    char *response = handle_request(text, &length);
    expect(same_epoch(tslab_epoch_of(response), request), "what libc allocated belongs to the request");
    expect(strlen(response) == length, "the response is whole");
    if (!forget_the_response) {
        free(response);
    }
    expect(tslab_epoch_leave(request) == TSLAB_OK, "the scope ends where it began");

    struct tslab_epoch_report report;
    expect(tslab_epoch_close(request, 0, &report) == TSLAB_OK, "nobody is inside");
    expect(report.survivors == (forget_the_response ? 1 : 0), "the report counts what was not freed");

    /* A survivor stays valid, and its memory comes back when it is freed at last. */
    if (forget_the_response) {
        expect(strlen(response) == length, "a survivor keeps its contents");
        free(response);
    }
    expect(tslab_epoch_close(request, 0, NULL) == TSLAB_STALE, "an epoch without survivors is gone");
}

/* --- The second way: a tree that is built by explicit calls, and dropped as a whole --------------------------------
 */

struct node {
    struct node *next, *children;
    size_t length;
    char text[];
};

static struct node *new_node(tslab_epoch epoch, const char *text, size_t length)
{
    struct node *node = tslab_epoch_malloc(epoch, sizeof *node + length + 1);
    expect(node != NULL, "there is memory for a node");
    *node = (struct node){ .length = length };
    memcpy(node->text, text, length);
    node->text[length] = '\0';
    return node;
}

/* Reads a list such as "(add 1 (mul 2 3))" from behind its opening parenthesis to behind the closing one. */
static struct node *parse_list(tslab_epoch epoch, const char **at)
{
    struct node *list = new_node(epoch, "", 0), **end = &list->children;
    while (**at != ')') {
        expect(**at != '\0', "a list has an end");
        if (isspace((unsigned char)**at)) {
            ++*at;
            continue;
        }
        if (**at == '(') {
            ++*at;
            *end = parse_list(epoch, at);
        } else {
            size_t length = strcspn(*at, " ()");
            *end = new_node(epoch, *at, length);
            *at += length;
        }
        end = &(*end)->next;
    }
    ++*at;
    return list;
}

static unsigned long evaluate(const struct node *node)
{
    if (node->length > 0) {
        return strtoul(node->text, NULL, 10);
    }
    const struct node *operation = node->children;
    bool multiply = strcmp(operation->text, "mul") == 0;
    unsigned long result = multiply;
    for (const struct node *argument = operation->next; argument != NULL; argument = argument->next) {
        result = multiply ? result * evaluate(argument) : result + evaluate(argument);
    }
    return result;
}

/* Returns the bytes of memory that the close made free for any use. */
static uint64_t calculate(unsigned number)
{
    /* RELEASE: the objects that are alive when the epoch is closed are dead then. Only calls that name the epoch land
     * in it, so nothing that libc keeps for itself can be among them. */
    const struct tslab_epoch_options options = { .label = "tree", .policy = TSLAB_POLICY_RELEASE };
    char text[100];
    snprintf(text, sizeof text, "(add %u (mul 2 3 (add 1 1)) (mul %u 10) 7)", number, number % 10);

    tslab_epoch epoch = tslab_epoch_open(&options);
    expect(tslab_epoch_enter(epoch) == TSLAB_EXPLICIT, "plain malloc stays outside");
    const char *at = text + 1;
    const struct node *tree = parse_list(epoch, &at);
    expect(evaluate(tree) == number + 12 + number % 10 * 10 + 7, "the tree is right");
    tslab_epoch_leave(epoch);

    struct tslab_epoch_report report;
    expect(tslab_epoch_close(epoch, 0, &report) == TSLAB_OK, "nobody is inside");
    expect(report.survivors == 16, "all nodes were alive, and are gone now");
    return report.recycled_bytes;
}

int main(void)
{
    /* What is alive after the first requests is what stays: sessions, and what libc keeps for itself. */
    long resident = 0;
    uint64_t recycled = 0;
    for (unsigned number = 0; number < REQUESTS; number++) {
        serve(number, false);
        recycled += calculate(number);
        if (number == WARM_REQUESTS) {
            resident = resident_bytes();
        }
    }
    long growth = resident_bytes() - resident;
    expect(growth < GROWTH_LIMIT, "requests that are over leave nothing behind");
    expect(sessions[7].visits == REQUESTS / USERS && strcmp(sessions[7].user, "7") == 0, "sessions outlive requests");
    printf(
        "%d requests by plain malloc, %d trees without a free: %llu KiB recycled, resident memory changed by %ld KiB\n",
        REQUESTS, REQUESTS, (unsigned long long)recycled / 1024, growth / 1024);

    printf("a request that forgets its response (the line below is tslab's):\n");
    fflush(stdout);
    serve(0, true);
    return 0;
}
