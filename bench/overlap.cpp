// bench-overlap: what it brings that some threads communicate while the others multiply, beside what theory says of it. The experiment of
// Rabenseifner and Wellein (2003), by plait-spmv's models: nk, the planes of a grid that each process has, sets the share of communication.
//
//   iteration      each model in turn, as many iterations of each; the mean of those that do not scale x, by the slowest process
//   communication  of masteronly, and
//   inner          its rows that need no halo: the mean of all processes
//   expected       of the other models, by the theory from these three: docs/benchmarks.md derives it
//   multiply       inner rows alone, without any communication: by `all` threads, and by the `unreserved` ones
//
// epsilon is masteronly's iteration divided by another model's. Digests and checks of all models are compared behind the time.
#include <fmt/core.h>
#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common.hpp"
#include "deck/job.hpp"
#include "deck/numbers.hpp"
#include "iterate.hpp"

namespace plait::bench {
namespace {

using spmv::ModelInfo;

// Ahead of each measurement: loops are balanced by then. Every tenth iteration scales x, so that this many and as many again do it as
// often.
constexpr std::int64_t kWarmUp = 10;

struct OverlapOptions : Options {
  int threads = 2, reserved = 1;
  std::string grid = "128x128";
  std::vector<std::size_t> nk{2, 4, 8, 16, 32};
};

/// An iteration of masteronly.
struct Parts {
  double total = 0, communication = 0, inner = 0;
  [[nodiscard]] double rest() const { return std::max(0.0, total - communication - inner); }
};

double mean(double mine, const Job& job) {
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / job.processes;
}

double slowest(double mine) {
  double most = 0;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/// One model on one matrix.
class Contender {
 public:
  Contender(spmv::Matrix& matrix, const ModelInfo& info, const Job& job, const OverlapOptions& o)
      : matrix_(matrix),
        info_(info),
        job_(job),
        threads_(o.threads),
        reserved_(spmv::reserved_threads(info, o.threads, info.reserves ? o.reserved : 0)) {}

  [[nodiscard]] std::string name() const { return std::string(info_.name); }
  /// Of the last run.
  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] const std::string& digest() const { return digest_; }

  /// Seconds of so many iterations. Collective.
  double run(std::int64_t iterations) {
    const spmv::Outcome outcome = spmv::iterate(matrix_, info_, threads_, reserved_, iterations + kWarmUp);
    if (!outcome.check.passed()) throw Error(fmt::format("{}: the check of column sums failed", info_.name));
    digest_ = outcome.digest.text();
    Parts mine;
    double counted = 0;
    for (std::int64_t k = kWarmUp; k < iterations + kWarmUp; ++k) {
      if ((k + 1) % spmv::kScaling == 0) continue;  // a sum over all processes, which no model overlaps
      const spmv::PartTimes& times = outcome.times[static_cast<std::size_t>(k)];
      mine.total += times.total;
      mine.communication += times.communication;
      mine.inner += times.inner;
      ++counted;
    }
    parts_ = {slowest(mine.total / counted), mean(mine.communication / counted, job_), mean(mine.inner / counted, job_)};
    return parts_.total * static_cast<double>(iterations);
  }

  /// An iteration as theory has it: k threads communicate k times as fast as one, n threads multiply n times as fast, and neither slows the
  /// other down.
  [[nodiscard]] double expected(const Parts& p) const {
    const double n = threads_, k = info_.thread_level == MPI_THREAD_MULTIPLE ? reserved_ : 1;
    const double beside = info_.reserves ? p.inner * n / (n - reserved_) : p.inner + p.communication / n;
    return std::max(p.communication / k, beside) + p.rest();
  }

 private:
  spmv::Matrix& matrix_;
  const ModelInfo& info_;
  const Job& job_;
  int threads_, reserved_;
  Parts parts_;
  std::string digest_;
};

/// The rows that need no halo, by so many threads and without any communication: how well more of them multiply.
class Multiplication {
 public:
  Multiplication(spmv::Matrix& matrix, int threads)
      : matrix_(matrix), x_(static_cast<std::size_t>(matrix.rows() + matrix.halo().slots()), 1.0), y_(x_.size()), threads_(threads) {}

  /// Seconds of so many times. Collective.
  double run(std::int64_t times) {
    double took = 0;
#pragma omp parallel num_threads(threads_)
    {
      const auto [begin, end] = spmv::part_of(0, matrix_.inner_work(), omp_get_thread_num(), threads_);
#pragma omp barrier
      const double start = seconds();
      for (std::int64_t k = 0; k < times; ++k) {
        matrix_.multiply(begin, end, x_.data(), y_.data());
#pragma omp barrier
      }
      if (omp_get_thread_num() == 0) took = seconds() - start;
    }
    return slowest(took);
  }

 private:
  spmv::Matrix& matrix_;
  std::vector<double> x_, y_;
  int threads_;
};

/// masteronly, and those that are asked for.
std::vector<const ModelInfo*> choose_models(const Job& job, const OverlapOptions& o, Report& report) {
  std::vector<const ModelInfo*> chosen{&spmv::find_model("masteronly")};
  for (const char* name : {"funneled-reserved", "multiple-reserved", "funneled-balanced", "multiple-balanced"}) {
    const ModelInfo& info = spmv::find_model(name);
    if (!o.wants(name)) continue;
    if (job.level < info.thread_level) {
      report.skip(name, "this MPI gives no MPI_THREAD_MULTIPLE");
    } else {
      chosen.push_back(&info);
    }
  }
  return chosen;
}

/// part(parts of a round), of each.
template <class Part>
std::vector<double> of_each(const std::vector<Parts>& rounds, Part part) {
  std::vector<double> found(rounds.size());
  std::transform(rounds.begin(), rounds.end(), found.begin(), part);
  return found;
}

void print(std::size_t nk, const std::vector<Contender>& contenders, const std::vector<Side>& sides, const std::vector<Parts>& parts) {
  const auto median_of = [&](auto part) { return Summary(of_each(parts, part)).median; };
  fmt::print("{:<16} {:>8} planes  {:.0f} % of masteronly\n", "communication", nk,
             100 * median_of([](const Parts& p) { return p.communication / p.total; }));
  for (std::size_t m = 1; m < contenders.size(); ++m) {
    std::vector<double> epsilons(parts.size());
    for (std::size_t r = 0; r < parts.size(); ++r) epsilons[r] = sides[0].samples[r] / sides[m].samples[r];
    fmt::print("{:<16} {:>8} planes  {:<20} {:.3f}, expected {:.3f}\n", "epsilon", nk, contenders[m].name(), Summary(epsilons).median,
               median_of([&](const Parts& p) { return p.total / contenders[m].expected(p); }));
  }
}

void measure_grid(spmv::Grid grid, const std::vector<const ModelInfo*>& models, const Job& job, const OverlapOptions& o, Report& report) {
  spmv::Matrix matrix(spmv::grid_rows(grid, job.rank, job.processes), spmv::StorageKind::crs, o.threads, MPI_COMM_WORLD);
  std::vector<Contender> contenders;
  contenders.reserve(models.size());
  for (const ModelInfo* info : models) contenders.emplace_back(matrix, *info, job, o);
  Multiplication all(matrix, o.threads), unreserved(matrix, o.threads - o.reserved);

  std::vector<Parts> parts;  // of masteronly, a round each
  std::string digest;        // of as many iterations as are measured
  std::vector<Side> sides;
  sides.reserve(contenders.size() + 2);
  for (Contender& one : contenders) {
    sides.push_back({one.name(), 1, [&](std::int64_t iterations) {
                       const double took = one.run(iterations);
                       if (&one == contenders.data()) parts.push_back(one.parts());
                       if (!digest.empty() && digest != one.digest())
                         throw Error(fmt::format("{}: another digest than masteronly's", one.name()));
                       return took;
                     }});
  }
  const bool alone = Job::sum(matrix.inner_work() > 0 ? 0 : 1) == 0;  // there are such rows
  if (alone) {
    sides.push_back({"all", 1, [&](std::int64_t times) { return all.run(times); }});
    sides.push_back({"unreserved", 1, [&](std::int64_t times) { return unreserved.run(times); }});
  }
  // As many iterations of each model: so they have the same digest.
  calibrate(sides.front(), o.time);
  const std::int64_t iterations = (sides.front().repeats + kWarmUp - 1) / kWarmUp * kWarmUp;
  for (Side& side : sides) {
    side.repeats = iterations;
    if (&side != sides.data()) side.run(kWarmUp);
  }
  sides.front().run(iterations);
  digest = contenders.front().digest();
  parts.clear();
  take_turns(sides, o.rounds);

  const Report::Place at{{"planes", grid.nk}, {"reserved", o.reserved}};
  report.add("iteration", at, {sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(contenders.size())});
  report.add("multiply", at, {sides.begin() + static_cast<std::ptrdiff_t>(contenders.size()), sides.end()});
  const auto add = [&](const char* quantity, const Side& side, auto part) {
    report.add(quantity, "s", at, side, of_each(parts, [&](const Parts& p) { return std::max(part(p), 1e-9); }));  // a clock's least
  };
  add("communication", sides.front(), [](const Parts& p) { return p.communication; });
  add("inner", sides.front(), [](const Parts& p) { return p.inner; });
  for (std::size_t m = 1; m < contenders.size(); ++m) {
    add("expected", sides[m], [&](const Parts& p) { return contenders[m].expected(p); });
  }
  if (report.prints()) print(static_cast<std::size_t>(grid.nk), contenders, sides, parts);
}

/// The grid of each nk. Throws deck::Error.
std::vector<spmv::Grid> check(const Job& job, const OverlapOptions& o, double memory) {
  constexpr std::size_t kMost = 1 << 24;
  if (o.threads < 2) throw deck::Error("needs at least 2 threads a process, one that communicates and one that multiplies: -t 2");
  if (o.reserved >= o.threads) {
    throw deck::Error(fmt::format("--reserved {}: must be below the threads of a process, which are {}", o.reserved, o.threads));
  }
  if (!o.wants("funneled-reserved") && !o.wants("multiple-reserved") && !o.wants("funneled-balanced") && !o.wants("multiple-balanced")) {
    throw deck::Error("--only: no side has such a name");
  }
  const std::vector<int> plane = deck::numbers_by("--grid", o.grid, kMost, "128x128");
  std::vector<spmv::Grid> grids;
  for (const std::size_t nk : o.nk) {
    if (nk < 1 || nk > kMost) throw deck::Error(fmt::format("--nk {}: must be at least 1 and at most {}", nk, kMost));
    grids.push_back({plane[0], plane[1], static_cast<int>(nk)});
    spmv::require_room(grids.back(), job.processes, memory);
  }
  deck::require_threads(o.threads);
  return grids;
}

void benchmark(const Job& job, const OverlapOptions& o) {
  omp_set_dynamic(0);  // as many as are asked for
  std::vector<spmv::Grid> grids;
  const double memory = deck::share_of_memory();
  deck::collectively(MPI_COMM_WORLD, "bench-overlap", "not enough memory", [&] { grids = check(job, o, memory); });
  Report report("overlap", job, o, o.threads);
  report.set("grid", o.grid);
  const auto models = choose_models(job, o, report);
  for (const spmv::Grid& grid : grids) measure_grid(grid, models, job, o, report);
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::OverlapOptions o;
  o.time = 0.1;
  plait::bench::CommandLine line("Threads that multiply while others communicate, beside theory", "bench-overlap");
  line.number("-t,--threads", o.threads, "Threads in each process", 1, 1024);
  line.number("--reserved", o.reserved, "Threads that do nothing but communicate, in the reserved models", 1, 1024);
  line.text("--grid", o.grid, "NXxNY: points of the grid in its planes (128x128)");
  line.sizes("--nk", o.nk, "Planes of the grid in each process: fewer make more communication");
  o.describe(line);
  bool quit = false;  // the line has been printed
  const auto benchmark = [&](const plait::bench::Job& job) {
    try {
      plait::bench::benchmark(job, o);
    } catch (const plait::deck::Quit&) {
      quit = true;
    }
  };
  const int status = plait::bench::run(argc, argv, line, benchmark, {2, plait::bench::kAny});
  return quit ? 1 : status;
}
