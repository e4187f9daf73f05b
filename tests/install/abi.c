/* The binary interface of libtslab: all that programs rely on that were built with this version of it. Functions and
 * constants may be added. A line below changes only together with the version of the interface
 * (docs/install.md#what-is-promised). The file compiles where the header agrees, and links where the library does. */
#include <stddef.h>
#include <tslab/tslab.h>

#define FUNCTION(result, name, ...)                                                                                    \
    extern result name(__VA_ARGS__);                                                                                   \
    __attribute__((used)) static result (*const of_##name)(__VA_ARGS__) = name
#define MEMBER(type, offset, kind, name)                                                                               \
    _Static_assert(offsetof(type, name) == (offset), #name);                                                           \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((type *)0)->name), kind), #name)
#define SIZE(type, bytes)   _Static_assert(sizeof(type) == (bytes), #type)
#define VALUE(name, number) _Static_assert((name) == (number), #name)

FUNCTION(void *, tslab_malloc, size_t);
FUNCTION(void *, tslab_calloc, size_t, size_t);
FUNCTION(void *, tslab_realloc, void *, size_t);
FUNCTION(void *, tslab_aligned_alloc, size_t, size_t);
FUNCTION(void, tslab_free, void *);
FUNCTION(size_t, tslab_usable_size, const void *);
FUNCTION(size_t, tslab_trim, void);
FUNCTION(const char *, tslab_status_text, enum tslab_status);
FUNCTION(const char *, tslab_status_name, enum tslab_status);
FUNCTION(enum tslab_status, tslab_option_get, const char *, char *, size_t);
FUNCTION(enum tslab_status, tslab_option_set, const char *, const char *);
FUNCTION(enum tslab_status, tslab_limits_set, const struct tslab_limits *);
FUNCTION(size_t, tslab_limits_get, struct tslab_limits *);
FUNCTION(tslab_epoch, tslab_epoch_open, const struct tslab_epoch_options *);
FUNCTION(enum tslab_status, tslab_epoch_enter, tslab_epoch);
FUNCTION(enum tslab_status, tslab_epoch_leave, tslab_epoch);
FUNCTION(enum tslab_status, tslab_epoch_close, tslab_epoch, tslab_close_flags, struct tslab_epoch_report *);
FUNCTION(enum tslab_status, tslab_epoch_release, tslab_epoch, tslab_close_flags, struct tslab_epoch_report *);
FUNCTION(enum tslab_status, tslab_epoch_advance, tslab_epoch *, tslab_close_flags, struct tslab_epoch_report *);
FUNCTION(void *, tslab_epoch_malloc, tslab_epoch, size_t);
FUNCTION(void *, tslab_epoch_calloc, tslab_epoch, size_t, size_t);
FUNCTION(void *, tslab_epoch_aligned_alloc, tslab_epoch, size_t, size_t);
FUNCTION(tslab_epoch, tslab_epoch_current, void);
FUNCTION(tslab_epoch, tslab_epoch_of, const void *);
FUNCTION(enum tslab_status, tslab_epoch_stats_get, tslab_epoch, struct tslab_epoch_stats *);
FUNCTION(size_t, tslab_epoch_list, struct tslab_epoch_stats *, size_t);
FUNCTION(tslab_handle, tslab_handle_malloc, tslab_epoch, size_t, void **);
FUNCTION(void *, tslab_handle_get, tslab_epoch, tslab_handle);
FUNCTION(enum tslab_status, tslab_handle_free, tslab_epoch, tslab_handle);
FUNCTION(tslab_instance, tslab_instance_open, const char *);
FUNCTION(tslab_epoch, tslab_instance_root, tslab_instance);
FUNCTION(enum tslab_status, tslab_instance_limit, tslab_instance, size_t);
FUNCTION(enum tslab_status, tslab_instance_close, tslab_instance, tslab_close_flags, struct tslab_epoch_report *);
FUNCTION(enum tslab_status, tslab_work_begin, const char *);
FUNCTION(enum tslab_status, tslab_work_end, void);
FUNCTION(void, tslab_work_rotate, void);
FUNCTION(void, tslab_work_pause, void);
FUNCTION(enum tslab_status, tslab_work_resume, void);
FUNCTION(enum tslab_status, tslab_stats_get, struct tslab_stats *);
FUNCTION(enum tslab_status, tslab_stat_get, const char *, uint64_t *);
FUNCTION(enum tslab_status, tslab_stats_print, int);
FUNCTION(enum tslab_status, tslab_stats_json, int);
FUNCTION(enum tslab_status, tslab_profile_write, int);
FUNCTION(const char *, tslab_version, void);

SIZE(struct tslab_limits, 32);
MEMBER(struct tslab_limits, 0, size_t, hard_bytes);
MEMBER(struct tslab_limits, 8, size_t, soft_bytes);
MEMBER(struct tslab_limits, 16, void (*)(size_t footprint_bytes, size_t soft_bytes, void *context), on_soft);
MEMBER(struct tslab_limits, 24, void *, context);

SIZE(struct tslab_epoch_options, 40);
MEMBER(struct tslab_epoch_options, 0, const char *, label);
MEMBER(struct tslab_epoch_options, 8, tslab_epoch, parent);
MEMBER(struct tslab_epoch_options, 16, tslab_instance, instance);
MEMBER(struct tslab_epoch_options, 24, enum tslab_policy, policy);
MEMBER(struct tslab_epoch_options, 28, tslab_open_flags, flags);
MEMBER(struct tslab_epoch_options, 32, size_t, limit_bytes);

SIZE(struct tslab_epoch_report, 48);
MEMBER(struct tslab_epoch_report, 0, uint64_t, survivors);
MEMBER(struct tslab_epoch_report, 8, uint64_t, survivor_bytes);
MEMBER(struct tslab_epoch_report, 16, uint64_t, recycled_bytes);
MEMBER(struct tslab_epoch_report, 24, uint64_t, reclaimed_bytes);
MEMBER(struct tslab_epoch_report, 32, int64_t, rss_change_bytes);
MEMBER(struct tslab_epoch_report, 40, uint64_t, age_ms);

SIZE(struct tslab_epoch_stats, 184);
MEMBER(struct tslab_epoch_stats, 0, tslab_epoch, epoch);
MEMBER(struct tslab_epoch_stats, 8, tslab_epoch, parent);
MEMBER(struct tslab_epoch_stats, 16, tslab_instance, instance);
MEMBER(struct tslab_epoch_stats, 24, char[32], label);
MEMBER(struct tslab_epoch_stats, 56, enum tslab_policy, policy);
MEMBER(struct tslab_epoch_stats, 60, enum tslab_epoch_state, state);
MEMBER(struct tslab_epoch_stats, 64, uint32_t, inside);
MEMBER(struct tslab_epoch_stats, 72, uint64_t, age_ms);
MEMBER(struct tslab_epoch_stats, 80, uint64_t, closed_ms);
MEMBER(struct tslab_epoch_stats, 88, uint64_t, live_objects);
MEMBER(struct tslab_epoch_stats, 96, uint64_t, live_bytes);
MEMBER(struct tslab_epoch_stats, 104, uint64_t, memory_bytes);
MEMBER(struct tslab_epoch_stats, 112, uint64_t, recycled_runs);
MEMBER(struct tslab_epoch_stats, 120, uint64_t, slab_bytes);
MEMBER(struct tslab_epoch_stats, 128, uint64_t, chunk_bytes);
MEMBER(struct tslab_epoch_stats, 136, uint64_t, large_bytes);
MEMBER(struct tslab_epoch_stats, 144, uint64_t, cached_bytes);
MEMBER(struct tslab_epoch_stats, 152, uint64_t, peak_bytes);
MEMBER(struct tslab_epoch_stats, 160, uint64_t, resident_bytes);
MEMBER(struct tslab_epoch_stats, 168, uint64_t, limit_bytes);
MEMBER(struct tslab_epoch_stats, 176, uint64_t, refusals);

SIZE(struct tslab_stats, 112);
MEMBER(struct tslab_stats, 0, uint64_t, live_objects);
MEMBER(struct tslab_stats, 8, uint64_t, live_bytes);
MEMBER(struct tslab_stats, 16, uint64_t, large_bytes);
MEMBER(struct tslab_stats, 24, uint64_t, cached_bytes);
MEMBER(struct tslab_stats, 32, uint64_t, slab_bytes);
MEMBER(struct tslab_stats, 40, uint64_t, chunk_bytes);
MEMBER(struct tslab_stats, 48, uint64_t, dirty_bytes);
MEMBER(struct tslab_stats, 56, uint64_t, committed_bytes);
MEMBER(struct tslab_stats, 64, uint64_t, metadata_bytes);
MEMBER(struct tslab_stats, 72, uint64_t, allocations);
MEMBER(struct tslab_stats, 80, uint64_t, frees);
MEMBER(struct tslab_stats, 88, uint64_t, threads);
MEMBER(struct tslab_stats, 96, uint64_t, epochs_open);
MEMBER(struct tslab_stats, 104, uint64_t, epochs_draining);

SIZE(tslab_epoch, 8);
MEMBER(tslab_epoch, 0, uint64_t, id);

SIZE(tslab_instance, 8);
MEMBER(tslab_instance, 0, uint64_t, id);

SIZE(tslab_handle, 8);
MEMBER(tslab_handle, 0, uint64_t, id);

VALUE(TSLAB_OK, 0);
VALUE(TSLAB_EXPLICIT, 1);
VALUE(TSLAB_PENDING, 2);
VALUE(TSLAB_STALE, -1);
VALUE(TSLAB_CLOSED, -2);
VALUE(TSLAB_NOT_INSIDE, -3);
VALUE(TSLAB_BUSY, -4);
VALUE(TSLAB_NO_MEMORY, -5);
VALUE(TSLAB_INVALID, -6);
VALUE(TSLAB_FIXED, -7);
SIZE(enum tslab_status, 4);
VALUE(TSLAB_POLICY_DEFAULT, 0);
VALUE(TSLAB_POLICY_DRAIN, 0x1000001);
VALUE(TSLAB_POLICY_RELEASE, 0x1000002);
VALUE(TSLAB_POLICY_REPORT, 0x1000003);
VALUE(TSLAB_POLICY_TRAP, 0x1000004);
SIZE(enum tslab_policy, 4);
VALUE(TSLAB_OPEN_VOUCHED, 0x10000);
SIZE(enum tslab_open_flag, 4);
VALUE(TSLAB_CLOSE_RECLAIM, 0x100);
SIZE(enum tslab_close_flag, 4);
VALUE(TSLAB_EPOCH_OPEN, 0);
VALUE(TSLAB_EPOCH_CLOSING, 1);
VALUE(TSLAB_EPOCH_DRAINING, 2);
SIZE(enum tslab_epoch_state, 4);
