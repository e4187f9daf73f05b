// An HTTP/1.1 server with request-scoped allocation, on libmicrohttpd: each of its workers polls its own connections
// and handles their requests one after another. It knows nothing of any allocator: run it under LD_PRELOAD to measure
// one.
//
//   POST /order?user=N&fields=A,B   with JSON as its body: a request as request.h describes it. With &login=1 it also
//                                   makes a session, which survives it
//   GET /reset      starts them anew
//   GET /rotate     under TSLAB_EPOCH_POLICY=manual: the workers go on to their next epochs
//
// usage: server WORKERS SESSION_LIMIT inside|paused STATS, or server --probe, which handles one request without a
// network. It says its port first. SIGTERM ends it: then it writes the figures into the file STATS, and checks the
// sessions that are left.

#include "measure.h"
#include "request.h"
#include "session.h"
#include "work.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY_MOST = 64 * 1024, CONNECTIONS_MOST = 1024, BACKLOG = 256 };

// A body as it comes in, before its request is handled.
struct upload {
    char *bytes;
    size_t length;
    bool too_large;
};

static unsigned worker_count = 4;
static volatile sig_atomic_t stopped;
static _Atomic uint64_t request_count;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void upload_add(struct upload *upload, const char *bytes, size_t length)
{
    if (upload->too_large || length > BODY_MOST - upload->length) {
        upload->too_large = true;
        return;
    }
    upload->bytes = realloc(upload->bytes, upload->length + length);
    if (upload->bytes == NULL) {
        fail("realloc returned NULL");
    }
    memcpy(upload->bytes + upload->length, bytes, length);
    upload->length += length;
}

static enum MHD_Result answer_bytes(struct MHD_Connection *connection, unsigned status, char *bytes, size_t length,
                                    enum MHD_ResponseMemoryMode mode, const char *type)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(length, bytes, mode);
    if (response == NULL) {
        fail("no memory for a response");
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_line(struct MHD_Connection *connection, unsigned status, const char *line)
{
    return answer_bytes(connection, status, (char *)line, strlen(line), MHD_RESPMEM_PERSISTENT, "text/plain");
}

static enum MHD_Result add_header(void *request, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    request_header(request, name, value);
    return MHD_YES;
}

static enum MHD_Result add_parameter(void *request, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    request_parameter(request, name, value);
    return MHD_YES;
}

static enum MHD_Result handle_order(struct MHD_Connection *connection, const struct upload *upload)
{
    struct request *request = request_open(atomic_fetch_add_explicit(&request_count, 1, memory_order_relaxed));
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, request);
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_parameter, request);
    enum MHD_Result result;
    if (request_body(request, upload->bytes, upload->length)) {
        size_t length;
        char *bytes = request_answer(request, &length);
        // The library frees the answer when it is sent: an object that survives its unit of work by a little.
        result = answer_bytes(connection, MHD_HTTP_OK, bytes, length, MHD_RESPMEM_MUST_FREE, "application/json");
    } else {
        result = answer_line(connection, MHD_HTTP_BAD_REQUEST, "The body is no JSON.\n");
    }
    request_close(request);
    return result;
}

static enum MHD_Result measured_order(struct MHD_Connection *connection, const struct upload *upload)
{
    const struct moment begin = measure_begin();
    IF_THERE(tslab_work_begin, "request");
    enum MHD_Result result = handle_order(connection, upload);
    IF_THERE(tslab_work_end);
    measure_end(&begin);
    return result;
}

static enum MHD_Result answer(struct MHD_Connection *connection, const char *path, const char *method,
                              const struct upload *upload)
{
    const bool post = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
    if (upload->too_large) {
        return answer_line(connection, MHD_HTTP_CONTENT_TOO_LARGE, "The body is too large.\n");
    }
    if (post && strcmp(path, "/order") == 0) {
        return measured_order(connection, upload);
    }
    if (!post && strcmp(path, "/reset") == 0) {
        measure_reset();
        atomic_store_explicit(&request_count, 0, memory_order_relaxed);
        return answer_line(connection, MHD_HTTP_OK, "reset\n");
    }
    if (!post && strcmp(path, "/rotate") == 0) {
        IF_THERE(tslab_work_rotate);
        return answer_line(connection, MHD_HTTP_OK, "rotated\n");
    }
    return answer_line(connection, MHD_HTTP_NOT_FOUND, "There is nothing here.\n");
}

// libmicrohttpd calls this once with the headers, once for each part of the body, and once when all is there.
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *bytes, size_t *length,
                                  void **state)
{
    (void)context;
    (void)version;
    struct upload *upload = *state;
    if (upload == NULL) {
        *state = calloc(1, sizeof *upload);
        return *state == NULL ? MHD_NO : MHD_YES;
    }
    if (*length > 0) {
        upload_add(upload, bytes, *length);
        *length = 0;
        return MHD_YES;
    }
    return answer(connection, path, method, upload);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)connection;
    (void)code;
    struct upload *upload = *state;
    if (upload != NULL) {
        free(upload->bytes);
        free(upload);
    }
}

static int listen_anywhere(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    struct sockaddr_in address = { .sin_family = AF_INET };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0) {
        fail("cannot listen at any port of this machine");
    }
    socklen_t length = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &length);
    printf("port %u\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static struct MHD_Daemon *start_workers(void)
{
    // The workers do not accept: connections are dealt out to them in turns, so that all have the same number.
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    struct MHD_Daemon *daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
                         MHD_OPTION_THREAD_POOL_SIZE, worker_count, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)CONNECTIONS_MOST, MHD_OPTION_END);
    if (daemon == NULL) {
        fail("libmicrohttpd does not start");
    }
    return daemon;
}

// Until SIGTERM, which comes only while this waits.
static void accept_connections(struct MHD_Daemon *daemon, int fd, const sigset_t *waiting)
{
    while (!stopped) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        if (ppoll(&ready, 1, NULL, waiting) < 0) {
            continue;
        }
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        int connection = accept4(fd, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection >= 0) {
            MHD_add_connection(daemon, connection, (struct sockaddr *)&address, length);
        }
    }
}

static void write_stats(const char *file)
{
    FILE *out = fopen(file, "we");
    if (out == NULL) {
        fail("cannot write the figures");
    }
    measure_write(out, worker_count);
    fclose(out);
}

static void serve(void)
{
    sigset_t waiting, ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ending, &waiting);
    struct sigaction action = { .sa_handler = stop };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);

    struct MHD_Daemon *daemon = start_workers();
    int fd = listen_anywhere();
    measure_reset();
    accept_connections(daemon, fd, &waiting);
    MHD_stop_daemon(daemon);
    close(fd);
}

// One request without a network: shows that the program runs, and on which allocator.
static void probe(void)
{
    static const char body[] = "{\"customer\": {\"name\": \"probe\"}, \"items\": [{\"price\": 1.5, \"count\": 2}]}";
    const struct moment begin = measure_begin();
    struct request *request = request_open(atomic_fetch_add_explicit(&request_count, 1, memory_order_relaxed));
    request_header(request, "Accept", "*/*");
    request_parameter(request, "user", "1");
    request_parameter(request, "login", "1");
    size_t length;
    if (!request_body(request, body, sizeof body - 1)) {
        fail("the built-in body is not understood");
    }
    char *bytes = request_answer(request, &length);
    request_close(request);
    if (memmem(bytes, length, "\"cents\": 300", 12) == NULL) {
        fail("the built-in request is not answered as it should be");
    }
    free(bytes);
    measure_end(&begin);
}

int main(int count, char **words)
{
    const bool probes = count == 2 && strcmp(words[1], "--probe") == 0;
    if (!probes && count != 5) {
        fail("wants WORKERS SESSION_LIMIT inside|paused STATS, or --probe");
    }
    worker_count = probes ? 2 : (unsigned)strtoul(words[1], NULL, 10);
    requests_init();
    sessions_init(probes ? 1000 : (uint32_t)strtoul(words[2], NULL, 10), !probes && strcmp(words[3], "inside") == 0);
    if (probes) {
        probe();
    } else {
        serve();
        write_stats(words[4]);
    }
    const uint64_t live = sessions_count().live;
    if (sessions_close() != live || sessions_count().bytes != 0) {
        fail("the sessions that are left are not those that were kept");
    }
    return 0;
}
