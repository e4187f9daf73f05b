/* A module of Node for a process that runs on the drop-in: what a function takes from malloc, its buffers for instance,
 * lands in an epoch. V8 has a heap of its own for all other values.
 *
 *     cc -shared -fPIC -I/usr/include/node -I.../include tslab.c -o tslab.node
 *     tslab-run node program.js
 *
 * It is linked with no library: the functions are those of the preloaded drop-in. */
#define NAPI_VERSION 8
#include <node_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <tslab/tslab.h>

enum { LABEL_BYTES = 32 };

/* Throws unless the status is right. */
static bool holds(napi_env env, bool right, const char *complaint)
{
    if (!right) {
        bool thrown = false;
        napi_is_exception_pending(env, &thrown);
        if (!thrown) {
            napi_throw_error(env, NULL, complaint);
        }
    }
    return right;
}

static void set_number(napi_env env, napi_value object, const char *name, uint64_t number)
{
    napi_value value;
    napi_create_double(env, (double)number, &value);
    napi_set_named_property(env, object, name, value);
}

/* epoch(label, function): calls the function inside of an epoch, closes it, and returns { value, survivors,
 * survivorBytes }. The function must not wait: what others do meanwhile would land in the epoch, too. */
static napi_value run_in_epoch(napi_env env, napi_callback_info info)
{
    napi_value arguments[2], undefined, value = NULL, result;
    size_t count = 2;
    char label[LABEL_BYTES];
    napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
    napi_get_undefined(env, &undefined);
    if (!holds(env, count == 2 && napi_get_value_string_utf8(env, arguments[0], label, sizeof label, NULL) == napi_ok,
               "the first argument is a label")) {
        return NULL;
    }
    const struct tslab_epoch_options options = { .label = label };
    tslab_epoch epoch = tslab_epoch_open(&options);
    const bool inside = tslab_epoch_enter(epoch) >= 0;
    const bool called = napi_call_function(env, undefined, arguments[1], 0, NULL, &value) == napi_ok;
    if (inside) {
        tslab_epoch_leave(epoch);
    }
    struct tslab_epoch_report report;
    const bool closed = tslab_epoch_close(epoch, 0, &report) >= 0;
    if (!holds(env, called, "the second argument is a function") ||
        !holds(env, inside && closed, "there is no memory")) {
        return NULL;
    }
    napi_create_object(env, &result);
    napi_set_named_property(env, result, "value", value);
    set_number(env, result, "survivors", report.survivors);
    set_number(env, result, "survivorBytes", report.survivor_bytes);
    return result;
}

/* isInEpoch(buffer): whether the memory of a buffer of its own (Buffer.alloc of more than 4 KiB) belongs to an epoch.
 */
static napi_value is_in_epoch(napi_env env, napi_callback_info info)
{
    napi_value argument, result = NULL;
    size_t count = 1, size;
    void *data;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    if (holds(env, napi_get_buffer_info(env, argument, &data, &size) == napi_ok && size != 0,
              "the argument is a buffer")) {
        napi_get_boolean(env, tslab_epoch_of(data).id != 0, &result);
    }
    return result;
}

/* stats(): the statistics as JSON. */
static napi_value stats(napi_env env, napi_callback_info info)
{
    (void)info;
    napi_value result = NULL;
    FILE *file = tmpfile();
    if (!holds(env, file != NULL, "there is no file for the statistics")) {
        return NULL;
    }
    const bool written = tslab_stats_json(fileno(file)) == TSLAB_OK;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size);
    const bool read = written && text != NULL && fread(text, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (holds(env, read, "the statistics cannot be read")) {
        napi_create_string_utf8(env, text, (size_t)size, &result);
    }
    free(text);
    return result;
}

NAPI_MODULE_INIT()
{
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = { { "epoch", run_in_epoch }, { "isInEpoch", is_in_epoch }, { "stats", stats } };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value function;
        napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL, &function);
        napi_set_named_property(env, exports, functions[i].name, function);
    }
    return exports;
}
