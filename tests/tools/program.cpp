/* A program for tools to watch: constructors, threads, forks and a library opened at run time, all of which allocate.
 * It knows nothing of tslab. With a word, it makes that mistake instead.
 *
 * usage: program PLUGIN [race|stack|global|heap|freed|uninitialised|undefined|leak] */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

/* 1: children of forks allocate, also when there were threads. A sanitizer does not keep its own locks over a fork. */
#ifndef FORKS_ALLOCATE
#define FORKS_ALLOCATE 0
#endif

/* ltrace loses its way among threads. */
#ifndef THREADS
#define THREADS 4
#endif

enum { ROUNDS = 150, HELD = 64, FORKS = 4 };

static void check(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "not so: %s\n", what);
        _exit(1);
    }
}

/* Allocated before main, and by the C++ runtime's start of static objects. */
static char *before_main;
__attribute__((constructor)) static void begin()
{
    before_main = strdup("from a constructor");
}

struct list {
    explicit list(int bytes) : text(new char[static_cast<size_t>(bytes)])
    {
        memset(text, 'l', static_cast<size_t>(bytes));
    }
    ~list()
    {
        delete[] text;
    }
    char *text;
};
static list in_the_program(1000);
static thread_local list in_each_thread(100);

/* Objects that one thread allocates and another one frees. */
static struct {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char *objects[HELD] = {};
} shared;

static void hand_over(unsigned place, char *object)
{
    pthread_mutex_lock(&shared.lock);
    char *const before = shared.objects[place % HELD];
    shared.objects[place % HELD] = object;
    pthread_mutex_unlock(&shared.lock);
    check(before == nullptr || before[0] == 'h', "an object of another thread is whole");
    free(before);
}

static size_t size_of(unsigned round)
{
    return round % 50 == 0 ? 300000 : 16 + round * 37 % 4000;
}

static void allocate(unsigned round)
{
    const size_t size = size_of(round);
    char *const object = static_cast<char *>(malloc(size));
    auto *const zeros = static_cast<char *>(calloc(1, size));
    void *aligned = nullptr;
    check(object != nullptr && zeros != nullptr && posix_memalign(&aligned, 256, size) == 0, "there is memory");
    check(reinterpret_cast<uintptr_t>(aligned) % 256 == 0 && zeros[0] == 0 && zeros[size - 1] == 0, "zeros");
    memset(object, 'h', size);
    char *const longer = static_cast<char *>(realloc(object, size * 2));
    check(longer != nullptr && longer[size - 1] == 'h', "realloc keeps the contents");
    hand_over(round, longer);
    free(zeros);
    free(aligned);
    delete new list(static_cast<int>(size));
}

static void *work(void *)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        allocate(round);
    }
    return in_each_thread.text[0] == 'l' ? nullptr : &shared;
}

static void fork_once(bool allocates)
{
    const pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        for (unsigned round = 0; allocates && round < HELD; round++) {
            free(strdup("from a child"));
            delete new list(static_cast<int>(size_of(round)));
        }
        (void)syscall(SYS_exit_group, 0); /* not _exit, where ThreadSanitizer misses the other threads */
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && status == 0, "the child ends well");
}

static void open_plugin(const char *path)
{
    void *const plugin = dlopen(path, RTLD_NOW);
    check(plugin != nullptr, "dlopen");
    char *(*copy)(const char *) = nullptr;
    *reinterpret_cast<void **>(&copy) = dlsym(plugin, "plugin_copy");
    check(copy != nullptr, "dlsym");
    char *const copied = copy("a text");
    check(strcmp(copied, "a text") == 0, "the copy");
    free(copied);
    check(dlclose(plugin) == 0, "dlclose");
}

static void run(const char *plugin)
{
    pthread_t threads[THREADS + 1];
    int started = 0;
    fork_once(true);
    for (; started < THREADS; started++) {
        check(pthread_create(&threads[started], nullptr, work, nullptr) == 0, "pthread_create");
    }
    for (unsigned i = 0; i < FORKS; i++) {
        fork_once(FORKS_ALLOCATE);
        open_plugin(plugin);
    }
    check(work(nullptr) == nullptr, "the work of the first thread");
    while (started > 0) {
        void *wrong = nullptr;
        check(pthread_join(threads[--started], &wrong) == 0 && wrong == nullptr, "pthread_join");
    }
    for (unsigned place = 0; place < HELD; place++) {
        hand_over(place, nullptr);
    }
    check(in_the_program.text[999] == 'l' && strcmp(before_main, "from a constructor") == 0, "what began before main");
    free(before_main);
}

/* The mistakes. */

static int raced;
static void *race(void *)
{
    for (int i = 0; i < 1000; i++) {
        raced = raced + 1;
    }
    return nullptr;
}

static volatile int of_the_program[10];

/* Hides a value from the compiler, which would see the mistake itself. */
template <class type> static type unseen(type value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

static int make(const char *mistake)
{
    const int ten = unseen(10);
    if (strcmp(mistake, "race") == 0) {
        pthread_t other;
        check(pthread_create(&other, nullptr, race, nullptr) == 0, "pthread_create");
        race(nullptr);
        return pthread_join(other, nullptr);
    }
    if (strcmp(mistake, "stack") == 0) {
        volatile int local[10] = {};
        return local[ten];
    }
    if (strcmp(mistake, "global") == 0) {
        return of_the_program[ten];
    }
    if (strcmp(mistake, "undefined") == 0) {
        volatile int sum = unseen(2147483647);
        sum = sum + ten;
        return sum == 0;
    }
    int *const object = unseen(static_cast<int *>(malloc(10 * sizeof(int))));
    check(object != nullptr, "there is memory");
    if (strcmp(mistake, "uninitialised") == 0) {
        if (object[3] == 7) {
            puts("seven");
        }
    } else if (strcmp(mistake, "heap") == 0) {
        object[ten] = 1;
    } else if (strcmp(mistake, "leak") == 0) {
        return 0;
    }
    free(object);
    return strcmp(mistake, "freed") == 0 ? *const_cast<volatile int *>(unseen(object)) : 0;
}

int main(int count, char **arguments)
{
    check(count >= 2, "usage");
    if (count > 2) {
        return make(arguments[2]);
    }
    run(arguments[1]);
    puts("done");
    return 0;
}
