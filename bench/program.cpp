#include "program.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <exception>

namespace plait::bench {

void Needs::check(int processes) const {
  if (least == most && processes != least) throw Error(fmt::format("needs {0} processes, has {1}: plait run -n {0}", least, processes));
  if (processes < least || processes > most) throw Error(fmt::format("needs {} processes or more, has {}", least, processes));
  if (even && processes % 2 != 0) throw Error(fmt::format("needs an even number of processes, has {}", processes));
}

int run(int argc, char** argv, CommandLine& line, const std::function<void(const Job&)>& benchmark, Needs needs, cpu_set_t (*usable)()) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const Job job = Job::find(usable());
  int status = 0;
  const auto fail = [&](int code, const char* why) {
    status = code;
    if (job.rank == 0) fmt::print(stderr, "{}: {}\n", line.program(), why);
  };
  try {
    if (line.parse(argc, argv, job.rank == 0)) {
      needs.check(job.processes);
      benchmark(job);
    }
  } catch (const UsageError& e) {
    fail(2, e.what());
  } catch (const std::exception& e) {
    fail(1, e.what());
  }
  MPI_Finalize();
  return status;
}

}  // namespace plait::bench
