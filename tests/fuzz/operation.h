/* The one decoder of operations: a record of 8 bytes says what to do and with what. All front ends use it, and every
 * record is an operation, so that whatever is cut out of a file, or changed in it, leaves a file of operations.
 *
 *   byte 0      which operation, by weights
 *   byte 1      the way to do it (3 bits), and which epoch, lane or instance (5 bits)
 *   bytes 2, 3  which object; also alignments and other small choices
 *   bytes 4-7   sizes and counts
 *
 * The first record of a file says how the library is set up: settings.h. */
#ifndef OPERATION_H
#define OPERATION_H

#include <stddef.h>
#include <stdint.h>

enum { RECORD_BYTES = 8 };

/* X(CONSTANT, weight, what it is); the weights of the common ones make 256. */
#define COMMON_OPERATIONS(X)                                                                                           \
    X(ALLOCATE, 32, "allocate")                                                                                        \
    X(ALLOCATE_BY_LIBC, 24, "allocate by a name of libc")                                                              \
    X(ALLOCATE_IN_EPOCH, 32, "allocate in an epoch by name")                                                           \
    X(ALLOCATE_WITH_HANDLE, 14, "allocate with a handle")                                                              \
    X(FREE, 76, "free")                                                                                                \
    X(RESIZE, 22, "reallocate")                                                                                        \
    X(LOOK, 2, "look at an object")                                                                                    \
    X(LOOK_AT_EPOCH, 1, "look at an epoch")                                                                            \
    X(OPEN, 5, "open an epoch")                                                                                        \
    X(ENTER, 6, "enter an epoch")                                                                                      \
    X(LEAVE, 6, "leave an epoch")                                                                                      \
    X(CLOSE, 2, "close an epoch")                                                                                      \
    X(RELEASE, 1, "release an epoch")                                                                                  \
    X(ADVANCE, 2, "advance an epoch")                                                                                  \
    X(TRY_STALE, 6, "try what is gone or never was")                                                                   \
    X(TRY_INVALID, 3, "try what is out of range")                                                                      \
    X(BEGIN, 3, "begin a unit of work")                                                                                \
    X(END, 3, "end a unit of work")                                                                                    \
    X(PAUSE, 1, "pause a unit of work")                                                                                \
    X(RESUME, 2, "resume a unit of work")                                                                              \
    X(SWITCH, 4, "hand over to another thread")                                                                        \
    X(HAND_OVER, 3, "hand a scope over to another thread")                                                             \
    X(BY_HAND, 3, "do by hand what is for a unit of work or an instance to do")                                        \
    X(ALLOCATE_MANY, 1, "allocate many")                                                                               \
    X(FREE_MANY, 1, "free many")                                                                                       \
    X(RARE, 1, "one of the rare ones")

/* These are chosen by byte 1, and their weights make 256, too. */
#define RARE_OPERATIONS(X)                                                                                             \
    X(CHECK_ALL, 12, "check everything")                                                                               \
    X(PASS_TIME, 56, "let time pass")                                                                                  \
    X(TRIM, 16, "trim")                                                                                                \
    X(REPORT_STATISTICS, 16, "write the statistics")                                                                   \
    X(ROTATE, 18, "rotate units of work")                                                                              \
    X(CLOSE_INSTANCE, 24, "close an instance, open another")                                                           \
    X(END_THREAD, 24, "end another thread")                                                                            \
    X(GROW_OLD, 34, "use up memory in an epoch")                                                                       \
    X(FORK, 16, "fork")                                                                                                \
    X(SHORTEN, 24, "let memory be short, or not any more")                                                             \
    X(MISUSE, 16, "misuse a pointer, in a child")

#define OPERATION_CONSTANT(constant, weight, text) constant,
enum kind { COMMON_OPERATIONS(OPERATION_CONSTANT) RARE_OPERATIONS(OPERATION_CONSTANT) KINDS };

struct operation {
    enum kind kind;
    unsigned way;   /* 0 to 7 */
    unsigned place; /* 0 to 31 */
    uint32_t index; /* 0 to 65,535 */
    uint32_t value;
};

struct operation operation_decode(const uint8_t record[RECORD_BYTES]);

/* The record of which this is what it decodes to. Of the rare ones, way and place are part of the index. */
void operation_encode(const struct operation *operation, uint8_t record[RECORD_BYTES]);

/* Its name for people, and its constant, which files of text use: it does not change with the weights. */
const char *operation_text(enum kind kind);
const char *operation_name(enum kind kind);

/* Mostly a small size, some of every kind, and some close to where classes end. */
size_t operation_size(uint32_t value);

/* A power of two: mostly at most a page. */
size_t operation_alignment(uint32_t index);

#endif
