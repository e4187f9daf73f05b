/* tslab in C++17: owners, guards, containers and handles over the functions of tslab.h. This header is all of it.
 *
 * tslab.h is the manual of what happens. This header says what it adds. Everything is in namespace tslab:
 *
 *   epoch              owns an epoch: its constructor opens the epoch, its destructor closes it
 *   scope              is inside of an epoch while it lives
 *   memory_resource    lets the containers of std::pmr live in an epoch
 *   domain             the memory of a tenant, a query or a pipeline: entered again and again, with a limit and an end
 *   allocator<T>       does the same for all containers that take an allocator by type
 *   handle<T>          names an object, constructs and destroys it; a stale handle is refused
 *   work, work_pause   are a unit of work, and a pause in it, while they live
 *   promise_base       lets the frames of coroutines live in an epoch (C++20)
 *
 *   tslab::epoch request("request");
 *   tslab::scope inside(request);
 *   handle_request();
 *
 * Errors are exceptions. Where the C function returns a status below 0, tslab::error is thrown. Where an allocation
 * finds no memory, std::bad_alloc is thrown. A function that throws has changed nothing.
 *
 * Threads. No class here keeps state beyond what its object names, so any thread may do what tslab.h lets it do. One
 * thread at a time uses a single object of these classes.
 *
 * Exceptions in flight are objects: the C++ runtime allocates them with malloc, so they land where plain malloc lands.
 * In an epoch of TSLAB_POLICY_DRAIN or TSLAB_POLICY_REPORT an exception in flight is a survivor like any other. In an
 * epoch of TSLAB_POLICY_RELEASE or TSLAB_POLICY_TRAP that was opened with TSLAB_OPEN_VOUCHED, catch exceptions before
 * the scope ends: an exception that leaves the scope would be dead when the epoch closes. */
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

/* Thrown where a function of tslab.h returns a status below 0, or reports the same in another way. what() says what
 * was attempted, and what the status means. */
class error : public std::runtime_error
{
  public:
    error(tslab_status status, const char *attempted)
        : std::runtime_error(std::string("tslab: cannot ") + attempted + ": " + tslab_status_text(status)),
          status_(status)
    {
    }

    /* Returns: TSLAB_STALE, TSLAB_CLOSED or another status below 0. */
    tslab_status status() const noexcept
    {
        return status_;
    }

  private:
    tslab_status status_;
};

/* The effect of closing, releasing or advancing an epoch. `pending` is true if a thread was still inside: then the
 * last thread to leave completes the close, and the figures tell what was done so far. */
struct report : tslab_epoch_report {
    bool pending;
};

namespace detail
{

/* The alignment of all objects. */
inline constexpr std::size_t natural_alignment = 16;

inline tslab_status checked(tslab_status status, const char *attempted)
{
    if (status < 0) {
        throw error(status, attempted);
    }
    return status;
}

/* Refuses {0}. To allocators and resources {0} means "follow the scope", so neither an owner of nothing nor the result
 * of a failed open may get that far. */
inline tslab_epoch named(tslab_epoch epoch, const char *attempted)
{
    if (epoch.id == 0) {
        throw error(TSLAB_STALE, attempted);
    }
    return epoch;
}

/* Throws the reason why an allocation in an epoch failed. errno tells only whether it was for want of memory. */
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

/* Owns an epoch. It can be moved, not copied. An owner that was moved from names no epoch, and throws TSLAB_STALE when
 * it is used. It converts to tslab_epoch, so all functions of tslab.h take it. Names of epochs are checked: a name
 * that outlives the owner is refused. */
class epoch
{
  public:
    /* Open an epoch, as tslab_epoch_open. The first has no label and TSLAB_POLICY_DRAIN.
     *
     * Throws: error with TSLAB_NO_MEMORY or TSLAB_INVALID. */
    epoch() : epoch(tslab_epoch_options{})
    {
    }

    explicit epoch(const char *label, tslab_policy policy = TSLAB_POLICY_DRAIN, tslab_open_flags flags = 0)
        : epoch(tslab_epoch_options{ label, {}, {}, policy, flags, 0 })
    {
    }

    explicit epoch(const tslab_epoch_options &options) : id_(tslab_epoch_open(&options))
    {
        if (id_.id == 0) {
            throw error(errno == EINVAL ? TSLAB_INVALID : TSLAB_NO_MEMORY, "open an epoch");
        }
    }

    /* Closes the epoch, unless the program closed it by hand. The destructor does not wait. If a thread is inside
     * (this one counts), the close is pending: no thread can enter any more, and the last to leave completes it. The
     * destructor runs no destructors of objects in the epoch.
     *
     * Requires: with TSLAB_POLICY_RELEASE and TSLAB_POLICY_TRAP, no use of the epoch's objects after the close.
     *   Containers that live in the epoch and are declared after it are destroyed before it. */
    ~epoch()
    {
        end();
    }

    epoch(const epoch &) = delete;
    epoch &operator=(const epoch &) = delete;

    epoch(epoch &&other) noexcept : id_(other.detach())
    {
    }

    /* Closes the epoch that it owned before, as the destructor does. */
    epoch &operator=(epoch &&other) noexcept
    {
        if (this != &other) {
            end();
            id_ = other.detach();
        }
        return *this;
    }

    /* Returns: an owner of an epoch that tslab_epoch_open opened; for {0}, an owner of nothing. */
    static epoch adopt(tslab_epoch id) noexcept
    {
        return epoch(id, adopted());
    }

    /* Gives up the epoch and leaves it open.
     *
     * Returns: its name; the caller closes it. */
    tslab_epoch detach() noexcept
    {
        return std::exchange(id_, tslab_epoch{});
    }

    /* Returns: the name of the epoch, also after it was closed by hand; {0} after a move. */
    tslab_epoch get() const noexcept
    {
        return id_;
    }

    /* Converts to the name. A temporary owner does not convert: its epoch would be closed before the name is used. */
    operator tslab_epoch() const &noexcept
    {
        return id_;
    }
    operator tslab_epoch() const && = delete;

    /* Closes the epoch, as tslab_epoch_close, with TSLAB_CLOSE_RECLAIM or 0. The owner goes on to name the epoch, for
     * stats and release: it may drain for long.
     *
     * Throws: error; with TSLAB_CLOSED if it is closed already, with TSLAB_STALE if it is gone. */
    report close(tslab_close_flags flags = 0)
    {
        report done{};
        done.pending = detail::checked(tslab_epoch_close(id_, flags, &done), "close the epoch") == TSLAB_PENDING;
        return done;
    }

    /* Ends all objects now, whatever the policy, as tslab_epoch_release.
     *
     * Throws: error; with TSLAB_BUSY if a thread is inside. */
    report release(tslab_close_flags flags = 0)
    {
        report done{};
        detail::checked(tslab_epoch_release(id_, flags, &done), "release the epoch");
        return done;
    }

    /* Closes the epoch and opens the next one, as tslab_epoch_advance. The owner names the next one afterwards.
     * Allocators and resources that were made before still name the closed one. Other threads may be inside: the close
     * is pending until they leave.
     *
     * Throws: error; with TSLAB_BUSY if this thread entered the epoch last. In that case call advance of the scope. */
    report advance(tslab_close_flags flags = 0)
    {
        if (id_.id != 0 && tslab_epoch_current().id == id_.id) {
            throw error(TSLAB_BUSY, "advance the epoch, other than by the scope that is inside");
        }
        return advance_with_scope(flags);
    }

    /* Describes the epoch, as tslab_epoch_stats_get.
     *
     * Throws: error; with TSLAB_STALE if the epoch is gone. */
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

    /* If the program closed the epoch by hand, the call is refused, and nothing happens. */
    void end() noexcept
    {
        if (id_.id != 0) {
            tslab_epoch_close(id_, 0, nullptr);
        }
    }

    tslab_epoch id_;
};

/* Is inside of an epoch from its construction to its destruction, on one thread. Scopes end in the opposite order of
 * their beginning. Local variables do that by themselves, also when an exception passes through. A task that moves
 * among threads has a scope around each of its steps, not around its life.
 *
 * Cost: of tslab_epoch_enter and tslab_epoch_leave. */
class scope
{
  public:
    /* Enters.
     *
     * Throws: error with TSLAB_STALE, TSLAB_CLOSED or TSLAB_NO_MEMORY. */
    explicit scope(tslab_epoch id) : id_(id), status_(detail::checked(tslab_epoch_enter(id), "enter the epoch"))
    {
    }

    /* Leaves. A scope that ends on another thread, or out of order, ends the program by std::terminate with the error:
     * otherwise the thread that entered would stay inside for ever, and the epoch would never be over. */
    ~scope()
    {
        detail::checked(tslab_epoch_leave(id_), "leave the epoch");
    }

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    /* Returns: whether plain malloc, and with it plain new, lands in the epoch. If not, only calls that name the epoch
     *   allocate in it: see TSLAB_EXPLICIT. */
    bool ambient() const noexcept
    {
        return status_ != TSLAB_EXPLICIT;
    }

    /* Advances the epoch that it is inside of, as tslab_epoch_advance. This thread leaves the old epoch and is inside
     * of the new one, which the owner names afterwards.
     *
     * Throws: error; with TSLAB_NOT_INSIDE if this is not the innermost scope of the thread, or not one of the owner's
     *   epoch. */
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
 * without an epoch, it serves as tslab_malloc: from the scope of the calling thread, else from the process.
 *
 * Two are equal only if they name the same epoch, although each could free what the other allocated. So a container
 * keeps its memory in its epoch: move assignment from a container of another epoch moves the elements. Swapping
 * containers of different epochs is not allowed, as with all of std::pmr.
 *
 * allocate throws std::bad_alloc, or error with TSLAB_CLOSED or TSLAB_STALE if the epoch is over. deallocate works as
 * long as the memory is valid: while the epoch is open or drains.
 *
 * Threads: any number may use one at once.
 * Cost: of tslab_epoch_malloc and tslab_free, and the virtual call of std::pmr. */
class memory_resource : public std::pmr::memory_resource
{
  public:
    memory_resource() noexcept = default;

    /* Throws: error with TSLAB_STALE for an owner that was moved from, and for {0}. */
    explicit memory_resource(tslab_epoch id) : id_(detail::named(id, "make a memory resource of the epoch"))
    {
    }

    /* Returns: the epoch that it names; {0} if it was made without one. */
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

/* The memory of a tenant, a query or a pipeline: an epoch of TSLAB_POLICY_DRAIN that lives for long, that one enters
 * again and again, and that ends in steps. It is open until `retire`, then it drains, and with its last object it is
 * drained, and gone.
 *
 *   tslab::domain tenant("tenant 7", 64 << 20);
 *   tenant.enter([&] { answer(request); });     plain malloc and new of this thread land in it
 *   std::pmr::vector<row> rows(&tenant);        and so do containers that are made with it, wherever the thread is
 *   tenant.retire();                            objects stay valid; their memory comes back as they are freed
 *   while (!tenant.drained()) { ... }           looks now and then
 *
 * It is a memory_resource, so it is neither copied nor moved. It converts to tslab_epoch, for scope and all functions
 * of tslab.h.
 *
 * Requires: containers that were made with its address are destroyed before it. Other objects may outlive it.
 * Threads: any number may be inside, allocate and look at once. */
class domain final : public memory_resource
{
  public:
    /* Opens it. It may have `limit_bytes` of memory (as tslab_epoch_options.limit_bytes); 0: no limit. An allocation
     * that would exceed the limit throws std::bad_alloc, or returns NULL in C, in this domain alone.
     *
     * Throws: error with TSLAB_NO_MEMORY. */
    explicit domain(const char *label, std::size_t limit_bytes = 0)
        : memory_resource(epoch(tslab_epoch_options{ label, {}, {}, TSLAB_POLICY_DRAIN, 0, limit_bytes }).detach())
    {
    }

    /* Retires it, unless that is done. It does not wait. */
    ~domain() override
    {
        tslab_epoch_close(get(), 0, nullptr);
    }

    domain(const domain &) = delete;
    domain &operator=(const domain &) = delete;

    operator tslab_epoch() const &noexcept
    {
        return get();
    }
    operator tslab_epoch() const && = delete;

    /* Calls `run` inside, and returns what it returns.
     *
     * Throws: error with TSLAB_CLOSED or TSLAB_STALE once it is retired, with TSLAB_NO_MEMORY; what `run` throws. */
    template <class Run> decltype(auto) enter(Run &&run) const
    {
        const scope inside(get());
        return std::forward<Run>(run)();
    }

    /* Returns: live_bytes, memory_bytes, peak_bytes, resident_bytes and others, as tslab_epoch_stats_get tells them.
     *
     * Throws: error with TSLAB_STALE once it is drained. */
    tslab_epoch_stats report() const
    {
        tslab_epoch_stats found{};
        detail::checked(tslab_epoch_stats_get(get(), &found), "read the statistics of the domain");
        return found;
    }

    /* Ends it: no thread can enter or allocate any more, and objects stay valid until they are freed. It does not wait.
     *
     * Throws: error with TSLAB_CLOSED or TSLAB_STALE if it is retired already. */
    void retire(tslab_close_flags flags = 0)
    {
        detail::checked(tslab_epoch_close(get(), flags, nullptr), "retire the domain");
    }

    /* Returns: whether it is retired, no thread is inside, all its objects are freed, and its memory serves others.
     * Cost: of tslab_epoch_stats_get. */
    bool drained() const noexcept
    {
        tslab_epoch_stats found{};
        return tslab_epoch_stats_get(get(), &found) == TSLAB_STALE;
    }
};

/* Memory for containers that take an allocator by type, from an epoch by name. Made without an epoch, it serves as
 * tslab_malloc.
 *
 *   std::vector<int, tslab::allocator<int>> numbers(request);
 *
 * A container stays in its epoch, because that is its lifetime. Assignment, by copy or by move, puts the elements into
 * the epoch of the target; a move between different epochs moves each element. Copy construction makes a new
 * container: it lands where plain malloc lands, unless it is given an allocator. Move construction gives the old
 * container a new name: its memory stays where it was. A swap of containers of different epochs swaps the epochs as
 * well, and nothing moves.
 *
 * It allocates, throws and frees as memory_resource does. */
template <class T> class allocator
{
  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    allocator() noexcept = default;

    /* Throws: error with TSLAB_STALE for an owner that was moved from, and for {0}. */
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

    /* Returns: the epoch that it names; {0} if it was made without one. */
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
 * call names the epoch, too, and refuses a handle that is stale, of another epoch, or made up; see tslab_handle.
 *
 * When an epoch is released with objects in it, their destructors do not run.
 *
 * Requires: no thread uses an object while another destroys it, and one thread at a time destroys it. A second, later
 *   destroy is refused.
 * Threads: any. */
template <class T> class handle
{
  public:
    /* Names no object. */
    handle() noexcept = default;

    explicit handle(tslab_handle id) noexcept : id_(id)
    {
    }

    /* Allocates in the epoch and constructs T from the arguments.
     *
     * Throws: std::bad_alloc; error with TSLAB_CLOSED or TSLAB_STALE; and whatever the constructor throws. Then
     *   nothing stays allocated. */
    template <class... Arguments> static handle create(tslab_epoch epoch, Arguments &&...arguments)
    {
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

    /* Returns: the object; nullptr for a handle that is refused.
     * Cost: of tslab_handle_get. */
    T *get(tslab_epoch epoch) const noexcept
    {
        void *place = tslab_handle_get(epoch, id_);
        return place == nullptr ? nullptr : std::launder(static_cast<T *>(place));
    }

    /* Runs the destructor and frees the object.
     *
     * Returns: true once; false for a handle that is refused. If T has no destructor to run, several threads may call
     *   this for the same object at once: exactly one gets true. */
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

    /* Returns: the handle of tslab.h. */
    tslab_handle raw() const noexcept
    {
        return id_;
    }

    /* Returns: whether it is not {0}. get tells whether the object still exists. */
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

/* A unit of work from its construction to its destruction, on one thread. The operator decides what it means: see
 * tslab_work_begin. If there is no memory for an epoch, the unit runs without one. */
class work
{
  public:
    explicit work(const char *label = nullptr) noexcept : status_(tslab_work_begin(label))
    {
    }

    /* A unit that ends on another thread, or inside of a scope that began in it, ends the program by std::terminate
     * with the error. */
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

/* While it lives, plain malloc of this thread lands outside of any epoch. It is for objects that outlive their unit of
 * work or their scope, as a session outlives its request. Pauses nest.
 *
 * Requires: it ends on the thread on which it began. */
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

#if defined __cpp_concepts && defined __cpp_impl_coroutine

/* A name of an epoch: tslab_epoch, or epoch, which owns one. */
template <class T>
concept epoch_name = std::is_convertible_v<const T &, tslab_epoch>;

/* A base of promise types. The frame of a coroutine lands in the epoch that the first of its arguments names that names
 * one, and where plain malloc lands if none does. It is freed when the coroutine is destroyed, or ends with its epoch,
 * like any object.
 *
 *   struct task { struct promise_type : tslab::promise_base { ... }; };
 *   task serve(const tslab::epoch &request, int socket);
 *
 * Only the frame: what the coroutine allocates lands where plain malloc lands when it runs. A scope must not live
 * across a suspension, because the coroutine may resume in another thread.
 *
 * The call of the coroutine throws std::bad_alloc where the epoch finds no memory, and error with TSLAB_STALE or
 * TSLAB_CLOSED where the name is that of no open epoch. */
class promise_base
{
  public:
    /* Where it is not inlined, gcc 12 takes the pair for mismatched. */
    template <class... Arguments>
    [[gnu::always_inline]] static inline void *operator new(std::size_t size, const Arguments &...arguments)
    {
        tslab_epoch id{};
        (void)(... || names(id, arguments));
        return detail::allocate(id, size, detail::natural_alignment);
    }

    [[gnu::always_inline]] static inline void operator delete(void *p, std::size_t) noexcept
    {
        tslab_free(p);
    }

  private:
    template <class T> static bool names(tslab_epoch &id, const T &argument)
    {
        if constexpr (epoch_name<T>) {
            id = detail::named(argument, "start a coroutine in the epoch");
        }
        return epoch_name<T>;
    }
};

#endif

} // namespace tslab

/* Makes handles keys of unordered containers. */
template <class T> struct std::hash<tslab::handle<T>> {
    std::size_t operator()(tslab::handle<T> handle) const noexcept
    {
        return std::hash<std::uint64_t>()(handle.raw().id);
    }
};

#endif
