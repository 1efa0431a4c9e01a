// How a job starts and ends. Every process runs the same program, at the same addresses. Constructors run in each of them, as in any
// program; at main the job begins: process 0 keeps its memory and runs main, the others drop what their constructors have written to
// memory that is shared from now on, and serve parallel regions. The end begins when process 0 has run its destructors.
#include <mpi.h>
#include <pthread.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/event_count.hpp"
#include "base/fatal.hpp"
#include "base/settings.hpp"
#include "cluster/atomics.hpp"
#include "cluster/carrier.hpp"
#include "cluster/children.hpp"
#include "cluster/exit.hpp"
#include "cluster/faults.hpp"
#include "cluster/heap.hpp"
#include "cluster/job.hpp"
#include "cluster/locks.hpp"
#include "cluster/objects.hpp"
#include "cluster/pages.hpp"
#include "cluster/protocol.hpp"
#include "cluster/services.hpp"
#include "cluster/signals.hpp"
#include "cluster/space.hpp"

namespace plait::cluster {
namespace {

constexpr std::size_t kLeastStack = std::size_t{64} << 20;
constexpr std::size_t kMostStack = std::size_t{1} << 30;

using Main = int (*)(int, char**, char**);
struct Arguments {
  Main main;
  int argc;
  char** argv;
  char** environment;
};

bool launched() {
  using settings::Id;
  constexpr Id kSigns[] = {Id::pmi_rank, Id::pmix_rank, Id::openmpi_rank, Id::slurm_rank};
  return std::any_of(std::begin(kSigns), std::end(kSigns), [](Id id) { return !settings::text(id).empty(); });
}

/// Starts the program anew without randomized addresses, where the system allows that.
void fix_addresses(char** argv) {
  const int before = personality(0xFFFFFFFF);
  if (before < 0 || (before & ADDR_NO_RANDOMIZE)) return;
  if (personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) < 0) return;
  leave_places();
  execv("/proc/self/exe", argv);
}

/// `mine`: of the libraries that the program began with. What the MPI loads for itself, with threads that it has by then, may lie
/// elsewhere.
void check_addresses(std::uint64_t mine) {
  const Guard guard;  // the MPI serves one thread at a time
  std::vector<std::uint64_t> all(static_cast<std::size_t>(the_job.processes));
  PMPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] == all[0]) continue;
    if (the_job.process == 0) {
      fatal(
          "OpenMP over several nodes needs the same addresses in all processes, and those of libraries differ between process 0 "
          "and %zu: the system randomizes them and does not let a process switch that off (in a container: "
          "--security-opt seccomp=unconfined), or the nodes have different libraries",
          n);
    }
    PMPI_Barrier(MPI_COMM_WORLD);  // process 0 ends the job
  }
}

void* run_main(void* pointer) {
  const Arguments arguments = *static_cast<Arguments*>(pointer);
  std::exit(arguments.main(arguments.argc, arguments.argv, arguments.environment));
}

/// The program's arguments, where regions on other processes find them as well.
char** shared_arguments(int argc, char** argv) {
  auto** const copies = static_cast<char**>(allocate(sizeof(char*) * (static_cast<std::size_t>(argc) + 1), alignof(char*)));
  for (int i = 0; i < argc; ++i) {
    const std::size_t bytes = std::strlen(argv[i]) + 1;
    copies[i] = static_cast<char*>(allocate(bytes, 1));
    std::memcpy(copies[i], argv[i], bytes);
  }
  copies[argc] = nullptr;
  return copies;
}

int serve_regions() {
  const int status = run_worker();
  served = true;
  return status;
}

void run_on_shared_stack(Arguments& arguments) {
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  const std::size_t bytes = std::clamp<std::size_t>(limit.rlim_cur, kLeastStack, kMostStack) / kPage * kPage;
  auto* const stack = static_cast<std::byte*>(heap_end_piece(bytes));
  watched_first = page_of(stack);
  watched_end = watched_first + static_cast<PageId>(bytes / kPage);
  pthread_attr_t attributes;
  pthread_t thread{};
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, stack, bytes) != 0 || pthread_create(&thread, &attributes, run_main, &arguments) != 0) {
    fatal("the system gives no thread for main: %s", std::strerror(errno));
  }
  for (;;) pthread_join(thread, nullptr);  // it ends the process
}

[[gnu::constructor]] void begin(int, char** argv, char**) {
  if (!launched()) return;
  check_program();
  fix_addresses(argv);
  note_quick_exit();
  lead_children();
  make_space();
  start_heap();
}

}  // namespace

/// Called by the start object that `plait cc --cluster` links, in place of main.
extern "C" [[gnu::visibility("default")]] int plait_cluster_main(int argc, char** argv, char** environment, Main real) {
  if (!launched()) {
    prepare(the_job);
    return real(argc, argv, environment);
  }
  event_count_begin();
  leave_places();
  const std::uint64_t libraries = addresses_of_libraries();
  start_carrier(&argc, &argv);
  start_exit();
  if (the_job.processes > 1) {
    if (the_job.process == 0) check_libraries();
    check_addresses(libraries);
  }
  share_space();
  start_heap();
  make_pages();
  start_protocol();
  start_locks();
  start_atomics();
  start_services();
  prepare(the_job);
  if (the_job.processes == 1) return real(argc, argv, environment);
  catch_faults();
  lead_signals();
  {
    const Guard guard;
    PMPI_Barrier(MPI_COMM_WORLD);  // all have their handlers
  }
  if (the_job.process > 0) return serve_regions();
  static Arguments arguments;
  arguments = {real, argc, shared_arguments(argc, argv), environment};
  run_on_shared_stack(arguments);
  return 0;
}

}  // namespace plait::cluster
