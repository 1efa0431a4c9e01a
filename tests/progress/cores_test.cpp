#include "progress/cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

#include "progress/wait.hpp"

namespace plait::progress {
namespace {

TEST(Cores, MoreEndpointsThanCores) {  // 1 thread
  set_endpoints_here(4, 4);
  EXPECT_FALSE(oversubscribed());
  EXPECT_EQ(spins_of(kForMessage), kForMessage.spins);
  set_endpoints_here(5, 4);
  EXPECT_TRUE(oversubscribed());
  EXPECT_EQ(spins_of(kForMessage), kForMessage.spins_oversubscribed);
  set_endpoints_here(4, 4);
  EXPECT_FALSE(oversubscribed());
}

TEST(Cores, MoreThreadsThanCores) {  // as many threads as cores and one more
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  const int cores = std::min(CPU_COUNT(&set), static_cast<int>(std::thread::hardware_concurrency()));
  set_endpoints_here(0, cores);
  set_processes_here(1);
  for (int i = 1; i <= cores; ++i) {
    std::thread([] {
      count_thread();
      count_thread();  // again: it counts once
    }).join();
    EXPECT_FALSE(oversubscribed()) << i << " of " << cores;
  }
  std::thread(count_thread).join();
  EXPECT_TRUE(oversubscribed());
  // What the endpoints say takes nothing away.
  set_endpoints_here(1, cores);
  EXPECT_TRUE(oversubscribed());
}

}  // namespace
}  // namespace plait::progress
