// The receiving side of a partitioned message: what of it has arrived.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/spinlock.hpp"
#include "partitioned/channel_receiver.hpp"
#include "partitioned/net_channel.hpp"
#include "partitioned/side.hpp"

namespace plait::partitioned {

/// What two processes tell each other of a partitioned message.
struct ControlMessage {
  enum class Kind : std::uint32_t {
    offer,     ///< to the receiver: there is a message
    withdraw,  ///< to the receiver: it was freed and never started
    answer,    ///< to the sender: the receiver is on another node, with this cut and tag
    released,  ///< to the sender: nobody looks at the message any more
  };
  Kind kind = Kind::offer;
  std::uint32_t number = 0;  ///< the sender's
  std::int32_t from = 0;     ///< process
  std::int32_t tag = 0;      ///< of the message; answer: of its first chunk
  std::uint64_t comm = 0;
  std::uint64_t node = 0;
  std::uint64_t chunk = 0;
  ChannelReceiver::Source source;

  [[nodiscard]] Key key() const noexcept { return {comm, from, tag}; }
};

/// A message that is there, and the way it comes.
struct Offer {
  ControlMessage message;
  std::unique_ptr<ChannelReceiver> channel;
  std::unique_ptr<NetReceiver> net;
};

class Receiver {
 public:
  explicit Receiver(Side side);

  [[nodiscard]] const Side& side() const noexcept { return side_; }
  [[nodiscard]] Key key() const noexcept { return {side_.comm_id->id, side_.process, side_.tag}; }

  void start();
  [[nodiscard]] bool started() const noexcept { return round_ > 0; }
  /// A round of work, unless another thread is at it; true if something moved.
  bool step() noexcept;
  [[nodiscard]] bool done() const noexcept {
    // acquire: the message.
    return done_.load(std::memory_order_acquire);
  }
  /// Any thread.
  [[nodiscard]] bool arrived(int partition) const noexcept;
  void set_polled(bool here) noexcept;

  /// Of one that is done: bytes received, and MPI's error class.
  [[nodiscard]] std::uint64_t received() const noexcept;
  [[nodiscard]] int error() const noexcept;

  // ---- for the engine, which excludes other calls of these

  [[nodiscard]] bool matched() const noexcept { return matched_.load(std::memory_order_acquire); }
  /// It is not sure that its message will come: the sender may take it back.
  [[nodiscard]] bool unsure() const noexcept { return !sure_.load(std::memory_order_relaxed); }
  void match(std::unique_ptr<Offer> offer);
  [[nodiscard]] Offer* offer() noexcept { return offer_.get(); }
  /// Null if some of it has come.
  [[nodiscard]] std::unique_ptr<Offer> unmatch() noexcept;

  std::uint64_t order = 0;  ///< in which they were made

 private:
  void begin();
  void take(std::uint64_t begin, std::uint64_t units) noexcept;

  Side side_;
  std::uint64_t part_bytes_;
  std::uint32_t round_ = 0;
  std::unique_ptr<Offer> offer_;
  std::uint64_t units_ = 0;                        ///< that the message has
  std::uint64_t received_ = 0;                     ///< units of this round
  std::vector<std::atomic<std::uint64_t>> parts_;  ///< bytes of each partition that have come; none where there is one
  Spinlock busy_;                                  ///< one thread at a time looks at what comes
  std::atomic<bool> active_{false}, done_{false}, matched_{false};
  std::atomic<bool> sure_;
};

}  // namespace plait::partitioned
