/* Random numbers and weights for samples.
 *
 * Samples are the points of a Poisson process over allocated bytes: `period` bytes lie between two points on average,
 * and each object is sampled with the probability 1 - exp(-bytes / period), whatever was sampled before. A sampled
 * object stands for 1 / that probability objects of its size, itself among them.
 *
 * Threads: any. The state of a generator belongs to one. */
#ifndef TSLAB_COMMON_RANDOM_H
#define TSLAB_COMMON_RANDOM_H

#include "base/build.h"

#include <stdint.h>

/* The next number of a generator (splitmix64). */
uint64_t random_next(uint64_t *state);

/* How far the next point is: exponentially distributed, with this mean. At most UINT64_MAX / 2. */
uint64_t random_distance(uint64_t *state, uint64_t period);

/* How many objects of so many bytes a sampled one stands for; at least 1. */
double random_weight(uint64_t bytes, uint64_t period);

#endif
