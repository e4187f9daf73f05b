/* Says which of the kernel's features that the library uses, or could use, this kernel has: a line for each. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { BYTES = 1 << 16 };

/* As in src/os/newer.h. The headers may be older. */
enum {
    FIXED_NOREPLACE = 0x100000,
    DONTUNMAP = 4,
    POPULATE_WRITE = 23,
    ADD_SEALS = 1033,
    SEAL_GROW_SHRINK = 2 | 4,
    SEAL_FUTURE_WRITE = 16,
    NOEXEC_SEAL = 8,
    ALLOW_SEALING = 2,
    CLOSE_RANGE = 436,
    UNSHARE_TABLE = 2,
};

static void say(const char *feature, bool has)
{
    printf("feature %s: %s\n", feature, has ? "yes" : "no");
}

static char *map(void)
{
    return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool places_exactly(void)
{
    char *const taken = map();
    return mmap(taken, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
           errno == EEXIST;
}

static bool moves(int flags, bool neighbours)
{
    char *const from = map(), *const to = map();
    memset(from, 7, BYTES);
    if (neighbours) { /* two mappings: one of them cannot be written */
        (void)mprotect(from, BYTES / 2, PROT_READ);
    }
    return mremap(from, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED | flags, to) == to && to[0] == 7 &&
           to[BYTES - 1] == 7;
}

static bool seals(unsigned memfd_flags, int wanted)
{
    const int fd = (int)syscall(SYS_memfd_create, "features", ALLOW_SEALING | memfd_flags);
    const bool done = fd >= 0 && fcntl(fd, ADD_SEALS, wanted) == 0;
    (void)close(fd);
    return done;
}

static bool reads(const char *path, const char *word)
{
    char text[256] = "";
    const int fd = open(path, O_RDONLY);
    const bool done = fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strstr(text, word) != NULL;
    (void)close(fd);
    return done;
}

static bool triggers(void)
{
    static const char trigger[] = "some 150000 2000000";
    const int fd = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK);
    const bool done = fd >= 0 && write(fd, trigger, sizeof trigger) > 0;
    (void)close(fd);
    return done;
}

int main(void)
{
    struct utsname name;
    (void)uname(&name);
    printf("kernel %s\n", name.release);
    say("MAP_FIXED_NOREPLACE", places_exactly());
    say("mremap", moves(0, false));
    say("MREMAP_DONTUNMAP", moves(DONTUNMAP, false));
    say("mremap of neighbours", moves(0, true));
    say("MADV_POPULATE_WRITE", madvise(map(), BYTES, POPULATE_WRITE) == 0);
    say("memfd seals", seals(0, SEAL_GROW_SHRINK));
    say("F_SEAL_FUTURE_WRITE", seals(0, SEAL_FUTURE_WRITE));
    say("MFD_NOEXEC_SEAL", seals(NOEXEC_SEAL, SEAL_GROW_SHRINK));
    say("close_range", syscall(CLOSE_RANGE, 1000, ~0U, UNSHARE_TABLE) == 0);
    say("PSI triggers", triggers());
    say("MADV_NOHUGEPAGE", madvise(map(), BYTES, MADV_NOHUGEPAGE) == 0);
    say("huge pages on request", reads("/sys/kernel/mm/transparent_hugepage/enabled", "[madvise]") ||
                                     reads("/sys/kernel/mm/transparent_hugepage/enabled", "[always]"));
    return 0;
}
