/* Paths are put together and numbers parsed by hand: nothing here may allocate. */
#include "os/container.h"

#include "base/bits.h"
#include "os/fatal.h"
#include "os/file.h"
#include "os/text.h"

#include <string.h>

const char *container_root = "/sys/fs/cgroup";
const char *container_file = "/proc/self/cgroup";

enum { READ_BYTES = 8192, PATH_BYTES = 1024, GROUPS_DEEP = 32, GROUPS_WATCHED = 4 };

/* A group: the folder that shows it, and the length of that part of it which is the root's. */
struct group {
    char path[PATH_BYTES];
    size_t length, root_length;
    bool is_first_version;
};

/* The files of a group that are read; -1: there is none. Version 1 has no second limit. */
enum { FILE_MAX, FILE_HIGH, FILE_USED, FILE_STAT, GROUP_FILES };
static const char *const names_of[2][GROUP_FILES] = {
    { "memory.max", "memory.high", "memory.current", "memory.stat" },
    { "memory.limit_in_bytes", NULL, "memory.usage_in_bytes", "memory.stat" },
};

/* Lines of memory.stat: what the kernel takes back when it needs memory. Whether it takes so much that tasks wait for
 * it says the pressure. */
static const char *const reclaimable[2][3] = {
    { "\ninactive_file ", "\nactive_file ", "\nslab_reclaimable " },
    { "\ntotal_inactive_file ", "\ntotal_active_file ", NULL },
};

static struct {
    uint32_t groups; /* that have a limit */
    int files[GROUPS_WATCHED][GROUP_FILES];
    int pressure; /* of the process's own group; -1: the kernel does not tell */
    struct group group;
    char path[PATH_BYTES + 64];
    char buffer[READ_BYTES];
} watching;

static int open_in(const struct group *group, const char *name)
{
    struct text text = { .buffer = watching.path, .capacity = sizeof watching.path - 1 };
    if (name == NULL) {
        return -1;
    }
    text_part(&text, group->path, group->length);
    text_string(&text, "/");
    text_string(&text, name);
    invariant(text.length < sizeof watching.path);
    watching.path[text.length] = 0;
    return os_open_to_read(watching.path);
}

static void close_all(const int *files, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (files[i] != -1) {
            os_close(files[i]);
        }
    }
}

/* The present number in a file. */
static const char *read_again(int file)
{
    (void)os_read_again(file, watching.buffer, sizeof watching.buffer);
    return watching.buffer;
}

/* The number in a file, or UINT64_MAX where there is none, as for "max". */
static uint64_t read_number(int file)
{
    uint64_t number;
    return file != -1 && os_number_behind(read_again(file), "", &number) ? number : UINT64_MAX;
}

/* 0: there is none. */
static uint64_t read_limit(const int files[GROUP_FILES])
{
    enum { NO_LIMIT_SHIFT = 60 }; /* version 1 says "no limit" by a number near 2^63 */
    const uint64_t max = read_number(files[FILE_MAX]), high = read_number(files[FILE_HIGH]);
    const uint64_t limit = max < high ? max : high;
    return limit >> NO_LIMIT_SHIFT != 0 ? 0 : limit;
}

/* The bytes in use, without those that the kernel takes back when it needs memory: they fill any group that reads
 * files. Where a quarter of the limit is left anyway, they do not matter. */
static uint64_t read_used(const int files[GROUP_FILES], uint64_t limit)
{
    const uint64_t all = read_number(files[FILE_USED]);
    if (all == UINT64_MAX || all <= limit - limit / 4) {
        return all;
    }
    uint64_t used = all;
    const char *const stat = read_again(files[FILE_STAT]);
    for (unsigned i = 0; i < sizeof reclaimable[0] / sizeof reclaimable[0][0]; i++) {
        const char *const name = reclaimable[watching.group.is_first_version][i];
        uint64_t bytes;
        if (name != NULL && os_number_behind(stat, name, &bytes)) {
            used -= min_size(bytes, used);
        }
    }
    invariant(used <= all);
    return used;
}

/* In 10,000: "some avg10=1.23 avg60=..." is 123. */
static uint32_t read_stall(void)
{
    uint64_t whole, part;
    const char *const text = watching.pressure == -1 ? "" : read_again(watching.pressure);
    if (!os_number_behind(text, "some avg10=", &whole) || whole > 100) {
        return 0;
    }
    return (uint32_t)(whole * 100 + (os_number_behind(text, ".", &part) && part < 100 ? part : 0));
}

/* Finds the process's own group. The lines are "0::/path" for version 2, and "9:cpu,memory:/path" for version 1. */
static bool find_group(struct group *group)
{
    const char *const buffer = watching.buffer;
    if (os_read_file(container_file, watching.buffer, sizeof watching.buffer) == 0) {
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

/* Opens the files of a group that has a limit. */
static void verify_group(const struct group *group)
{
    const char *const *const names = names_of[group->is_first_version];
    int *const files = watching.files[watching.groups];
    invariant(watching.groups < GROUPS_WATCHED);
    for (unsigned i = 0; i < GROUP_FILES; i++) {
        files[i] = i > FILE_HIGH && read_limit(files) == 0 ? -1 : open_in(group, names[i]);
    }
    if (files[FILE_USED] != -1 && files[FILE_STAT] != -1) {
        watching.groups++;
    } else {
        close_all(files, GROUP_FILES);
    }
}

bool container_open(void)
{
    struct group *const group = &watching.group;
    watching.groups = 0;
    watching.pressure = -1;
    if (!find_group(group)) {
        return false;
    }
    /* Up to the root: each group around it may have a limit. In a container, the group's path may not be there, and its
     * files are those of the root. */
    for (unsigned i = 0; i < GROUPS_DEEP && watching.groups < GROUPS_WATCHED; i++) {
        verify_group(group);
        if (watching.pressure == -1 && !group->is_first_version) {
            watching.pressure = open_in(group, "memory.pressure");
        }
        if (group->length <= group->root_length) {
            break;
        }
        do {
            group->length--;
        } while (group->length > group->root_length && group->path[group->length] != '/');
    }
    if (watching.groups == 0) {
        close_all(&watching.pressure, 1);
    }
    return watching.groups != 0;
}

void container_close(void)
{
    for (uint32_t i = 0; i < watching.groups; i++) {
        close_all(watching.files[i], GROUP_FILES);
    }
    if (watching.groups != 0) {
        close_all(&watching.pressure, 1);
    }
    watching.groups = 0;
}

bool container_look(struct container *container)
{
    memset(container, 0, sizeof *container);
    for (unsigned i = 0; i < watching.groups; i++) {
        const uint64_t limit = read_limit(watching.files[i]);
        const uint64_t used = limit == 0 ? UINT64_MAX : read_used(watching.files[i], limit);
        const uint64_t left = limit > used ? limit - used : 0;
        if (used != UINT64_MAX && (container->limit_bytes == 0 || left < container->left_bytes)) {
            *container = (struct container){ .limit_bytes = limit, .left_bytes = left };
        }
    }
    invariant(container->left_bytes <= container->limit_bytes);
    container->stalled = container->limit_bytes == 0 ? 0 : read_stall();
    return container->limit_bytes != 0;
}
