// Messages that are put on a queue: persistent operations of the endpoint's, started when the queue has come to them. What lies in a
// device's memory goes through host memory, copied by the device before a send and after a receive.
#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "p2p/operation_request.hpp"
#include "p2p/persistent.hpp"
#include "p2p/status.hpp"
#include "p2p/types.hpp"
#include "queue/communicator.hpp"
#include "queue/place.hpp"
#include "queue/staging.hpp"
#include "transport/packets.hpp"

namespace plait::queue {
namespace {

class MessageStep final : public Step {
 public:
  MessageStep(Communicator& c, const Message& m, bool is_send, bool holds_up, MPI_Status* status, const char* call)
      : Step(holds_up, call), inner_(c.inner), queue_(c.queue), is_send_(is_send), asked_(status) {
    if (is_send && c.queue->device()) turns_ = c.sends;
    Device* const device = queue_->device();
    const lane::Memory memory = m.envelope.rank == MPI_PROC_NULL ? lane::Memory{} : p2p::message_memory(m.buffer, m.count, m.type);
    const Place place = place_of(device, memory);
    const void* buffer = m.buffer;
    MPI_Count count = m.count;
    MPI_Datatype type = m.type;
    if (place == Place::device) {
      staging_.emplace(*queue_, memory);
      buffer = staging_->host();
      count = static_cast<MPI_Count>(staging_->bytes());
      type = MPI_BYTE;
    } else if (is_send && device && memory.bytes > 0 && queue_->idle() && device->is_pageable(first_byte(memory))) {
      take_data(memory);
      buffer = taken_.get();
      count = static_cast<MPI_Count>(taken_bytes_);
      type = MPI_BYTE;
    }
    request_ = is_send ? &p2p::send_init(*inner_, 0, buffer, count, type, m.envelope, p2p::Mode::standard)
                       : &p2p::receive_init(*inner_, 0, const_cast<void*>(buffer), count, type, m.envelope);  // NOLINT: it was given so
  }
  ~MessageStep() override { request_->kind->free(*request_); }

  void put_before() override {
    // Also of a receive: a message that is shorter than the buffer leaves the rest as it is.
    if (by_queue()) staging_->put_to_host();
  }
  void put_behind() override {
    if (puts_behind()) staging_->put_to_device();
  }
  [[nodiscard]] bool puts_behind() const noexcept override { return by_queue() && !is_send_; }
  void finish_here() override {
    if (by_queue() && !is_send_ && received_ > 0) staging_->copy_now(received_);
  }
  [[nodiscard]] bool any_thread() const noexcept override { return !queue_->device(); }
  // Where the MPI lets in one thread at a time, a message to another node waits for others.
  [[nodiscard]] bool light() const noexcept override { return !staging_ && (!mpi_lock_needed() || !transport::network()); }
  [[nodiscard]] progress::Waiter* waiter() const noexcept override { return &inner_->locals[0].endpoint->waiter(); }
  [[nodiscard]] std::string waits_for() const override {
    std::string text;
    request_->kind->describe(*request_, text);
    return text;
  }
  [[nodiscard]] std::uint64_t communicator() const noexcept override { return p2p::to_bits(inner_->handle); }
  void write_status(MPI_Status* status) const noexcept override {
    if (!p2p::wants(status)) return;
    const int error = status->MPI_ERROR;
    *status = status_;
    status->MPI_ERROR = error;
  }

 private:
  void do_begin() override {
    error_ = MPI_SUCCESS;
    phase_ = Phase::copying_in;
    if (turns_) turn_ = turns_->take();
    in_turn([&] {
      if (is_send_ && by_engine()) {
        staging_->to_host();
      } else if (may_start()) {
        start();
      }
    });
  }

  bool do_advance() override {
    if (phase_ == Phase::copying_in) {
      in_turn([&] {
        if ((!is_send_ || !by_engine() || staging_->is_over()) && may_start()) start();
      });
      if (phase_ == Phase::copying_in) return false;
    }
    if (phase_ == Phase::travelling) {
      if (!arrived()) return false;
      received_ = std::min(p2p::as_operation_of(*request_).received, staging_ ? staging_->bytes() : 0);
      error_ = request_->kind->retire(*request_, &status_);
      phase_ = Phase::copying_out;
      if (!is_send_ && by_engine() && received_ > 0) staging_->to_device(received_);
    }
    if (by_engine() && !staging_->is_over()) return false;
    if (asked_) write_status(asked_);
    if (error_ != MPI_SUCCESS) throw MPIError{error_, false};
    return true;
  }

  void do_withdraw() noexcept override { p2p::set_status(&status_, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, true); }
  void do_cancel() noexcept override {
    // Of a receive that no message has been found for. A send is not taken back.
    if (phase_ == Phase::travelling) static_cast<void>(request_->kind->cancel(*request_));
  }

  [[nodiscard]] bool arrived() const noexcept {
    if (request_->kind->done(*request_)) return true;
    Round round;
    request_->kind->progress(*request_, round);
    return request_->kind->done(*request_);
  }

  [[nodiscard]] bool by_queue() const noexcept { return staging_ && staging_->by_queue(); }
  [[nodiscard]] bool by_engine() const noexcept { return staging_ && !staging_->by_queue(); }
  [[nodiscard]] bool may_start() const noexcept { return !turns_ || turns_->is_next(turn_); }
  /// Lets the next one start where this one has, or has failed.
  template <class Body>
  void in_turn(Body body) {
    try {
      body();
    } catch (...) {
      if (turns_) turns_->pass(turn_);
      throw;
    }
    if (turns_ && phase_ != Phase::copying_in) turns_->pass(turn_);
  }

  /// Nothing is before it that could still change them: the program may do so when the call returns, as with the device's own copies.
  void take_data(const lane::Memory& memory) {
    taken_bytes_ = memory.bytes;
    taken_ = std::make_unique_for_overwrite<std::byte[]>(taken_bytes_);
    lane::pack(memory, 0, taken_.get(), taken_bytes_);
  }

  void start() {
    require(inner_->locals[0].context, MPI_ERR_COMM);  // a graph's, of a communicator that was freed
    if (const int error = p2p::start_again(*request_); error != MPI_SUCCESS) throw MPIError{error, false};
    phase_ = Phase::travelling;
    transport::flush_network();
  }

  enum class Phase : std::uint8_t { not_begun, copying_in, travelling, copying_out };

  std::shared_ptr<collective::Rank> inner_;
  QueuePointer queue_;            // its device
  std::shared_ptr<Turns> turns_;  ///< null: it starts at once
  Turns::Number turn_ = 0;
  bool is_send_;
  Phase phase_ = Phase::not_begun;
  int error_ = MPI_SUCCESS;
  MPI_Status* asked_;
  MPI_Status status_{};
  std::optional<Staging> staging_;
  std::uint64_t received_ = 0;  ///< bytes of the message that are in `staging_`
  std::unique_ptr<std::byte[]> taken_;
  std::uint64_t taken_bytes_ = 0;
  Request* request_ = nullptr;
};

}  // namespace

StepPointer make_send(Communicator& c, const Message& message, bool holds_up, const char* call) {
  return std::make_shared<MessageStep>(c, message, true, holds_up, nullptr, call);
}
StepPointer make_receive(Communicator& c, const Message& message, bool holds_up, MPI_Status* status, const char* call) {
  return std::make_shared<MessageStep>(c, message, false, holds_up, p2p::wants(status) ? status : nullptr, call);
}

}  // namespace plait::queue
