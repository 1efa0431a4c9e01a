#include "results.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "timing.hpp"

namespace plait::bench {
namespace {

double load() {
  double minute = 0;
  return getloadavg(&minute, 1) == 1 ? minute : 0;
}

std::string mpi_version() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING]{};
  int length = 0;
  PMPI_Get_library_version(version, &length);
  const std::string mpi(version);
  return mpi.substr(0, mpi.find('\n'));
}

nlohmann::json as_json(const Report::Place& at) {
  auto found = nlohmann::json::object();
  for (const auto& [name, value] : at) found[name] = value;
  return found;
}

}  // namespace

struct Report::Content {
  nlohmann::json json;
  std::ofstream file;
};

Report::Report(const char* benchmark, const Job& job, const Options& o, int threads)
    : prints_(job.rank == 0), content_(std::make_unique<Content>()) {
  std::ofstream& file = content_->file;
  if (prints_ && !o.out.empty()) file.open(o.out);
  if (Job::sum(file ? 0 : 1) != 0) throw Error(fmt::format("{} cannot be written", o.out));
  const std::string mpi = mpi_version();
  content_->json = {{"schema", kSchema},
                    {"benchmark", benchmark},
                    {"mpi", mpi},
                    {"machine", {{"cpu", from_proc("/proc/cpuinfo", "model name")}, {"cores", job.cores}, {"load", load()}}},
                    {"clock_resolution", clock_resolution()},
                    {"processes", job.processes},
                    {"threads", threads},
                    {"nodes", job.nodes},
                    {"oversubscribed", !job.room_for(threads)},
                    {"rounds", o.rounds},
                    {"seconds_a_measurement", o.time},
                    {"skipped", nlohmann::json::object()},
                    {"points", nlohmann::json::array()}};
  if (!prints_) return;
  fmt::print("{}\n{} process{}{} x {} thread{}, {} core{}{}, load average {:.2f}, {} round{}\n", mpi, job.processes,
             job.processes == 1 ? "" : "es", job.one_node ? "" : fmt::format(" on {} nodes", job.nodes), threads, threads == 1 ? "" : "s",
             job.cores, job.cores == 1 ? "" : "s", job.room_for(threads) ? "" : " (oversubscribed: threads share cores)", load(), o.rounds,
             o.rounds == 1 ? "" : "s");
}

Report::~Report() = default;

void Report::set(const char* name, std::int64_t value) { content_->json[name] = value; }
void Report::set(const char* name, const std::string& value) { content_->json[name] = value; }

void Report::skip(const std::string& side, const std::string& why) {
  content_->json["skipped"][side] = why;
  if (prints_) fmt::print("{}: skipped, {}\n", side, why);
}

void Report::add(const std::string& quantity, const std::string& unit, const Place& at, const Side& side,
                 const std::vector<double>& samples) {
  content_->json["points"].push_back(
      {{"quantity", quantity}, {"unit", unit}, {"side", side.name}, {"at", as_json(at)}, {"repeats", side.repeats}, {"samples", samples}});
}

void Report::add(const std::string& quantity, const Place& at, const std::vector<Side>& sides) {
  std::string where;
  for (const auto& [name, value] : at) where += fmt::format("{} {} ", value, name);
  for (const Side& side : sides) {
    add(quantity, "s", at, side, side.samples);
    if (!prints_) continue;
    const Summary s(side.samples);
    fmt::print("{:<16} {:>18} {:<16} {:>10.4g} us [{:.4g} {:.4g}]\n", quantity, where, side.name, 1e6 * s.median, 1e6 * s.least,
               1e6 * s.most);
  }
  std::fflush(stdout);
}

void Report::write() {
  if (content_->file.is_open()) content_->file << content_->json.dump(1) << '\n' << std::flush;
  if (Job::sum(content_->file ? 0 : 1) != 0) throw Error("the JSON could not be written");
}

}  // namespace plait::bench
