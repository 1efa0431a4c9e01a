// MPI_Init, MPI_Init_thread and what MPI_Finalize does for plait: the thread level that plait needs, and what it has open.
#include "mpi/init.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fatal.hpp"
#include "base/settings.hpp"
#include "gaspi/job.hpp"
#include "lane/endpoint.hpp"
#include "layout/quiet.hpp"
#include "mpi/from_group.hpp"
#include "mpi/lend.hpp"
#include "mpi/quirks.hpp"
#include "mpi/spawn.hpp"
#include "ordinary/carried.hpp"
#include "p2p/report.hpp"
#include "p2p/world.hpp"
#include "partitioned/request.hpp"
#include "progress/cores.hpp"
#include "progress/helper.hpp"
#include "queue/engine.hpp"
#include "topology/choice.hpp"
#include "transport/packets.hpp"

namespace plait::mpi {
namespace {

using settings::Id;

bool same(Id one, Id other) noexcept { return !settings::text(one).empty() && settings::text(one) == settings::text(other); }

/// What launchers say of a job whose processes are all on this node.
bool one_node() noexcept {
  const auto is_set = [](Id id) { return !settings::text(id).empty(); };
  if (!is_set(Id::pmi_size) && !is_set(Id::openmpi_size) && !is_set(Id::pmix_rank)) return true;  // no launcher
  return same(Id::local_processes, Id::pmi_size) || same(Id::openmpi_local_size, Id::openmpi_size);
}

/// The level to ask the MPI for. Between nodes any of the program's threads may have to call it; on one node none has to,
/// and MPIs are faster without.
int level_to_ask(int required) noexcept {
  if (settings::text(Id::thread_level) == "serialized") return MPI_THREAD_SERIALIZED;
  if (required == MPI_THREAD_MULTIPLE) return required;
  return one_node() ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
}

/// Names wrong and unknown variables once for the whole job.
void check_settings() noexcept {
  int rank = 0;
  if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank != 0) return;
  for (const std::string& line : settings::problems()) std::fprintf(stderr, "plait: %s\n", line.c_str());
}

/// Ends the job where processes differ in what plait carries, or in whether they lend: some would wait for the others in calls that these
/// do not make. Of reordering they have one opinion from here on: what one forbids is forbidden, and what one wants told is told.
/// Collective.
void check_agreement(std::string_view carried) noexcept {
  constexpr std::array kWords{"none", "streams", "all"};
  const int mine = carried == kWords[0] ? 0 : carried == kWords[2] ? 2 : 1;
  const topology::Wishes wishes = topology::own_wishes();
  const int lends = settings::flag(Id::lend) ? 1 : 0;
  std::array most{mine, -mine, wishes.stay ? 1 : 0, wishes.report ? 1 : 0, lends, -lends};
  if (PMPI_Allreduce(MPI_IN_PLACE, most.data(), most.size(), MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) return;
  topology::agree_on({most[2] > 0, most[3] > 0});
  if (most[0] == -most[1] && most[4] == -most[5]) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && most[4] != -most[5])
    fatal(
        "PLAIT_LEND is 1 in some processes and not in others; all processes of a job need the same value: give it to plait run by --lend, "
        "or to the launcher for all nodes");
  if (rank == 0)
    fatal(
        "PLAIT_COMMUNICATORS is %s in some processes and %s in others; all processes of a job need the same value: give it to plait run by "
        "--env, or to the launcher for all nodes",
        kWords[static_cast<std::size_t>(-most[1])], kWords[static_cast<std::size_t>(most[0])]);
  PMPI_Barrier(MPI_COMM_WORLD);  // rank 0 ends it
}

/// How many communicators messages between nodes are spread over: as many as PLAIT_CHANNELS says, or as MPICH says that it
/// drives in parallel (communicators get its channels in turn), if there are cores for that. Collective.
int channels() noexcept {
  constexpr int kMost = 64;
  int n = settings::number(Id::channels)
              .value_or(std::clamp(settings::number(Id::mpich_vcis).value_or(1), 1, std::min(progress::cores(), kMost)));
  return PMPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS ? n : 1;
}

/// Plait's messages, over all processes: sent and received.
using Sums = std::array<std::int64_t, 2>;

Sums count_messages() noexcept {
  const transport::Traffic packets = transport::packet_traffic();
  const transport::Traffic control = partitioned::traffic();
  return {packets.sent + control.sent, packets.received + control.received};
}

/// Messages that are complete for the program still have to arrive, as long as anybody receives, and so have those that answer them: until
/// all processes have come here and nothing is under way. Their counts are not of one moment. But where no more was sent than was
/// received, and this is the same when all have counted once more, then nothing was under way in between; and who has nothing to send
/// and gets nothing sends nothing. (Mattern, Algorithms for distributed termination detection, 1987: the four counter method.)
void finish_messages() noexcept {
  queue::engine::stop();
  progress::stop_helper();  // where MPI_Finalize went to the MPI at once, as Open MPI's Fortran calls do
  const MPI_Comm world = p2p::world();
  if (world == MPI_COMM_NULL) return;
  const auto round = [] {
    const bool driven = transport::drive_network();
    const bool moved = progress::drive();
    return partitioned::move_all() || moved || driven;
  };
  const auto nothing = [] {};
  progress::Nowhere nowhere;
  const auto all_sent = [] { return transport::packets_in_line.load(std::memory_order_relaxed) == 0 && !partitioned::has_unsent(); };
  Sums before{-1, -1};
  for (bool over = false; !over;) {
    progress::wait_until(nowhere, progress::kForRequests, round, all_sent, nothing);
    Sums sums = count_messages();
    MPI_Request summing = MPI_REQUEST_NULL;
    {
      const MpiLock lock;
      if (PMPI_Iallreduce(MPI_IN_PLACE, sums.data(), sums.size(), MPI_INT64_T, MPI_SUM, world, &summing) != MPI_SUCCESS) return;
    }
    const auto all_here = [&] {
      const MpiLock lock;
      int done = 0;
      return PMPI_Test(&summing, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
    };
    progress::wait_until(nowhere, progress::kForRequests, round, all_here, nothing);
    over = sums[0] == sums[1] && (sums[0] == 0 || sums == before);
    before = sums;
  }
  partitioned::close();
  p2p::close_world();
}

/// With PLAIT_REPORT=1 each process says on stderr what it has taken for lanes, and what was sent on each communicator.
void report_lanes() noexcept {
  if (!settings::flag(Id::report)) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "plait: rank %d: %zu endpoints, %zu lanes, %zu bytes of shared memory%s\n", rank, lane::endpoints_made.load(),
               lane::lanes_made.load(), lane::endpoints_exist() ? lane::Node::get().region().taken() : 0,
               progress::oversubscribed() ? ", threads outnumber cores" : "");
  if (lend::polls()) {
    const lend::Counts cores = lend::counts();
    std::fprintf(stderr, "plait: rank %d: cores lent to %llu regions of others, and borrowed for %llu of its own\n", rank,
                 static_cast<unsigned long long>(cores.lent), static_cast<unsigned long long>(cores.borrowed));
  }
  p2p::report_traffic(rank);
}

/// MPI_Finalize has ended GASPI, whose gaspi_proc_term is still to come. Relaxed, as both are one thread's.
constinit std::atomic<bool> gaspi_ended{false};

/// The attribute of MPI_COMM_SELF that MPI_Finalize deletes last, since it was set first: the program's own may still send.
int finish_last() noexcept {
  int key = MPI_KEYVAL_INVALID;
  const auto end = [](MPI_Comm, int, void*, void*) {
    gaspi_ended.store(gaspi::current() != nullptr, std::memory_order_relaxed);
    gaspi::stop();
    ordinary::end_world();
    finish_messages();
    lend::stop();
    close_groups();
    layout::free_quiet();
    report_lanes();
    return MPI_SUCCESS;
  };
  int error = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &key, nullptr);
  if (error == MPI_SUCCESS) error = PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  if (error == MPI_SUCCESS) error = PMPI_Comm_free_keyval(&key);
  return error;
}

/// The thread level that the program has: what it asked for, if the MPI grants that to plait. None, as long as plait has not started the
/// MPI. Set-up is one thread's: relaxed.
constexpr int kNoLevel = -1;
constinit std::atomic<int> level{kNoLevel};

int initialize(int* argc, char*** argv, int required, int* provided) noexcept {
  leave_children_alone();
  int granted = MPI_THREAD_SINGLE;
  const int error = PMPI_Init_thread(argc, argv, level_to_ask(required), &granted);
  level.store(std::min(std::max<int>(required, MPI_THREAD_SINGLE), granted), std::memory_order_relaxed);
  if (provided) *provided = level.load(std::memory_order_relaxed);
  if (error != MPI_SUCCESS) return error;
  if (const int failed = finish_last(); failed != MPI_SUCCESS) return failed;
  if (required == MPI_THREAD_MULTIPLE) progress::expect_threads();
  set_fatal_end([]() noexcept { static_cast<void>(PMPI_Abort(MPI_COMM_WORLD, 1)); });
  check_settings();
  const std::string_view carried = settings::text(Id::communicators);
  check_agreement(carried);
  std::vector<MPI_Comm> worlds;
  const bool serialized = granted < MPI_THREAD_MULTIPLE || split_threads();
  partitioned::open(p2p::make_channel(), serialized);
  progress::set_processes_here(
      std::max(settings::number(Id::local_processes).value_or(0), settings::number(Id::openmpi_local_size).value_or(0)));
  if (settings::flag(Id::lend)) start_lending();
  if (carried == "none") return MPI_SUCCESS;
  open_groups();
  const int wanted = serialized || one_node() ? 1 : channels();
  for (int i = 0; i < wanted; ++i) {
    if (const MPI_Comm made = p2p::make_channel(); made != MPI_COMM_NULL) worlds.push_back(made);
  }
  if (worlds.size() != static_cast<std::size_t>(wanted)) return MPI_SUCCESS;  // stream communicators stay inside nodes
  const MPI_Comm world = worlds.front();
  using transport::Pollers;
  transport::set_pollers(granted == MPI_THREAD_MULTIPLE    ? Pollers::all
                         : required <= MPI_THREAD_FUNNELED ? Pollers::this_one
                                                           : Pollers::none,
                         world);
  p2p::set_world(std::move(worlds), serialized);
  if (carried == "all") ordinary::carry_all(granted == MPI_THREAD_MULTIPLE);
  return MPI_SUCCESS;
}

/// gaspi_proc_init has started the MPI, and the program has not asked for it itself. Set-up is one thread's: relaxed.
constinit std::atomic<bool> started_alone{false};

/// The program's own call.
int initialize_for_program(int* argc, char*** argv, int required, int* provided) noexcept {
  if (!started_alone.exchange(false, std::memory_order_relaxed)) return initialize(argc, argv, required, provided);
  // It is there, with the highest level. From now on the program ends it.
  return provided ? query_level(provided) : MPI_SUCCESS;
}

}  // namespace

int query_level(int* provided) noexcept {
  const int error = PMPI_Query_thread(provided);
  const int told = level.load(std::memory_order_relaxed);
  if (error == MPI_SUCCESS && told != kNoLevel) *provided = told;
  return error;
}

bool start_for_gaspi() noexcept {
  int initialized = 0;
  int finalized = 0;
  if (PMPI_Initialized(&initialized) != MPI_SUCCESS || PMPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return false;
  if (initialized) return true;
  if (initialize(nullptr, nullptr, MPI_THREAD_MULTIPLE, nullptr) != MPI_SUCCESS) return false;
  started_alone.store(true, std::memory_order_relaxed);
  return true;
}

bool gaspi_has_ended() noexcept { return gaspi_ended.exchange(false, std::memory_order_relaxed); }

bool end_for_gaspi() noexcept { return !started_alone.exchange(false, std::memory_order_relaxed) || MPI_Finalize() == MPI_SUCCESS; }

}  // namespace plait::mpi

#pragma GCC visibility push(default)

extern "C" int MPI_Init(int* argc, char*** argv) { return plait::mpi::initialize_for_program(argc, argv, MPI_THREAD_SINGLE, nullptr); }

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return plait::mpi::initialize_for_program(argc, argv, required, provided);
}

extern "C" int MPI_Query_thread(int* provided) { return plait::mpi::query_level(provided); }

// No other thread may be inside the MPI now. MPICH 5.0.2 takes no locks any more from here on, and gives none back: one that the helper has
// stays locked, and the job ends when it is destroyed. The rest is done when the MPI deletes the attributes of MPI_COMM_SELF.
extern "C" int MPI_Finalize() {
  plait::queue::engine::stop();
  plait::progress::stop_helper();
  return PMPI_Finalize();
}

#pragma GCC visibility pop
