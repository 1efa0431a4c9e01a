// The seats of a base and the two meetings of its threads, at the start and at the finish. Any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "base/event_count.hpp"
#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

struct ParallelRegion {
  explicit ParallelRegion(int threads) : taken(static_cast<std::size_t>(threads)) {}

  std::mutex lock;  // over all of it; `meetings` is read without
  EventCount all_came;
  std::vector<char> taken;  ///< by seat
  int here = 0;             ///< threads that have come to the meeting that is next
  bool on = false;          ///< all have started, not all have finished
  unsigned told = 0;        ///< the meeting of which it was said that it takes long
  std::atomic<unsigned> meetings{1};
};

}  // namespace plait::threadcomm
