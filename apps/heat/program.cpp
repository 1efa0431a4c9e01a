#include "program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "deck/error.hpp"
#include "deck/files.hpp"
#include "deck/summary.hpp"

namespace plait::heat {
namespace {

nlohmann::json describe(const Deck& deck, const Outcome& outcome) {
  // The first steps meet memory and caches for the first time.
  const std::ptrdiff_t skip = outcome.steps() > 10 ? 2 : 0;
  std::vector<double> samples(outcome.times.begin() + skip, outcome.times.end());
  for (double& s : samples) s *= 1e3;
  const double points = static_cast<double>(deck.size - 2) * static_cast<double>(deck.size - 2);
  nlohmann::json json{{"deck", deck.name},
                      {"size", deck.size},
                      {"schedule", deck.schedule.text},
                      {"steps", outcome.steps()},
                      {"steady", deck.tolerance > 0 && outcome.change <= deck.tolerance},
                      {"change", outcome.change},
                      {"distance", outcome.distance},
                      {"digest", outcome.digest.text()},
                      {"step_ms", deck::summary(samples)}};
  json["mups"] = points / 1e3 / json["step_ms"]["median"].get<double>();
  json["samples"]["step_ms"] = std::move(samples);
  return json;
}

void print(const nlohmann::json& j) {
  const auto whole = [&](const char* key) { return j[key].get<long>(); };
  const std::string who = j.contains("processes") ? fmt::format("{} processes x {}", whole("processes"), whole("threads"))
                                                  : fmt::format("{}", whole("threads"));
  fmt::print("{}: {} x {} points, {}, {} threads, schedule {}\n", j["deck"].get<std::string>(), whole("size"), whole("size"),
             j["model"].get<std::string>(), who, j["schedule"].get<std::string>());
  const auto& step = j["step_ms"];
  fmt::print("  step {:.4g} ms ({:.4g} to {:.4g}), {:.1f} million updates of points a second\n", step["median"].get<double>(),
             step["min"].get<double>(), step["max"].get<double>(), j["mups"].get<double>());
  fmt::print("  {}{} steps, last change {:.3e}, at most {:.3e} from the steady state\n", j["steady"].get<bool>() ? "steady after " : "",
             whole("steps"), j["change"].get<double>(), j["distance"].get<double>());
  fmt::print("  digest {}\n", j["digest"].get<std::string>());
}

}  // namespace

Program::Program(std::string name, std::string what, std::vector<ModelInfo> models)
    : name_(std::move(name)), what_(std::move(what)), models_(std::move(models)) {}

std::optional<int> Program::parse(int argc, char** argv, Options& o, std::string& line) const {
  CLI::App app{fmt::format("{}: {}", name_, what_), name_};
  std::string names, known;
  for (const auto& m : models_) {
    names += fmt::format("\n  {:<12} {}", m.name, m.what);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", m.name);
  }
  app.add_option("deck", o.deck, "What to compute: a TOML file, see docs/heat.md")->required();
  app.add_option("--model", o.model, "How threads and processes share the rows:" + names);
  app.add_option("--steps", o.steps, "Make so many steps, whatever the deck says, and do not stop when steady")
      ->check(CLI::Range(1L, kMostSteps));
  app.add_option("--set", o.settings, "KEY=VALUE in place of the deck's, like plate.size=500; may be repeated")->allow_extra_args(false);
  app.add_option("--json", o.json, "Write the results there");
  app.add_flag("--check", o.check, "Say what is wrong with the deck, and compute nothing");
  app.add_flag("--quiet", o.quiet, "Print nothing but errors");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line = app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    line = fmt::format("{} (see {} --help)", e.what(), name_);
    return 2;
  }
  if (o.model.empty()) o.model = models_.front().name;
  if (std::none_of(models_.begin(), models_.end(), [&](const auto& m) { return m.name == o.model; })) {
    line = fmt::format("--model {}: unknown; there {} {}", o.model, models_.size() > 1 ? "are" : "is", known);
    return 2;
  }
  return std::nullopt;
}

Deck Program::read(const Options& o, const std::string& text, double memory) {
  Deck deck = parse_deck(text, o.deck, o.settings);
  if (o.steps) {
    deck.steps = o.steps;
    deck.stops = false;
  }
  const double bytes = 2 * sizeof(double) * static_cast<double>(deck.size) * static_cast<double>(deck.size);
  if (bytes > memory) {
    throw deck::Error(fmt::format("a plate of {} x {} points takes {:.1f} GB, and there are {:.1f} GB of memory: take a smaller plate.size",
                                  deck.size, deck.size, bytes / 1e9, memory / 1e9));
  }
  return deck;
}

void Program::tell(const Options& o, const Deck& deck, const Outcome& outcome, int threads, const Job* job) {
  nlohmann::json json = describe(deck, outcome);
  json["model"] = o.model;
  json["threads"] = threads;
  if (job) {
    json["processes"] = job->processes;
    json["mpi"] = job->mpi;
  }
  if (!o.quiet) print(json);
  if (!o.json.empty()) deck::write_results(json.dump(2), o.json);
}

void Program::complain(const std::string& what) const {
  std::fprintf(stderr, "%s: %s\n", name_.c_str(), deck::one_line(what).c_str());
  std::fflush(stderr);
}

std::string read_deck(const std::string& path) { return deck::read_text(path, 1 << 20, "[plate] and [run], see docs/heat.md"); }

}  // namespace plait::heat
