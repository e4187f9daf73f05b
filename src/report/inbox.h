/* The inbox: what other processes of the same user ask of this one while it runs (option export), and its answers. It
 * lies in memory that they may write (os/shared_memory.h). docs/export.md describes the commands and the form, which
 * is that of struct inbox_page; the card of the protocol is docs/protocols/live.md.
 *
 * Whoever asks holds a lock on the file meanwhile. So there is one request at a time, none is left over when its sender
 * dies, and the kernel tells which process it is. The request is a text: the number by which the sender calls itself,
 * for how many milliseconds an option is to hold (0: for good), and the command. It is copied once, and parsed by what
 * parses options. What may not change is refused. All that is done is one line on stderr, which names the sender.
 *
 * A process that has more rights than its user listens to root alone. A child of a fork has an inbox of its own when it
 * first posts; until then it answers nobody.
 *
 * Threads: report_timer.h has one thread at a time do what is asked for, and post. */
#ifndef TSLAB_REPORT_INBOX_H
#define TSLAB_REPORT_INBOX_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

#define INBOX_NAME  "tslab-ctl"
#define INBOX_MAGIC UINT64_C(0x4c544342414c5354)
enum { INBOX_VERSION = 1, INBOX_BYTES = 4096, REQUEST_BYTES = 1024, ANSWER_BYTES = 1024 };

/* `asked` is the sender's, `answered` ours, and each is written after its text. */
struct inbox_page {
    atomic_u64 magic; /* the last that is written when it is made */
    uint32_t version;
    atomic_u32 bell; /* grows with each request. The keeper sleeps on it */
    uint64_t pid;    /* in the process's own name space */
    atomic_u32 asked;
    atomic_u32 answered; /* the value of `asked` that the answer is for */
    char request[REQUEST_BYTES];
    char answer[ANSWER_BYTES];
};

/* Makes an inbox, unless this process has one that others can find. The system may refuse. By the thread that posts. */
void inbox_keep(void);

#endif
