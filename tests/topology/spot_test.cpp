#include "topology/spot.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plait::topology::test {
namespace {

/// What Linux says of CPUs that are two a cache and four a socket.
class System {
 public:
  System() {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      const std::string at = folder() + "/cpu" + std::to_string(cpu);
      write(at + "/topology/physical_package_id", std::to_string(cpu / 4));
      write(at + "/cache/index0/level", "1");
      write(at + "/cache/index0/shared_cpu_list", std::to_string(cpu));
      write(at + "/cache/index1/level", "3");
      const int first = cpu / 2 * 2;
      write(at + "/cache/index1/shared_cpu_list", std::to_string(first) + "-" + std::to_string(first + 1));
    }
  }
  ~System() {
    std::error_code unused;
    std::filesystem::remove_all(root_, unused);
  }
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  [[nodiscard]] std::string folder() const { return root_.string(); }

 private:
  static void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::filesystem::path root_ = std::filesystem::temp_directory_path() / ("plait-spot-" + std::to_string(getpid()));
};

TEST(Spot, IsWhatTheCpusShare) {
  const System system;
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int sockets = -2;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    sockets = sockets == -2 || sockets == cpu / 4 ? cpu / 4 : -1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const Spot spot = spot_on(7, system.folder());
    EXPECT_EQ(spot.node, 7u);
    EXPECT_EQ(spot.socket, cpu / 4);
    EXPECT_EQ(spot.cache, cpu / 2 * 2);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(spot_on(7, system.folder()).socket, sockets);
}

TEST(Spot, WithoutAnyWordOfTheSystem) {
  const Spot spot = spot_on(1, "/nowhere");
  EXPECT_EQ(spot.socket, 0);
  EXPECT_EQ(spot.cache, 0);
}

TEST(Spot, Numbers) {
  const std::vector<Spot> ranks{{50, 0, 0}, {9, 0, 0}, {50, 1, 4}, {50, 0, 2}, {9, 0, 0}};
  const std::vector<Where> expected{{0, 0, 0}, {1, 1, 1}, {0, 2, 2}, {0, 0, 3}, {1, 1, 1}};
  EXPECT_EQ(where(ranks), expected);
}

}  // namespace
}  // namespace plait::topology::test
