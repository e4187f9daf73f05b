/* Random numbers and weights for samples.
 *
 * Samples are the points of a Poisson process over allocated bytes: `period` bytes lie between two points on average,
 * and each object is sampled with the probability 1 - exp(-bytes / period), whatever was sampled before. A sampled
 * object stands for 1 / that probability objects of its size, itself among them: its weight.
 *
 * All of it is computed with integers, so the program's state of floating point is neither used nor changed.
 *
 * Threads: any. The state of a generator belongs to one. */
#ifndef TSLAB_COMMON_RANDOM_H
#define TSLAB_COMMON_RANDOM_H

#include "base/build.h"

#include <stdint.h>

#define PERIOD_MOST (UINT64_C(1) << 40)

/* A weight is in units of 1 / WEIGHT_ONE objects. */
enum { WEIGHT_SHIFT = 16, WEIGHT_ONE = 1 << WEIGHT_SHIFT };

/* The next number of a generator (splitmix64). */
uint64_t random_next(uint64_t *state);

/* How far the next point is: exponentially distributed, with this mean. 0 where that is 0, as a thread
 * may read it that does not yet see the rate. */
uint64_t random_distance(uint64_t *state, uint64_t period);

/* The weight of a sampled object of this many bytes: at least WEIGHT_ONE. */
uint64_t random_weight(uint64_t bytes, uint64_t period);

#endif
