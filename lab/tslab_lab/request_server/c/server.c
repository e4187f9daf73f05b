// An HTTP/1.1 server with request-scoped allocation, on libmicrohttpd: each of its workers polls its own connections
// and handles their requests one after another. It knows nothing of any allocator: run it under LD_PRELOAD to measure
// one.
//
//   POST /order?user=N&fields=A,B   with JSON as its body: a request as request.h describes it. With &login=1 it also
//                                   makes a session, which survives it; with &band=1 to 6 its rows are of like sizes
//   GET /stats      the figures so far
//   GET /reset      starts them anew
//   GET /rotate     under TSLAB_EPOCH_POLICY=manual: the workers go on to their next epochs
//
// SIGTERM ends it: then it writes the figures, and checks the sessions that are left.

#include "measure.h"
#include "request.h"
#include "session.h"
#include "work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY_MOST = 64 * 1024, CONNECTIONS_MOST = 1024, BACKLOG = 256 };

struct options {
    unsigned port; // 0: any that is free
    unsigned workers;
    unsigned session_limit;
    bool sessions_inside;
    bool probe;
    const char *stats; // a file, or NULL
};

// A body as it comes in, before its request is handled.
struct upload {
    char *bytes;
    size_t length;
    bool too_large;
};

static struct options options = { .workers = 4, .session_limit = 1000 };
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
    char *copy = strdup(line);
    if (copy == NULL) {
        fail("strdup returned NULL");
    }
    return answer_bytes(connection, status, copy, strlen(copy), MHD_RESPMEM_MUST_FREE, "text/plain");
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
    work_begin("request");
    enum MHD_Result result = handle_order(connection, upload);
    work_end();
    measure_end(&begin);
    return result;
}

static enum MHD_Result answer_stats(struct MHD_Connection *connection)
{
    int fd = memfd_create("stats", MFD_CLOEXEC);
    struct stat status;
    if (fd < 0) {
        return answer_line(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "There is no file for the figures.\n");
    }
    measure_write(fd, options.workers);
    struct MHD_Response *response =
        fstat(fd, &status) == 0 ? MHD_create_response_from_fd((size_t)status.st_size, fd) : NULL;
    if (response == NULL) {
        fail("no memory for a response");
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
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
    if (!post && strcmp(path, "/stats") == 0) {
        return answer_stats(connection);
    }
    if (!post && strcmp(path, "/reset") == 0) {
        measure_reset();
        atomic_store_explicit(&request_count, 0, memory_order_relaxed);
        return answer_line(connection, MHD_HTTP_OK, "reset\n");
    }
    if (!post && strcmp(path, "/rotate") == 0) {
        work_rotate();
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

static int listen_at(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0) {
        fprintf(stderr, "server: cannot listen at port %u of this machine: %s\n", port, strerror(errno));
        exit(1);
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
                         MHD_OPTION_THREAD_POOL_SIZE, options.workers, MHD_OPTION_CONNECTION_LIMIT,
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

static void write_stats(void)
{
    if (options.stats == NULL) {
        return;
    }
    int fd = open(options.stats, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        fprintf(stderr, "server: cannot write %s: %s\n", options.stats, strerror(errno));
        exit(1);
    }
    measure_write(fd, options.workers);
    close(fd);
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
    int fd = listen_at(options.port);
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

static unsigned number_of(const char *name, const char *word, unsigned least, unsigned most)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(word, &end, 10);
    if (errno != 0 || *end != '\0' || end == word || *word == '-' || number < least || number > most) {
        fprintf(stderr, "server: --%s wants a number from %u to %u, not '%s'\n", name, least, most, word);
        exit(2);
    }
    return (unsigned)number;
}

static void read_options(int count, char **words)
{
    enum { PORT, WORKERS, LIMIT, SESSIONS, STATS, PROBE };
    static const struct option names[] = {
        { "port", required_argument, NULL, PORT },
        { "workers", required_argument, NULL, WORKERS },
        { "session-limit", required_argument, NULL, LIMIT },
        { "sessions", required_argument, NULL, SESSIONS },
        { "stats", required_argument, NULL, STATS },
        { "probe", no_argument, NULL, PROBE },
        { NULL, 0, NULL, 0 },
    };
    int name;
    while ((name = getopt_long(count, words, "", names, NULL)) != -1) {
        switch (name) {
        case PORT:
            options.port = number_of("port", optarg, 0, 65535);
            break;
        case WORKERS:
            options.workers = number_of("workers", optarg, 2, WORKERS_MOST); // the library has no pool of one
            break;
        case LIMIT:
            options.session_limit = number_of("session-limit", optarg, 0, SESSIONS_MOST);
            break;
        case SESSIONS:
            options.sessions_inside = strcmp(optarg, "inside") == 0;
            if (!options.sessions_inside && strcmp(optarg, "paused") != 0) {
                fprintf(stderr, "server: --sessions is 'paused' or 'inside', not '%s'\n", optarg);
                exit(2);
            }
            break;
        case STATS:
            options.stats = optarg;
            break;
        case PROBE:
            options.probe = true;
            break;
        default:
            fprintf(stderr, "usage: server [--port N] [--workers N] [--session-limit N] [--sessions paused|inside] "
                            "[--stats FILE] [--probe]\n");
            exit(2);
        }
    }
    if (optind < count) {
        fprintf(stderr, "server: '%s' is no option\n", words[optind]);
        exit(2);
    }
}

int main(int count, char **words)
{
    read_options(count, words);
    sessions_init(options.session_limit, options.sessions_inside);
    if (options.probe) {
        probe();
    } else {
        serve();
        write_stats();
    }
    const uint64_t live = sessions_count().live;
    if (sessions_close() != live || sessions_count().bytes != 0) {
        fail("the sessions that are left are not those that were kept");
    }
    return 0;
}
