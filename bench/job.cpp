#include "job.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "native.hpp"

namespace plait::bench {

std::string from_proc(const char* file, const std::string& start) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) return start.empty() ? line : line.substr(std::min(line.find(": ") + 2, line.size()));
  }
  return {};
}

Job Job::find(cpu_set_t usable) {
  Job job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.processes);
  MPI_Query_thread(&job.level);
  MPI_Comm node = MPI_COMM_NULL;
  int rank_on_node = 0;
  native::Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank_on_node);
  native::Comm_free(&node);
  job.nodes = static_cast<int>(sum(rank_on_node == 0 ? 1 : 0));
  job.one_node = job.nodes == 1;
  std::array<char, 64> boot{}, first{};
  from_proc("/proc/sys/kernel/random/boot_id", "").copy(boot.data(), boot.size());
  first = boot;
  native::Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  job.one_machine = sum(first == boot ? 0 : 1) == 0;
  cpu_set_t all{};
  native::Allreduce(&usable, &all, static_cast<int>(sizeof all), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  job.cores_here = CPU_COUNT(&usable);
  job.cores = job.one_machine ? CPU_COUNT(&all) : job.cores_here;
  return job;
}

double Job::agreed(double value) {
  native::Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return value;
}

std::int64_t Job::sum(std::int64_t value) {
  std::int64_t all = 0;
  native::Allreduce(&value, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void need_carrying() {
  const char* const carried = std::getenv("PLAIT_COMMUNICATORS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (!carried || std::string_view(carried) != "all") throw Error("plait carries nothing here; run with PLAIT_COMMUNICATORS=all");
}

void insist(std::int64_t wrong, const std::string& side) {
  if (const auto all = Job::sum(wrong); all != 0) throw Error(fmt::format("{}: {} messages with wrong contents", side, all));
}

}  // namespace plait::bench
