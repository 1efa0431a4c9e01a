// plait-spmv: a sparse matrix times a vector, whose halo exchange runs in hybrid programming models.
#include <fmt/format.h>
#include <mpi.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "deck/numbers.hpp"
#include "deck/summary.hpp"
#include "error.hpp"
#include "iterate.hpp"

namespace plait::spmv {
namespace {

constexpr int kMostPoints = 1 << 24;        // of a grid along a side
constexpr long kMostIterations = 10000000;  // the times of each are kept

struct Options {
  std::string model, storage = "crs", matrix, grid, json;
  StorageKind kind = StorageKind::crs;
  int nk = 0, reserved = 0;
  long iterations = 100;
  bool quiet = false;
};

CLI::Validator whole(long most) {
  return CLI::Validator(
      [most](const std::string& text) {
        return deck::whole_number(text, most) ? std::string()
                                              : fmt::format("must be a whole number of at least 1 and at most {}, not {}", most, text);
      },
      "");
}

void describe(CLI::App& app, Options& o) {
  std::string names;
  for (const auto& m : models()) names += fmt::format("\n  {:<18} {}", m.name, m.what);
  app.add_option("--model", o.model,
                 "How threads and processes share the work (default: pure-mpi with one thread, else masteronly):" + names);
  app.add_option("--reserved", o.reserved, "Threads of a process that communicate in the reserved models (default: 1, or half of them)")
      ->check(whole(kMostPoints));
  app.add_option("--storage", o.storage, "How rows lie in memory: crs or jds (default: crs)");
  app.add_option("--matrix", o.matrix, "Matrix Market file, in place of a grid");
  app.add_option("--grid", o.grid, "NXxNY: points of the grid in its planes (default: 128x128)");
  app.add_option("--nk", o.nk, "Planes of the grid in each process (default: 8)")->check(whole(kMostPoints));
  app.add_option("--iterations", o.iterations, "Products (default: 100)")->check(whole(kMostIterations));
  app.add_option("--json", o.json, "Write the results there");
  app.add_flag("--quiet", o.quiet, "Print nothing but errors");
  app.set_version_flag("--version", "plait-spmv " PLAIT_VERSION);
}

/// What of the options all processes see alike.
struct Setup {
  Grid grid;
  int threads = 1, reserved = 1;
};

Setup set_up(const Options& o, const ModelInfo& model, MPI_Comm comm) {
  Setup setup;
  omp_set_dynamic(0);  // as many as are said to be
  setup.threads = omp_get_max_threads();
  int rank = 0, processes = 1, level = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &processes);
  MPI_Query_thread(&level);
  const bool same_threads = deck::same_everywhere(setup.threads, comm);
  const double memory = deck::share_of_memory();
  collectively(comm, [&] {
    if (level < model.thread_level) throw Error(fmt::format("model {} needs more thread support than this MPI gives", model.name));
    if (!same_threads) throw Error("OMP_NUM_THREADS must be the same in all processes");
    setup.reserved = reserved_threads(model, setup.threads, o.reserved);
    if (o.matrix.empty()) {
      if (!o.grid.empty()) {
        const auto n = deck::numbers_by("--grid", o.grid, kMostPoints, "512x512");
        setup.grid.nx = n[0];
        setup.grid.ny = n[1];
      }
      if (o.nk) setup.grid.nk = o.nk;
      require_room(setup.grid, processes, memory);
    } else if (!o.grid.empty() || o.nk) {
      throw Error("--matrix takes the place of a grid: leave out --grid and --nk");
    }
    if (rank == 0) deck::require_writable(o.json);
  });
  return setup;
}

Matrix build(const Options& o, const Setup& setup, MPI_Comm comm) {
  if (!o.matrix.empty()) return {market_rows(o.matrix, comm), o.kind, setup.threads, comm};
  int rank = 0, processes = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &processes);
  Rows rows;
  collectively(comm, [&] { rows = grid_rows(setup.grid, rank, processes); });
  return {std::move(rows), o.kind, setup.threads, comm};
}

/// Times of an iteration in milliseconds: the whole by the slowest process, its parts as the mean of all. Those of process 0.
void add_times(nlohmann::json& json, const std::vector<PartTimes>& times, MPI_Comm comm) {
  int processes = 1;
  MPI_Comm_size(comm, &processes);
  // The first two meet memory and caches for the first time.
  const std::size_t skip = times.size() > 10 ? 2 : 0;
  const auto gather = [&](double PartTimes::* part, MPI_Op op, double scale) {
    std::vector<double> mine, all(times.size() - skip);
    for (std::size_t k = skip; k < times.size(); ++k) mine.push_back(scale * (times[k].*part));
    MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, op, 0, comm);
    return all;
  };
  const auto whole = gather(&PartTimes::total, MPI_MAX, 1e3);
  json["iteration_ms"] = deck::summary(whole);
  json["samples"]["iteration_ms"] = whole;
  json["inner_ms"] = deck::summary(gather(&PartTimes::inner, MPI_SUM, 1e3 / processes));
  json["outer_ms"] = deck::summary(gather(&PartTimes::outer, MPI_SUM, 1e3 / processes));
  json["communication_ms"] = deck::summary(gather(&PartTimes::communication, MPI_SUM, 1e3 / processes));
}

void print(const nlohmann::json& j) {
  const auto whole = [&](const char* key) { return j[key].get<long>(); };
  const auto median = [&](const char* key) { return j[key]["median"].get<double>(); };
  fmt::print("{}: {} rows, {} nonzeros, {}, {} processes x {} threads, {}\n", j["matrix"].get<std::string>(), whole("rows"),
             whole("nonzeros"), j["storage"].get<std::string>(), whole("processes"), whole("threads"), j["model"].get<std::string>());
  fmt::print("  iteration {:.4g} ms ({:.4g} to {:.4g}, {:.4g} on average): inner rows {:.4g}, outer rows {:.4g}, communication {:.4g}\n",
             median("iteration_ms"), j["iteration_ms"]["min"].get<double>(), j["iteration_ms"]["max"].get<double>(),
             1e3 * j["seconds"].get<double>(), median("inner_ms"), median("outer_ms"), median("communication_ms"));
  fmt::print("  {:.4g} GFLOP/s, {:.4g} MB of halo in an iteration\n", j["gflops"].get<double>(), 1e-6 * j["halo_bytes"].get<double>());
  fmt::print("  check of column sums: error {:.2e} (at most {:.2e}): {}\n", j["check"]["error"].get<double>(),
             j["check"]["bound"].get<double>(), j["check"]["passed"].get<bool>() ? "passed" : "FAILED");
  fmt::print("  digest {}\n", j["digest"].get<std::string>());
}

void run(const Options& o, const ModelInfo& model) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, processes = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &processes);
  const Setup setup = set_up(o, model, comm);
  Matrix matrix = build(o, setup, comm);
  const Outcome outcome = iterate(matrix, model, setup.threads, setup.reserved, o.iterations);
  nlohmann::json json{
      {"model", model.name},
      {"processes", processes},
      {"threads", setup.threads},
      {"storage", name_of(o.kind)},
      {"matrix", o.matrix.empty() ? fmt::format("grid {}x{}x{}", setup.grid.nx, setup.grid.ny, 1L * setup.grid.nk * processes)
                                  : std::filesystem::path(o.matrix).filename().string()},
      {"rows", matrix.all_rows()},
      {"nonzeros", matrix.nonzeros()},
      {"halo_bytes", matrix.halo_bytes()},
      {"iterations", o.iterations},
      {"seconds", outcome.seconds},
      {"mpi", deck::mpi_name()},
      {"thread_level", deck::thread_level_name()},
      {"digest", outcome.digest.text()},
      {"check",
       {{"product", outcome.check.product},
        {"columns", outcome.check.columns},
        {"error", outcome.check.error()},
        {"bound", outcome.check.bound},
        {"passed", outcome.check.passed()}}}};
  if (model.reserves) json["reserved"] = setup.reserved;
  add_times(json, outcome.times, comm);
  collectively(comm, [&] {
    if (rank != 0) return;
    json["gflops"] = 2e-6 * static_cast<double>(matrix.nonzeros()) / json["iteration_ms"]["median"].get<double>();
    if (!o.quiet) print(json);
    if (!o.json.empty()) deck::write_results(json.dump(2), o.json);
    if (!outcome.check.passed()) {
      throw Error(
          fmt::format("the check of column sums failed: the product's numbers add up to {:.17g}, not to {:.17g}, and rounding makes no "
                      "more than {:.2e}",
                      outcome.check.product, outcome.check.columns, outcome.check.bound));
    }
  });
}

/// Reads the command line. Returns an exit status where there is nothing to run, with what to say in `line`.
std::optional<int> parse(int argc, char** argv, Options& o, const ModelInfo*& model, std::string& line) {
  CLI::App app{"plait-spmv: a sparse matrix times a vector in hybrid programming models", "plait-spmv"};
  describe(app, o);
  try {
    app.parse(argc, argv);
    if (o.model.empty()) o.model = omp_get_max_threads() > 1 ? "masteronly" : "pure-mpi";
    model = &find_model(o.model);
    o.kind = find_storage(o.storage);
  } catch (const CLI::CallForHelp&) {
    line = app.help();
    return 0;
  } catch (const CLI::CallForVersion& e) {
    line = fmt::format("{}\n", e.what());
    return 0;
  } catch (const CLI::ParseError& e) {
    line = fmt::format("plait-spmv: {} (see plait-spmv --help)\n", deck::one_line(e.what()));
    return 2;
  } catch (const Error& e) {
    line = fmt::format("plait-spmv: {}\n", deck::one_line(e.what()));
    return 2;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace plait::spmv

int main(int argc, char** argv) {
  using namespace plait::spmv;
  Options options;
  std::string line;
  const ModelInfo* model = &models().front();
  std::optional<int> status = parse(argc, argv, options, model, line);
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, model->thread_level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (status) {
    if (rank == 0) fmt::print(*status ? stderr : stdout, "{}", line);
  } else {
    try {
      run(options, *model);
      status = 0;
    } catch (const Quit&) {
      status = 1;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "plait-spmv: process %d: %s\n", rank, e.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
      status = 1;
    }
  }
  std::fflush(nullptr);
  MPI_Finalize();
  return *status;
}
