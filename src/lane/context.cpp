#include "lane/context.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

namespace plait::lane {

Operation* Context::search_posted(std::uint32_t source, std::int32_t tag) noexcept {
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

void Context::unpost(Operation& receive) noexcept {
  home(receive).remove(receive);
  receive.posted = false;
}

Operation* Context::any_posted() const noexcept {
  if (!wild_.empty()) return wild_.front();
  for (const Posted& p : posted_) {
    if (!p.empty()) return p.front();
  }
  return nullptr;
}

void Context::keep(Unexpected& message) noexcept {
  unexpected_[message.source % kBuckets].push_back(message);
  arrived_.push_back(message);
}

Unexpected* Context::find(std::uint32_t first_source, std::uint32_t end_source, std::int32_t tag) const noexcept {
  if (end_source - first_source == 1) {
    Unexpected* u = unexpected_[first_source % kBuckets].front();
    while (u && !(u->source == first_source && (tag == kAnyTag || u->tag == tag))) u = u->in_bucket.next;
    return u;
  }
  Unexpected* u = arrived_.front();
  while (u && !(u->source >= first_source && u->source < end_source && (tag == kAnyTag || u->tag == tag))) u = u->in_arrival.next;
  return u;
}

void Context::take(Unexpected& message) noexcept {
  unexpected_[message.source % kBuckets].remove(message);
  arrived_.remove(message);
}

// ---- by number: the low bits are a place in the table, the rest counts how often it was used.

namespace {

constexpr std::uint32_t kPlaceBits = 20;
constexpr std::uint32_t kPlaces = std::uint32_t{1} << kPlaceBits;
constexpr std::uint32_t kPieceBits = 10;

using Piece = std::array<Place, std::size_t{1} << kPieceBits>;

/// By place; apart from the rest, so that finding asks for nothing else.
constinit std::array<std::atomic<Piece*>, (kPlaces >> kPieceBits)> pieces{};

struct Table {
  std::mutex lock;                  // over all of it, and over adding and removing
  std::vector<std::uint32_t> free;  ///< ids to use next, their places empty
  std::uint32_t used = 1;           ///< places that were ever used; 0 is nobody's
};

Table& table() {
  static Table& table = *new Table;  // never destroyed: requests may outlive static objects
  return table;
}

}  // namespace

Place* place(std::uint32_t id) noexcept {
  const std::uint32_t at = id % kPlaces;
  // acquire: the piece as it was made.
  Piece* const piece = pieces[at >> kPieceBits].load(std::memory_order_acquire);
  return piece ? &(*piece)[at % piece->size()] : nullptr;
}

bool add_context(Context& context) noexcept {
  Table& t = table();
  const std::lock_guard guard(t.lock);
  try {
    // Places are used in turn, so that one that was left rests for a while.
    if (t.free.size() < 64 && t.used < kPlaces) {
      std::atomic<Piece*>& piece = pieces[t.used >> kPieceBits];
      if (!piece.load(std::memory_order_relaxed)) piece.store(new Piece{}, std::memory_order_release);
      context.id = t.used++;
    } else if (!t.free.empty()) {
      context.id = t.free.front() + kPlaces;  // wraps after 4,096 uses
      t.free.erase(t.free.begin());
    } else {
      return false;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  Place& p = *place(context.id);
  p.context.store(&context, std::memory_order_relaxed);
  p.endpoint.store(context.endpoint, std::memory_order_relaxed);
  p.id.store(context.id, std::memory_order_release);
  return true;
}

void remove_context(Context& context) noexcept {
  Table& t = table();
  const std::lock_guard guard(t.lock);
  place(context.id)->id.store(0, std::memory_order_relaxed);
  try {
    t.free.push_back(context.id);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the place is not used again
  }
}

void delete_context(Context& context) noexcept {
  remove_context(context);
  delete &context;
}

Endpoint* find_endpoint(std::uint32_t id) noexcept {
  const Place* const at = place(id);
  return at && at->id.load(std::memory_order_acquire) == id ? at->endpoint.load(std::memory_order_relaxed) : nullptr;
}

}  // namespace plait::lane
