/* The channel: what other processes ask of this one while it runs (option export), and its answers. It is one file
 * (os/request_file.h), which the keeper has open in its own table of descriptors. docs/export.md describes the
 * commands, docs/protocols/live.md the protocol.
 *
 * An asker holds a lock on the file meanwhile. So there is one request at a time, and none is left over when its sender
 * dies. The request is a text: for how many milliseconds an option is to hold (0: for good), and the command. It is
 * copied once. The answer is a text, and with some commands a body: figures, statistics or a profile, which are written
 * into the file itself. So the process opens nothing that an asker names, and writes nothing unless asked. A change is
 * one line on stderr, which names the sender.
 *
 * The kernel decides who may ask: each process that it lets open the file.
 *
 * Threads: the keeper alone, but for channel_start, which comes before there are threads. */
#ifndef TSLAB_REPORT_CHANNEL_H
#define TSLAB_REPORT_CHANNEL_H

#include "base/bits.h"

#include <stdint.h>

#define CHANNEL_NAME  "tslab-export"
#define CHANNEL_MAGIC UINT64_C(0x4b534142414c5354) /* "TSLABASK" */
enum { CHANNEL_VERSION = 3, CHANNEL_BODY_AT = 4096, REQUEST_BYTES = 1024, ANSWER_BYTES = 1024 };

/* How the file begins. `asked` is the sender's, `answered` ours, and each is written after its text. */
struct channel_head {
    uint64_t magic;
    uint32_t version, zero;
    uint64_t pid; /* in the process's own namespace */
    uint32_t asked;
    uint32_t answered;   /* the value of `asked` that the answer is for */
    uint64_t body_bytes; /* from CHANNEL_BODY_AT on */
    char request[REQUEST_BYTES];
    char answer[ANSWER_BYTES];
};

/* Has the keeper answer from now on. */
void channel_start(void);

#endif
