/* Figures of the statistics by their names. Each must be there. */
#ifndef FIGURES_H
#define FIGURES_H

#include "../../src/common/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <tslab/tslab.h>

static inline uint64_t figure(const char *name)
{
    uint64_t value = 0;
    if (tslab_stat_get(name, &value) != TSLAB_OK) {
        fprintf(stderr, "there is no figure %s\n", name);
        abort();
    }
    return value;
}

/* All totals, one after another. */
static inline void totals_get(struct total_figures *totals)
{
#define FIGURE_READ(name, ...) totals->name = figure(#name);
    TOTAL_FIGURES(FIGURE_READ)
}

#endif
