#include "topology/spot.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

/// When not 0, threads seem to run on this CPU alone, of a machine with so many that no cpu_set_t holds it.
int pretended = 0;

}  // namespace

/// libc's, but for the above.
extern "C" int sched_getaffinity(pid_t thread, std::size_t bytes, cpu_set_t* set) noexcept {
  if (pretended == 0) {
    std::memset(set, 0, bytes);
    return syscall(SYS_sched_getaffinity, thread, bytes, set) < 0 ? -1 : 0;
  }
  if (8 * bytes <= static_cast<std::size_t>(pretended)) {
    errno = EINVAL;
    return -1;
  }
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<std::size_t>(pretended), bytes, set);
  return 0;
}

namespace plait::topology::test {
namespace {

/// What Linux says of CPUs that are two a cache and four a socket; `lists`: also of whom they share the socket with.
class System {
 public:
  explicit System(const std::vector<int>& cpus, bool lists = true) {
    for (const int cpu : cpus) {
      const std::string at = folder() + "/cpu" + std::to_string(cpu);
      write(at + "/topology/physical_package_id", std::to_string(cpu / 4));
      if (lists) write(at + "/topology/core_siblings_list", list(cpu / 4 * 4, 4));
      write(at + "/cache/index0/level", "1");
      write(at + "/cache/index0/shared_cpu_list", std::to_string(cpu));
      write(at + "/cache/index1/level", "3");
      if (lists) write(at + "/cache/index1/shared_cpu_list", list(cpu / 2 * 2, 2));
      if (!lists) write(at + "/cache/index1/shared_cpu_list", std::to_string(cpu / 2 * 2));
    }
  }
  ~System() {
    std::error_code unused;
    std::filesystem::remove_all(root_, unused);
  }
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  [[nodiscard]] std::string folder() const { return root_.string(); }
  void write_list(int cpu, const std::string& text) const {
    write(folder() + "/cpu" + std::to_string(cpu) + "/topology/core_siblings_list", text);
  }

 private:
  static std::string list(int first, int n) { return std::to_string(first) + "-" + std::to_string(first + n - 1); }
  static void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::filesystem::path root_ = std::filesystem::temp_directory_path() / ("plait-spot-" + std::to_string(getpid()));
};

struct Found {
  int socket, cache;
  bool operator==(const Found&) const = default;
};

Found found(const System& system, const std::vector<int>& cpus) {
  const Spot spot = spot_of(7, cpus, system.folder());
  EXPECT_EQ(spot.node, 7u);
  return {spot.socket, spot.cache};
}

TEST(Spot, IsThatOfTheThreadsCpus) {
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof before, &before) != 0) GTEST_SKIP() << "this machine has more CPUs than a cpu_set_t";
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) cpus.push_back(cpu);
  }
  const System system(cpus);
  for (const int cpu : {cpus.front(), cpus.back()}) {
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
  const Spot all = spot_on(7, system.folder());
  EXPECT_EQ((Found{all.socket, all.cache}), found(system, cpus));
}

TEST(Spot, IsWhatTheCpusShare) {
  for (const bool lists : {true, false}) {
    const System system({0, 1, 2, 3, 4, 5, 6, 7}, lists);
    EXPECT_EQ(found(system, {5}), (Found{1, 4}));
    EXPECT_EQ(found(system, {4, 5}), (Found{1, 4}));
    EXPECT_EQ(found(system, {5, 6}), (Found{1, -1}));
    EXPECT_EQ(found(system, {3, 4}), (Found{-1, -1}));
    EXPECT_EQ(found(system, {0, 1, 2, 3, 4, 5, 6, 7}), (Found{-1, -1}));
  }
}

/// One CPU speaks for those that it shares with: there are no files of the others here.
TEST(Spot, AsksOneCpuOfEachSocketAndCache) {
  const System system({4, 6, 2000});
  EXPECT_EQ(found(system, {4, 5}), (Found{1, 4}));
  EXPECT_EQ(found(system, {4, 5, 6, 7}), (Found{1, -1}));
  EXPECT_EQ(found(system, {2000, 2001}), (Found{500, 2000}));
  system.write_list(4, "4,6-7,1000-1999");
  EXPECT_EQ(found(system, {4, 6, 7, 1000, 1999}).socket, 1);
  EXPECT_EQ(found(system, {4, 5, 6, 7}).socket, -1);
}

TEST(Spot, OnAMachineOfThousandsOfCpus) {
  const System system({5000});
  pretended = 5000;
  const Spot spot = spot_on(7, system.folder());
  pretended = 1 << 30;
  const Spot none = spot_on(7, system.folder());
  pretended = 0;
  EXPECT_EQ((Found{spot.socket, spot.cache}), (Found{1250, 5000}));
  EXPECT_EQ((Found{none.socket, none.cache}), (Found{0, 0}));
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
