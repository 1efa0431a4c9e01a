#include "lane/match_context.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <new>

#include "base/chunked_array.hpp"
#include "lane/endpoint.hpp"

namespace plait::lane {

Operation* MatchContext::search_posted(std::uint32_t source, std::int32_t tag) noexcept {
  Posted& own = bucket(source);
  Operation* found = own.front();
  while (found && !found->fits(source, tag)) found = Posted::next(*found);
  if (!wild_.empty()) {
    Operation* other = wild_.front();
    while (other && !other->fits(source, tag)) other = Posted::next(*other);
    if (other && (!found || other->order < found->order)) {
      wild_.remove(*other);
      other->posted = false;
      return other;
    }
  }
  if (found) {
    own.remove(*found);
    found->posted = false;
  }
  return found;
}

void MatchContext::unpost(Operation& receive) noexcept {
  home(receive).remove(receive);
  receive.posted = false;
}

Operation* MatchContext::any_posted() const noexcept {
  if (!wild_.empty()) return wild_.front();
  for (const Posted& p : posted_) {
    if (!p.empty()) return p.front();
  }
  return nullptr;
}

void MatchContext::keep(Unexpected& message) noexcept {
  unexpected_[message.source % kBuckets].push_back(message);
  arrived_.push_back(message);
}

Unexpected* MatchContext::find(std::uint32_t first_source, std::uint32_t end_source, std::int32_t tag) const noexcept {
  if (end_source - first_source == 1) {
    Unexpected* u = unexpected_[first_source % kBuckets].front();
    while (u && !(u->source == first_source && (tag == kAnyTag || u->tag == tag))) u = u->in_bucket.next;
    return u;
  }
  Unexpected* u = arrived_.front();
  while (u && !(u->source >= first_source && u->source < end_source && (tag == kAnyTag || u->tag == tag))) u = u->in_arrival.next;
  return u;
}

void MatchContext::take(Unexpected& message) noexcept {
  unexpected_[message.source % kBuckets].remove(message);
  arrived_.remove(message);
}

// ---- by number: the low bits are a slot of the table, the rest counts how often it was used.

namespace {

constexpr std::uint32_t kSlots = std::uint32_t{1} << 20;

/// By the low bits of the number; apart from the rest, so that finding asks for nothing else.
constinit ChunkedArray<ContextSlot, 1024, 1024> slots;

struct Table {
  std::mutex lock;                 // over all of it, and over adding and removing
  std::deque<std::uint32_t> free;  ///< ids to use next, their slots empty
  std::uint32_t used = 1;          ///< slots that were ever used; 0 is nobody's
};

Table& table() {
  static Table& table = *new Table;  // never destroyed: requests may outlive static objects
  return table;
}

}  // namespace

ContextSlot* context_slot(std::uint32_t id) noexcept { return slots.find(id % kSlots); }

bool add_context(MatchContext& context) noexcept {
  Table& t = table();
  const std::lock_guard guard(t.lock);
  // Slots are used in turn, so that one that was left rests for a while.
  if (t.free.size() < 64 && t.used < kSlots) {
    if (!slots.make(t.used)) return false;
    context.id = t.used++;
  } else if (!t.free.empty()) {
    context.id = t.free.front() + kSlots;  // wraps after 4,096 uses
    t.free.pop_front();
  } else {
    return false;
  }
  ContextSlot& p = *context_slot(context.id);
  p.context.store(&context, std::memory_order_relaxed);
  p.endpoint.store(context.endpoint, std::memory_order_relaxed);
  p.id.store(context.id, std::memory_order_release);
  return true;
}

void remove_context(MatchContext& context) noexcept {
  Table& t = table();
  const std::lock_guard guard(t.lock);
  context_slot(context.id)->id.store(0, std::memory_order_relaxed);
  try {
    t.free.push_back(context.id);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the slot is not used again
  }
}

MatchContext& make_context(Endpoint& endpoint) {
  auto context = std::make_unique<MatchContext>();
  context->endpoint = &endpoint;
  if (!add_context(*context)) throw std::bad_alloc();
  endpoint.contexts.fetch_add(1, std::memory_order_relaxed);
  return *context.release();
}

void delete_context(MatchContext& context) noexcept {
  remove_context(context);
  // release: the endpoint may have another user now.
  context.endpoint->contexts.fetch_sub(1, std::memory_order_release);
  delete &context;
}

void visit_contexts(void (*visit)(MatchContext&)) noexcept {
  const std::uint32_t used = [] {
    const std::lock_guard guard(table().lock);
    return table().used;
  }();
  for (std::uint32_t i = 1; i < used; ++i) {
    const ContextSlot* const at = context_slot(i);
    if (at && at->id.load(std::memory_order_acquire) != 0) visit(*at->context.load(std::memory_order_relaxed));
  }
}

Endpoint* find_endpoint(std::uint32_t id) noexcept {
  const ContextSlot* const at = context_slot(id);
  return at && at->id.load(std::memory_order_acquire) == id ? at->endpoint.load(std::memory_order_relaxed) : nullptr;
}

}  // namespace plait::lane
