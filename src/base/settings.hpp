// The environment variables that plait reads, in one table: libplait's own, those of its command and tests, and those of MPIs and
// launchers. No other file of src calls getenv. docs/environment.md is made from the table. Any thread may read; a program that
// changes its environment while others read it is wrong by itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plait::settings {

/// In the order of the table.
enum class Id : unsigned char {
  channels,
  cluster_memory,
  communicators,
  gpu_signals,
  lend,
  reorder,
  report,
  thread_level,
  watchdog,
  mpi,
  job,
  progress,
  root,
  install,
  ci,
  seed,
  test_word,
  mpich_vcis,
  intel_thread_split,
  pmi_size,
  local_processes,
  openmpi_size,
  openmpi_local_size,
  pmix_rank,
  pmi_rank,
  openmpi_rank,
  openmp_threads,
  openmp_dynamic,
  openmp_stack,
  libgomp_stack,
  c_compiler,
  cxx_compiler,
  fortran_compiler,
  slurm_nodes,
  slurm_rank,
  pbs_nodes,
  lsf_hosts,
  path,
  preload,
};

enum class Reader : unsigned char { library, application, command, build, tests, mpi, system };
enum class Type : unsigned char { whole, seconds, flag, word, text };

struct Setting {
  Id id;
  Reader reader;
  const char* name;
  Type type;
  double least, most;      // of a whole number
  std::string_view words;  // those that a word may be, with blanks between
  const char* initially;   // what holds where it is not set, in words
  const char* meaning;

  /// Whether the name is plait's, so that a wrong value is plait's to complain of.
  [[nodiscard]] constexpr bool ours() const noexcept { return std::string_view(name).starts_with("PLAIT_"); }
};

[[nodiscard]] std::span<const Setting> table() noexcept;
[[nodiscard]] const char* name_of(Reader reader) noexcept;

/// What a value has to be, like "a whole number from 1 to 64".
[[nodiscard]] std::string expected(const Setting& setting);
/// A value that is empty counts as none. Whether one that is not is as it has to be.
[[nodiscard]] bool is_right(const Setting& setting, std::string_view value) noexcept;

/// Nothing where the variable is not set, or wrong: the caller's default holds.
[[nodiscard]] std::optional<int> number(Id id) noexcept;
[[nodiscard]] std::optional<double> seconds(Id id) noexcept;
[[nodiscard]] bool flag(Id id) noexcept;
/// Empty where the variable is not set, or wrong.
[[nodiscard]] std::string_view text(Id id) noexcept;

/// A line for each of plait's variables whose value is wrong, and for each name that begins with PLAIT_ and is unknown.
[[nodiscard]] std::vector<std::string> problems();

}  // namespace plait::settings
