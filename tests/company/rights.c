/* A program of root's with threads gives up its capabilities as libcap does it for threads (libpsx): in all threads
 * that it knows. The keeper is none of these, and follows soon. Before that it has as many as the program: by fewer,
 * others could look into the process that may not. And libc changes the user of all threads, the keeper included. */
#include "workers.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/psx_syscall.h>
#include <sys/syscall.h>

enum { NOBODY = 65534 };

static void burst(void)
{
    void *blocks[100];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = keep(malloc(3000 + 100 * i));
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        free(blocks[i]);
    }
}

static void *wait_for_end(void *unused)
{
    for (;;) {
        free(keep(malloc(100)));
        usleep(1000);
    }
    return unused;
}

struct rights {
    unsigned long long permitted, effective;
    unsigned no_new, user;
};

/* Of the thread with this name. False: there is none. */
static int rights_of(const char *name, struct rights *rights)
{
    DIR *const folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int found = 0;
    CHECK(folder != NULL);
    while (!found && (entry = readdir(folder)) != NULL) {
        char path[300], line[200], its_name[64] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *const file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            (void)sscanf(line, "Name: %63s", its_name);
            (void)sscanf(line, "CapPrm: %llx", &rights->permitted);
            (void)sscanf(line, "CapEff: %llx", &rights->effective);
            (void)sscanf(line, "NoNewPrivs: %u", &rights->no_new);
            (void)sscanf(line, "Uid: %u", &rights->user);
        }
        if (file != NULL) {
            fclose(file);
            found = strcmp(its_name, name) == 0;
        }
    }
    closedir(folder);
    return found;
}

static struct rights rights_of_keeper(void)
{
    struct rights rights = { 0 };
    for (unsigned i = 0; !rights_of("tslab-keeper", &rights) || rights.no_new == 0; i++) {
        CHECK_SAY(i < 5000, "there is no keeper without rights%s", "");
        usleep(1000);
    }
    return rights;
}

static void begin_thread(void)
{
    struct rights own = { 0 };
    (void)thread_begin(wait_for_end, NULL);
    const struct rights before = rights_of_keeper();
    CHECK(rights_of("the-program", &own));
    CHECK_SAY(before.permitted == own.permitted, "it has %llx", before.permitted);
}

/* libc changes the user of a program with threads, and of its keeper. */
static void change_user(void)
{
    begin_thread();
    CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    CHECK(rights_of_keeper().user == NOBODY);
}

/* libpsx changes the threads that it knows. */
static void give_up(void)
{
    static const struct {
        unsigned version;
        int process;
    } header = { 0x20080522, 0 };
    static const unsigned none[6];
    struct rights own = { 0 };
    begin_thread();
    CHECK(psx_syscall3(SYS_capset, (long)&header, (long)none, 0) == 0);
    CHECK(psx_syscall6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) == 0);
    CHECK(rights_of("the-program", &own) && own.permitted == 0 && own.no_new == 1);
    for (unsigned i = 0; rights_of_keeper().permitted != 0; i++) {
        CHECK_SAY(i < 5000, "the keeper has %llx", rights_of_keeper().permitted);
        burst(); /* the slow way, so the keeper comes by */
        usleep(1000);
    }
    CHECK(rights_of_keeper().effective == 0);
}

int main(void)
{
    alarm(HANG_SECONDS);
    if (geteuid() != 0) {
        return CHECK_SKIPPED;
    }
    CHECK(prctl(PR_SET_NAME, "the-program") == 0);
    const pid_t child =
        fork(); /* before there are threads: libpsx loses its way in a child of a program with threads */
    if (child == 0) {
        change_user();
        _exit(0);
    }
    child_ends_well(child);
    give_up();
    return 0;
}
