// refused: what a large object and many small ones cost where the system takes no memory back, because madvise is
// forbidden (1), all memory is locked (2), or one page is (3), beside the same where it does. Two processes do the same
// work in turns; first each has written a lot of memory and freed it, so that there is something to give back.

#include "pattern.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    FORBIDDEN = 1,
    LOCKED = 2,
    ONE_PAGE_LOCKED = 3,
    TURNS = 10,
    DIRTY_SIZE = 64 << 10,
    DIRTY_MOST = 1024, // MiB
    PAGE = 4096,
    SMALL_LEAST = 16,
    SMALL_MOST = 128,
    SMALL_OBJECTS = 10000,
};

enum { GRANTED, REFUSED, SIDES };
enum { PARENT, CHILD };

// One process's part, which the first process sees, too.
typedef struct {
    actor *a;
    double large_seconds;
    double small_seconds;
    uint64_t large_operations;
    uint64_t small_operations;
    long peak_kib;
    self_weight weight;
    pid_t process;
    int ends[2]; // of what they talk through
} side;

static uint64_t operations;
static uint32_t large_size;
static uint32_t dirty_count;

static void forbid_madvise(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        fail("this system does not let a program forbid madvise (seccomp)");
    }
}

static void refuse(uint64_t by)
{
    if (by == FORBIDDEN) {
        forbid_madvise();
    } else if (by == LOCKED && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        fail("this system does not let a program lock all its memory (ulimit -l)");
    }
    void *page = table_map(PAGE);
    if (by != ONE_PAGE_LOCKED && madvise(page, PAGE, MADV_DONTNEED) == 0) {
        fail("madvise is not refused");
    }
    munmap(page, PAGE);
}

// Every page is written. With `locks`, a page in the middle is locked for good.
static void make_dirty(actor *a, void **live, int locks)
{
    for (uint32_t i = 0; i < dirty_count; i++) {
        live[i] = object_make(a, DIRTY_SIZE);
        for (uint32_t at = PAGE; at < DIRTY_SIZE - PAGE; at += PAGE) {
            ((volatile char *)live[i])[at] = 1;
        }
    }
    if (locks && mlock((char *)live[dirty_count / 2] + PAGE, 1) != 0) {
        fail("this system does not let a program lock a page (ulimit -l)");
    }
    for (uint32_t i = 0; i < dirty_count; i++) {
        object_drop(a, live[i]);
    }
}

static void take_turn(side *s, void **live, uint64_t times)
{
    double begin = cpu_begin();
    for (uint64_t i = 0; i < times; i++) {
        object_drop(s->a, object_make(s->a, large_size));
    }
    double between = cpu_seconds();
    for (uint64_t done = 0; done < times; done += SMALL_OBJECTS) {
        for (uint32_t i = 0; i < SMALL_OBJECTS; i++) {
            live[i] = object_make(s->a, low_between(random_next(s->a), SMALL_LEAST, SMALL_MOST));
        }
        for (uint32_t i = 0; i < SMALL_OBJECTS; i++) {
            object_drop(s->a, live[i]);
        }
        s->small_operations += SMALL_OBJECTS;
    }
    s->small_seconds += cpu_end(begin) - (between - begin);
    s->large_seconds += between - begin;
    s->large_operations += times;
}

// `by`: 0 where everything is granted. A word on the pipe gives the turn, and a word back ends it.
_Noreturn static void live_side(side *s, uint64_t by)
{
    void **live = table_map((dirty_count + SMALL_OBJECTS) * sizeof *live);
    if (by != 0) {
        refuse(by);
    }
    make_dirty(s->a, live, by == ONE_PAGE_LOCKED);
    char word;
    while (read(s->ends[CHILD], &word, 1) == 1) {
        take_turn(s, live, operations / TURNS + 1);
        s->peak_kib = self_peak_kib();
        s->weight = self_weigh();
        if (write(s->ends[CHILD], &word, 1) != 1) {
            fail("cannot say that a turn is over");
        }
    }
    _exit(0);
}

static void start(side *s, uint64_t by)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->ends) != 0) {
        fail("cannot make a pipe");
    }
    pid_t process = fork();
    if (process < 0) {
        fail("cannot fork");
    }
    if (process == 0) {
        close(s->ends[PARENT]);
        live_side(s, by);
    }
    close(s->ends[CHILD]);
    s->process = process; // the process itself may write here, too: not what fork tells it
}

static void give_turn(side *s)
{
    char word = 0;
    if (write(s->ends[PARENT], &word, 1) != 1 || read(s->ends[PARENT], &word, 1) != 1) {
        fail("a process has died in its turn");
    }
}

static void end(side *s)
{
    shutdown(s->ends[PARENT], SHUT_WR); // the other process may have this end, too
    int status;
    if (waitpid(s->process, &status, 0) != s->process || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail("a process has died");
    }
}

static double each_ns(double seconds, uint64_t count)
{
    return seconds / (double)count * 1e9;
}

int main(int count, char **words)
{
    uint64_t values[4];
    arguments_read(count, words, "OPERATIONS BY SIZE DIRTY_MIB", values, 4);
    operations = values[0];
    require(values[1] >= FORBIDDEN && values[1] <= ONE_PAGE_LOCKED, "it is refused by 1, 2 or 3");
    sizes_check(values[2], values[2]);
    require(values[3] >= 1 && values[3] <= DIRTY_MOST, "there must be from 1 to 1024 MiB to give back");
    large_size = (uint32_t)values[2];
    dirty_count = (uint32_t)(values[3] << 20) / DIRTY_SIZE;

    int flags = MAP_SHARED | MAP_ANONYMOUS;
    side *sides = mmap(NULL, SIDES * sizeof *sides, PROT_READ | PROT_WRITE, flags, -1, 0);
    actor *actors = mmap(NULL, SIDES * sizeof *actors, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (sides == MAP_FAILED || actors == MAP_FAILED) {
        fail("cannot map a table");
    }
    signal(SIGPIPE, SIG_IGN);
    base_measure();
    for (unsigned i = 0; i < SIDES; i++) {
        sides[i].a = &actors[i];
        actor_init(&actors[i], i);
        actors[i].latency = LATENCY ? latency_record_new() : NULL; // known before the fork
        start(&sides[i], i == REFUSED ? values[1] : 0);
    }
    for (unsigned turn = 0; turn < TURNS; turn++) {
        give_turn(&sides[GRANTED]);
        give_turn(&sides[REFUSED]);
    }
    end(&sides[GRANTED]);
    end(&sides[REFUSED]);

    const side *granted = &sides[GRANTED];
    const side *refused = &sides[REFUSED];
    live_bytes_most = (int64_t)dirty_count * DIRTY_SIZE;
    rss_most_kib = refused->peak_kib;
    weight_after = refused->weight;
    fact facts[] = { { "large_granted_ns", each_ns(granted->large_seconds, granted->large_operations) },
                     { "large_refused_ns", each_ns(refused->large_seconds, refused->large_operations) },
                     { "small_granted_ns", each_ns(granted->small_seconds, granted->small_operations) },
                     { "small_refused_ns", each_ns(refused->small_seconds, refused->small_operations) } };
    report(refused->large_operations + refused->small_operations, refused->large_seconds + refused->small_seconds,
           actors, SIDES, facts, 4);
    return 0;
}
