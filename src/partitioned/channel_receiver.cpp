#include "partitioned/channel_receiver.hpp"

#include <algorithm>
#include <system_error>

#include "base/clock.hpp"
#include "base/delay.hpp"
#include "lane/peer_memory.hpp"
#include "partitioned/doorbell.hpp"

namespace plait::partitioned {
namespace {

/// How long the receiver waits before it fetches opened groups: a sender that waits pushes them, twice as fast as they can be fetched.
constexpr std::uint64_t kPatience = 20'000;  // ns
/// How much is fetched at a time: so much leaves a part to the sender, if it comes.
constexpr std::uint64_t kFetch = 262144;

}  // namespace

std::unique_ptr<ChannelReceiver> ChannelReceiver::attach(const Source& source) {
  lane::Node& node = lane::Node::get();
  if (!node.attach(source.region)) return nullptr;
  auto& shared = *static_cast<ChannelMemory*>(node.at({source.region.id(), source.offset}));
  return std::unique_ptr<ChannelReceiver>(new ChannelReceiver(source, shared));
}

ChannelReceiver::ChannelReceiver(const Source& source, ChannelMemory& shared) noexcept
    : source_(source), shared_(&shared), bell_(&Doorbell::at(shared.sender_bell)), head_(shared.consumed.load(std::memory_order_relaxed)) {}

bool ChannelReceiver::same_process() const noexcept { return source_.region.id() == lane::Node::get().region_id(); }

void ChannelReceiver::match(const lane::Memory& to, std::uint64_t part_bytes, bool direct) {
  to_ = &to;
  shared_->part_bytes = part_bytes;
  shared_->receiver = lane::Node::get().region().name();
  shared_->receiver_bell = Doorbell::get().address();
  shared_->direct = direct && same_process() ? 1 : 0;
  if (!shared_->direct && !window_ && source_.buffer.heap.file >= 0) {
    try {
      window_.emplace(source_.buffer, source_.bytes);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): then it is read otherwise
    }
  }
  shared_->buffer = to.layout ? SharedHeap::Place{} : SharedHeap::get().find(to.at, to.bytes);
  shared_->buffer_bytes = to.bytes;
  delay();
  // release: all of these.
  shared_->state.store(ChannelMemory::kMatched, std::memory_order_release);
  bell_->notify();
}

/// How many of the units are bytes that fit into the buffer.
std::uint64_t ChannelReceiver::clipped(std::uint64_t begin, std::uint64_t units) const noexcept {
  const std::uint64_t end = std::min({begin + units, source_.bytes, to_->bytes});
  return end > begin ? end - begin : 0;
}

// ---- cells

/// Is that cell filled, for this round? One with nothing in it is of any: it may be left from a round that ended without it.
bool ChannelReceiver::has_come(std::uint64_t ticket) const noexcept {
  const Cell& cell = shared_->cell(ticket);
  // acquire: pairs with ChannelSender::fill.
  return cell.turn.load(std::memory_order_acquire) == ticket + 1 && (cell.round == round_ || cell.units == 0);
}

/// Its units, as far as there are any, are in the buffer then.
std::uint64_t ChannelReceiver::empty(std::uint64_t ticket, std::uint64_t& begin) noexcept {
  const Cell& cell = shared_->cell(ticket);
  const std::uint64_t units = cell.units & ~Cell::kPlaced;
  begin = cell.begin;
  const std::uint64_t n = (cell.units & Cell::kPlaced) != 0 ? 0 : clipped(begin, units);
  if (n > 0) lane::unpack(shared_->data(ticket, units), *to_, begin, n);
  return units;
}

/// Tells the sender which cells it may fill again.
void ChannelReceiver::report() noexcept {
  for (; taken_ & 1; taken_ >>= 1) ++head_;
  delay();
  // release: we have read the cells.
  shared_->consumed.store(head_, std::memory_order_release);
  // A word that is missed costs no more than the sender's doze.
  if (shared_->wants_room.load(std::memory_order_relaxed) != 0) bell_->notify();
}

/// The units of the next cell, emptied; 0 if there is none, or it is of another round.
std::uint64_t ChannelReceiver::next_cell(std::uint64_t& begin) noexcept {
  for (;;) {
    if (!has_come(head_)) return 0;
    const std::uint64_t units = empty(head_, begin);
    taken_ |= 1;
    report();
    if (units > 0) return units;
  }
}

/// Threads fill cells at the same time, and one that is held up must not keep the others' pieces.
std::uint64_t ChannelReceiver::late_cell(std::uint64_t& begin) noexcept {
  for (std::uint32_t i = 1; i < shared_->shape.cells; ++i) {
    if ((taken_ >> i & 1) || !has_come(head_ + i)) continue;
    taken_ |= std::uint64_t{1} << i;
    if (const std::uint64_t units = empty(head_ + i, begin)) return units;
  }
  return 0;
}

// ---- what was opened

bool ChannelReceiver::may_pull() noexcept {
  if (shared_->direct) return true;
  // acquire: pairs with ChannelSender::open.
  if (next_opened_ >= shared_->shape.groups || shared_->opened(next_opened_).load(std::memory_order_acquire) >> 32 != round_) return false;
  if (source_.address == 0 || !may_read_) return false;
  if (shared_->pushing.load(std::memory_order_relaxed) != 0) {
    if (quiet_ <= 2 * kRoundsToOthers) since_ = now();
    if (now() - since_ < kPatience) return false;
  }
  if (has_read_ || window_ || same_process()) return true;
  const lane::Access access = lane::access_to(source_.region.pid, source_.address);
  has_read_ = may_read_ = access == lane::Access::allowed;
  lost_ = access == lane::Access::gone;
  return may_read_;
}

/// Claims what was opened, as much as is fetched at once, and fetches it.
std::size_t ChannelReceiver::pull(std::span<Piece> pieces) noexcept {
  std::size_t n = 0;
  std::uint64_t left = kFetch;
  while (n < pieces.size() && left > 0 && next_opened_ < shared_->shape.groups) {
    // acquire: the claim, the end and, in the same process, the bytes.
    const std::uint64_t entry = shared_->opened(next_opened_).load(std::memory_order_acquire);
    if (entry >> 32 != round_) break;
    const auto group = static_cast<std::uint32_t>(entry);
    std::atomic<std::uint64_t>& claim = shared_->claims(group);
    std::uint64_t seen = claim.load(std::memory_order_relaxed);
    const std::uint64_t begin = seen & ChannelMemory::kPosition;
    const bool current = seen >> ChannelMemory::kRoundShift == (round_ & 0xFFFF);
    // acquire: then the claim is of the same round or a later one.
    const std::uint64_t end = current ? shared_->ends(group).load(std::memory_order_acquire) : begin;
    const std::uint64_t units = std::min(left, end - begin);
    if (units == 0 || end < begin) {
      ++next_opened_;
      continue;
    }
    // relaxed: only who moves what is decided here.
    if (!claim.compare_exchange_weak(seen, seen + units, std::memory_order_relaxed)) continue;
    left -= units;
    if (n > 0 && pieces[n - 1].begin + pieces[n - 1].units == begin) {
      pieces[n - 1].units += units;
    } else {
      pieces[n++] = {begin, units};
    }
  }
  if (n > 0 && !fetch(pieces.first(n))) lost_ = true;
  return n;
}

void ChannelReceiver::end_pull(std::span<const Piece> pieces, std::size_t n) noexcept {
  std::uint64_t units = 0;
  for (const Piece& p : pieces.first(n)) units += p.units;
  delay();
  // release: we have read the sender's buffer. Only we write the word.
  shared_->pulled.store(shared_->pulled.load(std::memory_order_relaxed) + units, std::memory_order_release);
}

bool ChannelReceiver::fetch(std::span<const Piece> pieces) noexcept {
  if (shared_->direct) {
    const auto& from = *reinterpret_cast<const lane::Memory*>(shared_->source);  // NOLINT(performance-no-int-to-ptr): it was one
    for (const Piece& p : pieces) lane::copy(from, *to_, p.begin, clipped(p.begin, p.units));
    return true;
  }
  if (window_) {
    for (const Piece& p : pieces) {
      const std::uint64_t bytes = clipped(p.begin, p.units);
      if (bytes > 0) lane::unpack(window_->data() + p.begin, *to_, p.begin, bytes);
    }
    return true;
  }
  std::array<lane::Part, kPieces> parts;
  std::size_t n = 0;
  for (const Piece& p : pieces) parts[n++] = {p.begin, clipped(p.begin, p.units)};
  return lane::read_peer(source_.region.pid, source_.address, *to_, std::span(parts).first(n));
}

}  // namespace plait::partitioned
