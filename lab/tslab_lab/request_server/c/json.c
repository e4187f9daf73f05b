#include "json.h"

enum { DEPTH_MOST = 32, NUMBER_MOST = 40 };

struct reader {
    const char *at;
    const char *end;
    unsigned depth;
};

static struct json *read_value(struct reader *reader);

static char next_character(struct reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4) != NULL) {
        reader->at++;
    }
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool accept(struct reader *reader, char wanted)
{
    if (next_character(reader) != wanted) {
        return false;
    }
    reader->at++;
    return true;
}

static bool accept_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) {
        return false;
    }
    reader->at += length;
    return true;
}

static struct text *read_string(struct reader *reader)
{
    if (!accept(reader, '"')) {
        return NULL;
    }
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at != '"') {
        reader->at += *reader->at == '\\' ? 2 : 1;
    }
    if (reader->at >= reader->end) {
        return NULL;
    }
    reader->at++;
    return text_make(start, (size_t)(reader->at - 1 - start));
}

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

static bool read_number(struct reader *reader, double *number)
{
    char digits[NUMBER_MOST];
    size_t length = 0;
    while (reader->at < reader->end && length + 1 < sizeof digits && in_number(*reader->at)) {
        digits[length++] = *reader->at++;
    }
    digits[length] = '\0';
    char *end;
    *number = strtod(digits, &end);
    return length > 0 && *end == '\0';
}

static bool read_parts(struct reader *reader, struct json *json, char close)
{
    if (accept(reader, close)) {
        return true;
    }
    struct json **link = &json->first;
    do {
        struct text *name = NULL;
        if (json->kind == JSON_MAP && ((name = read_string(reader)) == NULL || !accept(reader, ':'))) {
            text_drop(name);
            return false;
        }
        struct json *part = read_value(reader);
        if (part == NULL) {
            text_drop(name);
            return false;
        }
        part->name = name;
        *link = part;
        link = &part->next;
        json->parts++;
    } while (accept(reader, ','));
    return accept(reader, close);
}

static bool read_kind(struct reader *reader, struct json *json)
{
    switch (next_character(reader)) {
    case '{':
        json->kind = JSON_MAP;
        reader->at++;
        return read_parts(reader, json, '}');
    case '[':
        json->kind = JSON_LIST;
        reader->at++;
        return read_parts(reader, json, ']');
    case '"':
        json->kind = JSON_STRING;
        json->string = read_string(reader);
        return json->string != NULL;
    case 't':
        json->kind = JSON_TRUE;
        return accept_word(reader, "true");
    case 'f':
        json->kind = JSON_FALSE;
        return accept_word(reader, "false");
    case 'n':
        json->kind = JSON_NULL;
        return accept_word(reader, "null");
    default:
        json->kind = JSON_NUMBER;
        return read_number(reader, &json->number);
    }
}

static struct json *read_value(struct reader *reader)
{
    if (reader->depth == DEPTH_MOST) {
        return NULL;
    }
    reader->depth++;
    struct json *json = object_make(sizeof *json);
    *json = (struct json){ .kind = JSON_NULL };
    if (!read_kind(reader, json)) {
        json_drop(json);
        json = NULL;
    }
    reader->depth--;
    return json;
}

struct json *json_read(const char *text, size_t length)
{
    struct reader reader = { text, text + length, 0 };
    struct json *json = read_value(&reader);
    if (json != NULL && next_character(&reader) != '\0') {
        json_drop(json);
        return NULL;
    }
    return json;
}

const struct json *json_part(const struct json *map, const char *name)
{
    for (const struct json *part = map->first; part != NULL; part = part->next) {
        if (part->name != NULL && strcmp(part->name->bytes, name) == 0) {
            return part;
        }
    }
    return NULL;
}

void json_drop(struct json *json)
{
    while (json != NULL) {
        struct json *next = json->next;
        uint32_t parts = 0;
        for (const struct json *part = json->first; part != NULL; part = part->next) {
            parts++;
        }
        if (parts != json->parts || json->kind > JSON_MAP) {
            fail("a tree was damaged while it was alive");
        }
        json_drop(json->first);
        text_drop(json->name);
        text_drop(json->string);
        object_drop(json);
        json = next;
    }
}
