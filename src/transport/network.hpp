// What lanes need of the network between nodes: records that travel in packets, and payloads that go straight from buffer to
// buffer. Implemented over the MPI (transport/packets.cpp); there is none where a job has one node. No MPI here.
//
// Any thread may use it. What arrives is handed to a Sink by whichever thread drives the network at that moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "progress/source.hpp"

namespace plait::transport {

/// One message or word of protocol between two processes.
struct Record {
  enum class Kind : std::uint16_t {
    kMessage,      ///< the payload follows
    kSynchronous,  ///< it follows too, and the sender waits for kFin
    kRts,          ///< the payload stays with the sender until kCts comes
    kCts,          ///< to the sender: the receive is posted in the MPI
    kFin,          ///< to the sender: that was all
    kOneSided,     ///< for the other sink: the payload follows, and records of one `source` keep their order. One may have a load
  };
  std::uint32_t bytes = 0;  ///< of payload behind the record
  Kind kind = Kind::kMessage;
  std::uint16_t channel = 0;  ///< kCts: on which it comes, and the payload is to go
  std::uint32_t target = 0;   ///< the receiver's number for the communicator; back to the sender: its operation's slot
  std::uint32_t source = 0;   ///< which endpoint of the communicator has sent
  std::int32_t tag = 0;
  std::int32_t process = 0;      ///< that it comes from
  std::uint64_t length = 0;      ///< kRts: of the message. kCts: what there is room for. kOneSided: of its load, or 0
  std::uint32_t operation = 0;   ///< the sender's slot
  std::int32_t payload_tag = 0;  ///< kCts: under which the payload is to be sent
};
static_assert(sizeof(Record) == 40);

/// Payloads up to this travel in packets.
inline constexpr std::size_t kPacketPayload = 16384;

/// Where what arrives goes.
struct Sink {
  void (*record)(const Record& record, const std::byte* payload);
  /// A payload has been moved; the operation's slot.
  void (*moved)(std::uint32_t operation, bool ok);
};

/// Records of kOneSided, and the ends of operations whose numbers have this bit, go to another sink than lanes' do. It may come and go;
/// what comes while there is none is dropped.
inline constexpr std::uint32_t kOneSidedOperation = std::uint32_t{1} << 31;
/// Of a transfer whose end nobody asks for.
inline constexpr std::uint32_t kNobodys = ~std::uint32_t{0};
extern std::atomic<const Sink*> one_sided_sink;

class Network : public progress::Source {
 public:
  virtual ~Network() = default;

  [[nodiscard]] virtual std::int32_t process() const noexcept = 0;

  /// Room for a record and its payload in what goes to `process` next; the caller fills the payload in and calls `end`.
  /// Null where too much waits to go already; with `must` only where there is no memory.
  [[nodiscard]] virtual std::byte* begin(std::int32_t process, const Record& record, bool must) noexcept = 0;
  virtual void end(std::int32_t process, const Record& record) noexcept = 0;

  /// Instead of end(): the record of kOneSided has a load, data that goes from memory to memory at once and is not waited for. Sink::moved
  /// says when it has left.
  virtual void end_with_load(std::int32_t process, const Record& record, const std::byte* from, std::uint32_t send) noexcept = 0;
  /// Where a record's load is to go, said by who takes the record, before it returns. Sink::moved says when it is there; to a null
  /// pointer: to nowhere, and nobody is told.
  virtual void take_load(const Record& record, std::byte* to, std::uint32_t receive) noexcept = 0;

  /// The receiver's side of a payload that was offered by `operation` there: receives into contiguous memory and tells the
  /// sender so. Sink::moved says when it is done.
  virtual void fetch(std::int32_t process, std::uint32_t operation, std::byte* to, std::uint64_t bytes, std::uint32_t receive) noexcept = 0;
  /// The sender's.
  virtual void provide(const Record& wanted, const std::byte* from, std::uint32_t send) noexcept = 0;

  /// Small messages may wait a moment for others to share their packet: sends them unless some have just been sent.
  virtual void nudge() noexcept = 0;
};

/// The one there is, or null. It stays.
extern std::atomic<Network*> network_in_use;
[[nodiscard]] inline Network* network() noexcept { return network_in_use.load(std::memory_order_acquire); }

/// One round of it, where there is one: sends what is to be sent and takes what has come.
inline bool drive_network() noexcept {
  Network* const n = network();
  return n && n->try_progress();
}

/// After a send: nothing is held back for long.
inline void nudge_network() noexcept {
  if (Network* const n = network()) n->nudge();
}

/// Packets that the MPI has not been given: relaxed, a hint for those that would not ask the network otherwise.
extern std::atomic<int> packets_in_line;
/// Sends what small messages were held back, before a call that may take long.
inline void flush_network() noexcept {
  if (packets_in_line.load(std::memory_order_relaxed) > 0) static_cast<void>(drive_network());
}

}  // namespace plait::transport
