#include "partitioned/sender.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "base/delay.hpp"
#include "partitioned/doorbell.hpp"

namespace plait::partitioned {
namespace {

constexpr std::uint64_t kWord = 64;
/// Partitions smaller than this go together: so many bytes are copied in the time it takes to hand a piece over.
constexpr std::uint64_t kGroupBytes = 4096;

constexpr std::uint64_t words(std::uint64_t bits) noexcept { return (bits + kWord - 1) / kWord; }
/// Bits [low, high] of a word.
constexpr std::uint64_t mask_of(std::uint64_t low, std::uint64_t high) noexcept {
  return (~std::uint64_t{0} << low) & (~std::uint64_t{0} >> (kWord - 1 - high));
}

/// As few partitions to a group as the channel has room for; with that many groups a receiver sees each partition by itself.
std::uint32_t least_group(std::uint64_t partitions) noexcept {
  std::uint32_t group = 1;
  while ((partitions + group - 1) / group > kMostGroups) group *= 2;
  return group;
}

std::uint64_t granule_of(std::uint64_t bytes) noexcept {
  return std::max(kGroupBytes, std::bit_ceil((bytes + kMostGroups - 1) / kMostGroups));
}

/// Of the bits in `mask`, set now: those of groups of so many that are complete by them.
std::uint64_t whole_groups(std::uint64_t before, std::uint64_t mask, std::uint32_t size) noexcept {
  if (size == 1) return mask;
  std::uint64_t whole = 0;
  const std::uint64_t after = before | mask;
  for (std::uint64_t at = static_cast<std::uint64_t>(std::countr_zero(mask)) / size * size; at < kWord && mask >> at != 0; at += size) {
    const std::uint64_t group = mask_of(at, at + size - 1);
    if ((mask & group) != 0 && (after & group) == group) whole |= group;
  }
  return whole;
}

}  // namespace

Sender::Sender(Side side, std::optional<Ranges> ranges)
    : side_(std::move(side)),
      ranges_(ranges),
      elements_(ranges ? ranges->elements : static_cast<std::uint64_t>(side_.partitions)),
      part_bytes_(side_.part_bytes()),
      bits_(words(elements_)) {
  const auto partitions = static_cast<std::uint64_t>(side_.partitions);
  group_ = least_group(partitions);
  std::uint64_t groups = std::max<std::uint64_t>((partitions + group_ - 1) / group_, 1);
  if (adds()) {
    granule_ = granule_of(side_.memory.bytes);
    groups = std::max<std::uint64_t>((side_.memory.bytes + granule_ - 1) / granule_, 1);
    added_ = std::vector<std::atomic<std::uint64_t>>(groups);
  }
  if (side_.nobody()) return;
  if (adds()) {  // pages that are never written take no memory
    room_ = std::make_unique_for_overwrite<std::byte[]>(std::max<std::uint64_t>(side_.memory.bytes, 1));
    staging_.at = room_.get();
    staging_.bytes = side_.memory.bytes;
  }
  channel_ = std::make_unique<ChannelSender>(side_.memory, static_cast<std::uint32_t>(groups), readable());
}

/// Partitions go together as far as no receiver's partition has to wait for another's bytes.
std::uint32_t Sender::group_for(std::uint64_t part) const noexcept {
  std::uint32_t group = least_group(static_cast<std::uint64_t>(side_.partitions));
  while (group < kWord && 2 * group * part_bytes_ <= kGroupBytes && (part == 0 || part % (2 * group * part_bytes_) == 0)) group *= 2;
  return group;
}

void Sender::start() noexcept {
  const std::lock_guard guard(busy_);  // as in step(): another thread may look whether there is something to do
  begin();
}

void Sender::begin() noexcept {
  ++round_;
  taken_.store(0, std::memory_order_relaxed);
  shares_.store(0, std::memory_order_relaxed);
  rest_added_.store(false, std::memory_order_relaxed);
  for (auto& word : bits_) word.store(0, std::memory_order_relaxed);
  for (auto& bytes : added_) bytes.store(0, std::memory_order_relaxed);
  if (elements_ % kWord != 0) bits_.back().store(mask_of(elements_ % kWord, kWord - 1), std::memory_order_relaxed);
  if (side_.nobody()) return;
  settle();
  if (adds()) {
    counted_ = true;
    undelivered.fetch_add(1, std::memory_order_relaxed);
  }
  if (between_nodes()) {
    owned_net_->begin();
  } else if (!adds() && channel_->matched() && part_bytes_ > 0) {
    group_ = group_for(channel_->receiver_part());
  }
  channel_->begin(round_, adds() ? granule_ : group_ * part_bytes_);
  if (side_.memory.bytes > 0) return;
  left_.store(elements_, std::memory_order_relaxed);
  if (elements_ == 0) complete(0, 1);
}

// ---- any thread

// Once a thread has handed over its part, by its last read-modify-write, another one may end the round, and then this object. What is
// needed after that is read before.

bool Sender::ready(int low, int high) noexcept {
  const auto first = static_cast<std::uint64_t>(low);
  const auto last = static_cast<std::uint64_t>(high);
  const bool empty = side_.memory.bytes == 0;
  const std::uint32_t group = group_;
  bool once = true;
  std::uint64_t run = 0;  // complete partitions [run, end) that are not on their way yet
  std::uint64_t run_end = 0;
  std::uint64_t marked = 0;
  for (std::uint64_t w = first / kWord; w <= last / kWord && once; ++w) {
    std::uint64_t mask = mask_of(w == first / kWord ? first % kWord : 0, w == last / kWord ? last % kWord : kWord - 1);
    // release: what was written into these partitions; acquire: into others of their groups, if these are the last.
    const std::uint64_t before = bits_[w].fetch_or(mask, std::memory_order_acq_rel);
    once = (before & mask) == 0;
    delay();
    mask &= ~before;
    marked += static_cast<std::uint64_t>(std::popcount(mask));
    for (std::uint64_t whole = whole_groups(before, mask, group); whole != 0;) {
      const auto at = static_cast<std::uint64_t>(std::countr_zero(whole));
      const auto n = static_cast<std::uint64_t>(std::countr_one(whole >> at));
      if (run_end != w * kWord + at) {
        complete_partitions(run, run_end);
        run = w * kWord + at;
      }
      run_end = w * kWord + at + n;
      whole &= ~mask_of(at, at + n - 1);
    }
  }
  complete_partitions(run, run_end);
  if (empty) count_down(marked);
  return once;
}

void Sender::complete_partitions(std::uint64_t first, std::uint64_t end) noexcept {
  // A group at the end counts partitions that are not there.
  if (first < end && part_bytes_ > 0) complete(first * part_bytes_, std::min(end * part_bytes_, side_.memory.bytes));
}

/// acq_rel as in ready(), for the order alone: there are no bytes.
void Sender::count_down(std::uint64_t n) noexcept {
  if (n > 0 && left_.fetch_sub(n, std::memory_order_acq_rel) == n) complete(0, 1);
}

void Sender::complete(std::uint64_t begin, std::uint64_t end) noexcept {
  if (side_.nobody()) return;
  // acquire: the NetSender as it was made. Where it comes this moment, the groups are opened and step() finds them.
  const std::uint64_t all = std::max<std::uint64_t>(side_.memory.bytes, 1);
  const bool counts = adds();
  if (NetSender* const net = net_.load(std::memory_order_acquire)) {
    if (counts) stage(side_.memory, staging_, begin, end);
    net->ready(begin, end);
  } else {
    channel_->send(begin, end);
  }
  // release: we have read the buffer. The last of these calls ends the round; then this object may be gone.
  if (counts && taken_.fetch_add(end - begin, std::memory_order_release) + end - begin == all) Doorbell::get().ring();
}

/// Two threads that add the same at the same time may both pass here: inside a word that a range covers as a whole there is no
/// read-modify-write. They are caught, later, by the granule's count.
bool Sender::mark(std::uint64_t first, std::uint64_t end) noexcept {
  for (std::uint64_t at = first; at < end;) {
    const std::uint64_t w = at / kWord;
    const std::uint64_t next = std::min(end, (w + 1) * kWord);
    const std::uint64_t mask = mask_of(at % kWord, (next - 1) % kWord);
    const bool whole = mask == ~std::uint64_t{0};
    // relaxed: the bytes are handed over by added_.
    const std::uint64_t before = whole ? bits_[w].load(std::memory_order_relaxed) : bits_[w].fetch_or(mask, std::memory_order_relaxed);
    if (before & mask) {
      if (!whole) bits_[w].fetch_and(before | ~mask, std::memory_order_relaxed);
      unmark(first, at);
      return false;
    }
    if (whole) bits_[w].store(mask, std::memory_order_relaxed);
    at = next;
  }
  return true;
}

void Sender::unmark(std::uint64_t first, std::uint64_t end) noexcept {
  for (std::uint64_t at = first; at < end;) {
    const std::uint64_t next = std::min(end, (at / kWord + 1) * kWord);
    bits_[at / kWord].fetch_and(~mask_of(at % kWord, (next - 1) % kWord), std::memory_order_relaxed);
    at = next;
  }
}

bool Sender::add(std::uint64_t first, std::uint64_t count) noexcept {
  if (count == 0) return true;
  if (!mark(first, first + count)) return false;
  const std::uint64_t bytes = side_.memory.bytes;
  const std::uint64_t granule = granule_;
  const std::uint64_t each = bytes / elements_;
  if (each == 0) {
    count_down(count);
    return true;
  }
  const std::uint64_t end = (first + count) * each;
  std::uint64_t run = 0;
  std::uint64_t run_end = 0;
  for (std::uint64_t at = first * each; at < end;) {
    const std::uint64_t g = at / granule;
    const std::uint64_t start = g * granule;
    const std::uint64_t limit = std::min(start + granule, bytes);
    const std::uint64_t n = std::min(end, limit) - at;
    at += n;
    // release: the bytes; acquire: the others', if these are the granule's last.
    const std::uint64_t sum = added_[g].fetch_add(n, std::memory_order_acq_rel) + n;
    if (sum > limit - start) return false;
    if (sum < limit - start) continue;
    if (run_end != start) {
      if (run < run_end) complete(run, run_end);
      run = start;
    }
    run_end = limit;
  }
  if (run < run_end) complete(run, run_end);
  return true;
}

/// The part itself comes last: the round may be over then.
bool Sender::add_share(std::uint64_t first, std::uint64_t count) noexcept {
  const std::uint64_t rest = ranges_->rest();
  if (rest == 0) return add(first, count);
  const int threads = ranges_->threads;
  // acquire: what the others have written; release: what we have.
  const bool last = shares_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads;
  delay();
  // relaxed: who adds the rest is decided here, no more.
  const bool adds_rest = last && !rest_added_.exchange(true, std::memory_order_relaxed);
  const bool rest_refused = adds_rest && !add(elements_ - rest, rest);
  if (!rest_refused && add(first, count)) return true;
  if (rest_refused) rest_added_.store(false, std::memory_order_relaxed);
  // As if it had not been called: another call has to be the last.
  shares_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

int Sender::readied() const noexcept {
  int n = 0;
  for (const auto& word : bits_) n += std::popcount(word.load(std::memory_order_relaxed));
  return n - static_cast<int>(bits_.size() * kWord - elements_);
}

// ---- moving on

bool Sender::step() noexcept {
  const std::unique_lock guard(busy_, std::try_to_lock);
  if (side_.nobody() || !guard) return false;
  bool moved = false;
  if (NetSender* const net = net_.load(std::memory_order_acquire)) {
    // What was ready before it was known.
    for (std::uint64_t begin = 0, end = 0; channel_->take_opened(begin, end); moved = true) net->ready(begin, end);
    moved |= net->step();
  } else {
    moved = channel_->push_opened();
  }
  settle();
  return moved;
}

/// Under the lock.
void Sender::settle() noexcept {
  if (!counted_ || !delivered()) return;
  counted_ = false;
  undelivered.fetch_sub(1, std::memory_order_relaxed);
}

void Sender::end() noexcept {
  const std::lock_guard guard(busy_);
  settle();
}

bool Sender::done() const noexcept {
  if (!adds() || side_.nobody()) return delivered();
  // acquire: whoever copied has read the buffer.
  return taken_.load(std::memory_order_acquire) == std::max<std::uint64_t>(side_.memory.bytes, 1);
}

bool Sender::delivered() const noexcept {
  if (side_.nobody() || round_ == 0) return true;
  const NetSender* const net = net_.load(std::memory_order_acquire);
  return net ? net->done() : channel_->done();
}

void Sender::go_by_net(std::unique_ptr<NetSender> net) noexcept {
  net->begin();
  owned_net_ = std::move(net);
  channel_->leave();  // nobody will look there
  net_.store(owned_net_.get(), std::memory_order_release);
}

}  // namespace plait::partitioned
