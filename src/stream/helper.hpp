// The helper: a thread of plait's that moves things on while the program's own threads are elsewhere, blocked in the MPI or
// computing. There is at most one; it sleeps while nobody has engaged it. Any thread.
#pragma once

#include "lane/endpoint.hpp"
#include "transport/packets.hpp"

namespace plait::stream {

/// Has all unfinished operations moved on until released. False where no thread can be had.
bool engage_helper() noexcept;
void release_helper() noexcept;

/// MPIX_Start_progress_thread and its end, for a stream by its handle or MPIX_STREAM_NULL: everything that belongs to none,
/// the MPI's own operations included. `poll_rest` is called for the latter. False where no thread can be had.
bool start_progress(int stream, void (*poll_rest)()) noexcept;
/// False where it was not started.
bool stop_progress(int stream) noexcept;

/// Remote memory access into this process may come at any time while such windows exist.
void count_windows(int more) noexcept;

/// Before the MPI is finalized.
void stop_helper() noexcept;

/// Around a call of the MPI's that may block. MPI wants all that was started to move on while any call blocks: if there is
/// something of plait's, a thread of its own moves it meanwhile.
class Blocking {
 public:
  Blocking() noexcept {
    if (lane::work_exists()) [[unlikely]]
      begin();
  }
  ~Blocking() {
    if (helped_) [[unlikely]]
      release_helper();
  }
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

 private:
  void begin() noexcept {
    transport::flush_network();
    helped_ = lane::any_neglected() && engage_helper();
  }

  bool helped_ = false;
  transport::Gate gate_;
};

}  // namespace plait::stream
