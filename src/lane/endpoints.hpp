// All endpoints of this process: the list of them, which is a source of the progress engine, and those without a user, to be used
// again, lanes and all, so that programs that make and free streams do not grow. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plait::lane {

/// Which threads use an endpoint. serial: one at a time, which is the program's promise. biased: any, in most cases the same one.
/// shared: any; a biased one becomes so at the first call of a second thread.
enum class Use : std::uint8_t { serial, biased, shared };

class Endpoint;

/// One for a new user. Throws std::bad_alloc, std::system_error.
[[nodiscard]] Endpoint& take_endpoint(Use use);
/// Its user has gone. While contexts are left at it nobody else gets it.
void give_endpoint(Endpoint& endpoint) noexcept;
/// How many have a user.
[[nodiscard]] std::size_t endpoints_in_use() noexcept;

/// The endpoint of all that is done without a stream; its users lock it. Throws as above.
[[nodiscard]] Endpoint& shared_endpoint();
/// Whether it exists, for those that only progress it.
[[nodiscard]] Endpoint* shared_endpoint_if_any() noexcept;

/// When it is made; its number. Endpoints stay. Throws std::bad_alloc.
[[nodiscard]] std::size_t list_endpoint(Endpoint& endpoint);
extern std::atomic<std::size_t> endpoints_made;
/// Those that the progress engine looks at: all where there are few. A program may have made thousands of communicators, and use one. By
/// who has the endpoint's guard, so that one that stops being active and one that becomes so again are in order.
void set_active(std::size_t number) noexcept;
void set_inactive(std::size_t number) noexcept;
extern std::atomic<std::size_t> active_endpoints;
constexpr std::size_t kFewEndpoints = 64;
/// Lanes of theirs inside the node. relaxed: a figure for people.
extern std::atomic<std::size_t> lanes_made;
[[nodiscard]] inline bool endpoints_exist() noexcept { return endpoints_made.load(std::memory_order_relaxed) > 0; }

}  // namespace plait::lane
