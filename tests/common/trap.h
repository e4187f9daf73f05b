/* Has the system calls of chosen code come to a function of the test instead of the kernel: tslab makes its own, so
 * nobody can stand between. A filter of the kernel's raises SIGSYS for each call from these addresses, and the handler
 * returns to the caller what the function returns.
 *
 * A thread that blocks SIGSYS would be killed, so who includes this wraps pthread_sigmask and sigprocmask, too. */
#ifndef TRAP_H
#define TRAP_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* A call, and the address behind it. */
struct trapped_call {
    long number, words[6];
    uintptr_t site;
};

/* The kernel's answer: a negative number of an error. */
static inline long trap_pass(const struct trapped_call *call)
{
    const long *const w = call->words;
    const long result = syscall(call->number, w[0], w[1], w[2], w[3], w[4], w[5]);
    return result == -1 ? -errno : result;
}

static long (*trap_function)(const struct trapped_call *call);

/* The mask that is in force when the handler has returned. */
static inline long trap_set_mask(ucontext_t *context, const struct trapped_call *call)
{
    enum { MASK_BYTES = 8 };
    uint64_t mask, set;
    memcpy(&mask, &context->uc_sigmask, MASK_BYTES);
    if (call->words[2] != 0) {
        memcpy((void *)call->words[2], &mask, MASK_BYTES);
    }
    if (call->words[1] != 0) {
        memcpy(&set, (const void *)call->words[1], MASK_BYTES);
        mask = call->words[0] == SIG_SETMASK ? set : call->words[0] == SIG_BLOCK ? mask | set : mask & ~set;
        mask &= ~((uint64_t)1 << (SIGSYS - 1));
        memcpy(&context->uc_sigmask, &mask, MASK_BYTES);
    }
    return 0;
}

static void trap_handle(int signal, siginfo_t *info, void *context)
{
    ucontext_t *const at = context;
    const int saved = errno;
    struct trapped_call call = { .number = info->si_syscall, .site = (uintptr_t)info->si_call_addr };
    (void)signal;
#if defined __x86_64__
    static const int words[] = { REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9 };
    for (size_t i = 0; i < 6; i++) {
        call.words[i] = (long)at->uc_mcontext.gregs[words[i]];
    }
#elif defined __aarch64__
    memcpy(call.words, at->uc_mcontext.regs, sizeof call.words);
#endif
    long result = trap_function(&call);
    if (call.number == SYS_rt_sigprocmask && result == 0) {
        result = trap_set_mask(at, &call);
    }
#if defined __x86_64__
    at->uc_mcontext.gregs[REG_RAX] = result;
#elif defined __aarch64__
    at->uc_mcontext.regs[0] = (unsigned long long)result;
#endif
    errno = saved;
}

/* The calls from the addresses between these two. False: the kernel refuses. */
static inline int trap_calls(uintptr_t start, uintptr_t end, long (*function)(const struct trapped_call *call))
{
    enum { LOW = offsetof(struct seccomp_data, instruction_pointer), HIGH = LOW + 4, PARTS = 2, STEPS = 6 };
    struct sock_filter filter[PARTS * STEPS + 1];
    struct sigaction action = { .sa_sigaction = trap_handle, .sa_flags = SA_SIGINFO | SA_NODEFER };
    unsigned short length = 0;
    trap_function = function;
    /* In at most two parts, none of which goes over an edge between two ranges of 4 GiB. */
    for (uintptr_t from = start, until; from < end; from = until) {
        const uintptr_t edge = (from >> 32 << 32) + ((uintptr_t)1 << 32);
        until = end < edge ? end : edge;
        const struct sock_filter part[STEPS] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, HIGH),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(from >> 32), 0, 4),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW),
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)from, 0, 2),
            BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)(until - 1), 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        };
        memcpy(filter + length, part, sizeof part);
        length += STEPS;
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = { .len = length, .filter = filter };
    (void)sigemptyset(&action.sa_mask);
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* A mask without the signal. */
static inline const sigset_t *trap_spare(const sigset_t *set, sigset_t *room)
{
    if (set == NULL) {
        return NULL;
    }
    *room = *set;
    (void)sigdelset(room, SIGSYS);
    return room;
}

#endif
