/* Paths are put together and numbers parsed by hand: nothing here may allocate. */
#include "os/container.h"

#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"

#include <string.h>

const char *container_root = "/sys/fs/cgroup";
const char *container_file = "/proc/self/cgroup";

enum { GROUPS_BYTES = 4096, PATH_BYTES = 1024, NUMBER_BYTES = 128, GROUPS_DEEP = 32 };

/* A group: the folder that shows it, and the length of that part of it which is the root's. */
struct group {
    char path[PATH_BYTES];
    size_t length, root_length;
    bool is_first_version;
};

/* Slow operations must get by with small stacks, so what is long is here. */
static struct {
    struct group group;
    char path[PATH_BYTES + 64];
    char buffer[GROUPS_BYTES];
} look;

/* Reads a file of the group into the buffer. False: there is none. */
static bool read_group(const struct group *group, const char *name, char *buffer, size_t bytes)
{
    struct text text = { .buffer = look.path, .capacity = sizeof look.path - 1 };
    text_part(&text, group->path, group->length);
    text_string(&text, "/");
    text_string(&text, name);
    invariant(text.length < sizeof look.path);
    look.path[text.length] = 0;
    return os_read_file(look.path, buffer, bytes) != 0;
}

static bool parse_digits(const char *at, uint64_t *number)
{
    const char *const start = at;
    *number = 0;
    for (; *at >= '0' && *at <= '9' && *number <= UINT64_MAX / 16; at++) {
        *number = *number * 10 + (uint64_t)(*at - '0');
    }
    return at != start;
}

/* The number in a file of the group, or UINT64_MAX where there is none, as for "max". */
static uint64_t read_number(const struct group *group, const char *name)
{
    char buffer[NUMBER_BYTES];
    uint64_t number;
    return read_group(group, name, buffer, sizeof buffer) && parse_digits(buffer, &number) ? number : UINT64_MAX;
}

/* Takes the group's limit, if it is closer to being reached than what was found so far. */
static void look_at_group(const struct group *group, struct container *found)
{
    enum { NO_LIMIT_SHIFT = 60 }; /* version 1 says "no limit" by a number near 2^63 */
    const bool first = group->is_first_version;
    const uint64_t max = read_number(group, first ? "memory.limit_in_bytes" : "memory.max");
    const uint64_t high = first ? UINT64_MAX : read_number(group, "memory.high");
    const uint64_t limit = max < high ? max : high;
    if (limit == 0 || limit >> NO_LIMIT_SHIFT != 0) {
        return;
    }
    const uint64_t used = read_number(group, first ? "memory.usage_in_bytes" : "memory.current");
    if (used == UINT64_MAX) {
        return;
    }
    invariant(limit != UINT64_MAX && found->limit_bytes != UINT64_MAX);
    const uint64_t left = limit > used ? limit - used : 0;
    const uint64_t found_left = found->limit_bytes > found->used_bytes ? found->limit_bytes - found->used_bytes : 0;
    if (found->limit_bytes == 0 || left < found_left) {
        found->limit_bytes = limit;
        found->used_bytes = used;
    }
}

/* In 10,000: "some avg10=1.23 avg60=..." is 123. */
static uint32_t read_stall(const struct group *group)
{
    char buffer[NUMBER_BYTES];
    static const char key[] = "some avg10=";
    if (group->is_first_version || !read_group(group, "memory.pressure", buffer, sizeof buffer) ||
        strncmp(buffer, key, sizeof key - 1) != 0) {
        return 0;
    }
    uint64_t whole, part = 0;
    const char *at = buffer + sizeof key - 1;
    if (!parse_digits(at, &whole) || whole > 100) {
        return 0;
    }
    at = strchr(at, '.');
    return (uint32_t)(whole * 100 + (at != NULL && parse_digits(at + 1, &part) && part < 100 ? part : 0));
}

/* Finds the process's own group. The lines are "0::/path" for version 2, and "9:cpu,memory:/path" for version 1. */
static bool find_group(struct group *group)
{
    const char *const buffer = look.buffer;
    if (os_read_file(container_file, look.buffer, sizeof look.buffer) == 0) {
        return false;
    }
    const char *found = NULL;
    for (const char *line = buffer; line != NULL && *line != 0; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *const names = strchr(line, ':');
        const char *const path = names == NULL ? NULL : strchr(names + 1, ':');
        if (path == NULL) {
            break;
        }
        const char *const memory = strstr(names, "memory");
        const bool is_first = memory != NULL && memory < path;
        if (is_first || (found == NULL && path == names + 1)) {
            found = path + 1;
            group->is_first_version = is_first;
        }
        line = path;
    }
    if (found == NULL) {
        return false;
    }
    struct text text = { .buffer = group->path, .capacity = sizeof group->path - 1 };
    text_string(&text, container_root);
    text_string(&text, group->is_first_version ? "/memory" : "");
    group->root_length = text.length;
    text_part(&text, found, strcspn(found, "\n"));
    group->length = text.length;
    invariant(group->root_length <= group->length && group->length < PATH_BYTES);
    return true;
}

bool container_look(struct container *container)
{
    struct group *const group = &look.group;
    memset(container, 0, sizeof *container);
    if (!find_group(group)) {
        return false;
    }
    container->stalled = read_stall(group);
    /* Up to the root: each group around it may have a limit. In a container, the group's path may not be there, and its
     * files are those of the root. */
    for (unsigned i = 0; i < GROUPS_DEEP && group->length >= group->root_length; i++) {
        look_at_group(group, container);
        if (group->length == group->root_length) {
            break;
        }
        do {
            group->length--;
        } while (group->length > group->root_length && group->path[group->length] != '/');
    }
    return container->limit_bytes != 0;
}
