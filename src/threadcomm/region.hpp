// The seats of a base and the two meetings of its threads, at the start and at the finish. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

struct Region {
  explicit Region(int threads) : taken(static_cast<std::size_t>(threads)) {}

  std::mutex lock;  // over all of it; `meetings` is read without
  std::condition_variable moved;
  std::vector<char> taken;  ///< by seat
  int here = 0;             ///< threads that have come to the meeting that is next
  bool on = false;          ///< all have started, not all have finished
  unsigned told = 0;        ///< the meeting of which it was said that it takes long
  std::atomic<unsigned> meetings{1};
};

}  // namespace plait::threadcomm
