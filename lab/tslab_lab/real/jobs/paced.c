// A client of redis that sends requests at a fixed rate, whether answers have come or not: the time of a request counts
// from when it was due, so that a server that stalls is charged with all that waited. Half of the requests set a value
// of 16 to 2,047 bytes, four of ten get one, one of ten deletes one. Prints how long sending took in seconds, and how
// long each request took in nanoseconds, a line each.
//
//     paced SOCKET RATE REQUESTS KEYS

#define _GNU_SOURCE
#include "self.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { CONNECTIONS = 8, WAITING_MOST = 1 << 20, VALUE_MOST = 2048, ANSWER_MOST = 1 << 16 };

static const double patience_seconds = 30;

// `skip`: bytes of a value that are still to come.
typedef struct {
    int socket;
    double *due;
    unsigned sent;
    unsigned answered;
    size_t skip;
    size_t line_length;
    char line[64];
} connection;

static connection connections[CONNECTIONS];
static double *took; // nanoseconds, of all requests as they are answered
static uint64_t took_count;
static char value[VALUE_MOST];

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "paced: %s\n", what);
    exit(1);
}

static double now_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

static void begin(connection *c, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    c->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->socket < 0 || connect(c->socket, (struct sockaddr *)&address, sizeof address) != 0) {
        fail("cannot connect");
    }
    c->due = table_map(WAITING_MOST * sizeof *c->due);
}

static void send_next(connection *c, uint64_t *state, uint32_t keys, double due)
{
    static char text[VALUE_MOST + 128];
    uint64_t random = random_step(state);
    char key[24];
    int key_length = snprintf(key, sizeof key, "paced:%u", high_below(random, keys));
    uint32_t kind = random % 10;
    int length;
    if (kind < 5) {
        uint32_t size = 16 + (uint32_t)((random >> 8) % (VALUE_MOST - 16));
        length = snprintf(text, sizeof text, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%u\r\n%.*s\r\n", key_length, key, size,
                          (int)size, value);
    } else {
        length =
            snprintf(text, sizeof text, "*2\r\n$3\r\n%s\r\n$%d\r\n%s\r\n", kind < 9 ? "GET" : "DEL", key_length, key);
    }
    if (c->sent - c->answered == WAITING_MOST || send(c->socket, text, (size_t)length, MSG_NOSIGNAL) != length) {
        fail("the server takes no more requests");
    }
    c->due[c->sent++ % WAITING_MOST] = due;
}

static void answered(connection *c, double now)
{
    if (c->answered == c->sent) {
        fail("an answer that nobody asked for");
    }
    took[took_count++] = (now - c->due[c->answered++ % WAITING_MOST]) * 1e9;
}

// The answers are +OK, a number, or a value with its length before it; -1 for none.
static void take_line(connection *c, double now)
{
    long size = c->line[0] == '$' ? strtol(c->line + 1, NULL, 10) : -1;
    if (c->line[0] != '+' && c->line[0] != ':' && c->line[0] != '$') {
        fail(c->line);
    }
    c->line_length = 0;
    c->skip = size >= 0 ? (size_t)size + 2 : 0;
    if (c->skip == 0) {
        answered(c, now);
    }
}

static void take(connection *c)
{
    static char text[ANSWER_MOST];
    ssize_t length = recv(c->socket, text, sizeof text, MSG_DONTWAIT);
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) {
        fail("the server has hung up");
    }
    double now = now_seconds();
    for (ssize_t at = 0; at < length;) {
        if (c->skip != 0) {
            size_t step = (size_t)(length - at) < c->skip ? (size_t)(length - at) : c->skip;
            at += (ssize_t)step;
            c->skip -= step;
            if (c->skip == 0) {
                answered(c, now);
            }
        } else if (text[at++] != '\n') {
            c->line[c->line_length] = text[at - 1];
            c->line_length += c->line_length < sizeof c->line - 1;
        } else {
            c->line[c->line_length] = '\0';
            take_line(c, now);
        }
    }
}

static uint64_t waiting(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        sum += connections[i].sent - connections[i].answered;
    }
    return sum;
}

static void wait_until(double due)
{
    struct pollfd files[CONNECTIONS];
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        files[i] = (struct pollfd){ connections[i].socket, POLLIN, 0 };
    }
    double left = due - now_seconds();
    struct timespec timeout = { (time_t)left, (long)((left - floor(left)) * 1e9) };
    if (left > 0 && ppoll(files, CONNECTIONS, &timeout, NULL) > 0) {
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            if (files[i].revents != 0) {
                take(&connections[i]);
            }
        }
    }
}

int main(int count, char **words)
{
    if (count != 5) {
        fail("wants SOCKET RATE REQUESTS KEYS");
    }
    double rate = atof(words[2]);
    uint64_t requests = (uint64_t)atoll(words[3]);
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    memset(value, 'x', sizeof value);
    took = table_map(requests * sizeof *took);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        begin(&connections[i], words[1]);
    }
    double start = now_seconds();
    for (uint64_t i = 0; i < requests; i++) {
        double due = start + (double)i / rate;
        while (now_seconds() < due) {
            wait_until(due);
        }
        send_next(&connections[i % CONNECTIONS], &state, (uint32_t)atoll(words[4]), due);
    }
    double end = now_seconds();
    while (waiting() != 0) {
        if (now_seconds() - end > patience_seconds) {
            fail("the server answers no more");
        }
        wait_until(now_seconds() + 0.1);
    }
    printf("%.6f\n", end - start);
    for (uint64_t i = 0; i < took_count; i++) {
        printf("%.0f\n", took[i]);
    }
    return 0;
}
