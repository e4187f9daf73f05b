/* Programs that have forbidden themselves all system calls but those that a malloc needs allocate as before. A call
 * that is not expected ends the program, and so does a flag of mmap that sandboxes do not know (Chromium's lets these
 * pass).
 *
 * usage: sandboxed alone    before any thread
 *        sandboxed joined   after threads that have ended
 *        sandboxed forking  children of it work
 *        sandboxed threads  threads come later
 *        sandboxed strict   only read, write and exit are left: what is cached serves */
#include "work.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef MAP_DENYWRITE
#define MAP_DENYWRITE 0x0800
#endif
enum {
    KNOWN_FLAGS = MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE | MAP_FIXED | MAP_DENYWRITE,
    CALLS_MOST = 64,
};

/* Those of malloc, and how this program tells its end. */
static const int of_malloc[] = { SYS_brk,     SYS_mmap,  SYS_munmap,     SYS_mremap, SYS_mprotect,
                                 SYS_madvise, SYS_futex, SYS_exit_group, SYS_write,  SYS_rt_sigreturn };
/* Those of libc's fork, and of its threads. */
static const int of_fork[] = { SYS_clone, SYS_wait4, SYS_set_robust_list, SYS_rt_sigprocmask };
static const int of_threads[] = {
    SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rt_sigprocmask, SYS_exit, SYS_rseq, SYS_rt_sigaction,
};

static struct sock_filter filter[3 * CALLS_MOST];
static unsigned short length;

static void statement(unsigned code, unsigned k)
{
    filter[length++] = (struct sock_filter)BPF_STMT((unsigned short)code, k);
}

static void jump(unsigned code, unsigned k, unsigned char if_true, unsigned char if_false)
{
    filter[length++] = (struct sock_filter)BPF_JUMP((unsigned short)code, k, if_true, if_false);
}

static void allow(const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        jump(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
}

static void say_which(int number, siginfo_t *info, void *context)
{
    char text[] = "system call 000 is not allowed\n";
    for (int i = 14, call = info->si_syscall; i >= 12; i--, call /= 10) {
        text[i] = (char)('0' + call % 10);
    }
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(99);
}

static void confine(bool forks, bool has_threads)
{
    const struct sigaction action = { .sa_sigaction = say_which, .sa_flags = SA_SIGINFO };
    CHECK(sigaction(SIGSYS, &action, NULL) == 0);
    statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4);
    statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3]));
    jump(BPF_JMP | BPF_JSET | BPF_K, ~(unsigned)KNOWN_FLAGS, 1, 0);
    statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    allow(of_malloc, COUNT_OF(of_malloc));
    allow(of_fork, forks ? COUNT_OF(of_fork) : 0);
    allow(of_threads, has_threads ? COUNT_OF(of_threads) : 0);
    statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const struct sock_fprog program = { length, filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(CHECK_SKIPPED);
    }
}

static void be_strict(void)
{
    enum { COUNT = 20000, ROUNDS = 50 };
    static void *all[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = keep(malloc(300 + i % 900));
    }
    for (size_t i = 0; i < COUNT; i += 2) {
        free(all[i]);
    }
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        _exit(CHECK_SKIPPED);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < COUNT; i += 2) {
            all[i] = keep(malloc(300 + i % 900));
            free(all[i]);
        }
    }
    (void)syscall(SYS_exit, 0);
}

int main(int count, char **arguments)
{
    const char *const mode = count == 2 ? arguments[1] : "";
    free(keep(malloc(100)));
    if (strcmp(mode, "strict") == 0) {
        be_strict();
    } else if (strcmp(mode, "joined") == 0) {
        work_with_threads();
        confine(false, false);
        work_alone();
    } else if (strcmp(mode, "forking") == 0) {
        confine(true, false);
        work_in_a_child(work_alone);
        work_alone();
        work_in_a_child(work_alone);
    } else if (strcmp(mode, "threads") == 0) {
        confine(true, true);
        work_alone();
        work_with_threads();
        work_in_a_child(work_with_threads);
    } else {
        CHECK(strcmp(mode, "alone") == 0);
        confine(false, false);
        work_alone();
    }
    _exit(0);
}
