/* Where things are, for debuggers: a table of names, addresses and numbers in a section of its own, `.tslab_layout`. It
 * survives strip, and is in core files' libraries, so tools/gdb/tslab.py needs neither symbols nor debug information,
 * and reads each version of the library by that version's own table.
 *
 * Threads: nobody in the library reads it. */
#ifndef TSLAB_REPORT_DEBUGGER_LAYOUT_H
#define TSLAB_REPORT_DEBUGGER_LAYOUT_H

#include <stdint.h>

enum { LAYOUT_VERSION = 1 };

struct layout_row {
    const char *name;
    const void *at; /* an address, or NULL: */
    uint64_t number;
};

struct layout {
    char magic[8];
    uint32_t version, rows;
    const char *library; /* its version */
    const struct layout_row *row;
};

#endif
