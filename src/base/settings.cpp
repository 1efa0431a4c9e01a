#include "base/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace plait::settings {
namespace {

constexpr Setting whole_row(Id id, Reader reader, const char* name, int least, int most, const char* initially, const char* meaning) {
  return {id, reader, name, Type::whole, double(least), double(most), {}, initially, meaning};
}
constexpr Setting duration_row(Id id, Reader reader, const char* name, const char* initially, const char* meaning) {
  return {id, reader, name, Type::seconds, 0, 0, {}, initially, meaning};
}
constexpr Setting flag_row(Id id, Reader reader, const char* name, const char* meaning) {
  return {id, reader, name, Type::flag, 0, 1, {}, "0", meaning};
}
constexpr Setting word_row(Id id, Reader reader, const char* name, std::string_view words, const char* initially, const char* meaning) {
  return {id, reader, name, Type::word, 0, 0, words, initially, meaning};
}
constexpr Setting text_row(Id id, Reader reader, const char* name, const char* initially, const char* meaning) {
  return {id, reader, name, Type::text, 0, 0, {}, initially, meaning};
}

constexpr int kMany = 1 << 30;

constexpr std::array kTable{
    whole_row(Id::channels, Reader::library, "PLAIT_CHANNELS", 1, 64, "MPIR_CVAR_CH4_NUM_VCIS, at most one a core; else 1",
              "how many communicators of its own libplait spreads messages between nodes over"),
    whole_row(
        Id::cluster_memory, Reader::library, "PLAIT_CLUSTER_MEMORY", 0, kMany, "256",
        "OpenMP over several nodes: megabytes of a process for copies and changes of pages, above which all processes give theirs up at "
        "the "
        "next barrier"),
    word_row(
        Id::communicators, Reader::library, "PLAIT_COMMUNICATORS", "all streams none", "streams",
        "whose messages libplait carries: those of stream and thread communicators, of all intracommunicators, or of none; the same for "
        "all processes of a job"),
    word_row(Id::gpu_signals, Reader::library, "PLAIT_GPU_SIGNALS", "memory functions", "memory where the driver can, else functions",
             "how a GPU's stream and plait tell each other where they are: by words in memory, or by host functions"),
    flag_row(Id::lend, Reader::library, "PLAIT_LEND",
             "1: a process that waits in a call of the MPI's lends its cores to others of its node; the same for all processes of a job; "
             "plait run --lend sets it"),
    word_row(
        Id::reorder, Reader::library, "PLAIT_REORDER", "yes no", "yes",
        "whether MPI_Cart_create and its like put ranks in another order where the program lets them; no in one process of a job holds "
        "for all"),
    flag_row(
        Id::report, Reader::library, "PLAIT_REPORT",
        "at its end each process says on stderr how many lanes it made, what memory they took, whether threads outnumber cores, "
        "what cores it lent and borrowed, and what was sent on each communicator, by its name; of what plait is to carry and cannot, that "
        "it goes to the MPI; of each Cartesian "
        "or graph communicator, when it is made, what leaves nodes as ranks are and reordered, if one process of the job wants it"),
    word_row(Id::thread_level, Reader::library, "PLAIT_THREAD_LEVEL", "serialized", "what the program asks for; multiple between nodes",
             "the thread level that libplait asks the MPI for; serialized is to try how plait runs on an MPI that grants no more"),
    duration_row(Id::watchdog, Reader::library, "PLAIT_WATCHDOG", "0",
                 "a process that waits longer than so many seconds says once on stderr what it waits for, and goes on waiting; 0: never"),
    word_row(Id::mpi, Reader::command, "PLAIT_MPI", "mpich openmpi impi system", "system where mpicc is on the PATH, else mpich",
             "the MPI of the plait command and of the tests; the option --mpi takes precedence"),
    text_row(Id::job, Reader::command, "PLAIT_JOB", "set by plait run",
             "marks the processes of a job, so that plait run can end all of them"),
    flag_row(Id::progress, Reader::application, "PLAIT_PROGRESS",
             "plait-lbm draws its progress bar where stderr is no terminal; plait run sets it where its own stderr is one"),
    text_row(Id::root, Reader::build, "PLAIT_ROOT", "not set", "where CMake's find_package looks for an installed plait"),
    word_row(Id::install, Reader::build, "PLAIT_INSTALL", "yes no", "yes",
             "no: make installs no system packages, and names those that are missing"),
    flag_row(Id::ci, Reader::tests, "PLAIT_CI", "a test that needs a browser fails where there is none, instead of being skipped"),
    whole_row(Id::seed, Reader::tests, "PLAIT_SEED", 0, kMany, "at random, printed", "the seed of a random test, to repeat a run"),
    text_row(Id::test_word, Reader::tests, "PLAIT_TEST_WORD", "not set", "a test of plait run --env looks whether it arrives"),
    whole_row(Id::mpich_vcis, Reader::mpi, "MPIR_CVAR_CH4_NUM_VCIS", 1, kMany, "1",
              "MPICH: how many channels it drives in parallel; libplait uses as many. plait run takes libfabric between nodes where it is "
              "above 1"),
    text_row(Id::intel_thread_split, Reader::mpi, "I_MPI_THREAD_SPLIT", "0",
             "Intel MPI: its locks are off; libplait then lets one thread at a time call the MPI"),
    text_row(Id::pmi_size, Reader::mpi, "PMI_SIZE", "set by the launcher",
             "MPICH, Intel MPI: processes in all; libplait compares it with MPI_LOCALNRANKS"),
    whole_row(Id::local_processes, Reader::mpi, "MPI_LOCALNRANKS", 1, kMany, "set by the launcher",
              "MPICH, Intel MPI: processes on this node"),
    text_row(Id::openmpi_size, Reader::mpi, "OMPI_COMM_WORLD_SIZE", "set by the launcher",
             "Open MPI: processes in all; libplait compares it with OMPI_COMM_WORLD_LOCAL_SIZE"),
    whole_row(Id::openmpi_local_size, Reader::mpi, "OMPI_COMM_WORLD_LOCAL_SIZE", 1, kMany, "set by the launcher",
              "Open MPI: processes on this node"),
    text_row(Id::pmix_rank, Reader::mpi, "PMIX_RANK", "set by the launcher", "launchers with PMIx: that there is a launcher at all"),
    text_row(Id::pmi_rank, Reader::mpi, "PMI_RANK", "set by the launcher",
             "MPICH, Intel MPI: which process gets the input of plait run --stdin"),
    text_row(Id::openmpi_rank, Reader::mpi, "OMPI_COMM_WORLD_RANK", "set by the launcher", "Open MPI: the same"),
    whole_row(Id::openmp_threads, Reader::system, "OMP_NUM_THREADS", 1, kMany, "1",
              "threads in each process, where plait run is not told --threads"),
    text_row(Id::openmp_dynamic, Reader::system, "OMP_DYNAMIC", "false", "of any value: parallel regions borrow no cores (PLAIT_LEND)"),
    text_row(Id::openmp_stack, Reader::system, "OMP_STACKSIZE", "the system's",
             "OpenMP over several nodes: the stacks of threads, with B, K, M or G behind the number"),
    text_row(Id::libgomp_stack, Reader::system, "GOMP_STACKSIZE", "the system's", "the same, where OMP_STACKSIZE is not set"),
    text_row(Id::c_compiler, Reader::system, "CC", "gcc", "the C compiler that plait cc drives for Intel MPI's wheel"),
    text_row(Id::cxx_compiler, Reader::system, "CXX", "g++", "the C++ compiler that plait c++ drives for Intel MPI's wheel"),
    text_row(Id::fortran_compiler, Reader::system, "FC", "gfortran", "the Fortran compiler that plait fc drives"),
    whole_row(Id::slurm_nodes, Reader::system, "SLURM_JOB_NUM_NODES", 1, kMany, "1",
              "Slurm: nodes of the batch job, over which plait run shares cores"),
    text_row(Id::slurm_rank, Reader::system, "SLURM_PROCID", "set by srun", "Slurm: the rank, where no launcher tells it"),
    text_row(Id::pbs_nodes, Reader::system, "PBS_NODEFILE", "not set", "PBS: the file that lists them"),
    text_row(Id::lsf_hosts, Reader::system, "LSB_DJOB_HOSTFILE", "not set", "LSF: the file that lists them"),
    text_row(Id::path, Reader::system, "PATH", "not set", "where programs are; also those of `MPI_Comm_spawn`"),
    text_row(Id::preload, Reader::system, "LD_PRELOAD", "not set",
             "libraries before the program's; libplait takes itself out when the MPI starts"),
};

consteval bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].id) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table has a row for each Id, in its order");

constexpr const Setting& setting(Id id) noexcept { return kTable[static_cast<std::size_t>(id)]; }

template <class Number>
std::optional<Number> parse(std::string_view text) noexcept {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The variable's value where it is set, not empty and right.
std::string_view value_of(const Setting& setting) noexcept {
  const char* const found = std::getenv(setting.name);
  const std::string_view value = found ? found : "";
  return is_right(setting, value) ? value : "";
}

bool is_among(std::string_view words, std::string_view word) noexcept {
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

/// How many letters have to be added, taken away or changed to make one name of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < other.size(); ++k) {
      const std::size_t changed = diagonal + (one[i] != other[k]);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, row[k] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// The name that is meant, where one is near enough for a slip of the fingers: a letter of three, at most two.
const char* nearest(std::string_view name) {
  constexpr std::string_view kPrefix = "PLAIT_";
  const std::string_view rest = name.substr(kPrefix.size());
  const char* found = nullptr;
  std::size_t least = std::min<std::size_t>(2, rest.size() / 3) + 1;
  for (const Setting& s : kTable) {
    if (!s.ours()) continue;
    if (const std::size_t d = distance(rest, std::string_view(s.name).substr(kPrefix.size())); d < least) {
      least = d;
      found = s.name;
    }
  }
  return found;
}

bool is_known(std::string_view name) noexcept {
  return std::any_of(kTable.begin(), kTable.end(), [name](const Setting& s) { return name == s.name; });
}

}  // namespace

std::span<const Setting> table() noexcept { return kTable; }

const char* name_of(Reader reader) noexcept {
  switch (reader) {
    case Reader::library:
      return "library";
    case Reader::application:
      return "application";
    case Reader::command:
      return "command";
    case Reader::build:
      return "build";
    case Reader::tests:
      return "tests";
    case Reader::mpi:
      return "mpi";
    case Reader::system:
      return "system";
  }
  return "";
}

std::string expected(const Setting& setting) {
  switch (setting.type) {
    case Type::whole: {
      const std::string least = std::to_string(static_cast<int>(setting.least));
      if (setting.most >= kMany) return "a whole number from " + least + " on";
      return "a whole number from " + least + " to " + std::to_string(static_cast<int>(setting.most));
    }
    case Type::seconds:
      return "a number of seconds from 0 on";
    case Type::flag:
      return "0 or 1";
    case Type::word: {
      std::string words;
      for (const char c : setting.words) words += c == ' ' ? ", " : std::string(1, c);
      if (const std::size_t last = words.rfind(','); last != std::string::npos) words.replace(last, 1, " or");
      return words;
    }
    case Type::text:
      return "text";
  }
  return {};
}

bool is_right(const Setting& setting, std::string_view value) noexcept {
  if (value.empty()) return true;
  switch (setting.type) {
    case Type::whole: {
      const std::optional<int> found = parse<int>(value);
      return found && *found >= setting.least && *found <= setting.most;
    }
    case Type::seconds: {
      const std::optional<double> found = parse<double>(value);
      return found && std::isfinite(*found) && *found >= 0;
    }
    case Type::flag:
      return value == "0" || value == "1";
    case Type::word:
      return is_among(setting.words, value);
    case Type::text:
      return true;
  }
  return false;
}

std::optional<int> number(Id id) noexcept { return parse<int>(value_of(setting(id))); }

std::optional<double> seconds(Id id) noexcept { return parse<double>(value_of(setting(id))); }

bool flag(Id id) noexcept { return value_of(setting(id)) == "1"; }

std::string_view text(Id id) noexcept { return value_of(setting(id)); }

std::vector<std::string> problems() {
  std::vector<std::string> lines;
  for (const Setting& s : kTable) {
    const char* const value = std::getenv(s.name);
    if (!value || !s.ours() || is_right(s, value)) continue;
    lines.push_back(std::string(s.name) + '=' + value + ": expected " + expected(s) + "; the default holds: " + s.initially);
  }
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    if (!name.starts_with("PLAIT_") || is_known(name)) continue;
    const char* const meant = nearest(name);
    lines.push_back(std::string(name) + ": plait knows no such variable" + (meant ? std::string("; did you mean ") + meant + '?' : ""));
  }
  return lines;
}

}  // namespace plait::settings
