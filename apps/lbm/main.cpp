// plait-lbm: a lattice-Boltzmann code whose halo exchange runs in every hybrid programming model.
#include <fmt/format.h>
#include <mpi.h>
#include <omp.h>
#include <plait/mpix.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "checks.hpp"
#include "deck/files.hpp"
#include "deck/numbers.hpp"
#include "deck/summary.hpp"
#include "error.hpp"
#include "files.hpp"
#include "ranks.hpp"
#include "simulation.hpp"

namespace plait::lbm {
namespace {

struct Options {
  std::string deck, model, json, output, restart, grid;
  std::vector<std::string> settings;
  long steps = 0;
  bool no_output = false, no_limit = false, check = false, quiet = false, no_reorder = false;
};

void describe(CLI::App& app, Options& o) {
  std::string names;
  for (const auto& m : models()) names += fmt::format("\n  {:<18} {}", m.name, m.what);
  app.add_option("deck", o.deck, "What to simulate: a TOML file, see docs/lbm.md")->required();
  app.add_option("--model", o.model,
                 "How threads and processes share the work (default: pure-mpi with one thread, else masteronly):" + names);
  app.add_option("--steps", o.steps, "Make so many steps, whatever the deck says, and do not stop when steady")
      ->check([](const auto& text) {
        const auto n = deck::whole_number(text, kMostSteps);
        return n ? std::string() : fmt::format("must be a whole number of at least 1 and at most {}, not {}", kMostSteps, text);
      });
  app.add_option("--set", o.settings, "KEY=VALUE in place of the deck's, like lattice.size=[64,64,64]; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--grid", o.grid, "Cut the lattice into XxYxZ boxes instead of the best way found");
  app.add_flag("--no-reorder", o.no_reorder, "Leave ranks where the launcher put them, however much of the halo leaves a node then");
  app.add_option("--json", o.json, "Write the results there");
  app.add_option("--output", o.output, "Folder for fields and checkpoints, in place of the deck's");
  app.add_option("--restart", o.restart, "Go on from this checkpoint");
  app.add_flag("--no-output", o.no_output, "Write no fields and no checkpoints");
  app.add_flag("--check", o.check, "Say what is wrong with the deck, and simulate nothing");
  app.add_flag("--no-limit", o.no_limit, "Do not measure the memory's limit");
  app.add_flag("--quiet", o.quiet, "Print nothing but errors");
}

Int3 parse_grid(const std::string& text) {
  if (text.empty()) return {};
  const auto n = deck::numbers_by("--grid", text, std::numeric_limits<int>::max(), "1x2x2");
  return {n[0], n[1], n[2]};
}

/// Process 0 reads the deck's file; all get its text.
std::string read_deck(const std::string& path, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::string text;
  collectively(comm, [&] {
    if (rank == 0) text = deck::read_text(path, 16 << 20, "[lattice], [fluid] and [run], see docs/lbm.md");
  });
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, comm);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm);
  return text;
}

/// What the run was made of and what it found; complete on process 0 of `comm`, whatever order the simulation's ranks have: that process
/// has the folder in which the results are wanted.
class Report {
 public:
  /// `threads` of each process, of which some may be ranks of their own.
  Report(const Simulation& s, const ModelInfo& model, const Ranks& ranks, int threads, MPI_Comm comm) : comm_(comm) {
    int processes = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Comm_size(comm, &processes_);
    MPI_Comm_rank(comm, &rank_);
    const Subdomain& box = s.box();
    const double sites = 1.0 * box.global[0] * box.global[1] * box.global[2];
    json_["deck"] = s.deck().name;
    json_["model"] = model.name;
    json_["processes"] = processes;
    json_["threads"] = threads;
    json_["grid"] = box.grid;
    json_["lattice"] = box.global;
    json_["nodes"] = ranks.nodes();
    json_["bytes_between_nodes"] = {{"as_given", ranks.between_nodes_as_given()}, {"as_run", ranks.between_nodes()}};
    json_["fluid_sites"] = s.fluid_sites();
    json_["porosity"] = static_cast<double>(s.fluid_sites()) / sites;
    json_["mpi"] = deck::mpi_name();
    json_["thread_level"] = deck::thread_level_name();
  }

  nlohmann::json& json() { return json_; }
  [[nodiscard]] bool first() const { return rank_ == 0; }

  /// Times per step, the mean over processes of each part. Local and crossing steps differ, so a sample is the mean of
  /// two steps that follow each other. The first two, in which memory and caches are met for the first time,
  /// are left out where there are more than ten. Collective.
  void add_times(const Simulation& s, const std::vector<double>& limit) {
    const std::size_t n = s.times().size(), skip = n > 10 ? 2 : 0;
    std::vector<double> mine(4 * n), sum(4 * n);
    for (std::size_t k = 0; k < n; ++k) {
      const StepTimes& t = s.times()[k];
      mine[k] = t.compute;
      mine[n + k] = t.pack;
      mine[2 * n + k] = t.wait;
      mine[3 * n + k] = t.unpack;
    }
    MPI_Reduce(mine.data(), sum.data(), static_cast<int>(4 * n), MPI_DOUBLE, MPI_SUM, 0, comm_);
    if (!first() || n == 0) return;
    std::vector<double> parts[4], halo, step;
    for (std::size_t k = skip; k < n; k += 2) {
      const std::size_t other = std::min(k + 1, n - 1);
      for (std::size_t p = 0; p < 4; ++p) parts[p].push_back(1e3 * (sum[p * n + k] + sum[p * n + other]) / 2 / processes_);
      halo.push_back(parts[1].back() + parts[2].back() + parts[3].back());
      step.push_back(parts[0].back() + halo.back());
    }
    static constexpr const char* kNames[4] = {"compute_ms", "pack_ms", "wait_ms", "unpack_ms"};
    for (std::size_t p = 0; p < 4; ++p) json_[kNames[p]] = deck::summary(parts[p]);
    json_["halo_ms"] = deck::summary(halo);
    json_["step_ms"] = deck::summary(step);
    json_["samples"] = {{"step_ms", step}, {"halo_ms", halo}};
    const double per_ms = static_cast<double>(s.fluid_sites()) / 1e3;  // million sites per ms -> MLUPS
    const double median = json_["step_ms"]["median"];
    json_["mlups"] = per_ms / median;
    if (limit.empty()) return;
    const double best = 1e3 * deck::summary(limit)["median"].get<double>();
    json_["limit_mlups"] = per_ms / best;
    json_["limit_gb_s"] = per_ms / best * kBytesPerUpdate / 1e3;
    json_["limit_fraction"] = best / median;
  }

  void print() const {
    const auto& j = json_;
    fmt::print("{}: {}x{}x{} sites, {} fluid, {} processes x {} threads, {}\n", j["deck"].get<std::string>(), j["lattice"][0].get<int>(),
               j["lattice"][1].get<int>(), j["lattice"][2].get<int>(), j["fluid_sites"].get<long>(), j["processes"].get<int>(),
               j["threads"].get<int>(), j["model"].get<std::string>());
    if (j["nodes"].get<int>() > 1) {
      const auto megabytes = [&](const char* key) { return 1e-6 * j["bytes_between_nodes"][key].get<double>(); };
      const double now = megabytes("as_run"), given = megabytes("as_given");
      fmt::print("  {:.4g} MB a step between {} nodes{}\n", now, j["nodes"].get<int>(),
                 now == given ? "" : fmt::format(" ({:.4g} MB with ranks in the launcher's order)", given));
    }
    if (j.contains("step_ms")) {
      const auto median = [&](const char* key) { return j[key]["median"].get<double>(); };
      fmt::print("  step {:.3f} ms ({:.3f} to {:.3f}): compute {:.3f}, pack {:.3f}, wait {:.3f}, unpack {:.3f}\n", median("step_ms"),
                 j["step_ms"]["min"].get<double>(), j["step_ms"]["max"].get<double>(), median("compute_ms"), median("pack_ms"),
                 median("wait_ms"), median("unpack_ms"));
      fmt::print("  {:.1f} million site updates a second", j["mlups"].get<double>());
      if (j.contains("limit_mlups")) {
        fmt::print(", {:.2f} of the memory's limit ({:.1f}, {:.1f} GB/s)", j["limit_fraction"].get<double>(),
                   j["limit_mlups"].get<double>(), j["limit_gb_s"].get<double>());
      }
      fmt::print("\n");
    }
    fmt::print("  step {}{}, mean velocity ({:.6g}, {:.6g}, {:.6g})\n", j["step"].get<long>(), j["steady"].get<bool>() ? ", steady" : "",
               j["mean_velocity"][0].get<double>(), j["mean_velocity"][1].get<double>(), j["mean_velocity"][2].get<double>());
    if (!j["permeability"].is_null()) fmt::print("  permeability {:.6g} (lattice spacings squared)\n", j["permeability"].get<double>());
    for (const auto& c : j["checks"]) {
      fmt::print("  check against {}: error {:.2e} in {} (at most {:.2e}): {}\n", c["against"].get<std::string>(), c["error"].get<double>(),
                 c["quantity"].get<std::string>(), c["tolerance"].get<double>(), c["passed"].get<bool>() ? "passed" : "FAILED");
    }
    fmt::print("  digest {}\n", j["digest"].get<std::string>());
  }

 private:
  MPI_Comm comm_;
  int processes_ = 1, rank_ = 0;
  nlohmann::json json_;
};

/// A line on the terminal that shows how far the run is.
class Progress {
 public:
  Progress(bool shown, long first, long last) : shown_(shown), first_(first), last_(last) {}
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(long step) {
    const double now = MPI_Wtime();
    if (!shown_ || (now - last_shown_ < 0.2 && step < last_)) return;
    last_shown_ = now;
    constexpr int kWidth = 30;
    const double done = static_cast<double>(step - first_) / static_cast<double>(std::max(1L, last_ - first_));
    const int full = static_cast<int>(kWidth * done);
    const double left = done > 0 ? (now - start_) * (1 - done) / done : 0;
    fmt::print(stderr, "\r[{}{}] step {} of {}, {:.0f} s left \033[K", std::string(full, '#'), std::string(kWidth - full, '.'), step, last_,
               left);
    std::fflush(stderr);
  }

 private:
  bool shown_;
  long first_, last_;
  double start_ = MPI_Wtime(), last_shown_ = 0;
};

/// The time loop: steps in batches, between which things are written and looked at.
class Run {
 public:
  Run(Simulation& s, const Options& o, std::string stem, long last)
      : s_(s), o_(o), stem_(std::move(stem)), last_(last), interval_(s.deck().steady > 0 && !o.steps ? s.deck().interval : 0) {}

  /// Seconds a step would take without arithmetic, measured in turn with the steps; empty if not wanted.
  [[nodiscard]] const std::vector<double>& limit() const { return limit_; }

  /// Returns whether the flow became steady.
  bool go(bool progress) {
    Progress bar(progress, s_.step(), last_);
    double before = 0;
    const long every = std::max(20L, (last_ - s_.step()) / kLimitSamples);
    long sample = s_.step(), look = s_.step() + kLook;
    while (s_.step() < last_) {
      s_.run(batch());
      bar.show(s_.step());
      if (s_.step() >= look) {
        s_.require_finite();
        look = s_.step() + kLook;
      }
      if (!o_.no_limit && s_.step() >= sample) {
        limit_.push_back(s_.measure_limit());
        sample = s_.step() + every;
      }
      write();
      if (!due(interval_)) continue;
      const double now = s_.means().size;
      if (now > 0 && std::abs(now - before) <= s_.deck().steady * now) return true;
      before = now;
    }
    return false;
  }

 private:
  [[nodiscard]] bool due(long every) const { return every > 0 && s_.step() % every == 0; }

  /// Steps to the next event; at most 20, so that the progress bar moves.
  [[nodiscard]] long batch() const {
    long n = std::min(20L, last_ - s_.step());
    for (const long every : {interval_, s_.deck().fields_every, s_.deck().checkpoint_every}) {
      if (every > 0) n = std::min(n, every - s_.step() % every);
    }
    return n;
  }

  void write() {
    if (o_.no_output) return;
    const bool fields = due(s_.deck().fields_every) && s_.step() < last_, checkpoint = due(s_.deck().checkpoint_every);
    if (fields || checkpoint) (void)s_.means();  // an unstable flow replaces no file
    if (fields) write_fields(s_, fmt::format("{}-{}.vti", stem_, s_.step()));
    if (checkpoint) write_checkpoint(s_, stem_ + ".checkpoint");
  }

  Simulation& s_;
  const Options& o_;
  std::string stem_;
  static constexpr long kLimitSamples = 15;
  static constexpr long kLook = 1000;  // steps from one look for what is not finite to the next: it takes half a step
  long last_;
  long interval_;
  std::vector<double> limit_;
};

void add_results(Report& report, Simulation& s, bool steady) {
  const Double3 u = s.means().velocity;
  const Digest digest = s.digest();
  const auto result = check(s);
  auto& j = report.json();
  j["step"] = s.step();
  j["steps"] = s.times().size();
  j["steady"] = steady;
  j["mean_velocity"] = u;
  j["digest"] = to_string(digest);
  const Double3& f = s.fluid().force;
  const double force = f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
  // Darcy's law along the force: mean velocity = permeability / viscosity * force.
  const bool walls = s.fluid_sites() < 1LL * s.box().global[0] * s.box().global[1] * s.box().global[2] ||
                     !(s.deck().periodic(0) && s.deck().periodic(1) && s.deck().periodic(2));
  if (force > 0 && walls)
    j["permeability"] = s.fluid().viscosity * (u[0] * f[0] + u[1] * f[1] + u[2] * f[2]) / force;
  else
    j["permeability"] = nullptr;
  j["checks"] = nlohmann::json::array();
  if (!result) return;
  nlohmann::json c{{"against", result->against},
                   {"quantity", result->quantity},
                   {"error", result->error},
                   {"tolerance", result->tolerance},
                   {"passed", result->passed()}};
  if (result->expected != 0) c.update({{"found", result->found}, {"expected", result->expected}});
  j["checks"].push_back(c);
}

/// Threads, deck and grid that all processes agree on.
struct Setup {
  Deck deck;
  Int3 grid{};
  int threads = 1;
};

Setup set_up(const Options& o, const ModelInfo& model, MPI_Comm comm, int threads, double memory) {
  int size = 0, level = 0;
  MPI_Comm_size(comm, &size);
  MPI_Query_thread(&level);
  Setup setup;
  const std::string text = read_deck(o.deck, comm);
  setup.threads = threads;
  const bool same_threads = deck::same_everywhere(threads, comm);
  double all_memory = 0;
  MPI_Allreduce(&memory, &all_memory, 1, MPI_DOUBLE, MPI_SUM, comm);
  collectively(comm, [&] {
    if (level < model.thread_level) throw Error(fmt::format("model {} needs more thread support than this MPI gives", model.name));
    if (!model.threads && setup.threads > 1) {
      throw Error(fmt::format("model {} uses one thread a process, but OMP_NUM_THREADS is {}; set it to 1 or choose another model",
                              model.name, setup.threads));
    }
    if (model.reserved && setup.threads == 1) {
      throw Error(
          fmt::format("model {} keeps a thread for communication alone, so it needs at least 2 threads a process; "
                      "OMP_NUM_THREADS is 1",
                      model.name));
    }
    if (!same_threads) throw Error("OMP_NUM_THREADS must be the same in all processes");
    setup.deck = parse_deck(text, o.deck, o.settings);
    if (o.steps) setup.deck.steps = o.steps;
    if (!o.output.empty()) setup.deck.directory = o.output;
    setup.grid = choose_grid(setup.deck.size, size, parse_grid(o.grid));
    require_room(setup.deck.size, setup.grid, all_memory);
  });
  return setup;
}

/// Sees that the results can be written. Collective; reports.
void prepare_results(const std::string& file, MPI_Comm comm) {
  collectively(comm, [&] { deck::require_file_name(file); });
  const std::filesystem::path path(file);
  prepare_folder(path.has_parent_path() ? path.parent_path().string() : ".", "--json", comm);
}

/// The whole run, by every rank of `comm` with so many threads and so much memory.
void simulate(const Options& o, const ModelInfo& model, MPI_Comm comm, int threads, double memory) {
  const Setup setup = set_up(o, model, comm, threads, memory);
  if (o.check) return;
  const Deck& deck = setup.deck;
  const bool writes = !o.no_output && (deck.fields || deck.fields_every || deck.checkpoint_every);
  int by_threads = 0;
  MPIX_Comm_test_threadcomm(comm, &by_threads);
  collectively(comm, [&] {
    if (by_threads && (writes || !o.restart.empty())) {
      throw Error(fmt::format("model {} has no files, since threads cannot open one together; add --no-output or choose another model",
                              model.name));
    }
  });
  const std::string stem = (std::filesystem::path(deck.directory) / deck.name).string();
  std::optional<FolderLock> lock;
  if (writes) {
    prepare_folder(deck.directory, "--output", comm);
    lock.emplace(stem, comm);
  }
  if (!o.json.empty()) prepare_results(o.json, comm);
  const Ranks ranks(deck, setup.grid, comm, !o.no_reorder);
  Simulation s(deck, model, setup.grid, setup.threads, std::filesystem::path(o.deck).parent_path().string(), ranks.comm());
  Report report(s, model, ranks, by_threads ? omp_get_max_threads() : setup.threads, comm);
  s.initialize();
  if (!o.restart.empty()) read_checkpoint(s, o.restart);
  const long last = o.steps ? s.step() + o.steps : deck.steps;
  collectively(comm, [&] { require_checkable(deck, last); });
  const char* wanted = std::getenv("PLAIT_PROGRESS");
  const bool progress = report.first() && !o.quiet && (isatty(STDERR_FILENO) || (wanted && *wanted == '1'));
  Run run(s, o, stem, last);
  const bool steady = run.go(progress);
  add_results(report, s, steady);
  if (!o.no_output && deck.fields) write_fields(s, fmt::format("{}-{}.vti", stem, s.step()));
  report.add_times(s, run.limit());
  collectively(comm, [&] {
    if (!report.first()) return;
    if (!o.quiet) report.print();
    if (!o.json.empty()) deck::write_results(report.json().dump(2), o.json);
    for (const auto& c : report.json()["checks"]) {
      if (!c["passed"].get<bool>()) throw Error(fmt::format("the check against {} failed", c["against"].get<std::string>()));
    }
  });
}

/// The same by ranks of one sort or the other. Returns the exit status.
int simulate_as(const Options& o, const ModelInfo& model, MPI_Comm comm, int threads, double memory) {
  try {
    simulate(o, model, comm, threads, memory);
    return 0;
  } catch (const Quit&) {
    return 1;
  } catch (const std::exception& e) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::fprintf(stderr, "plait-lbm: process %d: %s\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

/// Every thread a rank: the run is that of as many processes with one thread each.
int simulate_by_threads(const Options& o, const ModelInfo& model) {
  const int threads = omp_get_max_threads();
  const double memory = deck::share_of_memory() / threads;
  MPI_Comm comm = MPI_COMM_NULL;
  MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);
  int status = 0;
#pragma omp parallel num_threads(threads) reduction(max : status)
  {
    MPIX_Threadcomm_start(comm);
    status = simulate_as(o, model, comm, 1, memory);
    MPIX_Threadcomm_finish(comm);
  }
  MPIX_Threadcomm_free(&comm);
  return status;
}

/// The run in the way of its model. Returns the exit status.
int run_model(const Options& o, const ModelInfo& model) {
  try {
    collectively(MPI_COMM_WORLD, [] { deck::require_threads(omp_get_max_threads()); });
  } catch (const Quit&) {
    return 1;
  }
  if (model.name == "threadcomm") return simulate_by_threads(o, model);
  return simulate_as(o, model, MPI_COMM_WORLD, omp_get_max_threads(), deck::share_of_memory());
}

/// Reads the command line. Returns an exit status where there is nothing to run.
std::optional<int> parse(int argc, char** argv, Options& o, std::string& wrong) {
  CLI::App app{"plait-lbm: D3Q19 lattice-Boltzmann in every hybrid programming model", "plait-lbm"};
  describe(app, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    wrong = app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    wrong = fmt::format("plait-lbm: {} (see plait-lbm --help)\n", e.what());
    std::replace(wrong.begin(), wrong.end() - 1, '\n', ' ');
    return 2;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace plait::lbm

int main(int argc, char** argv) {
  using namespace plait::lbm;
  Options options;
  std::string line;
  std::optional<int> status = parse(argc, argv, options, line);
  const ModelInfo* model = &models().front();
  if (!status) {
    if (options.model.empty()) options.model = omp_get_max_threads() > 1 ? "masteronly" : "pure-mpi";
    try {
      model = &find_model(options.model);
    } catch (const Error& e) {
      line = fmt::format("plait-lbm: {}\n", e.what());
      status = 2;
    }
  }
  omp_set_dynamic(0);  // each thread has its share in every step, however busy the machine is
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, model->thread_level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (status) {
    if (rank == 0) fmt::print(*status ? stderr : stdout, "{}", line);
  } else {
    status = run_model(options, *model);
  }
  std::fflush(nullptr);
  MPI_Finalize();
  return *status;
}
