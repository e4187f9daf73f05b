/* tslab in C++17: owners, guards, containers and handles over the functions of tslab.h, in a header alone.
 *
 * tslab.h is the manual of what happens; this header says what it adds. Everything is in namespace tslab:
 *
 *   epoch              owns an epoch: opens it when it is made, closes it when it is destroyed
 *   scope              is inside of an epoch while it lives
 *   memory_resource    lets the containers of std::pmr live in an epoch
 *   allocator<T>       the same for all containers that take an allocator by type
 *   handle<T>          names an object that is constructed and destroyed through it; a stale one is refused
 *   work, work_pause   are a unit of work, and a pause in it, while they live
 *
 *   tslab::epoch request("request");
 *   tslab::scope inside(request);
 *   handle_request();
 *
 * Errors are exceptions: tslab::error where the C function returns a status below 0, std::bad_alloc where an allocation
 * found no memory. A function that throws has changed nothing. Nothing here keeps state of its own beyond what an
 * object names, so any thread may do what tslab.h lets it do; a single object of these classes is used by one thread at
 * a time, as an int would be.
 *
 * Where plain malloc lands in an epoch, exceptions do too: the runtime allocates them by malloc. In epochs of
 * TSLAB_POLICY_DRAIN and TSLAB_POLICY_REPORT that is harmless, for an exception in flight is a survivor like any other.
 * In an epoch of TSLAB_POLICY_RELEASE or TSLAB_POLICY_TRAP that was opened with TSLAB_OPEN_VOUCHED, catch before the
 * scope ends: what flies out of it would be dead when the epoch closes. */
#ifndef TSLAB_TSLAB_HPP
#define TSLAB_TSLAB_HPP

#if __cplusplus < 201703L
#error "tslab.hpp needs C++17: compile with -std=c++17 or later, or use tslab.h"
#endif

#include <tslab/tslab.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tslab
{

/* What is thrown where a function of tslab.h returns a status below 0, or what amounts to it. what() says what was
 * attempted, and what the status means. */
class error : public std::runtime_error
{
  public:
    error(tslab_status status, const char *attempted)
        : std::runtime_error(std::string("tslab: cannot ") + attempted + ": " + tslab_status_text(status)),
          status_(status)
    {
    }

    /* One of TSLAB_STALE, TSLAB_CLOSED and the others below 0. */
    tslab_status status() const noexcept
    {
        return status_;
    }

  private:
    tslab_status status_;
};

/* What closing, releasing or advancing an epoch has done. When somebody was still inside, `pending` says so, the last
 * to leave completes it, and the figures are those of what was done so far. */
struct report : tslab_epoch_report {
    bool pending;
};

namespace detail
{

/* The size up to which tslab_handle_malloc serves, and the alignment of all objects. */
inline constexpr std::size_t handle_size_limit = 32 * 1024;
inline constexpr std::size_t natural_alignment = 16;

inline tslab_status checked(tslab_status status, const char *attempted)
{
    if (status < 0) {
        throw error(status, attempted);
    }
    return status;
}

/* The name {0} means "follow the scope" to allocators and resources, so an owner of nothing, or the result of an open
 * that failed, must not get that far. */
inline tslab_epoch named(tslab_epoch epoch, const char *attempted)
{
    if (epoch.id == 0) {
        throw error(TSLAB_STALE, attempted);
    }
    return epoch;
}

/* Says why a call that allocates in an epoch gave nothing: errno tells only whether it was for want of memory. */
[[noreturn]] inline void throw_no_object(tslab_epoch epoch)
{
    if (errno != EINVAL) {
        throw std::bad_alloc();
    }
    tslab_epoch_stats stats{};
    tslab_status status = tslab_epoch_stats_get(epoch, &stats);
    if (status == TSLAB_OK) {
        status = stats.state == TSLAB_EPOCH_OPEN ? TSLAB_INVALID : TSLAB_CLOSED;
    }
    throw error(status, "allocate in the epoch");
}

inline void *allocate(tslab_epoch epoch, std::size_t size, std::size_t alignment)
{
    void *p = nullptr;
    if (alignment <= natural_alignment) {
        p = epoch.id == 0 ? tslab_malloc(size) : tslab_epoch_malloc(epoch, size);
    } else {
        p = epoch.id == 0 ? tslab_aligned_alloc(alignment, size) : tslab_epoch_aligned_alloc(epoch, alignment, size);
    }
    if (p == nullptr) {
        throw_no_object(epoch);
    }
    return p;
}

} // namespace detail

/* Owns an epoch. It can be moved, not copied; what was moved from names no epoch, and throws TSLAB_STALE when it is
 * used. It converts to tslab_epoch, so that it can be passed to all functions of tslab.h. Names are checked, so nobody
 * who keeps one is in danger when the owner goes first. */
class epoch
{
  public:
    /* Opens an epoch as tslab_epoch_open does: the first without a label and with TSLAB_POLICY_DRAIN. Throws error with
     * TSLAB_NO_MEMORY or TSLAB_INVALID. */
    epoch() : epoch(tslab_epoch_options{})
    {
    }

    explicit epoch(const char *label, tslab_policy policy = TSLAB_POLICY_DRAIN, tslab_open_flags flags = 0)
        : epoch(tslab_epoch_options{ label, {}, {}, policy, flags })
    {
    }

    explicit epoch(const tslab_epoch_options &options) : id_(tslab_epoch_open(&options))
    {
        if (id_.id == 0) {
            throw error(errno == EINVAL ? TSLAB_INVALID : TSLAB_NO_MEMORY, "open an epoch");
        }
    }

    /* Closes the epoch, unless that was done by hand. When somebody is inside, also this thread, the close is pending:
     * the destructor does not wait, nobody can enter any more, and the last to leave completes it. With
     * TSLAB_POLICY_RELEASE and TSLAB_POLICY_TRAP it is then that the objects die: whatever uses them must be over
     * before (declare containers that live in the epoch after it, and they are). Destructors of objects in the epoch
     * are not run by anybody but their owners. */
    ~epoch()
    {
        end();
    }

    epoch(const epoch &) = delete;
    epoch &operator=(const epoch &) = delete;

    epoch(epoch &&other) noexcept : id_(other.detach())
    {
    }

    /* Closes what it owned before, as the destructor does. */
    epoch &operator=(epoch &&other) noexcept
    {
        if (this != &other) {
            end();
            id_ = other.detach();
        }
        return *this;
    }

    /* Makes an owner of an epoch that was opened by tslab_epoch_open; of {0}, an owner of nothing. */
    static epoch adopt(tslab_epoch id) noexcept
    {
        return epoch(id, adopted());
    }

    /* Gives up the epoch, open as it is: the caller closes it. */
    tslab_epoch detach() noexcept
    {
        return std::exchange(id_, tslab_epoch{});
    }

    /* The name of the epoch, also when it was closed by hand; {0} when it was moved from. */
    tslab_epoch get() const noexcept
    {
        return id_;
    }

    /* The same where a name is called for. An owner that lives no longer than the expression would name an epoch that
     * is closed already. */
    operator tslab_epoch() const &noexcept
    {
        return id_;
    }
    operator tslab_epoch() const && = delete;

    /* As tslab_epoch_close, with TSLAB_CLOSE_RECLAIM or 0. The owner goes on to name the epoch, which may drain for
     * long: for stats, and for release. Throws error, also when it is closed already (TSLAB_CLOSED, or TSLAB_STALE when
     * it is gone).
     */
    report close(tslab_close_flags flags = 0)
    {
        report done{};
        done.pending = detail::checked(tslab_epoch_close(id_, flags, &done), "close the epoch") == TSLAB_PENDING;
        return done;
    }

    /* As tslab_epoch_release: all objects end now, whatever the policy. Throws error: TSLAB_BUSY when somebody is
     * inside. */
    report release(tslab_close_flags flags = 0)
    {
        report done{};
        detail::checked(tslab_epoch_release(id_, flags, &done), "release the epoch");
        return done;
    }

    /* As tslab_epoch_advance: the owner names the next epoch then. Allocators, resources and others that were made
     * before go on to name the closed one. Throws error, with TSLAB_BUSY when the epoch is what this thread entered
     * last: then advance by the scope, which goes along. Other threads may be inside: the close is pending until they
     * leave. */
    report advance(tslab_close_flags flags = 0)
    {
        if (id_.id != 0 && tslab_epoch_current().id == id_.id) {
            throw error(TSLAB_BUSY, "advance the epoch, other than by the scope that is inside");
        }
        return advance_with_scope(flags);
    }

    /* As tslab_epoch_stats_get. Throws error with TSLAB_STALE when the epoch is gone. */
    tslab_epoch_stats stats() const
    {
        tslab_epoch_stats found{};
        detail::checked(tslab_epoch_stats_get(id_, &found), "read the statistics of the epoch");
        return found;
    }

  private:
    friend class scope;

    report advance_with_scope(tslab_close_flags flags)
    {
        report done{};
        done.pending = detail::checked(tslab_epoch_advance(&id_, flags, &done), "advance the epoch") == TSLAB_PENDING;
        return done;
    }

    struct adopted {
    };

    epoch(tslab_epoch id, adopted) noexcept : id_(id)
    {
    }

    /* Of an epoch that was closed by hand the name is refused, which is as good. */
    void end() noexcept
    {
        if (id_.id != 0) {
            tslab_epoch_close(id_, 0, nullptr);
        }
    }

    tslab_epoch id_;
};

/* Is inside of an epoch from its construction to its destruction, on one thread. Scopes end in the opposite order of
 * their beginning, which local variables do by themselves, also when an exception flies through them. A task that moves
 * among threads has a scope around each of its steps, not around its life. Costs what tslab_epoch_enter and
 * tslab_epoch_leave cost. */
class scope
{
  public:
    /* Enters. Throws error: TSLAB_STALE, TSLAB_CLOSED, TSLAB_NO_MEMORY. */
    explicit scope(tslab_epoch id) : id_(id), status_(detail::checked(tslab_epoch_enter(id), "enter the epoch"))
    {
    }

    /* Leaves. A scope that ends on another thread than it began on, or out of order, ends the program by std::terminate
     * with the error: the thread that entered would stay inside for ever, and the epoch would never be over. */
    ~scope()
    {
        detail::checked(tslab_epoch_leave(id_), "leave the epoch");
    }

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    /* Whether plain malloc, and with it plain new, lands in the epoch. If not, only what names it does: see
     * TSLAB_EXPLICIT. */
    bool ambient() const noexcept
    {
        return status_ != TSLAB_EXPLICIT;
    }

    /* Advances the epoch that it is inside of, as tslab_epoch_advance does: this thread leaves the old epoch and is
     * inside of the new one, which the owner names then. Throws error, with TSLAB_NOT_INSIDE when this is not the
     * innermost scope of the thread, or not one of the owner's epoch. */
    report advance(epoch &owner, tslab_close_flags flags = 0)
    {
        if (owner.get().id != id_.id || tslab_epoch_current().id != id_.id) {
            throw error(TSLAB_NOT_INSIDE, "advance the epoch by this scope");
        }
        report done = owner.advance_with_scope(flags);
        id_ = owner.get();
        return done;
    }

  private:
    tslab_epoch id_;
    tslab_status status_;
};

/* Memory for the containers of std::pmr, from an epoch by name. This thread need not be inside; inside is faster. Made
 * without an epoch, it serves as tslab_malloc does: from the scope of the thread that asks, else from the process. Any
 * number of threads may use one at once.
 *
 * Two are equal when they name the same epoch, although each could free what any of them allocated: so a container that
 * is assigned from one of another epoch by move moves its elements, and keeps its memory where it was. Swapping
 * containers of different epochs is not allowed, as with all of std::pmr.
 *
 * allocate throws std::bad_alloc, or error with TSLAB_CLOSED or TSLAB_STALE when the epoch is over. deallocate works as
 * long as the memory is valid: while the epoch is open or drains. They cost what tslab_epoch_malloc and tslab_free
 * cost, and the virtual call of std::pmr. */
class memory_resource final : public std::pmr::memory_resource
{
  public:
    memory_resource() noexcept = default;

    /* Throws error with TSLAB_STALE for an owner that was moved from, or {0}. */
    explicit memory_resource(tslab_epoch id) : id_(detail::named(id, "make a memory resource of the epoch"))
    {
    }

    /* The epoch that it names; {0} when it was made without. */
    tslab_epoch get() const noexcept
    {
        return id_;
    }

  private:
    void *do_allocate(std::size_t size, std::size_t alignment) override
    {
        return detail::allocate(id_, size, alignment);
    }

    void do_deallocate(void *p, std::size_t, std::size_t) override
    {
        tslab_free(p);
    }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        const auto *same_kind = dynamic_cast<const memory_resource *>(&other);
        return same_kind != nullptr && same_kind->id_.id == id_.id;
    }

    tslab_epoch id_{};
};

/* Memory for containers that take an allocator by type, from an epoch by name, or without one as tslab_malloc serves.
 *
 *   std::vector<int, tslab::allocator<int>> numbers(request);
 *
 * A container stays in its epoch, because that is its lifetime: assignment, by copy or by move, puts the elements into
 * the epoch of the target (by move at the cost of moving each, unless both are of the same epoch). A container that is
 * constructed by copy is a new one, and lands where plain malloc lands, unless it is given an allocator; constructed by
 * move it is the old one under a new name, and stays where it was. A swap of containers of different epochs swaps the
 * epochs as well: nothing moves. What is allocated, thrown and freed is as with memory_resource. */
template <class T> class allocator
{
  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    allocator() noexcept = default;

    /* Throws error with TSLAB_STALE for an owner that was moved from, or {0}. */
    allocator(tslab_epoch id) : id_(detail::named(id, "make an allocator of the epoch"))
    {
    }
    allocator(const epoch &owner) : allocator(owner.get())
    {
    }
    allocator(const epoch &&) = delete;

    template <class U> allocator(const allocator<U> &other) noexcept : id_(other.get())
    {
    }

    /* The epoch that it names; {0} when it was made without. */
    tslab_epoch get() const noexcept
    {
        return id_;
    }

    T *allocate(std::size_t count)
    {
        if (count > PTRDIFF_MAX / sizeof(T)) {
            throw std::bad_array_new_length();
        }
        return static_cast<T *>(detail::allocate(id_, count * sizeof(T), alignof(T)));
    }

    void deallocate(T *p, std::size_t) noexcept
    {
        tslab_free(p);
    }

    allocator select_on_container_copy_construction() const noexcept
    {
        return allocator();
    }

  private:
    tslab_epoch id_{};
};

template <class T, class U> bool operator==(const allocator<T> &a, const allocator<U> &b) noexcept
{
    return a.get().id == b.get().id;
}

template <class T, class U> bool operator!=(const allocator<T> &a, const allocator<U> &b) noexcept
{
    return !(a == b);
}

/* Names an object of type T that lives in an epoch: 64 bits, to be copied and stored at will. It owns nothing. Every
 * call is told the epoch, and refuses a handle that is stale, of another epoch or made up; see tslab_handle.
 *
 * A handle can be asked and destroyed from any thread. That nobody uses an object while it is destroyed, and that it is
 * destroyed by one thread at a time, is for the program to order; destroyed again later, it is refused. When an epoch
 * is released with objects in it, their destructors do not run. */
template <class T> class handle
{
  public:
    /* Names none. */
    handle() noexcept = default;

    explicit handle(tslab_handle id) noexcept : id_(id)
    {
    }

    /* Allocates in the epoch and constructs T from the arguments. Throws std::bad_alloc, error with TSLAB_CLOSED or
     * TSLAB_STALE, and what the constructor throws; then nothing stays allocated. */
    template <class... Arguments> static handle create(tslab_epoch epoch, Arguments &&...arguments)
    {
        static_assert(sizeof(T) <= detail::handle_size_limit, "handles serve objects of at most 32 KiB");
        static_assert(alignof(T) <= detail::natural_alignment, "objects with handles are aligned to 16 bytes");
        void *place = nullptr;
        handle made(tslab_handle_malloc(epoch, sizeof(T), &place));
        if (!made) {
            detail::throw_no_object(epoch);
        }
        try {
            ::new (place) T(std::forward<Arguments>(arguments)...);
        } catch (...) {
            tslab_handle_free(epoch, made.id_);
            throw;
        }
        return made;
    }

    /* The object, or nullptr for a handle that is refused. Costs what tslab_handle_get costs. */
    T *get(tslab_epoch epoch) const noexcept
    {
        void *place = tslab_handle_get(epoch, id_);
        return place == nullptr ? nullptr : std::launder(static_cast<T *>(place));
    }

    /* Runs the destructor and frees the object: true once, false for a handle that is refused. For a T without a
     * destructor to run, exactly one of several threads that do so at once is told true. */
    bool destroy(tslab_epoch epoch) const noexcept
    {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            T *object = get(epoch);
            if (object == nullptr) {
                return false;
            }
            object->~T();
        }
        return tslab_handle_free(epoch, id_) == TSLAB_OK;
    }

    /* The handle of tslab.h. */
    tslab_handle raw() const noexcept
    {
        return id_;
    }

    /* Whether it names anything at all; get says whether that is still there. */
    explicit operator bool() const noexcept
    {
        return id_.id != 0;
    }

    friend bool operator==(handle a, handle b) noexcept
    {
        return a.id_.id == b.id_.id;
    }

    friend bool operator!=(handle a, handle b) noexcept
    {
        return !(a == b);
    }

  private:
    tslab_handle id_{};
};

/* A unit of work from its construction to its destruction, on one thread: what it means is the operator's choice, see
 * tslab_work_begin. Without memory for an epoch the unit runs without one. */
class work
{
  public:
    explicit work(const char *label = nullptr) noexcept : status_(tslab_work_begin(label))
    {
    }

    /* A unit that ends on another thread than it began on, or inside of a scope that it contains, ends the program by
     * std::terminate with the error. */
    ~work()
    {
        const tslab_status status = tslab_work_end();
        if (status_ == TSLAB_OK) {
            detail::checked(status, "end the unit of work");
        }
    }

    work(const work &) = delete;
    work &operator=(const work &) = delete;

  private:
    tslab_status status_;
};

/* While it lives, plain malloc of this thread lands outside of any epoch: for what outlives its unit of work or its
 * scope, as a session does its request. Nests. It must end on the thread on which it began. */
class work_pause
{
  public:
    work_pause() noexcept
    {
        tslab_work_pause();
    }

    ~work_pause()
    {
        tslab_work_resume();
    }

    work_pause(const work_pause &) = delete;
    work_pause &operator=(const work_pause &) = delete;
};

} // namespace tslab

/* Handles as keys of unordered containers. */
template <class T> struct std::hash<tslab::handle<T>> {
    std::size_t operator()(tslab::handle<T> handle) const noexcept
    {
        return std::hash<std::uint64_t>()(handle.raw().id);
    }
};

#endif
