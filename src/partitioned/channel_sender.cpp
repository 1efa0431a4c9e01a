#include "partitioned/channel_sender.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/delay.hpp"
#include "base/relax.hpp"
#include "partitioned/doorbell.hpp"

namespace plait::partitioned {
namespace {

// ---- memory of channels that are gone, to use again

struct Spare {
  std::mutex lock;
  std::map<std::tuple<std::uint32_t, std::uint32_t>, std::vector<Region::Place>> places;
};

Spare& spare() {
  static Spare& spare = *new Spare;  // never destroyed: exit handlers may still free requests
  return spare;
}

auto key(const Shape& s) { return std::tuple(s.groups, s.room_bytes); }

Region::Place take_place(const Shape& shape) {
  Spare& s = spare();
  const std::lock_guard guard(s.lock);
  std::vector<Region::Place>& known = s.places[key(shape)];
  if (known.empty()) {
    known.reserve(1);  // so that there is room when it comes back
    return lane::Node::get().region().take(shape.bytes());
  }
  const Region::Place place = known.back();
  known.pop_back();
  return place;
}

void give_place(const Shape& shape, Region::Place place) noexcept try {
  Spare& s = spare();
  const std::lock_guard guard(s.lock);
  s.places[key(shape)].push_back(place);
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it stays unused
}

void clear(ChannelMemory& m, const Shape& shape) noexcept {
  new (&m) ChannelMemory{};
  m.shape = shape;
  for (std::uint32_t g = 0; g < shape.groups; ++g) {
    m.opened(g).store(0, std::memory_order_relaxed);
    m.claims(g).store(0, std::memory_order_relaxed);
    m.ends(g).store(0, std::memory_order_relaxed);
  }
  for (std::uint32_t c = 0; c < shape.cells; ++c) m.cell(c).turn.store(0, std::memory_order_relaxed);
}

/// Fewer bytes go through the cell, where the receiver finds them along with it.
constexpr std::uint64_t kLeastPlaced = 2048;
}  // namespace

ChannelSender::ChannelSender(const lane::Memory& memory, std::uint32_t groups, const lane::Memory& readable)
    : memory_(memory), readable_(readable), length_(std::max<std::uint64_t>(memory.bytes, 1)) {
  const Shape shape = Shape::of(memory.bytes, groups);
  const lane::Address bell = Doorbell::get().address();
  const Region::Place place = take_place(shape);
  address_ = {lane::Node::get().region_id(), place.offset};
  shared_ = static_cast<ChannelMemory*>(place.memory);
  clear(*shared_, shape);
  shared_->sender_bell = bell;
  shared_->source = reinterpret_cast<std::uint64_t>(&readable);
}

ChannelSender::~ChannelSender() {
  if (left()) give_place(shared_->shape, {address_.offset, shared_});
}

void stage(const lane::Memory& from, const lane::Memory& to, std::uint64_t begin, std::uint64_t end) noexcept {
  end = std::min(end, from.bytes);
  if (end > begin) lane::pack(from, begin, to.at + begin, end - begin);
}

void ChannelSender::begin(std::uint32_t round, std::uint64_t group_bytes) noexcept {
  round_ = round;
  group_bytes_ = std::max<std::uint64_t>(group_bytes, 1);
  base_ = pushed_.load(std::memory_order_relaxed) + shared_->pulled.load(std::memory_order_relaxed);
  opened_.store(0, std::memory_order_relaxed);
  // The receiver looks at this line at every cell: it is written only where it has to be.
  if (shared_->wants_room.load(std::memory_order_relaxed) != 0) shared_->wants_room.store(0, std::memory_order_relaxed);
  next_opened_ = 0;
  // A receiver that has started is the last: until then there may be another one. acquire: its section.
  if (!has_looked_ && shared_->started.load(std::memory_order_acquire) != 0) map_target();
}

/// Where the receiver's buffer can be written from here.
void ChannelSender::map_target() noexcept {
  has_looked_ = true;
  if (shared_->direct || shared_->buffer.heap.file < 0) return;
  try {
    target_.emplace(shared_->buffer, shared_->buffer_bytes);
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): then all goes through cells
  }
}

/// May pieces of this round be put straight into the receiver's buffer?
bool ChannelSender::places() const noexcept {
  // acquire: the receiver's program has done with the buffer.
  return target_ && shared_->started.load(std::memory_order_acquire) == round_;
}

/// The receiver's bell, or null before it is known that there is one. Any thread.
EventCount* ChannelSender::meet() noexcept {
  // acquire: the spot as it was mapped.
  EventCount* bell = bell_.load(std::memory_order_acquire);
  if (bell || !matched()) return bell;
  const bool known = lane::Node::get().attach(shared_->receiver);
  // A receiver that cannot be woken sleeps no longer than it says.
  static EventCount nobody;
  bell = known ? &Doorbell::at(shared_->receiver_bell) : &nobody;
  bell_.store(bell, std::memory_order_release);
  return bell;
}

// ---- cells

/// Tickets are drawn by a read-modify-write of one word; a thread that has one owns its cell until it is published. None where
/// the receiver has not emptied the cell yet, or, unless it is for a piece that is placed, the room for its bytes.
std::uint64_t ChannelSender::take_ticket(bool placing) noexcept {
  const std::uint64_t ahead = placing ? shared_->shape.cells : shared_->shape.rooms;
  std::uint64_t ticket = next_.load(std::memory_order_relaxed);
  for (;;) {
    // acquire, here or there: the receiver has read what we are about to overwrite; whichever thread of ours has looked.
    if (ticket >= consumed_.load(std::memory_order_acquire) + ahead) [[unlikely]] {
      const std::uint64_t consumed = shared_->consumed.load(std::memory_order_acquire);
      if (ticket >= consumed + ahead) return kNone;
      consumed_.store(consumed, std::memory_order_release);
    }
    // relaxed: it hands nothing over but the number.
    if (next_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) return ticket;
  }
}

void ChannelSender::fill(const lane::Memory& from, std::uint64_t ticket, std::uint64_t begin, std::uint64_t units, bool placing) noexcept {
  delay();
  Cell& cell = shared_->cell(ticket);
  cell.begin = begin;
  cell.round = round_;
  cell.units = static_cast<std::uint32_t>(units) | (placing && units > 0 ? Cell::kPlaced : 0);
  const std::uint64_t end = std::min({begin + units, from.bytes, placing ? shared_->buffer_bytes : from.bytes});
  if (end > begin) lane::pack(from, begin, placing ? target_->data() + begin : shared_->data(ticket, units), end - begin);
  delay();
  // release: all of the above.
  cell.turn.store(ticket + 1, std::memory_order_release);
  bell_.load(std::memory_order_relaxed)->notify();
}

/// So many units have left the buffer. The last of these calls ends the round; then this object may be gone.
void ChannelSender::count(std::uint64_t units) noexcept {
  const std::uint64_t all = base_ + length_ - shared_->pulled.load(std::memory_order_relaxed);
  delay();
  // release: we have read the buffer.
  if (pushed_.fetch_add(units, std::memory_order_release) + units >= all) Doorbell::get().ring();
}

/// The ring is full: waits a moment if the receiver is at work. True if it has gone on.
bool ChannelSender::hold() const noexcept {
  if (shared_->taking.load(std::memory_order_relaxed) == 0) return false;
  const std::uint64_t seen = shared_->consumed.load(std::memory_order_relaxed);
  for (int i = progress::spins_of(progress::kForRoom); i > 0; --i) {
    relax();
    if (shared_->consumed.load(std::memory_order_relaxed) != seen) return true;
  }
  return false;
}

void ChannelSender::send(std::uint64_t begin, std::uint64_t end) noexcept {
  // Before anybody has matched it nothing is put there, since the receiver may turn out to be on another node.
  if (!meet() || shared_->direct) [[unlikely]] {
    open(begin, end);
    return;
  }
  const bool placing = end - begin >= kLeastPlaced && places();
  const std::uint64_t piece = placing ? Cell::placed_piece(length_) : shared_->shape.room_bytes;
  while (begin < end) {
    const std::uint64_t ticket = take_ticket(placing);
    if (ticket != kNone) [[likely]] {
      const std::uint64_t n = std::min(piece, end - begin);
      fill(memory_, ticket, begin, n, placing);
      begin += n;
      count(n);
    } else if (!hold()) {
      open(begin, end);
      return;
    }
  }
}

// ---- what finds no room

void ChannelSender::open(std::uint64_t begin, std::uint64_t end) noexcept {
  if (&readable_ != &memory_) stage(memory_, readable_, begin, end);
  // Looked for before, since the receiver may end the round as soon as it sees the last entry.
  EventCount* const bell = bell_.load(std::memory_order_acquire);
  while (begin < end) {
    const auto group = static_cast<std::uint32_t>(begin / group_bytes_);
    // relaxed: comes with the two that follow.
    shared_->claims(group).store(ChannelMemory::claim_of(round_, begin), std::memory_order_relaxed);
    delay();
    // release: the claim, for one who is still about the last round.
    shared_->ends(group).store(group_end(group), std::memory_order_release);
    const std::uint32_t at = opened_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t next = group_end(group);
    delay();
    // release: the claim, the end and the bytes.
    shared_->opened(at).store(std::uint64_t{round_} << 32 | group, std::memory_order_release);
    begin = next;
  }
  if (bell) bell->notify();
}

bool ChannelSender::is_opened(std::uint32_t at, std::uint32_t& group) const noexcept {
  if (at >= opened_.load(std::memory_order_relaxed)) return false;
  // acquire: as the receiver's; the thread that opened it may be another one.
  const std::uint64_t entry = shared_->opened(at).load(std::memory_order_acquire);
  group = static_cast<std::uint32_t>(entry);
  return entry >> 32 == round_;
}

std::uint64_t ChannelSender::claim(std::uint32_t group, std::uint64_t most, std::uint64_t& begin) noexcept {
  std::atomic<std::uint64_t>& word = shared_->claims(group);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    begin = seen & ChannelMemory::kPosition;
    const std::uint64_t n = std::min(most, group_end(group) - begin);
    // relaxed: only who moves what is decided here; the bytes have been there before.
    if (n == 0 || word.compare_exchange_weak(seen, seen + n, std::memory_order_relaxed)) return n;
  }
}

bool ChannelSender::claim_whole(std::uint32_t group) noexcept {
  const std::uint64_t begin = group * group_bytes_;
  std::uint64_t seen = ChannelMemory::claim_of(round_, begin);
  return shared_->claims(group).compare_exchange_strong(seen, seen - begin + group_end(group), std::memory_order_relaxed);
}

bool ChannelSender::push_opened() noexcept {
  bool moved = false;
  if (!meet() || shared_->direct) return moved;
  const bool placing = places();
  const std::uint64_t piece = placing ? Cell::placed_piece(length_) : shared_->shape.room_bytes;
  for (std::uint32_t group = 0; is_opened(next_opened_, group);) {
    if ((shared_->claims(group).load(std::memory_order_relaxed) & ChannelMemory::kPosition) == group_end(group)) {
      ++next_opened_;
      continue;
    }
    const std::uint64_t ticket = take_ticket(placing);
    if (ticket == kNone) {
      // Before this thread sleeps it looks once more, behind a barrier: so this one is seen, or the room.
      shared_->wants_room.store(1, std::memory_order_relaxed);
      break;
    }
    std::uint64_t begin = 0;
    std::uint64_t n = claim(group, piece, begin);
    // Small groups that follow each other go together.
    std::uint32_t next = 0;
    while (n > 0 && begin + n == group_end(group) && is_opened(next_opened_ + 1, next) && next == group + 1 &&
           group_end(next) - begin <= piece && claim_whole(next)) {
      group = next;
      n = group_end(group) - begin;
      ++next_opened_;
    }
    fill(readable_, ticket, begin, n, placing);
    if (n > 0) count(n);
    moved = true;
  }
  return moved;
}

bool ChannelSender::take_opened(std::uint64_t& begin, std::uint64_t& end) noexcept {
  std::uint32_t group = 0;
  if (!is_opened(next_opened_, group)) return false;
  ++next_opened_;
  begin = shared_->claims(group).load(std::memory_order_relaxed) & ChannelMemory::kPosition;
  end = group_end(group);
  return true;
}

}  // namespace plait::partitioned
