/* No library of mathematics is linked: the two functions that are needed are series. */
#include "common/random.h"

#include "base/floats.h"
#include "os/fatal.h"

#include <string.h>

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const double ln2 = 0.693147180559945309;

/* The natural logarithm of x, from 2^-1000 to 1: that of its exponent, and 2 atanh((m - 1) / (m + 1)) of its mantissa
 * m from 1 to 2. */
static double logarithm(double x)
{
    uint64_t bits;
    invariant(x > 0 && x <= 1);
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    const double t = (m - 1) / (m + 1), square = t * t;
    double sum = 0, power = t;
    invariant(m >= 1 && m < 2);
    for (int i = 1; i < 40; i += 2, power *= square) {
        sum += power / i;
    }
    return exponent * ln2 + 2 * sum;
}

/* exp(-x) for x from 0 to 700: squared as often as x was halved to come below 1/2. */
static double exponential(double x)
{
    unsigned halved = 0;
    while (x > 0.5) {
        x /= 2;
        halved++;
    }
    double sum = 1, term = 1;
    invariant(x >= 0 && x <= 0.5);
    for (int i = 1; i < 16; i++) {
        term *= -x / i;
        sum += term;
    }
    for (; halved > 0; halved--) {
        sum *= sum;
    }
    return sum;
}

static noinline uint64_t draw(uint64_t *state, uint64_t period)
{
    /* 53 bits, from 2^-53 to 1 */
    const double uniform = (double)((random_next(state) >> 11) + 1) / 9007199254740992.0;
    const double distance = -logarithm(uniform) * (double)period;
    invariant(uniform > 0 && distance >= 0);
    return distance < 9e18 ? (uint64_t)distance : (uint64_t)9e18;
}

uint64_t random_distance(uint64_t *state, uint64_t period)
{
    const uint64_t floats = float_hold();
    const uint64_t distance = draw(state, period);
    float_restore(floats);
    return distance;
}

double random_weight(uint64_t bytes, uint64_t period)
{
    const double x = (double)bytes / (double)period;
    invariant(period != 0 && bytes != 0);
    if (x > 40) {
        return 1;
    }
    /* Of small x, the difference would lose its last digits. */
    return x < 1e-4 ? 1 / (x * (1 - x / 2 + x * x / 6)) : 1 / (1 - exponential(x));
}
