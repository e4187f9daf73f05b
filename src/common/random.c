/* Comparisons of uniform numbers give an exponential one (von Neumann, Various Techniques Used in Connection with
 * Random Digits, 1951). */
#include "common/random.h"

#include "os/fatal.h"

#include <stdbool.h>

__extension__ typedef unsigned __int128 product;

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A number x from 0 to 1 is followed by as many numbers as are each less than the one before. That they are an even
 * number has the probability exp(-x). Then x is taken; else another one is drawn, a period further. */
uint64_t random_distance(uint64_t *state, uint64_t period)
{
    invariant(period <= PERIOD_MOST);
    for (uint64_t whole = 0;; whole += period) {
        const uint64_t first = random_next(state);
        bool is_even = true;
        for (uint64_t last = first, next; (next = random_next(state)) < last; last = next) {
            is_even = !is_even;
        }
        if (is_even) {
            return whole + (uint64_t)((product)first * period >> 64);
        }
    }
}

/* For x = bytes / period, the weight is w(x) = 1 / (1 - exp(-x)). Up to x = 1/4 that is 1/x + 1/2 + x/12, to 0.00003.
 * From there on w(2x) = w(x)^2 / (2 w(x) - 1), which halves an error. */
uint64_t random_weight(uint64_t bytes, uint64_t period)
{
    unsigned doublings = 0;
    invariant(bytes != 0 && period != 0 && period <= PERIOD_MOST);
    if (bytes / 16 >= period) {
        return WEIGHT_ONE;
    }
    while (bytes > (period << doublings) / 4) {
        doublings++;
    }
    const uint64_t parts = period << doublings;
    uint64_t weight = (parts << WEIGHT_SHIFT) / bytes + WEIGHT_ONE / 2 + (bytes << WEIGHT_SHIFT) / parts / 12;
    for (; doublings != 0; doublings--) {
        weight = weight * weight / (2 * weight - WEIGHT_ONE);
    }
    invariant(weight >= WEIGHT_ONE);
    return weight;
}
