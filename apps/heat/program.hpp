// What both programs have in common: the command line, and what is told of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plate.hpp"

namespace plait::heat {

struct Options {
  std::string deck, model, json;
  std::vector<std::string> settings;
  long steps = 0;
  bool check = false, quiet = false;
};

/// What a program that calls the MPI knows of it.
struct Job {
  int processes = 1;
  std::string mpi;  ///< its name and version
};

struct ModelInfo {
  std::string name, what;
};

class Program {
 public:
  Program(std::string name, std::string what, std::vector<ModelInfo> models);

  /// Reads the command line. Returns an exit status where there is nothing to run, with what to say in `line`.
  std::optional<int> parse(int argc, char** argv, Options& options, std::string& line) const;

  /// The deck as the options have it. Throws deck::Error: also for one that does not fit into `memory` bytes.
  [[nodiscard]] static Deck read(const Options& options, const std::string& text, double memory);

  /// Prints and writes what the options want. Without a job the threads are all there are. Throws deck::Error.
  static void tell(const Options& options, const Deck& deck, const Outcome& outcome, int threads, const Job* job = nullptr);

  /// One line on standard error, whatever is in it.
  void complain(const std::string& what) const;

 private:
  std::string name_, what_;
  std::vector<ModelInfo> models_;
};

/// The text of a file that may be a deck. Throws deck::Error.
[[nodiscard]] std::string read_deck(const std::string& path);

}  // namespace plait::heat
