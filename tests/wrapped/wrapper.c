/* A library to be preloaded that puts itself before one function of libc, WRAPPED, as tracers, fake clocks and
 * sandboxes do. At the first call it allocates, and looks a name up that is not there, for which libc allocates a
 * message. Then each call goes on to the function behind it, with all that the caller gave. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
#define VERSION       "GLIBC_2.34"

static void *(*volatile allocate)(size_t bytes) = malloc; /* the compiler sees no pair of malloc and free */

/* By the other function of the two that look names up, where one is wrapped. */
static void *behind(void)
{
    const char *const name = TEXT(WRAPPED);
    return name[0] == 'd' && name[1] == 'l' && name[2] == 's' ? dlvsym(RTLD_NEXT, name, VERSION)
                                                              : dlsym(RTLD_NEXT, name);
}

__attribute__((used, visibility("hidden"))) void *wrapped_call(void);

void *wrapped_call(void)
{
    static atomic_int calls;
    static void *_Atomic next;
    if (next == NULL) {
        next = behind();
    }
    if (atomic_fetch_add(&calls, 1) == 0) {
        free(allocate(100));
        free(allocate(100000));
        free(allocate(1000000));
        if (dlvsym(RTLD_DEFAULT, "no function has this name", VERSION) != NULL || dlerror() == NULL) {
            abort();
        }
    }
    return next;
}

/* No function of libc that the library calls takes numbers in floating point. */
__asm__(".text\n"
        ".globl " TEXT(WRAPPED) "\n"
                                ".type " TEXT(WRAPPED) ", @function\n" TEXT(
                                    WRAPPED) ":\n"
                                             "    push %rbp\n"
                                             "    mov %rsp, %rbp\n"
                                             "    sub $64, %rsp\n"
                                             "    and $-16, %rsp\n"
                                             "    mov %rdi, (%rsp)\n"
                                             "    mov %rsi, 8(%rsp)\n"
                                             "    mov %rdx, 16(%rsp)\n"
                                             "    mov %rcx, 24(%rsp)\n"
                                             "    mov %r8, 32(%rsp)\n"
                                             "    mov %r9, 40(%rsp)\n"
                                             "    mov %rax, 48(%rsp)\n"
                                             "    call wrapped_call\n"
                                             "    mov %rax, %r11\n"
                                             "    mov (%rsp), %rdi\n"
                                             "    mov 8(%rsp), %rsi\n"
                                             "    mov 16(%rsp), %rdx\n"
                                             "    mov 24(%rsp), %rcx\n"
                                             "    mov 32(%rsp), %r8\n"
                                             "    mov 40(%rsp), %r9\n"
                                             "    mov 48(%rsp), %rax\n"
                                             "    mov %rbp, %rsp\n"
                                             "    pop %rbp\n"
                                             "    jmp *%r11\n"
                                             ".size " TEXT(WRAPPED) ", . - " TEXT(WRAPPED) "\n");
