// Queues that are streams of a GPU's: CUDA's or HIP's. When the stream comes to a step, it writes a word, which the engine sees; where the
// step holds it up, it waits for another, which the engine writes when the step is over. No thread is blocked meanwhile, and no core is
// used.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/event_count.hpp"
#include "queue/gpu_device.hpp"
#include "queue/queue.hpp"

namespace plait::queue {

class GpuQueue final : public Queue, public QueueCopies, public std::enable_shared_from_this<GpuQueue> {
 public:
  /// Null where the driver knows no such stream; `why` says more. Throws MPIError, std::bad_alloc, std::system_error.
  static QueuePointer make(Driver& driver, StreamHandle stream, std::string& why);
  /// Of a stream that was found good.
  static std::shared_ptr<GpuQueue> make(GpuDevice& device, StreamHandle stream);

  GpuQueue(GpuDevice& device, StreamHandle stream);
  ~GpuQueue() override;

  void put(StepPointer step) override;
  [[nodiscard]] Device* device() noexcept override { return &device_; }
  [[nodiscard]] QueueCopies* queue_copies() noexcept override { return this; }
  void put_to_host(std::byte* to, const void* from, const Rows& rows) override { put_copy(to, from, rows, false); }
  void put_to_device(void* to, const std::byte* from, const Rows& rows) override { put_copy(to, from, rows, true); }
  void copy_now(void* to, const std::byte* from, const Rows& rows) override { device_.copy_now(to, from, rows); }
  [[nodiscard]] Identity identity() const noexcept override { return {&device_, stream_}; }
  [[nodiscard]] bool idle() noexcept override;
  [[nodiscard]] int take_error() override;
  void forget() noexcept override;

  /// Nothing is on it, no graph will come to it again, and there is no error to tell. Any thread.
  [[nodiscard]] bool is_unused() noexcept;

  // For the engine's thread, or the one that ends it.

  /// Can it come to a step?
  [[nodiscard]] bool is_awaited() const noexcept { return awaited_.load(std::memory_order_acquire) > 0; }
  bool look() noexcept;
  /// The stream comes to none of its steps any more; true if there were any.
  bool give_up() noexcept;

 private:
  struct Waiting {
    std::uint32_t number;
    StepPointer step;
    bool passed = false;  ///< it has begun long ago, and is kept for what it has put behind itself; or a mark between copies, without one
    int operations = 0;   ///< of the driver's, up to this
  };
  void put(std::uint32_t number, StepPointer step, bool passed, bool holds_up);
  /// A step of a graph, which begins again whenever the graph is launched.
  struct Repeated {
    GpuQueue* queue;
    StepPointer step;
    Words words;
    std::shared_ptr<std::atomic<bool>> gone;  ///< the graph is, with all that was made of it, or is not launched any more
    bool active = false;
  };
  /// What a host function needs to know, where there are no operations on memory.
  struct Called {
    std::shared_ptr<GpuQueue> queue;
    std::uint32_t number;
  };

  void put_in_graph(StepPointer step);
  void tell_when_gone(const Repeated& repeated) noexcept;
  /// With the lock: takes out those whose graphs are gone, but for what has begun.
  [[nodiscard]] std::vector<std::unique_ptr<Repeated>> take_gone() noexcept;
  void let_go(const std::vector<std::unique_ptr<Repeated>>& gone) noexcept;
  void await(int more) noexcept;
  void wait_for_room(const char* call);
  /// By what a step puts on the stream, while `putting_` is held.
  void put_copy(void* to, const void* from, const Rows& rows, bool to_device);
  [[nodiscard]] bool take_back(std::uint32_t number) noexcept;
  /// Puts on the stream what tells the engine, and what waits for it.
  void signal(std::uint32_t number, bool holds_up);
  void signal_in_graph(Repeated& repeated);
  void call(void (*function)(void*), std::uint32_t number);
  void wait_here(const Word& word, std::uint32_t value) noexcept;
  [[nodiscard]] bool begin_arrived(std::uint32_t arrived) noexcept;
  [[nodiscard]] bool begin_repeated() noexcept;
  void run(StepPointer step, Repeated* repeated, std::uint32_t number) noexcept;
  void settle(StepPointer step, Repeated* repeated, std::uint32_t number) noexcept;

  GpuDevice& device_;
  const StreamHandle stream_;
  const Words words_;
  EventCount released_;  ///< where host functions wait
  std::atomic<int> error_{MPI_SUCCESS};
  std::atomic<int> awaited_{0};

  std::mutex putting_;  // the stream takes steps in the order of their numbers; a call of the driver may wait for the stream
  std::uint32_t put_ = 0;
  const char* copied_by_ = nullptr;  ///< the call whose copies are counted; null: they go into a graph
  int copies_ = 0;                   ///< since the last mark

  std::mutex lock_;  // over what follows
  bool failed_ = false;
  std::deque<Waiting> waiting_;
  int operations_ = 0;  ///< of those
  std::vector<std::unique_ptr<Repeated>> repeated_;

  // The engine's thread's.
  std::uint32_t seen_ = 0;
  std::vector<Repeated*> ready_;
};

}  // namespace plait::queue
