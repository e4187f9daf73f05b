/* Control groups, in a tree of files that looks like the kernel's. */
#ifndef GROUPS_H
#define GROUPS_H

#include "check.h"

#include "os/container.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[] = "/tmp/tslab-group-XXXXXX";
static char groups_file[64];

static inline void put_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *const file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static inline void begin_groups(const char *groups)
{
    CHECK(mkdtemp(root) != NULL);
    snprintf(groups_file, sizeof groups_file, "%s/groups", root);
    put_file("groups", groups);
    container_root = root;
    container_file = groups_file;
}

static inline void end_groups(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK(system(command) == 0); /* NOLINT(cert-env33-c): the test's own folder */
}

/* The use of the group at the root. */
static inline void put_use(const char *mib, const char *stat)
{
    char text[32];
    snprintf(text, sizeof text, "%s000000\n", mib);
    put_file("memory.current", text);
    put_file("memory.stat", stat);
}

#endif
