// One request, apart from HTTP: what it was given is copied and read, an answer is built, and all of that is checked
// and dropped. It comes to about 225 objects of 16 bytes to 8 KiB, together about 52 KB.

#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

// Once, before the first.
void requests_init(void);

// What it reads from the store follows from its number, so that the same numbers are the same work.
struct request *request_open(uint64_t number);
void request_header(struct request *request, const char *name, const char *value);
void request_parameter(struct request *request, const char *name, const char *value);

// False where the body is no JSON.
bool request_body(struct request *request, const char *text, size_t length);

// The answer is the caller's, to be given to free.
char *request_answer(struct request *request, size_t *length);

void request_close(struct request *request);

#endif
