// random_p2p: a random program of point-to-point messages, every outcome of which is held against a sequential model.
//
//   random_p2p [--seed S] [--messages N] [--streams K] [--threads] [--max-bytes B] [--plain | --streams-mode | --ranks T]
//              [--without FEATURE,...] [--patience SECONDS] [--break payload|gap|guard|source|tag|count|order]
//
// Every process has K endpoints, each driven by its own thread with --threads, else all by one. Endpoint k talks on a
// communicator of its own with endpoint k of every process, on an ordinary communicator with the same members, and in
// streams mode on a multiplex communicator with all endpoints. In plain mode all are ordinary communicators, which
// tests the MPI, and this program itself. With --ranks, T threads of each process are what is said of processes here, on a
// thread communicator and duplicates of it. Streams mode needs -DPLAIT_LINKED. The same seed, options and number of
// processes give the same program, though not the same timing. --without leaves calls out, see features.hpp. --break
// falsifies one outcome: the run must then fail.
//
// Exit status: 0 all as the model says, 1 not, 2 wrong usage, 77 the MPI lacks MPI_THREAD_MULTIPLE.
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "random_p2p/checking.hpp"
#include "random_p2p/communicators.hpp"
#include "random_p2p/driver.hpp"
#include "random_p2p/model.hpp"
#include "random_p2p/posting.hpp"
#include "random_p2p/quirks.hpp"
#include "random_p2p/report.hpp"
#include "random_p2p/types.hpp"

namespace {

using namespace random_p2p;

#ifdef PLAIT_LINKED
constexpr bool streams_possible = true;
#else
constexpr bool streams_possible = false;
#endif

struct Options {
  std::uint64_t seed = 0;
  bool seed_given = false;
  std::uint64_t messages = 20000;
  int streams = 2;
  int ranks = 0;
  bool threads = false;
  std::uint32_t max_bytes = 4 << 20;
  bool streams_mode = streams_possible;
  int patience = 60;
  Fault fault = Fault::none;
  Features features;
  std::string without;
};

bool parse(int argc, char** argv, Options& o) {
  static constexpr const char* faults[] = {"none", "payload", "gap", "guard", "source", "tag", "count", "order"};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads") {
      o.threads = true;
    } else if (word == "--plain") {
      o.streams_mode = false;
    } else if (word == "--streams-mode") {
      o.streams_mode = true;
    } else if (i + 1 == argc) {
      return false;
    } else if (word == "--without") {
      const std::string list = argv[++i];
      if (!o.features.leave_out(list)) return false;
      o.without += (o.without.empty() ? "" : ",") + list;
    } else if (word == "--break") {
      std::size_t f = 0;
      ++i;
      while (f < std::size(faults) && std::strcmp(argv[i], faults[f]) != 0) ++f;
      if (f == std::size(faults)) return false;
      o.fault = static_cast<Fault>(f);
    } else {
      char* end = nullptr;
      const std::uint64_t value = std::strtoull(argv[++i], &end, 0);
      if (*end != '\0') return false;
      if (word == "--seed") {
        o.seed = value;
        o.seed_given = true;
      } else if (word == "--messages") {
        o.messages = value;
      } else if (word == "--streams") {
        o.streams = static_cast<int>(value);
      } else if (word == "--ranks") {
        o.ranks = static_cast<int>(value);
        o.streams_mode = false;
      } else if (word == "--max-bytes") {
        o.max_bytes = static_cast<std::uint32_t>(value);
      } else if (word == "--patience") {
        o.patience = static_cast<int>(value);
      } else {
        return false;
      }
    }
  }
  // The identity of a message has room for so many endpoints.
  return o.streams >= 1 && o.streams <= 20 && o.max_bytes >= 1 && o.max_bytes <= (1U << 30) && (!o.streams_mode || streams_possible) &&
         (o.ranks == 0 || (streams_possible && !o.threads));
}

Shape make_shape(const Options& o, MPI_Comm world) {
  Shape shape;
  shape.seed = o.seed;
  shape.endpoints = o.streams;
  shape.streams = o.streams_mode;
  shape.multiplex = o.streams_mode && o.features.has(Feature::multiplex);
  shape.max_bytes = o.max_bytes;
  shape.features = o.features;
  MPI_Comm_size(world, &shape.processes);
  shape.ranks = o.ranks > 0;
  int* ub = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &found);
  if (found != 0) shape.tag_ub = *ub;
  return shape;
}

/// Receives of this process.
std::uint64_t run(const Options& o, const Shape& shape, MPI_Comm world, const Quirks& quirks, std::uint32_t rounds, int rank,
                  const std::string& replay) {
  const int n_threads = o.threads ? shape.endpoints : 1;
  std::vector<Where> where(n_threads);
  for (int t = 0; t < n_threads; ++t) {
    where[t].replay = replay;
    where[t].process = rank;
    where[t].endpoint = t;
    where[t].endpoints = o.threads ? 1 : shape.endpoints;
  }
  const Watchdog watchdog(where, o.patience);
  const Types types;
  Communicators comms(shape, world, where[0]);
  std::vector<std::byte> attached((buffered_bytes * shape.endpoints + MPI_BSEND_OVERHEAD) * buffer_slack);
  // The buffer is the process's; ranks that are threads need none.
  if (!shape.ranks) check(where[0], MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));

  std::vector<std::uint64_t> received(n_threads);
  const auto play = [&](int t) {
    std::vector<int> endpoints;
    for (int k = 0; k < shape.endpoints; ++k) {
      if (!o.threads || k == t) endpoints.push_back(k);
    }
    Driver driver(shape, types, comms, endpoints, o.fault, quirks, where[t]);
    for (std::uint32_t r = 0; r < rounds; ++r) driver.play(r);
    driver.end();
    received[t] = driver.received();
  };
  if (o.threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < n_threads; ++t) threads.emplace_back(play, t);
    for (std::thread& t : threads) t.join();
  } else {
    play(0);
  }

  void* detached = nullptr;
  int size = 0;
  if (!shape.ranks) check(where[0], MPI_Buffer_detach(&detached, &size));
  comms.free(where[0]);
  std::uint64_t sum = 0;
  for (const std::uint64_t n : received) sum += n;
  return sum;
}

template <class Play>
void play_as_ranks([[maybe_unused]] int ranks, [[maybe_unused]] Play play) {
#ifdef PLAIT_LINKED
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, ranks, &comm);
  std::vector<std::thread> threads;
  for (int t = 0; t < ranks; ++t) {
    threads.emplace_back([&] {
      MPIX_Threadcomm_start(comm);
      play(comm, Quirks{});
      MPIX_Threadcomm_finish(comm);
    });
  }
  for (std::thread& t : threads) t.join();
  MPIX_Threadcomm_free(&comm);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  Options o;
  const bool understood = parse(argc, argv, o);
  const bool enough = level >= MPI_THREAD_MULTIPLE || o.ranks > 0;
  if (!understood || !enough) {
    if (rank == 0) {
      std::fprintf(
          stderr, understood ? "random_p2p: the MPI lacks MPI_THREAD_MULTIPLE\n"
                             : "random_p2p [--seed S] [--messages N] [--streams K (1..20)] [--threads] [--max-bytes B]\n"
                               "           [--plain | --streams-mode | --ranks T (if compiled with PLAIT_LINKED)] [--without FEATURE,...]\n"
                               "           [--patience SECONDS] [--break payload|gap|guard|source|tag|count|order]\n");
    }
    MPI_Finalize();
    return understood ? 77 : 2;
  }
  if (!o.seed_given) {
    o.seed = std::random_device{}();
    MPI_Bcast(&o.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("random_p2p: seed %llu\n", static_cast<unsigned long long>(o.seed));
    std::fflush(stdout);
  }
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const std::string replay = "-n " + std::to_string(processes) + " random_p2p --seed " + std::to_string(o.seed) + " --messages " +
                             std::to_string(o.messages) + " --streams " + std::to_string(o.streams) + " --max-bytes " +
                             std::to_string(o.max_bytes) + (o.threads ? " --threads" : "") +
                             (o.ranks > 0      ? " --ranks " + std::to_string(o.ranks)
                              : o.streams_mode ? " --streams-mode"
                                               : " --plain") +
                             (o.without.empty() ? "" : " --without " + o.without);
  std::uint64_t planned = o.messages;
  std::atomic<std::uint64_t> here{0};
  int endpoints = 0;
  const auto play = [&](MPI_Comm world, const Quirks& quirks) {
    const Shape shape = make_shape(o, world);
    std::uint64_t messages = o.messages;
    const std::uint32_t rounds = count_rounds(shape, messages);
    int me = 0;
    MPI_Comm_rank(world, &me);
    here += run(o, shape, world, quirks, rounds, me, replay);
    if (me == 0) {
      planned = messages;
      endpoints = shape.processes * shape.endpoints;
    }
  };
  if (o.ranks == 0) {
    play(MPI_COMM_WORLD, find_quirks());
  } else {
    play_as_ranks(o.ranks, play);
  }
  std::uint64_t mine = here, all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  int wrong = 0;
  if (rank == 0) {
    wrong = static_cast<int>(all != planned);
    if (wrong != 0) {
      std::fprintf(stderr, "random_p2p: WRONG: %llu messages sent, %llu received\n", static_cast<unsigned long long>(planned),
                   static_cast<unsigned long long>(all));
    } else {
      std::printf("random_p2p: seed %llu, %llu messages, %d endpoints, all as the model says\n", static_cast<unsigned long long>(o.seed),
                  static_cast<unsigned long long>(all), endpoints);
    }
  }
  MPI_Finalize();
  return wrong;
}
