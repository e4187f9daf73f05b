// Shared by the tests of tslab.hpp. They run on libtslab, where malloc is the system's, and again on the drop-in.
#ifndef CXX_HPP
#define CXX_HPP

#include "check.h"

#include <csignal>
#include <cstring>
#include <new>
#include <tslab/tslab.hpp>

// Which library the program is linked with: library.cpp says it.
extern const bool on_dropin;

// Whether the epoch that an object belongs to is this one.
inline bool lives_in(tslab_epoch epoch, const void *object)
{
    return tslab_epoch_of(object).id == epoch.id;
}

// Whether the thread is inside of this epoch innermost; {0}: of none.
inline bool inside_of(tslab_epoch epoch)
{
    return tslab_epoch_current().id == epoch.id;
}

inline bool gone(tslab_epoch epoch)
{
    tslab_epoch_stats stats;
    return tslab_epoch_stats_get(epoch, &stats) == TSLAB_STALE;
}

// Whether the epoch is there, and in this state.
inline bool in_state(tslab_epoch epoch, tslab_epoch_state state)
{
    tslab_epoch_stats stats;
    return tslab_epoch_stats_get(epoch, &stats) == TSLAB_OK && stats.state == state;
}

// The status of the tslab::error that a call throws; TSLAB_OK when it throws none.
template <class Call> int thrown_by(Call call)
{
    try {
        call();
    } catch (const tslab::error &error) {
        CHECK(error.status() < 0);
        CHECK(std::strstr(error.what(), tslab_status_text(error.status())) != nullptr);
        return error.status();
    }
    return TSLAB_OK;
}

template <class Call> bool throws_bad_alloc(Call call)
{
    try {
        call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

#endif
