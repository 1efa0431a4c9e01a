// Matching: the posted receives and the unexpected messages of one communicator at one endpoint.
//
// Used by the endpoint's thread alone. Both kinds are kept by source in buckets, so that neither many sources nor many
// posted receives make a match slow; receives that take any source stand apart and are compared by age.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/list.hpp"
#include "lane/operation.hpp"
#include "lane/unexpected.hpp"

namespace plait::lane {

/// What was sent in a context, for people. By the thread that uses its endpoint.
struct Traffic {
  std::uint64_t messages = 0, bytes = 0;
  std::uint64_t between_nodes = 0;   ///< of the messages
  std::uint64_t rendezvous = 0;      ///< of the bytes, inside the node
  std::uint64_t through_chunks = 0;  ///< of these: copied twice, the others once

  void count(std::uint64_t more, bool by_network = false) noexcept {
    ++messages;
    bytes += more;
    if (by_network) ++between_nodes;
  }
};

struct MatchContext {
  std::uint32_t id = 0;
  Endpoint* endpoint = nullptr;
  std::uint64_t handle = 0;                                   ///< the communicator's, for whom errors are told to
  std::shared_ptr<const std::vector<std::uint32_t>> rank_of;  ///< the rank behind a source; null: the same number
  std::uint32_t operations = 0;                               ///< that have not been retired
  std::uint32_t disowned = 0;                                 ///< of these, given up by the program and not complete
  bool freed = false;                                         ///< the communicator is
  Traffic sent;

  /// The operation is one of this context's until it is retired.
  void adopt(Operation& operation) noexcept {
    operation.context = this;
    ++operations;
  }
  /// The receive that an arriving message belongs to, taken out of the lists; null if there is none.
  [[nodiscard]] Operation* take_posted(std::uint32_t source, std::int32_t tag) noexcept {
    Posted& own = bucket(source);
    Operation* const first = own.front();
    if (!first || !first->fits(source, tag) || !wild_.empty()) [[unlikely]]
      return search_posted(source, tag);
    own.pop_front();
    first->posted = false;
    return first;
  }
  void post(Operation& receive) noexcept {
    receive.order = next_order_++;
    receive.posted = true;
    home(receive).push_back(receive);
  }
  void unpost(Operation& receive) noexcept;

  void keep(Unexpected& message) noexcept;
  /// The oldest that fits. Still listed.
  [[nodiscard]] Unexpected* find(std::uint32_t first_source, std::uint32_t end_source, std::int32_t tag) const noexcept;
  void take(Unexpected& message) noexcept;
  [[nodiscard]] bool has_unexpected() const noexcept { return !arrived_.empty(); }
  [[nodiscard]] Unexpected* first_unexpected() const noexcept { return arrived_.front(); }
  [[nodiscard]] static Unexpected* next_unexpected(const Unexpected& u) noexcept { return u.in_arrival.next; }
  /// Any posted receive, to cancel them all.
  [[nodiscard]] Operation* any_posted() const noexcept;

 private:
  [[nodiscard]] Operation* search_posted(std::uint32_t source, std::int32_t tag) noexcept;

  static constexpr std::size_t kBuckets = 32;
  using Posted = List<Operation, &Operation::link>;
  [[nodiscard]] Posted& bucket(std::uint32_t source) noexcept { return posted_[source % kBuckets]; }
  [[nodiscard]] Posted& home(const Operation& receive) noexcept {
    return receive.end_source - receive.first_source == 1 ? bucket(receive.first_source) : wild_;
  }

  std::array<Posted, kBuckets> posted_{};
  Posted wild_;
  std::uint64_t next_order_ = 0;
  std::array<List<Unexpected, &Unexpected::in_bucket>, kBuckets> unexpected_{};
  List<Unexpected, &Unexpected::in_arrival> arrived_;
};

/// Contexts by number, process-wide. A number is not used again for a long time, so that late messages of a communicator
/// that is gone find nothing. Adding and removing takes a lock, finding does not.
[[nodiscard]] bool add_context(MatchContext& context) noexcept;  ///< sets id; false when there is no memory
void remove_context(MatchContext& context) noexcept;
/// One at an endpoint, which then has it. Throws std::bad_alloc.
[[nodiscard]] MatchContext& make_context(Endpoint& endpoint);
void delete_context(MatchContext& context) noexcept;  ///< one made so
/// Where a context with such a number stands, if it is there. Slots stay, so that one can be kept and asked again.
struct ContextSlot {
  std::atomic<std::uint32_t> id{0};  ///< 0: free. Apart from the context, so that asking for one that is gone touches nothing of it
  std::atomic<MatchContext*> context{nullptr};
  std::atomic<Endpoint*> endpoint{nullptr};
};
/// Null for a number that never was.
[[nodiscard]] ContextSlot* context_slot(std::uint32_t id) noexcept;
/// For the thread that uses the context's endpoint.
[[nodiscard]] inline MatchContext* context_in(const ContextSlot* slot, std::uint32_t id) noexcept {
  // acquire: the context as its maker left it.
  return slot && slot->id.load(std::memory_order_acquire) == id ? slot->context.load(std::memory_order_relaxed) : nullptr;
}
[[nodiscard]] inline MatchContext* find_context(std::uint32_t id) noexcept { return context_in(context_slot(id), id); }
/// All there are, while no other thread uses any.
void visit_contexts(void (*visit)(MatchContext&)) noexcept;
/// The endpoint of a context; for any thread, since endpoints stay. Null where the context is gone.
[[nodiscard]] Endpoint* find_endpoint(std::uint32_t id) noexcept;

}  // namespace plait::lane
