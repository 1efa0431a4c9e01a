#include "partitioned/net_channel.hpp"

#include <algorithm>
#include <new>

#include "base/mpi_lock.hpp"
#include "transport/packets.hpp"

namespace plait::partitioned {

using transport::must_work;

namespace {

/// As far as the MPI lets us in.
bool has_ended(MPI_Request& request) noexcept {
  const MpiTryLock lock;
  int flag = 0;
  if (lock) must_work(PMPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  return flag != 0;
}

}  // namespace

Cut Cut::of(std::uint64_t bytes, std::uint64_t chunk) noexcept {
  constexpr std::uint64_t kMostChunks = 64;
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // counts are ints
  Cut cut;
  cut.units = std::max<std::uint64_t>(bytes, 1);
  cut.chunk = std::max(chunk, (cut.units + kMostChunks - 1) / kMostChunks);
  if (cut.chunk > chunk) cut.chunk = (cut.chunk + kPage - 1) / kPage * kPage;
  cut.chunk = std::min({cut.chunk, cut.units, kMostBytes});
  return cut;
}

// ---- sending

NetSender::NetSender(const lane::Memory& memory, const Cut& cut, const Route& route)
    : memory_(memory), cut_(cut), route_(route), chunks_(cut.chunks()) {
  for (std::uint32_t k = 0; memory.layout && k < cut.chunks(); ++k)
    chunks_[k].packed = std::make_unique_for_overwrite<std::byte[]>(cut.end(k) - cut.begin(k));
}

void NetSender::begin() noexcept {
  for (std::uint32_t k = 0; k < cut_.chunks(); ++k) {
    chunks_[k].left.store(cut_.end(k) - cut_.begin(k), std::memory_order_relaxed);
    chunks_[k].state.store(kFilling, std::memory_order_relaxed);
  }
  sent_.store(0, std::memory_order_relaxed);
}

void NetSender::ready(std::uint64_t begin, std::uint64_t end) noexcept {
  for (auto k = static_cast<std::uint32_t>(begin / cut_.chunk); begin < end; ++k) {
    const std::uint64_t n = std::min(end, cut_.end(k)) - begin;
    begin += n;
    // release: our bytes; acquire: the other threads', if we are the last.
    if (chunks_[k].left.fetch_sub(n, std::memory_order_acq_rel) != n) continue;
    // Until its state changes the chunk is this thread's. Then the round may end, and with the last chunk this object.
    if (const MpiTryLock lock; lock) {
      start(k);
    } else {
      // release: what we have acquired, for the one that sends.
      chunks_[k].state.store(kReady, std::memory_order_release);
    }
  }
}

/// Hands a chunk that is complete to the MPI, which lets us in.
void NetSender::start(std::uint32_t k) noexcept {
  Chunk& c = chunks_[k];
  const std::uint64_t begin = cut_.begin(k);
  const std::uint64_t end = std::min(cut_.end(k), memory_.bytes);
  const std::byte* from = memory_.at + begin;
  if (c.packed) {
    if (end > begin) lane::pack(memory_, begin, c.packed.get(), end - begin);
    from = c.packed.get();
  }
  must_work(
      PMPI_Isend(from, static_cast<int>(end - begin), MPI_BYTE, route_.process, route_.tag + static_cast<int>(k), route_.comm, &c.request));
  // release: the request. The last that is done with the chunk here.
  c.state.store(kUnderWay, std::memory_order_release);
}

/// One that could not be handed over when it was ready; true if it has been now.
bool NetSender::start_late(std::uint32_t k) noexcept {
  const MpiTryLock lock;
  if (!lock) return false;
  start(k);
  return true;
}

bool NetSender::step() noexcept {
  bool moved = false;
  for (std::uint32_t k = 0; k < cut_.chunks(); ++k) {
    Chunk& c = chunks_[k];
    // acquire: the request, or the bytes.
    const State state = c.state.load(std::memory_order_acquire);
    if (state == kReady) moved |= start_late(k);
    if (state != kUnderWay || !has_ended(c.request)) continue;
    c.state.store(kSent, std::memory_order_relaxed);
    sent_.fetch_add(1, std::memory_order_release);
    moved = true;
  }
  return moved;
}

// ---- receiving

NetReceiver::NetReceiver(const lane::Memory& memory, std::uint64_t bytes, const Cut& cut, const Route& route)
    : memory_(memory), bytes_(bytes), cut_(cut), route_(route), requests_(cut.chunks(), MPI_REQUEST_NULL) {
  waiting_.reserve(cut.chunks());
  // What does not fit into the buffer, or not as it comes, is received beside it.
  if (memory.layout || bytes > memory.bytes) staging_ = std::make_unique_for_overwrite<std::byte[]>(cut.units);
}

/// Of a message that was taken back, receives may be posted.
NetReceiver::~NetReceiver() {
  if (!posted_ || waiting_.empty()) return;
  const MpiLock gate;
  for (const std::uint32_t k : waiting_) {
    PMPI_Cancel(&requests_[k]);
    PMPI_Wait(&requests_[k], MPI_STATUS_IGNORE);
  }
}

std::uint64_t NetReceiver::bytes_of(std::uint32_t k) const noexcept { return std::min(cut_.end(k), bytes_) - cut_.begin(k); }

void NetReceiver::begin() {
  for (std::uint32_t k = 0; k < cut_.chunks(); ++k) waiting_.push_back(k);
  posted_ = false;
  static_cast<void>(post());
}

/// As far as the MPI lets us in; else the next step does.
bool NetReceiver::post() noexcept {
  if (posted_) return true;
  const MpiTryLock lock;
  if (!lock) return false;
  for (std::uint32_t k = 0; k < cut_.chunks(); ++k) {
    std::byte* const to = (staging_ ? staging_.get() : memory_.at) + cut_.begin(k);
    must_work(PMPI_Irecv(to, static_cast<int>(bytes_of(k)), MPI_BYTE, route_.process, route_.tag + static_cast<int>(k), route_.comm,
                         &requests_[k]));
  }
  next_ = 0;
  return posted_ = true;
}

NetReceiver::Piece NetReceiver::step() noexcept {
  if (!post()) return {0, 0};
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (++next_ >= waiting_.size()) next_ = 0;
    const std::uint32_t k = waiting_[next_];
    if (!has_ended(requests_[k])) continue;
    waiting_[next_] = waiting_.back();
    waiting_.pop_back();
    const std::uint64_t begin = cut_.begin(k);
    const std::uint64_t end = std::min({cut_.end(k), bytes_, memory_.bytes});
    if (staging_ && end > begin) lane::unpack(staging_.get() + begin, memory_, begin, end - begin);
    return {begin, cut_.end(k) - begin};
  }
  return {0, 0};
}

}  // namespace plait::partitioned
