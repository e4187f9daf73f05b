/* The names and the texts of statuses, for messages of programs. */
#include "base/build.h"

#include <tslab/tslab.h>

TSLAB_API const char *tslab_status_text(enum tslab_status status)
{
    switch (status) {
    case TSLAB_OK:
        return "success";
    case TSLAB_EXPLICIT:
        return "entered, but plain malloc does not land there";
    case TSLAB_PENDING:
        return "closed, but a thread is still inside, and the last to leave completes it";
    case TSLAB_STALE:
        return "it does not exist, or not any more";
    case TSLAB_CLOSED:
        return "it is closed";
    case TSLAB_NOT_INSIDE:
        return "it is not what this thread began last";
    case TSLAB_BUSY:
        return "a thread is inside";
    case TSLAB_NO_MEMORY:
        return "out of memory";
    case TSLAB_INVALID:
        return "an argument is invalid";
    case TSLAB_FIXED:
        return "the option cannot change any more";
    case TSLAB_UNSUPPORTED:
        return "this library was built without reports";
    }
    return "unknown status";
}

TSLAB_API const char *tslab_status_name(enum tslab_status status)
{
    switch (status) {
    case TSLAB_OK:
        return "TSLAB_OK";
    case TSLAB_EXPLICIT:
        return "TSLAB_EXPLICIT";
    case TSLAB_PENDING:
        return "TSLAB_PENDING";
    case TSLAB_STALE:
        return "TSLAB_STALE";
    case TSLAB_CLOSED:
        return "TSLAB_CLOSED";
    case TSLAB_NOT_INSIDE:
        return "TSLAB_NOT_INSIDE";
    case TSLAB_BUSY:
        return "TSLAB_BUSY";
    case TSLAB_NO_MEMORY:
        return "TSLAB_NO_MEMORY";
    case TSLAB_INVALID:
        return "TSLAB_INVALID";
    case TSLAB_FIXED:
        return "TSLAB_FIXED";
    case TSLAB_UNSUPPORTED:
        return "TSLAB_UNSUPPORTED";
    }
    return "unknown";
}
