#include "operation.h"

#include <stdbool.h>

#define OPERATION_WEIGHT(constant, weight, text) +(weight)
_Static_assert(COMMON_OPERATIONS(OPERATION_WEIGHT) == 256, "a byte chooses among the common ones");
_Static_assert(RARE_OPERATIONS(OPERATION_WEIGHT) == 256, "a byte chooses among the rare ones");

struct row {
    const char *name, *text;
    unsigned weight;
};

#define OPERATION_ROW(constant, weight, text) { #constant, text, weight },
static const struct row rows[KINDS] = { COMMON_OPERATIONS(OPERATION_ROW) RARE_OPERATIONS(OPERATION_ROW) };

static enum kind choose(enum kind first, unsigned byte)
{
    unsigned kind = first;
    while (byte >= rows[kind].weight) {
        byte -= rows[kind++].weight;
    }
    return (enum kind)kind;
}

struct operation operation_decode(const uint8_t record[RECORD_BYTES])
{
    struct operation operation = {
        .kind = choose((enum kind)0, record[0]),
        .way = record[1] & 7,
        .place = record[1] >> 3,
        .index = record[2] | (uint32_t)record[3] << 8,
        .value = record[4] | (uint32_t)record[5] << 8 | (uint32_t)record[6] << 16 | (uint32_t)record[7] << 24,
    };
    if (operation.kind == RARE) {
        operation.kind = choose((enum kind)(RARE + 1), record[1]);
        operation.way = record[2] & 7;
        operation.place = record[2] >> 3;
    }
    return operation;
}

/* A byte that chooses the kind. */
static uint8_t chosen_by(enum kind first, enum kind kind)
{
    unsigned byte = 0;
    for (unsigned k = first; k < kind; k++) {
        byte += rows[k].weight;
    }
    return (uint8_t)byte;
}

void operation_encode(const struct operation *operation, uint8_t record[RECORD_BYTES])
{
    const bool rare = operation->kind > RARE;
    record[0] = chosen_by((enum kind)0, rare ? RARE : operation->kind);
    record[1] =
        rare ? chosen_by((enum kind)(RARE + 1), operation->kind) : (uint8_t)(operation->way | operation->place << 3);
    record[2] = (uint8_t)operation->index;
    record[3] = (uint8_t)(operation->index >> 8);
    for (unsigned i = 0; i < 4; i++) {
        record[4 + i] = (uint8_t)(operation->value >> 8 * i);
    }
}

const char *operation_text(enum kind kind)
{
    return rows[kind].text;
}

const char *operation_name(enum kind kind)
{
    return rows[kind].name;
}

/* Classes are eighths of powers of two, or fewer. */
static size_t size_at_a_border(uint32_t bits)
{
    const size_t power = (size_t)1 << (4 + bits % 12);
    return power + power / 8 * (bits >> 4 & 7) + (bits >> 8) % 5 - 2;
}

size_t operation_size(uint32_t value)
{
    const unsigned what = value >> 24;
    const uint32_t bits = value & 0xffffff;
    return what < 120   ? bits % 257
           : what < 176 ? bits % 2049
           : what < 188 ? bits % 40000
           : what < 220 ? size_at_a_border(bits)
           : what < 253 ? bits % 600
           : what < 255 ? bits % 300000
                        : bits % (bits % 8 == 0 ? 4u << 20 : 500000);
}

size_t operation_alignment(uint32_t index)
{
    return (size_t)1 << (index >> 8 == 0 ? index % 22 : index % 13);
}
