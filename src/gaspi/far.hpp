// What is far, by messages of plait's network. Any thread.
//
// What a queue is given for a rank is gathered into a batch: a sequence of commands, each with its data. A batch is one record of the
// network; those of one queue travel on one channel, so that they are carried out in order. Large data goes from memory to memory
// instead, and notifications that follow it in its queue are held back until it is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/GASPI.h"

namespace plait::gaspi {

struct Job;
struct Peer;
struct Letter;
struct Pieces;
struct Notice;
struct AtomicCall;
class Deadline;

namespace far {

/// With a job that begins; and at its end, when what it has gathered is sent.
void open(Job& job);
void close(Job& job) noexcept;

/// Waits in a node look at the network every so many rounds.
inline constexpr unsigned kRounds = 4;

/// Is there anything that moves only when it is driven?
[[nodiscard]] bool in_use() noexcept;
/// From now on there is, in a job on one node, too.
void begin_use(Job& job);
/// One round: sends what is gathered, takes what has come. True if something moved.
bool drive() noexcept;

// ---- one-sided calls; their arguments are right. GASPI_TIMEOUT: nothing was posted

[[nodiscard]] gaspi_return_t write(Job& job, Peer& peer, const Pieces& pieces, const Notice& notice, std::uint8_t queue,
                                   const Deadline& deadline) noexcept;
[[nodiscard]] gaspi_return_t read(Job& job, Peer& peer, const Pieces& pieces, const Notice& notice, std::uint8_t queue,
                                  const Deadline& deadline) noexcept;
/// Sends what a queue has gathered. False where the time was over.
[[nodiscard]] bool flush(Job& job, std::uint8_t queue, const Deadline& deadline) noexcept;
[[nodiscard]] gaspi_return_t atomic(Job& job, Peer& peer, const AtomicCall& call, gaspi_atomic_value_t& old,
                                    const Deadline& deadline) noexcept;

// ---- segments

inline constexpr std::uint64_t kNoSegment = ~std::uint64_t{0};
/// Of one that a far rank has registered here.
[[nodiscard]] std::uint64_t segment_size(Peer& peer, std::uint32_t segment) noexcept;
/// Registers one of this process's; GASPI_TIMEOUT until the rank has answered: to be called again.
[[nodiscard]] gaspi_return_t register_segment(Job& job, std::uint32_t segment, Peer& peer, const Deadline& deadline) noexcept;
/// One of this process's is gone.
void forget_segment(Job& job, std::uint32_t segment) noexcept;

// ---- others

void send(Job& job, Peer& to, const Letter& letter, std::span<const std::byte> data) noexcept;
void send_passive(Job& job, Peer& to, std::span<const std::byte> data) noexcept;
void acknowledge_passive(Job& job, Peer& from) noexcept;
[[nodiscard]] gaspi_return_t ping(Job& job, Peer& peer, const Deadline& deadline) noexcept;
void kill(Job& job, Peer& peer) noexcept;
void print(Job& job, Peer& peer, std::span<const char> text) noexcept;

}  // namespace far
}  // namespace plait::gaspi
