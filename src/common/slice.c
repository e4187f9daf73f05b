/* Numbers are parsed by hand: libc's functions would follow the locale, and want a terminating 0. */
#include "common/slice.h"

#include "os/fatal.h"

#include <string.h>

struct slice slice_cut(struct slice *rest, char separator)
{
    const char *const end = memchr(rest->start, separator, rest->length);
    const struct slice part = { rest->start, end == NULL ? rest->length : (size_t)(end - rest->start) };
    const size_t skipped = part.length + (end != NULL);
    invariant(skipped <= rest->length);
    rest->start += skipped;
    rest->length -= skipped;
    return part;
}

bool slice_number(struct slice part, uint64_t *number)
{
    static const char suffixes[] = "KMGT";
    uint64_t value = 0;
    size_t i = 0;
    for (; i < part.length && part.start[i] >= '0' && part.start[i] <= '9'; i++) {
        const uint64_t digit = (uint64_t)(part.start[i] - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    if (i == 0) {
        return false;
    }
    if (i + 1 == part.length) {
        const char upper = (char)(part.start[i] & ~0x20);
        const char *suffix = upper == 0 ? NULL : strchr(suffixes, upper);
        if (suffix == NULL) {
            return false;
        }
        const unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);
        if (value > UINT64_MAX >> shift) {
            return false;
        }
        value <<= shift;
        i++;
    }
    invariant(i <= part.length);
    *number = value;
    return i == part.length;
}
