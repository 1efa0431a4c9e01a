// MPI_Comm_spawn and MPI_Comm_spawn_multiple of a program that libplait was preloaded into. The new processes are the MPI's own and get the
// environment of its launcher, where libplait is not: a shell in front of them puts it there, so that they are carried like their parents.
#include "mpi/spawn.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "mpi/calls.hpp"

namespace plait::mpi {
namespace {

/// What LD_PRELOAD was, if libplait was in it; else empty. Written once, by leave_children_alone().
std::string& preloaded() {
  static std::string& list = *new std::string;  // never destroyed: programs may spawn in their own destructors
  return list;
}

/// Whether an entry of LD_PRELOAD is libplait: by its file, or by its name where the loader has searched for it.
bool is_own(const std::string& entry) noexcept {
  static const char here = 0;
  Dl_info found{};
  if (!dladdr(&here, &found) || !found.dli_fname) return false;
  const std::string_view own = found.dli_fname;
  constexpr std::string_view kLend = "libplait_lend.so";  // goes with libplait
  if (entry.substr(entry.rfind('/') + 1) == kLend) return true;
  if (entry.find('/') == std::string::npos) return own.substr(own.rfind('/') + 1) == entry;
  struct stat one{};
  struct stat other{};
  return stat(entry.c_str(), &one) == 0 && stat(found.dli_fname, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// In single quotes, for a shell.
std::string quoted(std::string_view text) {
  std::string q = "'";
  for (const char c : text) {
    if (c == '\'') {
      q += "'\\''";
    } else {
      q += c;
    }
  }
  return q + "'";
}

bool has_key(MPI_Info info, const char* key) noexcept {
  int length = 0;
  int found = 0;
  return PMPI_Info_get_valuelen(info, key, &length, &found) != MPI_SUCCESS || found;
}

bool is_program(const std::string& path) noexcept {
  struct stat file{};
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// Whether it is found where it will be started, as a shell does; else the MPI shall say itself that there is none.
bool is_found(const std::string& command, MPI_Info info) {
  const bool elsewhere = info != MPI_INFO_NULL && (has_key(info, "path") || has_key(info, "wdir") || has_key(info, "host"));
  if (elsewhere && command[0] != '/') return false;
  if (command.find('/') != std::string::npos) return is_program(command);
  const std::string path(settings::text(settings::Id::path));
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (end > at && is_program(path.substr(at, end - at) + "/" + command)) return true;
    at = end + 1;
  }
  return false;
}

/// A command and its arguments, with the shell in front where it is needed.
class Command {
 public:
  Command(char* command, char** arguments, MPI_Info info) : command_(command), arguments_(arguments) {
    if (!command || !is_found(command, info)) return;
    if (!preloaded().empty()) script_ = "LD_PRELOAD=" + quoted(preloaded()) + "; export LD_PRELOAD; ";
    // The launcher may have given it to this job alone; and it may be that nothing can be lent.
    if (settings::flag(settings::Id::lend)) script_ += lend::polls() ? "PLAIT_LEND=1; export PLAIT_LEND; " : "unset PLAIT_LEND; ";
    if (script_.empty()) return;
    script_ += R"(exec "$0" "$@")";
    all_ = {option_, script_.data(), command};
    if (arguments != MPI_ARGV_NULL) {
      for (; *arguments; ++arguments) all_.push_back(*arguments);
    }
    all_.push_back(nullptr);
    command_ = shell_;
    arguments_ = all_.data();
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() = default;

  [[nodiscard]] char* command() noexcept { return command_; }
  [[nodiscard]] char** arguments() noexcept { return arguments_; }

 private:
  char shell_[8] = "/bin/sh";
  char option_[3] = "-c";
  std::string script_;
  std::vector<char*> all_;
  char* command_;
  char** arguments_;
};

/// Where the arguments count that name programs.
bool is_root(MPI_Comm comm, int root) noexcept {
  int rank = MPI_PROC_NULL;
  return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

}  // namespace

void leave_children_alone() noexcept {
  try {
    const std::string list(settings::text(settings::Id::preload));
    std::string others;
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find_first_of(": ", at), list.size());
      const std::string one = list.substr(at, end - at);
      if (!one.empty() && is_own(one)) {
        preloaded() = list;
      } else if (!one.empty()) {
        if (!others.empty()) others += ':';
        others += one;
      }
      at = end + 1;
    }
    if (preloaded().empty()) return;
    if (others.empty()) {
      unsetenv("LD_PRELOAD");
    } else {
      setenv("LD_PRELOAD", others.c_str(), 1);
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then they inherit it
  }
}

}  // namespace plait::mpi

#pragma GCC visibility push(default)

extern "C" int MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* intercomm,
                              int array_of_errcodes[]) {
  using namespace plait::mpi;
  if (threads(comm)) [[unlikely]]
    return report_on(comm, MPI_ERR_UNSUPPORTED_OPERATION);
  const Blocking guard;
  if (!is_root(comm, root)) return PMPI_Comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes);
  try {
    Command wrapped(const_cast<char*>(command), argv, info);
    return PMPI_Comm_spawn(wrapped.command(), wrapped.arguments(), maxprocs, info, root, comm, intercomm, array_of_errcodes);
  } catch (const std::bad_alloc&) {
    return report_on(comm, MPI_ERR_NO_MEM);
  }
}

extern "C" int MPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
                                       const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm* intercomm,
                                       int array_of_errcodes[]) {
  using namespace plait::mpi;
  if (threads(comm)) [[unlikely]]
    return report_on(comm, MPI_ERR_UNSUPPORTED_OPERATION);
  const Blocking guard;
  const auto spawn = [&](char** commands, char*** arguments) {
    return PMPI_Comm_spawn_multiple(count, commands, arguments, array_of_maxprocs, array_of_info, root, comm, intercomm, array_of_errcodes);
  };
  if (count < 1 || !is_root(comm, root)) return spawn(array_of_commands, array_of_argv);
  try {
    std::deque<Command> wrapped;
    std::vector<char*> commands;
    std::vector<char**> arguments;
    for (int i = 0; i < count; ++i) {
      wrapped.emplace_back(array_of_commands[i], array_of_argv == MPI_ARGVS_NULL ? MPI_ARGV_NULL : array_of_argv[i], array_of_info[i]);
      commands.push_back(wrapped.back().command());
      arguments.push_back(wrapped.back().arguments());
    }
    return spawn(commands.data(), arguments.data());
  } catch (const std::bad_alloc&) {
    return report_on(comm, MPI_ERR_NO_MEM);
  }
}

#pragma GCC visibility pop
