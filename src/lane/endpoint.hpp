// An endpoint: a serial context that sends and receives. Its lanes, its matching, and the work that moves its messages.
//
// One thread at a time uses an endpoint, in an EndpointGuard; where several share it (Use), the EndpointGuard takes a lock. Others only
// visit it, to move what is pending while its thread is elsewhere. What they touch without that is atomic: its inbox, and what lies in
// shared memory (transport/ring.hpp).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/biased_lock.hpp"
#include "base/event_count.hpp"
#include "base/list.hpp"
#include "lane/choice.hpp"
#include "lane/eager.hpp"
#include "lane/endpoints.hpp"
#include "lane/match_context.hpp"
#include "lane/node.hpp"
#include "lane/operation.hpp"
#include "lane/peer_heaps.hpp"
#include "lane/peer_memory.hpp"
#include "lane/task.hpp"
#include "progress/wait.hpp"
#include "transport/network.hpp"
#include "transport/ring.hpp"

namespace plait::lane {

struct LaneOut;

/// How long it took to put something into a block.
struct Sample {
  Choice<kFills>* of = nullptr;  ///< null: nobody asks
  std::size_t way = 0;
  std::uint64_t bytes = 0, filled = 0;
};

/// A block of an endpoint's.
struct OwnBlock {
  transport::Block* block;
  std::uint64_t offset;
  LaneOut* user = nullptr;   ///< the lane that has it
  std::size_t used = 0;      ///< its first bytes
  std::uint32_t filled = 0;  ///< how much was put there, as `emptied` counts it
  Sample sample{};           // NOLINT(readability-redundant-member-init): gcc wants it
  bool timed = false;
  std::size_t place = 0;     ///< it is filled in the fastest way, or in the one that comes so far behind
  std::size_t way = kFills;  ///< in which its first bytes were filled, as Fill; kFills: in none that was chosen

  /// acquire: the receiver has copied what is overwritten next.
  [[nodiscard]] bool is_empty() const noexcept { return block->emptied.load(std::memory_order_acquire) == filled; }
};

/// A lane's blocks of one size.
struct BlocksOfLane {
  OwnBlock* current = nullptr;  ///< where the next message goes
  std::uint32_t count = 0;      ///< that it has, though they may be empty
};

/// The sending end of a lane.
struct LaneOut {
  std::int32_t process = -1;  ///< on another node, where the lane goes by the network; then the ring has no memory
  transport::RingSender ring;
  BlocksOfLane small, large;
  std::array<Choice<kFills>, 2> fills{};  ///< how blocks are filled, by size
  std::int32_t pid = 0;                   ///< the receiver's
  Access access = Access::unknown;        ///< to the receiver's memory
  PeerHeap heap{};                        ///< the receiver's last one
  bool same_process = false;
  bool listed = false;                        ///< among the endpoint's lanes with waiting sends
  List<Operation, &Operation::link> waiting;  ///< sends that found no room, in order
};

/// What a block brings: for a receive, for a message that is kept, or for nobody.
struct Arriving {
  transport::Block* block = nullptr;  ///< null: nothing arrives
  const std::byte* from = nullptr;
  Operation* receive = nullptr;
  Unexpected* message = nullptr;
  bool chunk = false;
  bool timed = false;
  std::uint64_t begin = 0;  ///< in the message
  std::uint64_t bytes = 0, emptied = 0;
  std::uint64_t took = 0;  ///< ns
};

/// The receiving end.
struct LaneIn {
  transport::RingReceiver ring;
  RegionMap* region;  ///< what the sender shares
  std::int32_t pid;
  bool same_process;
  Access access = Access::unknown;             ///< to the rest of the sender's memory
  PeerHeap heap{};                             ///< the sender's last one
  std::array<Choice<2>, 2> parts_or_chunks{};  ///< how large messages come, by size
  Arriving arriving{};                         ///< in the block of which more pieces are to come
  // The slot of the context that the last message was for.
  const ContextSlot* slot = nullptr;
  std::uint32_t slot_of = 0;
};

/// What came over the network for an endpoint: a record with its payload, or the end of a transfer.
struct Arrival {
  Arrival* next;
  transport::Record record;
  bool moved;  ///< the end of a transfer of record.operation
  bool ok;
};

class Endpoint {
 public:
  explicit Endpoint(Use use);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] Address address() const noexcept { return address_; }

  /// The lane toward another endpoint, made at first use. Throws std::bad_alloc.
  [[nodiscard]] LaneOut& lane_to(Address to);
  /// The same over the network.
  [[nodiscard]] LaneOut& lane_to_process(std::int32_t process);

  /// A small contiguous message, at once if there is room. What nearly all small sends are.
  [[nodiscard]] static bool send_inline(LaneOut& lane, std::uint32_t context, std::uint32_t source, std::int32_t tag, const void* data,
                                        std::size_t bytes) noexcept;
  /// The same over the network; false where the lane does not go there.
  [[nodiscard]] static bool send_record(LaneOut& lane, std::uint32_t context, std::uint32_t source, std::int32_t tag, const void* data,
                                        std::size_t bytes) noexcept;
  /// The same by either.
  [[nodiscard]] static bool send_now(LaneOut& lane, std::uint32_t context, std::uint32_t source, std::int32_t tag, const void* data,
                                     std::size_t bytes) noexcept {
    return send_inline(lane, context, source, tag, data, bytes) || send_record(lane, context, source, tag, data, bytes);
  }
  /// Starts a send whose `out` is set. It may be complete on return.
  void start_send(Operation& send) noexcept;
  /// Starts a receive. It may be complete on return.
  void start_receive(Operation& receive) noexcept;
  /// Starts it with a message that a matched probe has taken out; the message is used up.
  void start_receive(Operation& receive, Unexpected& message) noexcept;
  /// Takes a receive back that has met no message: it is complete then. Else nothing.
  void cancel(Operation& receive) noexcept;

  /// Throws away what came for a communicator that is gone.
  void discard(MatchContext& context) noexcept;

  /// One round of all there is to do; true if something moved.
  bool progress() noexcept;
  /// Is anything going on that needs this side's work to go on?
  [[nodiscard]] bool busy() const noexcept { return !sending_.empty() || !rendezvous_sends_.empty() || !rendezvous_receives_.empty(); }
  /// Is anything started and not complete, and no thread waits here? Any thread; what it says may be old.
  [[nodiscard]] bool unpolled() const noexcept {
    return unfinished_.load(std::memory_order_relaxed) > 0 && !polled_.load(std::memory_order_relaxed);
  }
  /// For something that has come over the network. Any thread.
  void put_into_inbox(Arrival& arrival) noexcept;
  /// A round of progress by a thread that is not the endpoint's; false if that is inside or has been here since the last look, or
  /// nothing moved.
  bool try_progress() noexcept;
  /// Where its threads wait.
  [[nodiscard]] progress::Waiter& waiter() noexcept { return waiter_; }

  /// One to use again; of whatever kind it was; what it was before is undone but for `endpoint`. Or null.
  [[nodiscard]] Operation* used_operation() noexcept {
    Operation* const operation = free_;
    if (operation) [[likely]]
      free_ = static_cast<Operation*>(operation->next_free);
    return operation;
  }
  /// A new one, or null where there is no memory.
  [[nodiscard]] Operation* make_operation() noexcept;
  /// Of one that is complete; it is used again. Its communicator goes with it if that waited for it.
  void retire(Operation& operation) noexcept {
    if (operation.owned || operation.memory.layout) [[unlikely]]
      drop_memory(operation);
    operation.complete.store(false, std::memory_order_relaxed);
    operation.synchronous = operation.freed = operation.posted = operation.nobody = operation.buffered = false;
    operation.error = Error::none;
    operation.persistent = false;
    operation.active = true;
    MatchContext& context = *operation.context;
    operation.next_free = free_;
    free_ = &operation;
    if (--context.operations == 0 && context.freed) [[unlikely]]
      delete_context(context);
  }
  /// The program has no more use for it: it goes at its completion.
  void disown(Operation& operation) noexcept {
    operation.freed = true;
    ++operation.context->disowned;
    ++disowned_;
  }
  /// Operations that the program has started, not given up, and that are not complete.
  [[nodiscard]] int pending() const noexcept { return unfinished_.load(std::memory_order_relaxed) - disowned_; }

  /// Counted among what is not complete: a task may have to go on that waits for no message.
  void add(Task& task) noexcept {
    tasks_.push_back(task);
    count_unfinished(1);
  }
  void remove(Task& task) noexcept {
    tasks_.remove(task);
    count_unfinished(-1);
  }

  /// Communicators at it, also those that are freed and have operations left. While there are any it has no other user.
  std::atomic<int> contexts{0};

  [[nodiscard]] Use use() const noexcept { return use_.load(std::memory_order_relaxed); }
  /// From Use::biased to Use::shared; or for another user, where it has none now.
  void set_use(Use use) noexcept;

  /// How often a thread has waited for another one's call since the last time that this was asked. By who has the guard.
  [[nodiscard]] std::uint64_t take_lock_waits() noexcept { return std::exchange(lock_waits_, 0); }

  /// The thread that is inside; to catch two in a debug build.
  std::atomic<const void*> user{nullptr};

 private:
  friend class EndpointGuard;

  [[gnu::noinline]] void lock_for_threads() noexcept;
  /// Enters it as a visitor, whatever its use; false if another thread is inside.
  [[nodiscard]] bool visit() noexcept;
  void leave() noexcept;

  void adopt_lanes() noexcept;
  /// Called before a lane is made, so that listing it needs no memory later.
  void reserve_sending();
  bool poll(LaneIn& lane) noexcept;
  void take_message(LaneIn& lane, const transport::Cell& cell, transport::Kind kind, std::uint32_t bytes) noexcept;
  void keep_or_drop(MatchContext* context, LaneIn& lane, const transport::Cell& cell, transport::Kind kind, std::uint32_t bytes) noexcept;
  [[nodiscard]] Unexpected& new_unexpected(std::uint32_t source, std::int32_t tag) noexcept;
  static void decline(LaneIn& lane, const transport::Rts& offer) noexcept;
  static void drop_memory(Operation& operation) noexcept;
  void take_first(LaneIn& lane, transport::InBlock where, const Arriving& arriving) noexcept;
  void take_piece(LaneIn& lane, std::uint64_t bytes) noexcept;
  static void empty(Arriving& from, std::uint64_t bytes) noexcept;
  void end(Operation& operation) noexcept;

  [[nodiscard]] bool start_with_unexpected(Operation& receive) noexcept;
  void start_with(Operation& receive, Unexpected& message) noexcept;
  /// Which message a receive has met.
  static void meet(Operation& receive, std::uint32_t source, std::int32_t tag, std::uint64_t bytes) noexcept;

  void take_inbox() noexcept;
  void take_arrival(const Arrival& arrival) noexcept;
  void take_record(const transport::Record& record, const std::byte* payload) noexcept;
  void keep_or_drop_record(MatchContext* context, const transport::Record& record, const std::byte* payload) noexcept;
  void take_answer(const transport::Record& record) noexcept;
  void end_transfer(Operation& operation, bool ok) noexcept;
  void accept_remote(Operation& receive, std::int32_t process, std::uint32_t operation) noexcept;
  [[nodiscard]] static bool write_record(Operation& send) noexcept;

  bool step_tasks() noexcept;

  [[gnu::always_inline]] void count_unfinished(int more) noexcept {
    // relaxed, and no read-modify-write: only the endpoint's user writes.
    const int now = unfinished_.load(std::memory_order_relaxed) + more;
    unfinished_.store(now, std::memory_order_relaxed);
    if (more > 0 && !active_) [[unlikely]]
      become_active();
    if (more < 0 && now == 0 && active_endpoints.load(std::memory_order_relaxed) > kFewEndpoints) [[unlikely]]
      become_inactive();
  }
  [[gnu::noinline]] void become_active() noexcept;
  [[gnu::noinline]] void become_inactive() noexcept;

  void accept(Operation& receive, LaneIn& lane, std::uint32_t source, std::int32_t tag, const transport::Rts& offer) noexcept;
  static void copy_from_thread(Operation& receive, const transport::Rts& offer) noexcept;
  void take_chunk(LaneIn& lane, const transport::Cell& cell, std::uint32_t bytes) noexcept;
  void end_chunk(Operation& receive, std::uint64_t bytes) noexcept;
  static void map_buffers(Operation& receive, const transport::Rts& offer) noexcept;
  [[nodiscard]] bool pull(Operation& receive) noexcept;
  [[nodiscard]] bool pull_mapped(Operation& receive) noexcept;
  [[nodiscard]] static bool takes_parts(Operation& receive) noexcept;
  [[nodiscard]] bool finish_if_whole(Operation& receive) noexcept;
  void finish_rendezvous(Operation& receive) noexcept;

  struct OwnRendezvous {
    transport::Rendezvous* rendezvous;
    std::uint64_t offset;
    bool held;  ///< by an operation
  };
  /// An endpoint's blocks of one size.
  struct Blocks {
    std::size_t bytes;                    ///< of each
    std::size_t usual;                    ///< how many are made
    std::uint32_t of_lane;                ///< how many one lane may have
    BlocksOfLane LaneOut::* const lanes;  ///< those of a lane
    bool more;                            ///< beyond the usual number, for lanes that have none
    std::uint32_t in_turn;                ///< how many a lane uses, also where fewer would do
    std::deque<OwnBlock> blocks{};        // NOLINT(readability-redundant-member-init): gcc wants it
    std::size_t next = 0;
    std::uint32_t taken = 0;
  };
  /// One of the lane's with room for so many bytes more, or null.
  [[nodiscard]] static OwnBlock* take_room(LaneOut& lane, Blocks& from, std::uint64_t bytes) noexcept;
  [[nodiscard]] static OwnBlock* take_block(LaneOut& lane, Blocks& from) noexcept;
  [[nodiscard]] static OwnBlock* make_block(Blocks& of) noexcept;
  static void take_back(OwnBlock& own, const Blocks& of) noexcept;
  [[nodiscard]] Blocks& blocks_for(std::uint64_t bytes) noexcept { return bytes <= kSmallMessage ? small_ : large_; }
  /// write(cell, where) writes the first cell.
  template <class Write>
  static void publish_block(LaneOut& lane, OwnBlock& own, const Memory& from, Part part, transport::Kind kind, Write write) noexcept;
  [[nodiscard]] OwnRendezvous* take_rendezvous() noexcept;

  [[nodiscard]] bool write(Operation& send) noexcept;
  [[nodiscard]] bool write_block(Operation& send) noexcept;
  [[nodiscard]] bool write_rts(Operation& send, transport::Cell& cell) noexcept;
  [[nodiscard]] bool push(Operation& send) noexcept;
  [[nodiscard]] bool push_next(Operation& send) noexcept;
  [[nodiscard]] static bool push_part(Operation& send) noexcept;
  [[nodiscard]] bool push_chunks(Operation& send) noexcept;
  void end_rts(Operation& send) noexcept;
  [[nodiscard]] bool work() noexcept;

  // Under Use::serial and Use::biased its thread takes the guard, which costs it next to nothing; under Use::shared all take the mutex.
  // tests/models/endpoint_use.pml is the model.
  // Only a visitor changes use_, and holds the mutex too, so that it does not change while anybody is inside.
  std::atomic<Use> use_;
  std::atomic<const void*> owner_{nullptr};  ///< under Use::biased the thread that came first, by its control block; null: none has
  BiasedLock guard_;

  transport::EndpointMemory* memory_;
  Address address_;
  std::vector<std::unique_ptr<LaneIn>> in_;
  std::unordered_map<std::uint64_t, std::unique_ptr<LaneOut>> out_;
  std::vector<LaneOut*> sending_;                          ///< lanes with waiting sends
  List<Operation, &Operation::link> rendezvous_sends_;     ///< sends whose payload waits to be wanted
  List<Operation, &Operation::link> rendezvous_receives_;  ///< receives whose payload comes in chunks
  // Small messages stay in few lines, which both caches have. Larger ones use more memory in turn than a core's own caches have: a line
  // that the receiver has read long ago is cheaper to write again.
  Blocks small_{transport::kSmallBlock, 64, 32, &LaneOut::small, true, 0};
  Blocks large_{transport::kLargeBlock, 64, 64, &LaneOut::large, false, 64};
  std::vector<OwnRendezvous> rendezvous_;
  std::size_t next_rendezvous_ = 0;
  Operation* free_ = nullptr;  ///< operations to use again
  UnexpectedPool unexpected_;
  List<Task, &Task::in_endpoint_> tasks_;
  int disowned_ = 0;  ///< among the unfinished
  std::atomic<int> unfinished_{0};
  bool active_ = false;                      ///< the progress engine looks at it
  std::size_t number_ = 0;                   ///< in the list of all
  std::atomic<bool> polled_{false};          ///< a hint: a thread waits here and will look at what comes
  std::atomic<std::uint32_t> seen_uses_{0};  ///< of the guard, at the last look of somebody else
  std::atomic<Arrival*> inbox_{nullptr};     ///< a stack: the last first
  std::mutex mutex_;                         ///< see use_
  std::uint64_t lock_waits_ = 0;             ///< under the mutex

  class Waiter final : public progress::Waiter {
   public:
    explicit Waiter(Endpoint& endpoint) noexcept : endpoint_(endpoint) {}
    [[nodiscard]] EventCount* event() noexcept override { return &endpoint_.memory_->event; }
    void set_polled(bool here) noexcept override { endpoint_.polled_.store(here, std::memory_order_relaxed); }
    [[nodiscard]] std::chrono::nanoseconds longest() const noexcept override;

   private:
    Endpoint& endpoint_;
  };
  Waiter waiter_{*this};
};

/// A thread's use of an endpoint, for the length of a call or of one round of it.
class EndpointGuard {
 public:
  [[gnu::always_inline]] explicit EndpointGuard(Endpoint& endpoint) noexcept : endpoint_(endpoint) {
    if (endpoint.use() != Use::serial) [[unlikely]] {
      endpoint.lock_for_threads();
      return;
    }
#ifndef NDEBUG
    catch_second();
#endif
    endpoint.guard_.lock();
  }
  [[gnu::always_inline]] ~EndpointGuard() {
    if (endpoint_.use() == Use::shared) [[unlikely]] {
      unlock_shared();
      return;
    }
    endpoint_.guard_.unlock();
#ifndef NDEBUG
    endpoint_.user.store(nullptr, std::memory_order_relaxed);
#endif
  }
  EndpointGuard(const EndpointGuard&) = delete;
  EndpointGuard& operator=(const EndpointGuard&) = delete;

 private:
  [[gnu::noinline]] void unlock_shared() noexcept;

  Endpoint& endpoint_;
#ifndef NDEBUG
  void catch_second() noexcept;
#endif
};

inline void Endpoint::meet(Operation& receive, std::uint32_t source, std::int32_t tag, std::uint64_t bytes) noexcept {
  receive.from = source;
  receive.with_tag = tag;
  receive.wanted = bytes < receive.memory.bytes ? bytes : receive.memory.bytes;
  if (bytes > receive.memory.bytes) receive.error = Error::truncated;
}

[[gnu::always_inline]] inline void Endpoint::start_receive(Operation& receive) noexcept {
  count_unfinished(1);
  if (receive.context->has_unexpected() && start_with_unexpected(receive)) [[unlikely]]
    return;
  receive.context->post(receive);
}

inline void Endpoint::end(Operation& o) noexcept {
  // Nothing of ours touches the operation after this but its retirement.
  count_unfinished(-1);
  const bool freed = o.freed;
  // release: the payload.
  o.complete.store(true, std::memory_order_release);
  if (freed) [[unlikely]] {
    --disowned_;
    --o.context->disowned;
    retire(o);
  }
}

[[gnu::always_inline]] inline bool Endpoint::send_inline(LaneOut& lane, std::uint32_t context, std::uint32_t source, std::int32_t tag,
                                                         const void* data, std::size_t bytes) noexcept {
  if (!lane.waiting.empty()) [[unlikely]]
    return false;
  transport::Cell* const c = lane.ring.cell();
  if (!c) [[unlikely]]
    return false;
  c->context = context;
  c->source = source;
  c->tag = tag;
  copy_small(c->payload, static_cast<const std::byte*>(data), bytes);
  lane.ring.publish(*c, transport::Kind::kInline, bytes);
  return true;
}

}  // namespace plait::lane
