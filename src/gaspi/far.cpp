#include "gaspi/far.hpp"

#include "gaspi/group.hpp"
#include "gaspi/job.hpp"
#include "gaspi/one_sided.hpp"

namespace plait::gaspi::far {

void open(Job&) {}
void close(Job&) noexcept {}
bool in_use() noexcept { return false; }
void begin_use(Job&) {}
bool drive() noexcept { return false; }
gaspi_return_t write(Job&, Peer&, const Pieces&, const Notice&, std::uint8_t, const Deadline&) noexcept { return GASPI_ERROR; }
gaspi_return_t read(Job&, Peer&, const Pieces&, const Notice&, std::uint8_t, const Deadline&) noexcept { return GASPI_ERROR; }
bool flush(Job&, std::uint8_t, const Deadline&) noexcept { return true; }
gaspi_return_t atomic(Job&, Peer&, const AtomicCall&, gaspi_atomic_value_t&, const Deadline&) noexcept { return GASPI_ERROR; }
std::uint64_t segment_size(Peer&, std::uint32_t) noexcept { return kNoSegment; }
gaspi_return_t register_segment(Job&, std::uint32_t, Peer&, const Deadline&) noexcept { return GASPI_ERROR; }
void forget_segment(Job&, std::uint32_t) noexcept {}
void send(Job&, Peer&, const Letter&, std::span<const std::byte>) noexcept {}
void send_passive(Job&, Peer&, std::span<const std::byte>) noexcept {}
void acknowledge_passive(Job&, Peer&) noexcept {}
gaspi_return_t ping(Job&, Peer&, const Deadline&) noexcept { return GASPI_ERROR; }
void kill(Job&, Peer&) noexcept {}
void print(Job&, Peer&, std::span<const char>) noexcept {}

}  // namespace plait::gaspi::far
