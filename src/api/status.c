/* The names and the texts of statuses, for messages of programs. */
#include "base/build.h"

#include <tslab/tslab.h>

#define STATUSES(X)                                                                                                    \
    X(TSLAB_OK, "success")                                                                                             \
    X(TSLAB_EXPLICIT, "entered, but plain malloc does not land there")                                                 \
    X(TSLAB_PENDING, "closed, but a thread is still inside, and the last to leave completes it")                       \
    X(TSLAB_STALE, "it does not exist, or not any more")                                                               \
    X(TSLAB_CLOSED, "it is closed")                                                                                    \
    X(TSLAB_NOT_INSIDE, "it is not what this thread began last")                                                       \
    X(TSLAB_BUSY, "a thread is inside")                                                                                \
    X(TSLAB_NO_MEMORY, "out of memory")                                                                                \
    X(TSLAB_INVALID, "an argument is invalid")                                                                         \
    X(TSLAB_FIXED, "the option cannot change any more")                                                                \
    X(TSLAB_UNSUPPORTED, "this library was built without reports")

TSLAB_API const char *tslab_status_text(enum tslab_status status)
{
#define RETURN_TEXT(status, text)                                                                                      \
    case (status):                                                                                                     \
        return (text);
    switch (status) {
        STATUSES(RETURN_TEXT)
    }
    return "unknown status";
}

TSLAB_API const char *tslab_status_name(enum tslab_status status)
{
#define RETURN_NAME(status, text)                                                                                      \
    case (status):                                                                                                     \
        return #status;
    switch (status) {
        STATUSES(RETURN_NAME)
    }
    return "unknown";
}
