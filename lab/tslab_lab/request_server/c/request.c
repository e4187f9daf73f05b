#include "request.h"

#include "object.h"
#include "session.h"

#include <ctype.h>
#include <jansson.h>

enum {
    ROWS = 46,          // read from the store for one request
    ROW_LEAST = 32,     // the smallest row, which is doubled
    ROW_DOUBLINGS = 6,  // up to so many times,
    ROW_LARGE_IN = 17,  // and one row in so many, on average,
    ROW_LARGE = 8192,   // is of this size
    KEYS = 6,           // strings that are gone as soon as they were used
    BUFFER_FIRST = 256, // of the answer; it doubles when it is full
    WORDS_MOST = 16,
};

// A name and its value, in a list.
struct pair {
    struct pair *next;
    struct text *name;
    struct text *value;
};

struct buffer {
    char *bytes;
    size_t length;
    size_t capacity;
};

struct request {
    struct pair *headers;
    struct pair *parameters;
    json_t *body;
    struct row *rows;
    struct text *words[WORDS_MOST]; // of the parameter `fields`
    uint32_t word_count;
    uint64_t random;
};

void requests_init(void)
{
    json_set_alloc_funcs(object_make, object_drop); // which count
}

struct request *request_open(uint64_t number)
{
    struct request *request = object_make(sizeof *request);
    *request = (struct request){ .random = number };
    return request;
}

static struct text *lower_case(const char *bytes)
{
    struct text *text = text_make(bytes, strlen(bytes));
    for (uint32_t i = 0; i < text->length; i++) {
        text->bytes[i] = (char)tolower((unsigned char)text->bytes[i]);
    }
    text->sum = sum_of(text->bytes, text->length);
    return text;
}

static void pair_add(struct pair **list, struct text *name, const char *value)
{
    struct pair *pair = object_make(sizeof *pair);
    pair->next = *list;
    pair->name = name;
    pair->value = text_make(value, strlen(value));
    *list = pair;
}

static const char *pair_value(const struct pair *pair, const char *name)
{
    while (pair != NULL && strcmp(pair->name->bytes, name) != 0) {
        pair = pair->next;
    }
    return pair == NULL ? "" : pair->value->bytes;
}

static void pairs_drop(struct pair *pair)
{
    while (pair != NULL) {
        struct pair *next = pair->next;
        text_drop(pair->name);
        text_drop(pair->value);
        object_drop(pair);
        pair = next;
    }
}

void request_header(struct request *request, const char *name, const char *value)
{
    pair_add(&request->headers, lower_case(name), value == NULL ? "" : value);
}

void request_parameter(struct request *request, const char *name, const char *value)
{
    pair_add(&request->parameters, text_make(name, strlen(name)), value == NULL ? "" : value);
}

bool request_body(struct request *request, const char *text, size_t length)
{
    request->body = json_loadb(text, length, 0, NULL);
    return request->body != NULL;
}

static void split_words(struct request *request, const char *list)
{
    while (*list != '\0' && request->word_count < WORDS_MOST) {
        size_t length = strcspn(list, ",");
        request->words[request->word_count++] = text_make(list, length);
        list += length + (list[length] == ',');
    }
}

// Sizes as of real data: every doubling of the size is as likely as the one before, and a few are large.
static size_t row_size(uint64_t *random)
{
    if (random_below(random, ROW_LARGE_IN) == 0) {
        return ROW_LARGE;
    }
    const size_t least = (size_t)ROW_LEAST << random_below(random, ROW_DOUBLINGS);
    return least + random_below(random, (uint32_t)least);
}

static void read_rows(struct request *request)
{
    struct row **link = &request->rows;
    for (uint32_t i = 0; i < ROWS; i++) {
        const size_t size = row_size(&request->random);
        *link = row_make(size, (uint32_t)random_next(&request->random));
        link = &(*link)->next;
    }
}

static void buffer_add(struct buffer *buffer, const char *bytes, size_t length)
{
    while (buffer->length + length > buffer->capacity) {
        tally.bytes += buffer->capacity; // what it grows by: a growing buffer counts as one object
        buffer->capacity *= 2;
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (buffer->bytes == NULL) {
            fail("realloc returned NULL");
        }
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

static void buffer_words(struct buffer *buffer, const char *words)
{
    buffer_add(buffer, words, strlen(words));
}

// In base 10 or 16; printf would take longer than everything else here.
static void buffer_number(struct buffer *buffer, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    buffer_add(buffer, digits + at, sizeof digits - at);
}

static void print_user(struct buffer *buffer, const struct request *request, uint64_t user)
{
    const char *name = json_string_value(json_object_get(json_object_get(request->body, "customer"), "name"));
    struct text *permissions = session_copy(user);
    buffer_words(buffer, "{\"user\": ");
    buffer_number(buffer, user, 10);
    buffer_words(buffer, ", \"name\": \"");
    buffer_words(buffer, name != NULL ? name : "");
    buffer_words(buffer, "\", \"permissions\": \"");
    buffer_words(buffer, permissions == NULL ? "" : permissions->bytes);
    buffer_words(buffer, "\", \"accept\": \"");
    buffer_words(buffer, pair_value(request->headers, "accept"));
    text_drop(permissions);
}

static void print_items(struct buffer *buffer, const struct request *request)
{
    const json_t *items = json_object_get(request->body, "items"), *item;
    double cents = 0;
    size_t index;
    json_array_foreach(items, index, item)
    {
        const json_t *count = json_object_get(item, "count");
        cents +=
            100 * json_number_value(json_object_get(item, "price")) * (count == NULL ? 1 : json_number_value(count));
    }
    buffer_words(buffer, "\",\n\"items\": ");
    buffer_number(buffer, json_array_size(items), 10);
    buffer_words(buffer, ", \"cents\": ");
    buffer_number(buffer, cents > 0 && cents < 1e15 ? (uint64_t)(cents + 0.5) : 0, 10);
    buffer_words(buffer, ",\n\"fields\": [");
    for (uint32_t i = 0; i < request->word_count; i++) {
        buffer_words(buffer, i == 0 ? "\"" : ", \"");
        buffer_words(buffer, request->words[i]->bytes);
        buffer_words(buffer, "\"");
    }
    buffer_words(buffer, "],\n");
}

static struct text *make_key(const struct row *row)
{
    char key[] = "row-00000000";
    for (unsigned i = 0; i < 8; i++) {
        key[4 + i] = "0123456789abcdef"[row->sum >> (28 - 4 * i) & 15];
    }
    return text_make(key, sizeof key - 1);
}

static void print_rows(struct buffer *buffer, const struct request *request)
{
    uint32_t index = 0;
    buffer_words(buffer, "\"rows\": [");
    for (const struct row *row = request->rows; row != NULL; row = row->next, index++) {
        row_check(row);
        buffer_words(buffer, index == 0 ? "\n{" : ",\n{");
        if (index < KEYS) {
            struct text *key = make_key(row);
            buffer_words(buffer, "\"key\": \"");
            buffer_words(buffer, key->bytes);
            buffer_words(buffer, "\", ");
            text_drop(key);
        }
        buffer_words(buffer, "\"bytes\": ");
        buffer_number(buffer, row->length, 10);
        buffer_words(buffer, ", \"sum\": \"");
        buffer_number(buffer, row->sum, 16);
        buffer_words(buffer, "\"}");
    }
    buffer_words(buffer, "]}\n");
}

char *request_answer(struct request *request, size_t *length)
{
    const uint64_t user = strtoull(pair_value(request->parameters, "user"), NULL, 10);
    split_words(request, pair_value(request->parameters, "fields"));
    read_rows(request);

    struct buffer buffer = { object_make(BUFFER_FIRST), 0, BUFFER_FIRST };
    print_user(&buffer, request, user);
    print_items(&buffer, request);
    print_rows(&buffer, request);
    if (strcmp(pair_value(request->parameters, "login"), "1") == 0) {
        session_create(user);
    }
    tally.dropped++; // the caller will
    *length = buffer.length;
    return buffer.bytes;
}

void request_close(struct request *request)
{
    rows_drop(request->rows);
    for (uint32_t i = 0; i < request->word_count; i++) {
        text_drop(request->words[i]);
    }
    json_decref(request->body);
    pairs_drop(request->parameters);
    pairs_drop(request->headers);
    object_drop(request);
}
