// The body of a request: JSON, read into a tree with an object for each value and each string.

#ifndef JSON_H
#define JSON_H

#include "object.h"

#include <stdbool.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_MAP };

struct json {
    struct json *next;  // in the list or map that it is a part of
    struct json *first; // of its own parts
    struct text *name;  // in a map
    struct text *string;
    double number;
    enum json_kind kind;
    uint32_t parts;
};

// NULL where the text is no JSON. (Escapes in strings are kept as they are, except that \" does not end one.)
struct json *json_read(const char *text, size_t length);

// The part of that name, or NULL.
const struct json *json_part(const struct json *map, const char *name);

// Checks and frees the whole tree.
void json_drop(struct json *json);

#endif
