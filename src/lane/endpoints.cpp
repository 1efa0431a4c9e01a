#include "lane/endpoints.hpp"

#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "base/chunked_array.hpp"
#include "lane/endpoint.hpp"
#include "progress/helper.hpp"
#include "transport/network.hpp"

namespace plait::lane {

constinit std::atomic<std::size_t> endpoints_made{0};
constinit std::atomic<std::size_t> active_endpoints{0};
constinit std::atomic<std::size_t> lanes_made{0};

namespace {

/// Walked without a lock.
constinit ChunkedArray<std::atomic<Endpoint*>, 64, 1024> list;
/// A bit for each.
constexpr std::size_t kBits = 64;
constinit std::array<std::atomic<std::uint64_t>, list.kSize / kBits> active{};

/// All active ones.
template <class Visitor>
bool any_endpoint(Visitor visitor) noexcept {
  // relaxed: who has made one that is active sets its bit later, and the answer may be old.
  const std::size_t n = endpoints_made.load(std::memory_order_relaxed);
  bool any = false;
  for (std::size_t i = 0; i < n; i += kBits) {
    // acquire: the endpoint in the list.
    for (std::uint64_t left = active[i / kBits].load(std::memory_order_acquire); left; left &= left - 1) {
      any |= visitor(*list[i + static_cast<std::size_t>(std::countr_zero(left))].load(std::memory_order_relaxed));
    }
  }
  return any;
}

/// Messages at endpoints whose threads are elsewhere.
class Messages final : public progress::Source {
 public:
  [[nodiscard]] bool pending() const noexcept override {
    return any_endpoint([](const Endpoint& e) { return e.unpolled(); });
  }
  bool try_progress() noexcept override {
    const bool driven = transport::drive_network();
    return any_endpoint([](Endpoint& e) { return e.unpolled() && e.try_progress(); }) || driven;
  }
};

struct Pool {
  std::mutex lock;
  std::vector<Endpoint*> unused;
  std::size_t in_use = 0;
};

Pool& pool() {
  static Pool& pool = *new Pool;  // never destroyed: exit handlers may still use streams
  return pool;
}

constinit std::atomic<Endpoint*> shared_one{nullptr};

}  // namespace

void set_active(std::size_t number) noexcept {
  // release: the endpoint, whose user may have made it just now.
  active[number / kBits].fetch_or(std::uint64_t{1} << (number % kBits), std::memory_order_release);
  active_endpoints.fetch_add(1, std::memory_order_relaxed);
}

void set_inactive(std::size_t number) noexcept {
  // relaxed: that it has nothing unfinished any more may be seen late.
  active[number / kBits].fetch_and(~(std::uint64_t{1} << (number % kBits)), std::memory_order_relaxed);
  active_endpoints.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t list_endpoint(Endpoint& endpoint) {
  static std::mutex lock;
  static Messages messages;
  const std::lock_guard guard(lock);
  const std::size_t at = endpoints_made.load(std::memory_order_relaxed);
  std::atomic<Endpoint*>* const entry = at < list.kSize ? list.make(at) : nullptr;
  if (!entry) throw std::bad_alloc();
  entry->store(&endpoint, std::memory_order_relaxed);
  // release: the entry.
  endpoints_made.store(at + 1, std::memory_order_release);
  if (at == 0) {
    progress::expect_threads();  // another thread than the one that blocks may use it, whatever level the program has asked for
    progress::add_source(messages);
  }
  return at;
}

Endpoint& take_endpoint(Use use) {
  event_count_begin();
  Pool& p = pool();
  const std::lock_guard guard(p.lock);
  for (auto at = p.unused.begin(); at != p.unused.end(); ++at) {
    Endpoint& endpoint = **at;
    // acquire: what the last of its contexts did.
    if (endpoint.contexts.load(std::memory_order_acquire) != 0) continue;
    p.unused.erase(at);
    ++p.in_use;
    if (endpoint.use() != use || use == Use::biased) endpoint.set_use(use);
    return endpoint;
  }
  p.unused.reserve(p.in_use + p.unused.size() + 1);  // so that giving it back needs no memory
  auto* const made = new Endpoint(use);
  ++p.in_use;
  return *made;
}

void give_endpoint(Endpoint& endpoint) noexcept {
  Pool& p = pool();
  const std::lock_guard guard(p.lock);
  p.unused.push_back(&endpoint);
  --p.in_use;
}

std::size_t endpoints_in_use() noexcept {
  Pool& p = pool();
  const std::lock_guard guard(p.lock);
  return p.in_use;
}

Endpoint& shared_endpoint() {
  static Endpoint& endpoint = []() -> Endpoint& {
    event_count_begin();
    auto& made = *new Endpoint(Use::shared);
    shared_one.store(&made, std::memory_order_release);
    return made;
  }();
  return endpoint;
}

Endpoint* shared_endpoint_if_any() noexcept { return shared_one.load(std::memory_order_acquire); }

}  // namespace plait::lane
