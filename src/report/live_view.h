/* The board: figures of this process that other processes of the same user may read while it runs (option export). It
 * lies in memory that is shared by a file without a name (os/shared_memory.h). docs/export.md describes its form, which
 * is that of struct board_head and struct board_copy.
 *
 * The figures are there twice. Each posting writes them into the older copy, with a number and a checksum, so that a
 * reader that takes the newest copy with the right checksum never sees a mixture, and always finds one, wherever the
 * writer is. The names of the figures are on the board, too: a reader needs no list of them. BOARD_VERSION grows when
 * a figure changes its meaning, or the form does; new figures come at the end of their section.
 *
 * A child of a fork leaves its parent's board alone and makes its own when it first posts. If the program has closed
 * the board's descriptor, the next posting makes another board. The system takes it back when the process ends.
 *
 * Threads: board_start before other threads run; report_timer.h has one thread post at a time. */
#ifndef TSLAB_REPORT_LIVE_VIEW_H
#define TSLAB_REPORT_LIVE_VIEW_H

#include "base/atomic.h"

#include <stdint.h>

#define BOARD_NAME  "tslab-export"
#define BOARD_MAGIC UINT64_C(0x50584542414c5354) /* "TSLABEXP" */
enum { BOARD_VERSION = 2, BOARD_COPIES = 2, BOARD_TEXT_BYTES = 32, BOARD_OPTION_BYTES = 320, BOARD_PROGRAM_BYTES = 64 };

/* A row of BOARD_OPTIONS is the text NAME=VALUE; that of BOARD_PROGRAM is the name that %e stands for in paths. */
enum {
    BOARD_PROCESS,
    BOARD_ACCOUNTS,
    BOARD_CLASSES,
    BOARD_LABELS,
    BOARD_OPTIONS,
    BOARD_PROGRAM,
    BOARD_LIMITS, /* of labels */
    BOARD_SECTIONS
};

/* How each row of a section looks: numbers of 8 bytes, and behind them a text. */
struct board_section {
    uint32_t names_at;   /* from the start of the board: the numbers' names, each with a zero behind it */
    uint32_t columns;    /* how many numbers */
    uint32_t text_bytes; /* of the text; 0: there is none */
    uint32_t zero;
};

/* What is written once. */
struct board_head {
    atomic_u64 magic; /* the last that is written */
    uint32_t version;
    uint32_t head_bytes; /* with all names: the first copy is behind it */
    uint32_t copies, copy_bytes;
    uint32_t sections, zero;
    struct board_section section[BOARD_SECTIONS];
};

/* The rows of all sections follow it, in the order of the sections. */
struct board_copy {
    uint32_t checksum; /* CRC-32 (that of zlib) of all that follows, up to used_bytes */
    uint32_t used_bytes;
    uint64_t number; /* of the posting */
    uint64_t pid;    /* in the process's own name space */
    char library[16];
    uint32_t rows[BOARD_SECTIONS];
    uint32_t zero; /* for rows that begin at a multiple of 8 */
};

/* Makes the board and has it posted from now on. Where the system refuses it, says so on stderr, and tries again later.
 */
void board_start(void);

/* Posts if it is time to, or at once. Returns after how many milliseconds to look again. */
uint64_t board_post(bool at_once);

#endif
