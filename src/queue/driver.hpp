// The few things that plait asks of a GPU's driver. Drivers are found when the first stream of theirs appears, and are not linked. Tests
// have one in software (tests/programs/stand_in), which is found in the same way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "queue/device.hpp"

namespace plait::queue {

/// A stream as the program has it, also one that the driver knows by a small number.
using StreamHandle = void*;
/// Does it name another stream in each thread? CUDA's and HIP's alike.
[[nodiscard]] inline bool is_per_thread(StreamHandle stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream) == 2; }
/// What the driver's objects belong to: a CUcontext, or the number of HIP's device.
using GpuContext = void*;
/// A word that the driver's streams write and wait for.
using Word = std::atomic<std::uint32_t>;

enum class Answer : std::uint8_t { done, not_yet, failed };

struct GpuPlace {
  enum class Kind : std::uint8_t { pageable, pinned, device } kind = Kind::pageable;
  int device = 0;
  bool is_managed = false;  ///< the host can use it, too
};

/// Calls that throw do so with MPIError{MPI_ERR_OTHER}; the driver's reason is on stderr then, once. Any thread; what is current in the
/// calling thread stays so, and a capture of the program's goes on.
class Driver {
 public:
  Driver() = default;
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// The context of a stream of the calling thread's. False where the driver knows none such; `why` says more.
  [[nodiscard]] virtual bool find_context(StreamHandle stream, GpuContext& context, std::string& why) = 0;
  [[nodiscard]] virtual int device_of(GpuContext context) = 0;
  /// Another one once a context has been ended (cudaDeviceReset), and what it had is gone, though the next one is called the same. Always 0
  /// where the driver does not tell.
  [[nodiscard]] virtual std::uint64_t number_of(GpuContext context) noexcept = 0;

  /// Can streams write and wait for words? Can they in graphs? Tried with a stream and words of plait's.
  [[nodiscard]] virtual bool has_memory_operations(GpuContext context, StreamHandle own, Word* arrived, Word* released) noexcept = 0;
  [[nodiscard]] virtual bool can_capture_memory_operations(GpuContext context, StreamHandle own, Word* arrived,
                                                           Word* released) noexcept = 0;

  /// Has the stream run all that is on it? Failed: nothing runs in its context any more.
  [[nodiscard]] virtual Answer query(GpuContext context, StreamHandle stream) noexcept = 0;
  /// Throws where a capture has been made invalid.
  [[nodiscard]] virtual bool is_capturing(GpuContext context, StreamHandle stream) = 0;
  virtual void write(GpuContext context, StreamHandle stream, Word* word, std::uint32_t value) = 0;
  /// Until the word is at least `value`; cyclic.
  virtual void wait(GpuContext context, StreamHandle stream, Word* word, std::uint32_t value) = 0;
  virtual void call(GpuContext context, StreamHandle stream, void (*function)(void*), void* argument) = 0;
  /// Has `function(argument)` called when the graph that the stream is captured into is gone, with all that was made of it: by a thread of
  /// the driver's, which it must not block. False where the driver cannot: then it is not called.
  [[nodiscard]] virtual bool call_behind_graph(GpuContext context, StreamHandle stream, void (*function)(void*),
                                               void* argument) noexcept = 0;

  /// Host memory that the driver's copies reach; and a word for `wait`. They stay.
  [[nodiscard]] virtual std::byte* host_memory(GpuContext context, std::size_t bytes) = 0;
  [[nodiscard]] virtual Word* waited_word(GpuContext context) = 0;
  [[nodiscard]] virtual GpuPlace place(GpuContext context, const void* at) noexcept = 0;

  /// A stream of plait's own, which no other holds up; events on it.
  [[nodiscard]] virtual StreamHandle make_stream(GpuContext context) = 0;
  virtual void copy(GpuContext context, StreamHandle stream, void* to, const void* from, const Rows& rows, bool to_device) = 0;
  [[nodiscard]] virtual void* make_event(GpuContext context) = 0;
  virtual void record(GpuContext context, void* event, StreamHandle stream) = 0;
  [[nodiscard]] virtual Answer query_event(GpuContext context, void* event) noexcept = 0;
};

/// Null where it is not there; `why` says what was looked for, and where. Any thread.
[[nodiscard]] Driver* find_cuda(std::string& why);
[[nodiscard]] Driver* find_hip(std::string& why);

}  // namespace plait::queue
