/* A variable of the environment, also before libc has one: the drop-in is initialised before libc is, and calls what is
 * preloaded to stand between the two. */
#ifndef VARIABLE_H
#define VARIABLE_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline const char *variable(const char *name)
{
    static char all[1 << 17];
    static size_t length;
    if (environ != NULL) {
        return getenv(name);
    }
    if (length == 0) {
        const int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
        ssize_t n;
        while (fd >= 0 && length < sizeof all - 1 && (n = read(fd, all + length, sizeof all - 1 - length)) > 0) {
            length += (size_t)n;
        }
        if (fd < 0 || length == sizeof all - 1) {
            static const char message[] = "the environment cannot be read\n";
            (void)!write(STDERR_FILENO, message, sizeof message - 1);
            _exit(1);
        }
        close(fd);
    }
    const size_t bytes = strlen(name);
    for (const char *at = all; at < all + length; at += strlen(at) + 1) {
        if (strncmp(at, name, bytes) == 0 && at[bytes] == '=') {
            return at + bytes + 1;
        }
    }
    return NULL;
}

#endif
