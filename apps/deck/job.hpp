// What applications ask of the processes of a job, and how these end together: one line, from one process.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <new>
#include <string>

#include "deck/error.hpp"
#include "deck/files.hpp"

namespace plait::deck {

/// Thrown on every process once the line has been printed: leave quietly, with a status that is not 0.
struct Quit {};

/// Runs `work` on every process of `comm`; if it throws Error anywhere (or runs out of memory, of which `no_memory` is said), the
/// lowest such process prints its line in the name of `program` and Quit is thrown on all. Collective over comm, one thread.
template <class Work>
void collectively(MPI_Comm comm, const char* program, const char* no_memory, Work&& work) {
  std::string line;
  try {
    work();
  } catch (const Error& e) {
    line = e.what();
  } catch (const std::bad_alloc&) {
    line = no_memory;
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int failed = line.empty() ? size : rank, first = size;
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == size) return;
  if (first == rank) {
    std::fprintf(stderr, "%s: %s\n", program, one_line(line).c_str());
    std::fflush(stderr);
  }
  throw Quit{};
}

/// Whether all processes of `comm` have given the same. Collective.
[[nodiscard]] inline bool same_everywhere(int value, MPI_Comm comm) {
  const int mine[2] = {value, -value};
  int least[2] = {};
  MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, comm);
  return least[0] == -least[1];
}

/// Throws Error where OpenMP gives fewer threads than are asked for, as it does beyond OMP_THREAD_LIMIT: their shares would not be done.
inline void require_threads(int asked) {
  int given = 0;
#pragma omp parallel num_threads(asked) reduction(+ : given)
  given += 1;
  if (given == asked) return;
  throw Error(fmt::format("OpenMP gives {} threads a process, but OMP_NUM_THREADS is {}; raise OMP_THREAD_LIMIT, or ask for {}", given,
                          asked, given));
}

/// What this process may use of its node's memory, in bytes, if all take the same. Collective over MPI_COMM_WORLD.
[[nodiscard]] inline double share_of_memory() {
  MPI_Comm node = MPI_COMM_NULL;
  int processes = 1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &processes);
  MPI_Comm_free(&node);
  return memory_of_machine() / processes;
}

/// The MPI's name and version.
[[nodiscard]] inline std::string mpi_name() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING]{};
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string text(version);
  return text.substr(0, text.find('\n'));
}

[[nodiscard]] inline const char* thread_level_name() {
  int level = 0;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
         : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
         : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                          : "MPI_THREAD_MULTIPLE";
}

}  // namespace plait::deck
