// plait-heat: the plate by OpenMP in one process, by MPI, and by both.
#include <fmt/format.h>
#include <mpi.h>
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "deck/error.hpp"
#include "deck/files.hpp"
#include "deck/job.hpp"
#include "mpi.hpp"
#include "program.hpp"

namespace plait::heat {
namespace {

const Program& program() {
  static const Program kProgram("plait-heat", "heat in a plate, by OpenMP, MPI and both, with the same bits",
                                {{"openmp", "the threads of one process"},
                                 {"mpi", "processes of one thread"},
                                 {"hybrid", "processes, and threads in each, of which the first one calls the MPI"}});
  return kProgram;
}

/// Runs `work` on process 0 alone; all learn whether it threw deck::Error, and throw then.
template <class Work>
void at_first(int rank, Work&& work) {
  int fine = 1;
  std::string line;
  if (rank == 0) {
    try {
      work();
    } catch (const deck::Error& e) {
      fine = 0;
      line = e.what();
    }
  }
  MPI_Bcast(&fine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!fine) throw deck::Error(line);
}

/// Process 0 reads the deck's file; all get its text.
std::string text_of_deck(const std::string& path, int rank) {
  std::string text;
  at_first(rank, [&] { text = read_deck(path); });
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

/// Of all nodes together, in bytes.
double memory_of_all() {
  const double mine = deck::share_of_memory();
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/// What the model cannot do with so many processes and threads. All processes see the same.
void require_fit(const Options& o, const Deck& deck, int processes, int threads) {
  if (!deck::same_everywhere(threads, MPI_COMM_WORLD)) throw deck::Error("OMP_NUM_THREADS must be the same in all processes");
  if (o.model == "openmp" && processes > 1) {
    throw deck::Error(fmt::format(
        "model openmp is one process, not {}: take model mpi or hybrid, or plait-heat-cluster, whose threads are those of all processes",
        processes));
  }
  if (o.model == "mpi" && threads > 1) {
    throw deck::Error(
        fmt::format("model mpi uses one thread a process, but OMP_NUM_THREADS is {}; set it to 1 or choose another model", threads));
  }
  if (processes > deck.size - 2) {
    throw deck::Error(fmt::format("{} processes are too many for the {} rows inside of a plate of {} x {} points: take at most {}",
                                  processes, deck.size - 2, deck.size, deck.size, deck.size - 2));
  }
}

void run(const Options& o, int rank) {
  int processes = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const int threads = omp_get_max_threads();
  const std::string text = text_of_deck(o.deck, rank);
  const Deck deck = Program::read(o, text, memory_of_all());
  require_fit(o, deck, processes, threads);
  if (o.check) return;
  at_first(rank, [&] { deck::require_writable(o.json); });
  const Outcome outcome = o.model == "openmp" ? run_by_openmp(deck) : run_by_mpi(deck, o.model == "hybrid", MPI_COMM_WORLD);
  const Job job{processes, deck::mpi_name()};
  at_first(rank, [&] { Program::tell(o, deck, outcome, threads, &job); });
}

}  // namespace
}  // namespace plait::heat

int main(int argc, char** argv) {
  using namespace plait::heat;
  Options options;
  std::string line;
  std::optional<int> status = program().parse(argc, argv, options, line);
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (status) {
    if (rank == 0 && *status == 0) fmt::print("{}", line);
    if (rank == 0 && *status != 0) program().complain(line);
  } else {
    try {
      run(options, rank);
      status = 0;
    } catch (const plait::deck::Error& e) {
      if (rank == 0) program().complain(e.what());
      status = 1;
    } catch (const std::bad_alloc&) {
      program().complain("not enough memory for this plate: use more nodes or a smaller plate.size");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  std::fflush(nullptr);
  MPI_Finalize();
  return *status;
}
