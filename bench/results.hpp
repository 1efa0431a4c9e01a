// The report of a benchmark, as text and as JSON. What writes JSON is a header of many thousand lines, which results.cpp alone
// includes.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "job.hpp"
#include "measure.hpp"
#include "options.hpp"

namespace plait::bench {

/// What was measured on what, and where it will stand: docs/benchmarks.md has the format. Process 0 prints and writes, the others
/// do nothing.
class Report {
 public:
  static constexpr int kSchema = 1;

  /// Where a figure was taken, like {"bytes", 8}.
  struct Coordinate {
    template <std::integral T>
    Coordinate(const char* axis, T at) : name(axis), value(static_cast<std::int64_t>(at)) {}

    const char* name;
    std::int64_t value;
  };
  using Place = std::vector<Coordinate>;

  /// Opens the file before anything is measured. Collective.
  Report(const char* benchmark, const Job& job, const Options& o, int threads);
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report();

  /// A setting of this benchmark's own.
  void set(const char* name, std::int64_t value);
  void set(const char* name, const std::string& value);

  /// That this side has no figures, and why.
  void skip(const std::string& side, const std::string& why);

  /// A side's samples: of which quantity, in which unit, and where.
  void add(const std::string& quantity, const std::string& unit, const Place& at, const Side& side, const std::vector<double>& samples);

  /// All sides' seconds a unit; also printed, in microseconds.
  void add(const std::string& quantity, const Place& at, const std::vector<Side>& sides);

  [[nodiscard]] bool prints() const { return prints_; }

  /// Collective.
  void write();

 private:
  struct Content;

  bool prints_;
  std::unique_ptr<Content> content_;
};

}  // namespace plait::bench
