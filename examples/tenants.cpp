// A server with three tenants, each in a domain of its own. One is well, one leaks, and one hits its limit. Reports
// tell them apart, and they are retired one by one.
//
// It is linked with libtslab-malloc, so that all that a tenant's requests allocate lands in the tenant's domain. It
// checks itself, and exits with 1 when something is not as it says. To look at it from outside, let it serve for some
// seconds, and run tslab top or tslab export meanwhile:
//
//   TSLAB_EXPORT=1 ./tenants 600
#include <tslab/tslab.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr unsigned requests_least = 3000, entries_most = 1000;
constexpr std::size_t entry_bytes = 2000, row_bytes = 50000, mebibyte = 1 << 20;

void expect(bool condition, const char *what)
{
    if (!condition) {
        std::fprintf(stderr, "tenants: not so: %s\n", what);
        std::exit(1);
    }
}

struct Session {
    char state[1000];
};

std::atomic<Session *> newest; // without a name, nobody could see that the session is there

struct Tenant {
    explicit Tenant(const char *name) : domain(name)
    {
        domain.enter([this] { cache = std::make_unique<Cache>(); });
    }

    // The cache goes before the domain.
    using Cache = std::map<unsigned, std::string>;
    tslab::domain domain;
    std::mutex lock;
    std::unique_ptr<Cache> cache;
    std::atomic<unsigned> answered{ 0 }, refused{ 0 };
};

// Every tenant remembers its newest answers.
void answer(Tenant &tenant, unsigned number)
{
    const std::lock_guard<std::mutex> locked(tenant.lock);
    (*tenant.cache)[number] = std::string(entry_bytes, 'x');
    if (tenant.cache->size() > entries_most) {
        tenant.cache->erase(tenant.cache->begin());
    }
}

// Each request begins a session, and nobody ends it.
void answer_and_leak(Tenant &tenant, unsigned number)
{
    newest = new Session();
    answer(tenant, number);
}

// Some requests collect rows until there is no memory for another.
void answer_all_rows(Tenant &tenant, unsigned number)
{
    std::vector<std::string> rows;
    while (number % 100 == 0) {
        rows.emplace_back(row_bytes, 'x');
    }
    answer(tenant, number);
}

void serve(Tenant &tenant, unsigned number, void (*handler)(Tenant &, unsigned))
{
    try {
        tenant.domain.enter([&] { handler(tenant, number); });
        tenant.answered++;
    } catch (const std::bad_alloc &) {
        tenant.refused++; // this request alone: its rows are freed, and the next one may fit
    }
}

void tell(const char *name, const Tenant &tenant)
{
    if (tenant.domain.drained()) {
        std::printf("%-8s drained\n", name);
        return;
    }
    static const char *const states[] = { "open", "closing", "draining" };
    const tslab_epoch_stats report = tenant.domain.report();
    const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / mebibyte; };
    std::printf("%-8s %-8s %8u %7u %6.1f %6.1f %6.1f %8.1f\n", name, states[report.state], tenant.answered.load(),
                tenant.refused.load(), mib(report.live_bytes), mib(report.memory_bytes), mib(report.peak_bytes),
                mib(report.resident_bytes));
}

} // namespace

int main(int count, char **words)
{
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(count > 1 ? std::atoi(words[1]) : 0);
    // The operator's word: TSLAB_EPOCH_LIMITS=greedy=8M says the same without the program. It holds for domains that
    // are opened from then on.
    expect(tslab_option_set("epoch_limits", "greedy=8M") == TSLAB_OK, "limits can be set");
    Tenant well("well"), leaky("leaky"), greedy("greedy");

    std::atomic<unsigned> next{ 0 };
    const auto work = [&] {
        for (unsigned number; (number = next++) < requests_least || std::chrono::steady_clock::now() < until;) {
            serve(well, number, answer);
            serve(leaky, number, answer_and_leak);
            serve(greedy, number, answer_all_rows);
            if (number >= requests_least) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
        }
    };
    std::thread other(work);
    work();
    other.join();

    std::printf("tenant   state    answered refused   live memory   peak resident (MiB)\n");
    tell("well", well);
    tell("leaky", leaky);
    tell("greedy", greedy);
    expect(well.refused == 0 && leaky.refused == 0 && greedy.refused > 0, "one tenant's limit refuses nobody else");
    expect(well.domain.report().peak_bytes < 8 * mebibyte, "a tenant that is well stays as it is");
    expect(leaky.domain.report().live_bytes > well.domain.report().live_bytes + 2 * mebibyte, "a leak grows");
    const tslab_epoch_stats most = greedy.domain.report();
    expect(most.peak_bytes > 4 * mebibyte && most.peak_bytes <= 8 * mebibyte + 256 * 1024, "a limit is kept");
    expect(most.live_bytes < 4 * mebibyte, "what a refused request had is free again");

    // Each tenant leaves. What it had is empty at once, but for what somebody still has.
    for (Tenant *tenant : { &well, &greedy, &leaky }) {
        tenant->domain.retire();
        tenant->cache.reset();
    }
    std::printf("\nretired, without their caches\n");
    tell("well", well);
    tell("greedy", greedy);
    tell("leaky", leaky);
    expect(well.domain.drained() && greedy.domain.drained(), "whose objects are freed is gone");
    expect(leaky.domain.report().live_objects >= requests_least, "a leak keeps a domain draining");

    // Sessions that nobody can find any more are garbage: no one will ever use or free them.
    expect(tslab_epoch_release(leaky.domain, TSLAB_CLOSE_RECLAIM, nullptr) == TSLAB_OK, "garbage can be released");
    std::printf("\nreleased\n");
    tell("leaky", leaky);
    expect(leaky.domain.drained(), "a released domain is gone");
    return 0;
}
