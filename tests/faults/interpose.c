/* Lets calls of libc and of the system that the library makes fail, in a program that knows nothing of it: to be
 * preloaded before libtslab-malloc.so. Of libc's it sees all that goes through the dynamic linker, of the system's all
 * that come from the library's addresses (trap.h). Calls of anybody else are let pass.
 *
 *   FAULTS=call:from:count:how,...
 *
 * The calls of that name fail from one on (they are counted from 0), so many of them (0: all that come). `how` is the
 * name of an errno; LIE: it succeeds, with what is not so; or SLEEP: it takes a while and then does what it should.
 *
 *   FAULTS_SITES=file
 *
 * Every place in the library whose call has failed is noted there (sites.py). A program may also look for faults_plan
 * and faults_calls at run time. */
#include "trap.h"
#include "variable.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined __x86_64__
#define PROGRAM_COUNTER gregs[REG_RIP]
#elif defined __aarch64__
#define PROGRAM_COUNTER pc
#endif

#define EXPORT    __attribute__((visibility("default")))
#define HERE      __builtin_return_address(0)
#define COUNT(of) (sizeof(of) / sizeof(of)[0])

/* The functions of libc, and the system calls. */
#define FUNCTIONS(_)                                                                                                   \
    _(__register_atfork)                                                                                               \
    _(dlopen)                                                                                                          \
    _(pthread_getcpuclockid)                                                                                           \
    _(pthread_key_create)                                                                                              \
    _(pthread_setspecific)                                                                                             \
    _(pthread_sigmask)
#define MEMORY_CALLS(_) _(madvise) _(mmap) _(mprotect) _(mremap) _(munmap)
#define FILE_CALLS(_)   _(close) _(dup3) _(fchmod) _(fcntl) _(fstat) _(memfd_create) _(openat) _(write)
#define READ_CALLS(_)   _(ftruncate) _(lseek) _(pread64) _(pwrite64) _(pwritev2) _(read)
#define SCHED_CALLS(_)  _(sched_getaffinity) _(sched_setaffinity) _(sched_getscheduler) _(sched_setscheduler)
#define SIGNAL_CALLS(_) _(rt_sigpending) _(rt_sigprocmask) _(rt_sigtimedwait)
#define WAIT_CALLS(_)   _(clock_gettime) _(futex) _(ppoll)
#define OTHER_CALLS(_)  _(close_range) _(getrandom) _(gettid) _(prlimit64) WAIT_CALLS(_)
#define SYSTEM_CALLS(_) MEMORY_CALLS(_) FILE_CALLS(_) READ_CALLS(_) SCHED_CALLS(_) SIGNAL_CALLS(_) OTHER_CALLS(_)

#define CALL_CONSTANT(name) CALL_##name,
enum call { FUNCTIONS(CALL_CONSTANT) SYSTEM_CALLS(CALL_CONSTANT) CALL_COUNT, FUNCTION_COUNT = CALL_madvise };

#define CALL_NAME(name) #name,
static const char *const call_names[CALL_COUNT] = { FUNCTIONS(CALL_NAME) SYSTEM_CALLS(CALL_NAME) };

#define CALL_NUMBER(name) [CALL_##name] = SYS_##name,
static const long numbers[CALL_COUNT] = { SYSTEM_CALLS(CALL_NUMBER) };

enum { LIES = -1, SLEEPS = -2 };

static const struct {
    const char *name;
    int how;
} hows[] = { { "EACCES", EACCES }, { "EAGAIN", EAGAIN },         { "EBADF", EBADF },   { "EEXIST", EEXIST },
             { "EFAULT", EFAULT }, { "EINTR", EINTR },           { "EINVAL", EINVAL }, { "EIO", EIO },
             { "EMFILE", EMFILE }, { "EOPNOTSUPP", EOPNOTSUPP }, { "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC },
             { "ENOSYS", ENOSYS }, { "EPERM", EPERM },           { "EPIPE", EPIPE },   { "ESRCH", ESRCH },
             { "LIE", LIES },      { "SLEEP", SLEEPS } };

static struct {
    unsigned from, until;
    int how; /* 0: succeeds */
} plan[CALL_COUNT];
static atomic_uint calls_made[CALL_COUNT];
static void *real[FUNCTION_COUNT];
static uintptr_t library_start, library_end;
static atomic_int state; /* 0: not prepared, 1: being so, 2: prepared */

static void complain(const char *what)
{
    const ssize_t written = write(STDERR_FILENO, what, strlen(what));
    _exit(written > 0 ? 99 : 100);
}

/* Reads "name:from:count:how" up to the comma or the end. */
static void plan_one(const char *text)
{
    enum call call = 0;
    size_t length = 0;
    while (call < CALL_COUNT &&
           (length = strlen(call_names[call]), strncmp(text, call_names[call], length) != 0 || text[length] != ':')) {
        call++;
    }
    if (call == CALL_COUNT) {
        complain("faults: there is no such call in FAULTS\n");
    }
    char *end;
    plan[call].from = (unsigned)strtoul(text + length + 1, &end, 10);
    const unsigned count = (unsigned)strtoul(end + 1, &end, 10);
    plan[call].until = count == 0 ? UINT32_MAX : plan[call].from + count;
    const size_t how_length = strcspn(end + 1, ",");
    for (size_t i = 0; i < COUNT(hows); i++) {
        if (strlen(hows[i].name) == how_length && strncmp(hows[i].name, end + 1, how_length) == 0) {
            plan[call].how = hows[i].how;
            return;
        }
    }
    complain("faults: there is no such way to fail in FAULTS\n");
}

EXPORT void faults_plan(const char *text);
EXPORT void faults_plan(const char *text)
{
    memset(plan, 0, sizeof plan);
    for (size_t i = 0; i < CALL_COUNT; i++) {
        atomic_store(&calls_made[i], 0);
    }
    while (text != NULL && *text != 0) {
        plan_one(text);
        const char *comma = strchr(text, ',');
        text = comma == NULL ? NULL : comma + 1;
    }
}

EXPORT unsigned faults_calls(const char *name);
EXPORT unsigned faults_calls(const char *name)
{
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (strcmp(call_names[i], name) == 0) {
            return atomic_load(&calls_made[i]);
        }
    }
    complain("faults: there is no such call\n");
    return 0;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    if (strstr(info->dlpi_name, "libtslab") == NULL) {
        return 0;
    }
    library_start = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > library_end) {
            library_end = end;
        }
    }
    return 1;
}

/* Says so when the program dies in the library, and lets it. */
static void say_where(int signal, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.PROGRAM_COUNTER;
    if (at >= library_start && at < library_end) {
        static const char said[] = "faults: the program dies in the library\n";
        const ssize_t written = write(STDERR_FILENO, said, sizeof said - 1);
        (void)written;
    }
    struct sigaction plain = { .sa_handler = SIG_DFL };
    (void)sigaction(signal, &plain, NULL); /* what it did comes again */
}

static void watch_deaths(void)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    struct sigaction watch = { .sa_sigaction = say_where, .sa_flags = SA_SIGINFO };
    for (size_t i = 0; i < COUNT(deadly); i++) {
        (void)sigaction(deadly[i], &watch, NULL);
    }
}

static long trapped(const struct trapped_call *call);

/* The first call comes from the library's start, when there is one thread. */
static void prepare(void)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&state, &none, 1)) {
        return;
    }
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        real[i] = dlsym(RTLD_NEXT, call_names[i]);
    }
    (void)dl_iterate_phdr(find_library, NULL);
    watch_deaths();
    faults_plan(variable("FAULTS"));
    if (!trap_calls(library_start, library_end, trapped)) {
        complain("faults: the kernel allows no filter\n");
    }
    atomic_store(&state, 2);
}

static void note_site(enum call call, uintptr_t site)
{
    static atomic_uintptr_t noted[256];
    const char *const file = variable("FAULTS_SITES");
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < COUNT(noted); i++) {
        uintptr_t found = 0;
        if (atomic_compare_exchange_strong(&noted[i], &found, site)) {
            char line[64];
            const int length =
                snprintf(line, sizeof line, "%s %#zx\n", call < FUNCTION_COUNT ? call_names[call] : "syscall",
                         (size_t)(site - library_start));
            const int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
            if (write(fd, line, (size_t)length) != length) {
                complain("faults: FAULTS_SITES cannot be written\n");
            }
            close(fd);
            return;
        }
        if (found == site) {
            return;
        }
    }
}

/* How this call fails; 0: it does not. */
static int fault(enum call call, const void *site)
{
    const int saved = errno;
    prepare();
    const uintptr_t at = (uintptr_t)site;
    int how = 0;
    if (at >= library_start && at < library_end) {
        const unsigned n = atomic_fetch_add(&calls_made[call], 1);
        how = n >= plan[call].from && n < plan[call].until ? plan[call].how : 0;
    }
    if (how == SLEEPS) {
        (void)usleep(300);
        how = 0;
    } else if (how != 0) {
        note_site(call, at);
    }
    errno = saved;
    return how;
}

#define REAL(name, type) ((type)real[CALL_##name])

/* LIE of a mask of processors: it differs from the last one. */
static long lie_of_processors(long bytes, unsigned char *mask)
{
    static atomic_uchar next;
    if (bytes > 0) {
        mask[0] ^= (unsigned char)(1 + atomic_fetch_add(&next, 1) % 2);
    }
    return bytes;
}

/* LIE of a clock: it jumps, far and to and fro. */
static void lie_of_time(struct timespec *now)
{
    static const time_t jumps[] = { 0, 3155760000, 1, 60, 3155760000, 100 };
    static atomic_uint next;
    now->tv_sec = jumps[atomic_fetch_add(&next, 1) % COUNT(jumps)];
}

/* LIE: a futex that wakes up for no reason, a file that is empty, a write that writes one byte, a real-time thread. */
static long lie(enum call which, struct trapped_call call)
{
    if (which == CALL_write) {
        call.words[2] = call.words[2] > 1 ? 1 : call.words[2];
    } else if (which != CALL_sched_getaffinity && which != CALL_clock_gettime) {
        return which == CALL_sched_getscheduler ? SCHED_FIFO : 0;
    }
    const long result = trap_pass(&call);
    if (which == CALL_clock_gettime) {
        lie_of_time((struct timespec *)call.words[1]);
    }
    return which == CALL_sched_getaffinity ? lie_of_processors(result, (unsigned char *)call.words[2]) : result;
}

/* EFAULT of mremap: the kernel has unmapped the target by then. */
static long trapped(const struct trapped_call *call)
{
    enum call which = FUNCTION_COUNT;
    while (which < CALL_COUNT && numbers[which] != call->number) {
        which++;
    }
    const int how = which == CALL_COUNT ? 0 : fault(which, (const void *)call->site);
    if (how == LIES) {
        return lie(which, *call);
    }
    if (how == EFAULT && which == CALL_mremap) {
        (void)munmap((void *)call->words[4], (size_t)call->words[2]);
    }
    return how != 0 ? -how : call->number == SYS_rt_sigprocmask ? 0 : trap_pass(call);
}

/* The clock that the kernel maps into the process makes no system call. */
unsigned long __getauxval(unsigned long type);
EXPORT unsigned long getauxval(unsigned long type)
{
    prepare();
    return type == AT_SYSINFO_EHDR ? 0 : __getauxval(type);
}

/* Those that return an errno. */

EXPORT int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    const int how = fault(CALL_pthread_key_create, HERE);
    return how != 0 ? how : REAL(pthread_key_create, int (*)(pthread_key_t *, void (*)(void *)))(key, destructor);
}

EXPORT int pthread_setspecific(pthread_key_t key, const void *value)
{
    const int how = fault(CALL_pthread_setspecific, HERE);
    return how != 0 ? how : REAL(pthread_setspecific, int (*)(pthread_key_t, const void *))(key, value);
}

EXPORT int pthread_sigmask(int verb, const sigset_t *set, sigset_t *before)
{
    const int how = fault(CALL_pthread_sigmask, HERE);
    sigset_t room;
    return how != 0 ? how
                    : REAL(pthread_sigmask, int (*)(int, const sigset_t *, sigset_t *))(
                          verb, verb == SIG_UNBLOCK ? set : trap_spare(set, &room), before);
}

EXPORT int sigprocmask(int verb, const sigset_t *set, sigset_t *before)
{
    sigset_t room;
    prepare();
    errno = REAL(pthread_sigmask, int (*)(int, const sigset_t *, sigset_t *))(
        verb, verb == SIG_UNBLOCK ? set : trap_spare(set, &room), before);
    return errno == 0 ? 0 : -1;
}

EXPORT int pthread_getcpuclockid(pthread_t thread, clockid_t *clock)
{
    const int how = fault(CALL_pthread_getcpuclockid, HERE);
    return how != 0 ? how : REAL(pthread_getcpuclockid, int (*)(pthread_t, clockid_t *))(thread, clock);
}

typedef int register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
EXPORT int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *dso);
EXPORT int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *dso)
{
    const int how = fault(CALL___register_atfork, HERE);
    return how != 0 ? how : REAL(__register_atfork, register_atfork *)(before, parent, child, dso);
}

EXPORT void *dlopen(const char *name, int flags)
{
    const int how = fault(CALL_dlopen, HERE);
    return how != 0 ? NULL : REAL(dlopen, void *(*)(const char *, int))(name, flags);
}
