/* A file is told from another one by its device and inode, not by its descriptor. */
#include "os/sink.h"

#include "os/fatal.h"
#include "os/os.h"
#include "os/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The standard error that the program was started with. */
static struct {
    bool is_kept;        /* sink_keep_stderr was called */
    int second;          /* its second descriptor; -1: none */
    struct os_file file; /* 0, 0: there was none */
} kept_stderr = { .second = -1 };

int sink_keep_stderr(void)
{
    invariant(!kept_stderr.is_kept && kept_stderr.second == -1);
    kept_stderr.is_kept = true;
    kept_stderr.second = os_file_of(STDERR_FILENO, &kept_stderr.file) ? os_duplicate(STDERR_FILENO) : -1;
    invariant(kept_stderr.second == -1 || kept_stderr.second > STDERR_FILENO);
    return kept_stderr.second != -1 ? kept_stderr.second : STDERR_FILENO;
}

static bool is_first(int fd)
{
    struct os_file file;
    return os_file_of(fd, &file) && file.device == kept_stderr.file.device && file.inode == kept_stderr.file.inode;
}

static int open_stderr(void)
{
    if (!kept_stderr.is_kept) {
        return STDERR_FILENO;
    }
    if (kept_stderr.second != -1 && is_first(kept_stderr.second)) {
        return kept_stderr.second;
    }
    return is_first(STDERR_FILENO) ? STDERR_FILENO : -1;
}

enum { SINK_PATH_BYTES = 512 };

/* Makes a path of a pattern. False: it would be too long. */
static bool sink_path(char buffer[SINK_PATH_BYTES], const char *pattern, uint32_t number)
{
    struct text path = { .buffer = buffer, .capacity = SINK_PATH_BYTES };
    invariant(pattern[0] != 0);
    for (const char *c = pattern; *c != 0; c++) {
        const char what = c[0] == '%' ? c[1] : 0;
        c += what != 0 && strchr("pen%", what) != NULL;
        if (what == 'p') {
            text_number(&path, os_process_id());
        } else if (what == 'n') {
            text_number(&path, number);
        } else if (what == 'e') {
            text_string(&path, os_program_name());
        } else {
            text_part(&path, c, 1);
        }
    }
    invariant(path.length <= SINK_PATH_BYTES);
    if (path.length == SINK_PATH_BYTES) { /* cut off */
        return false;
    }
    buffer[path.length] = 0;
    return true;
}

static noinline void complain_once(enum sink_kind kind, const char *path, int why)
{
    static const char *const names[] = { "statistics", "profile", "black box" };
    static atomic_u32 told[sizeof names / sizeof names[0]];
    char buffer[SINK_PATH_BYTES + 128];
    struct text line = { .buffer = buffer, .capacity = sizeof buffer };
    const int fd = open_stderr();
    invariant(kind < sizeof names / sizeof names[0] && path[0] != 0);
    if (fd < 0 || load_plain(&told[kind]) != 0) {
        return;
    }
    store_plain(&told[kind], 1);
    text_string(&line, "tslab: no ");
    text_string(&line, names[kind]);
    text_string(&line, " in ");
    text_foreign(&line, path);
    text_string(&line, ": ");
    text_string(&line, os_why(why));
    text_string(&line, "\n");
    text_send(&line, fd);
}

/* Opens a file, but not as standard input, output or error of a program that has closed that. */
static int open_aside(const char *path, int *why)
{
    const int fd = os_open_to_append(path, why);
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    const int aside = os_duplicate(fd);
    os_close(fd);
    *why = aside < 0 ? EMFILE : 0;
    invariant(aside == -1 || aside > STDERR_FILENO);
    return aside;
}

int sink_open_file(enum sink_kind kind, const char *pattern, uint32_t number)
{
    char path[SINK_PATH_BYTES];
    int why = ENAMETOOLONG;
    const bool fits = sink_path(path, pattern, number);
    const int fd = fits ? open_aside(path, &why) : -1;
    invariant((fd < 0) == (why != 0));
    if (fd < 0) {
        complain_once(kind, fits ? path : pattern, why);
    }
    return fd;
}

uint32_t sink_oldest(const char *pattern, uint32_t count)
{
    uint32_t oldest = 0;
    uint64_t least_ns = UINT64_MAX;
    invariant(count != 0);
    for (uint32_t number = 0; number < count && least_ns != 0; number++) {
        char path[SINK_PATH_BYTES];
        invariant(oldest <= number);
        const uint64_t ns = sink_path(path, pattern, number) ? os_file_written_ns(path) : 0;
        oldest = ns < least_ns ? number : oldest;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return oldest;
}

int sink_open(enum sink_kind kind, const char *pattern, uint32_t number)
{
    const int fd = pattern[0] == 0 ? -1 : sink_open_file(kind, pattern, number);
    invariant(fd >= -1);
    return fd != -1 ? fd : open_stderr();
}

void sink_close(int fd)
{
    invariant(fd >= 0);
    if (fd != STDERR_FILENO && fd != kept_stderr.second) {
        os_close(fd);
    }
}
