/* Lines of words and numbers, each in one form. The stacks come first, then the objects that live, and at last the
 * mappings, so that a program can tell addresses apart after the process has ended. */
#include "base/build.h"
#include "base/floats.h"

#include <tslab/tslab.h>

#include "common/option.h"
#include "malloc/current_thread.h"
#include "os/fatal.h"
#include "os/os.h"
#include "os/sink.h"
#include "os/text.h"
#include "report/epoch_list.h"
#include "report/profile.h"
#include "report/profile_text.h"

enum { FORM_VERSION = 1 };

static void print_word(struct text *text, const char *word, uint64_t number)
{
    text_string(text, word);
    text_string(text, " ");
    text_number(text, number, 0);
    text_string(text, "\n");
}

static void print_numbers(struct text *text, const char *word, const uint64_t *numbers, unsigned count)
{
    text_string(text, word);
    for (unsigned i = 0; i < count; i++) {
        text_string(text, " ");
        text_number(text, numbers[i], 0);
    }
}

static uint64_t rounded(double estimate)
{
    return estimate <= 0 ? 0 : (uint64_t)(estimate + 0.5);
}

static noinline void print_head(struct text *text, int fd)
{
    print_word(text, "tslab-profile", FORM_VERSION);
    text_string(text, "program ");
    text_foreign(text, os_program_name());
    text_string(text, "\n");
    print_word(text, "process", os_process_id());
    print_word(text, "period", load_plain(&samples.period));
    print_word(text, "sampling", load_plain(&samples.is_on));
    print_word(text, "page", os_page_bytes());
    print_word(text, "time", os_now_ms());
    print_word(text, "lost", counter_get(&samples.lost));
    print_word(text, "stackless", counter_get(&samples.stackless));
    text_send_part(text, fd);
}

static noinline void print_stacks(struct text *text, int fd)
{
    const uint32_t last = load_acquire(&samples.stacks);
    struct thread *const thread = current_thread_get();
    if (thread != NULL) {
        gate_lock(&thread->gate);
        samples_note_peak();
        gate_unlock(&thread->gate);
    }
    for (uint32_t number = 1; number <= last && thread != NULL; number++) {
        const struct stack *const stack = samples_stack(number);
        struct stack_sums sums;
        gate_lock(&thread->gate);
        samples_sums(number, &sums);
        gate_unlock(&thread->gate);
        const uint64_t numbers[] = { number, rounded(sums.objects), rounded(sums.bytes), rounded(sums.peak_objects),
                                     rounded(sums.peak_bytes) };
        print_numbers(text, "stack", numbers, sizeof numbers / sizeof numbers[0]);
        for (uint32_t i = 0; i < stack->depth; i++) {
            text_string(text, " ");
            text_hex(text, stack->frames[i]);
            text_send_part(text, fd);
        }
        text_string(text, "\n");
        text_send_part(text, fd);
    }
    if (thread != NULL) {
        current_thread_put(thread);
    }
}

static noinline void print_live(struct text *text, int fd)
{
    const uint32_t last = load_acquire(&samples.highest);
    const uint64_t now_ms = os_now_ms();
    struct thread *const thread = current_thread_get();
    for (uint32_t number = 1; number <= last && thread != NULL; number++) {
        struct sample sample;
        uint64_t bytes;
        gate_lock(&thread->gate);
        const bool lives = profile_live(number, &sample, &bytes);
        gate_unlock(&thread->gate);
        if (lives) {
            const struct kept kept = profile_kept_by(&sample);
            invariant(kept.wasted <= kept.pages);
            const uint64_t numbers[] = { sample.stack,
                                         rounded(sample.weight * 1000),
                                         bytes,
                                         class_geometry[sample.class].size,
                                         sample.epoch,
                                         sample.thread,
                                         now_ms - min_size(now_ms, sample.born_ms),
                                         kept.pages,
                                         kept.wasted };
            print_numbers(text, "live", numbers, sizeof numbers / sizeof numbers[0]);
            text_string(text, sample.run != 0 && sample.life != 0 ? " chunk\n"
                              : sample.run != 0                   ? " slot\n"
                                                                  : " large\n");
            text_send_part(text, fd);
        }
    }
    if (thread != NULL) {
        current_thread_put(thread);
    }
}

static noinline void print_kept(struct text *text, int fd)
{
    struct kept kept[CLASS_LIMIT];
    profile_kept(kept);
    for (unsigned c = 0; c < CLASS_LIMIT; c++) {
        if (kept[c].pages != 0) {
            const uint64_t numbers[] = { class_geometry[c].size, kept[c].pages, kept[c].wasted };
            print_numbers(text, "kept", numbers, sizeof numbers / sizeof numbers[0]);
            text_string(text, "\n");
            text_send_part(text, fd);
        }
    }
}

static noinline void print_names(struct text *text, int fd)
{
    static const char *const states[] = { "open", "closing", "draining" };
    struct tslab_epoch_stats entry;
    for (uint32_t from = 0; epochs_describe(&from, &entry, 1) == 1;) {
        if (entry.epoch.id == epoch_value(&epoch_process)) {
            continue;
        }
        const uint64_t numbers[] = { entry.epoch.id, entry.live_objects, entry.live_bytes, entry.memory_bytes,
                                     entry.age_ms };
        invariant((unsigned)entry.state < sizeof states / sizeof states[0]);
        print_numbers(text, "epoch", numbers, sizeof numbers / sizeof numbers[0]);
        text_string(text, " ");
        text_string(text, states[entry.state]);
        text_string(text, " ");
        text_foreign(text, entry.label);
        text_string(text, "\n");
        text_send_part(text, fd);
    }
    for (const struct thread *thread = load_acquire(&registry.made); thread != NULL; thread = thread->made_before) {
        const uint32_t number = load_plain(&thread->number);
        char name[OS_NAME_BYTES];
        if (number != 0) {
            const uint64_t numbers[] = { number };
            print_numbers(text, "thread", numbers, 1);
            text_string(text, " ");
            text_foreign(text, os_thread_name(number, name));
            text_string(text, "\n");
            text_send_part(text, fd);
        }
    }
}

static noinline bool print_profile(int fd)
{
    char buffer[REPORT_BYTES];
    struct text text = { .buffer = buffer, .capacity = sizeof buffer };
    print_head(&text, fd);
    print_stacks(&text, fd);
    print_live(&text, fd);
    print_kept(&text, fd);
    print_names(&text, fd);
    text_string(&text, "maps\n");
    text_send(&text, fd);
    return !text.lost && os_copy_file("/proc/self/maps", fd);
}

bool profile_print(int fd)
{
    const uint64_t floats = float_hold();
    const bool printed = print_profile(fd);
    float_restore(floats);
    return printed;
}

void profile_save(uint32_t number)
{
    const char *const path = option_path(OPTION_PROFILE);
    const int fd = path[0] == 0 || !samples_are_on() ? -1 : sink_open_file(SINK_PROFILE, path, number);
    if (fd >= 0) {
        (void)profile_print(fd);
        sink_close(fd);
    }
}

TSLAB_API enum tslab_status tslab_profile_write(int fd)
{
    if (fd < 0) {
        return TSLAB_INVALID;
    }
    return profile_print(fd) ? TSLAB_OK : TSLAB_INVALID;
}
