// What a process has of partitioned messages, and how the two sides of one find each other.
//
// A sender is offered to the process of its receiver when it is made, by a small message of the MPI's on a communicator of
// plait's own, or inside a node without the MPI where that lets in one thread at a time; nobody waits for anybody. The receiver's process
// matches offers and receivers in the order in which they were made. Inside a node it maps the channel that the offer names and says so
// there; else it answers by a message. Any thread.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "partitioned/control_channel.hpp"
#include "partitioned/receiver.hpp"
#include "partitioned/sender.hpp"
#include "transport/packets.hpp"

namespace plait::partitioned {

class Engine {
 public:
  static Engine& get();

  /// When the MPI has been initialized: `comm` is a duplicate of MPI_COMM_WORLD for this alone. `serialized`: the MPI does not let
  /// several threads in at once.
  void open(MPI_Comm comm, bool serialized) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] int tag_limit() const noexcept { return tag_limit_; }
  /// When no process will use it any more.
  void close() noexcept;

  /// Takes part from now on. Throws std::bad_alloc.
  void add(std::unique_ptr<Sender> sender);
  void add(std::unique_ptr<Receiver> receiver);
  /// The program has freed it. A send that is not delivered is sent all the same.
  void remove(Sender& sender) noexcept;
  void remove(Receiver& receiver) noexcept;

  /// Receives and sends control messages; true if there were some.
  bool exchange() noexcept;
  /// A round for all that there are.
  bool try_progress() noexcept;
  /// Are there control messages that wait for room, or for the MPI? A hint.
  [[nodiscard]] bool has_unsent() const noexcept { return has_unsent_.load(std::memory_order_relaxed); }
  /// Control messages. Taking one and what is sent because of it are counted together.
  [[nodiscard]] transport::Traffic traffic() noexcept;
  /// Has anything been made that may have to move?
  [[nodiscard]] bool used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  using Senders = std::map<std::uint32_t, std::unique_ptr<Sender>>;
  struct Sent {
    MPI_Request request = MPI_REQUEST_NULL;
    std::unique_ptr<ControlMessage> message;
    int to = 0;
  };

  void begin_use() noexcept;
  bool exchange_messages();
  bool exchange_in_node();
  bool exchange_by_mpi();
  void send(const ControlMessage& message, int to);
  void take(const ControlMessage& message);
  void take_offer(const ControlMessage& message);
  void take_withdrawal(const ControlMessage& message);
  void take_answer(const ControlMessage& message);
  void match(const Key& key);
  void connect(Receiver& receiver, std::unique_ptr<Offer> offer);
  void end(Offer& offer);
  void take_out(Senders::iterator at);
  void reap() noexcept;
  [[nodiscard]] int take_tags(std::uint32_t n);

  std::mutex lock_;  // over all below
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::atomic<bool> used_{false};
  std::atomic<bool> has_unsent_{false};
  bool serialized_ = false;
  ControlChannel control_;
  std::uint64_t node_ = 0;
  int process_ = 0;
  int tag_limit_ = 32767;
  std::uint32_t next_number_ = 0;
  std::uint64_t next_order_ = 0;
  Senders senders_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::vector<std::unique_ptr<Sender>> unreleased_;  ///< freed and delivered, but their receivers may still look at the channel
  std::map<Key, std::deque<Receiver*>> waiting_;
  std::map<Key, std::deque<std::unique_ptr<Offer>>> offers_;
  std::vector<Sent> unsent_, sent_;
  transport::Traffic traffic_;
  std::vector<std::unique_ptr<NetReceiver>> ended_;  ///< whose receives the next exchange cancels; then their tags are free
  int next_tag_ = 0;
  std::map<std::uint32_t, std::vector<int>> free_tags_;  ///< by how many follow each other
};

}  // namespace plait::partitioned
