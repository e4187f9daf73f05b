/* Memory that is short for a while: calls of the operating system fail. The drop-in's table of calls is its own, so
 * there it is a small arena (settings.h) that refuses. */
#include "model.h"

#include <errno.h>

#if FUZZ_DROPIN

bool shortage_lasts(void)
{
    return false;
}

void shortage_waits(bool waits)
{
}

void shortage_ends(void)
{
}

void shorten_one(const struct operation *operation)
{
}

#else

#include "os/os.h"

enum call { COMMIT = 1, MAP = 2, PURGE = 4, FORBID = 8, PLACE = 16, ALL = 31 };

static struct {
    struct os_calls real;
    bool begun; /* the table is ours */
    bool waits;
    unsigned calls;   /* that fail */
    unsigned before;  /* so many go well first */
    unsigned failing; /* and so many fail then */
} shortage;

bool shortage_lasts(void)
{
    return shortage.failing > 0;
}

void shortage_waits(bool waits)
{
    shortage.waits = waits;
}

void shortage_ends(void)
{
    shortage.failing = 0;
}

static bool fails(enum call call)
{
    if ((shortage.calls & call) == 0 || shortage.failing == 0 || shortage.waits) {
        return false;
    }
    if (shortage.before > 0) {
        shortage.before--;
        return false;
    }
    shortage.failing--;
    errno = call == PURGE ? EINVAL : ENOMEM;
    return true;
}

static bool commit(void *start, size_t bytes)
{
    return !fails(COMMIT) && shortage.real.commit(start, bytes);
}

/* Where it does not say that there is no memory, it says that somebody else is there. */
static enum os_placed place(void *start, size_t bytes, enum os_access access)
{
    if (fails(PLACE)) {
        return shortage.failing % 3 == 0 ? OS_TAKEN : OS_NO_MEMORY;
    }
    return shortage.real.place(start, bytes, access);
}

static void *map(size_t bytes)
{
    return fails(MAP) ? NULL : shortage.real.map(bytes);
}

static bool purge(void *start, size_t bytes)
{
    return !fails(PURGE) && shortage.real.purge(start, bytes);
}

static bool forbid(void *start, size_t bytes)
{
    return !fails(FORBID) && shortage.real.forbid(start, bytes);
}

void shorten_one(const struct operation *operation)
{
    static const unsigned calls[] = { ALL, ALL, COMMIT, MAP, PURGE, FORBID, PLACE, PURGE | FORBID };
    if (!shortage.begun) {
        shortage.real = os_calls;
        os_calls.commit = commit;
        os_calls.place = place;
        os_calls.map = map;
        os_calls.purge = purge;
        os_calls.forbid = forbid;
        shortage.begun = true;
    }
    shortage.calls = calls[operation->way];
    shortage.before = operation->index >> 8 & 3;
    shortage.failing = operation->place % 4 == 0 ? 0 : 1 + operation->value % 40;
}

#endif
