#include "deck.hpp"

#include <charconv>
#include <filesystem>
#include <set>

#include "deck/section.hpp"

namespace plait::heat {
namespace {

using deck::Section;

Schedule parse_schedule(const Section& s, const std::string& text) {
  static const std::set<std::string, std::less<>> kKinds{"static", "dynamic", "guided"};
  const auto comma = text.find(',');
  const std::string kind = text.substr(0, comma);
  if (!kKinds.contains(kind)) s.fail("schedule", fmt::format("is '{}'; {}", text, deck::suggest(kind, kKinds)));
  Schedule schedule;
  schedule.text = text;
  schedule.kind = kind == "static" ? omp_sched_static : kind == "dynamic" ? omp_sched_dynamic : omp_sched_guided;
  if (comma != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data() + comma + 1, end, schedule.chunk);
    if (error != std::errc() || last != end || schedule.chunk < 1)
      s.fail("schedule", fmt::format("is '{}': behind the comma must be a whole number of at least 1, like '{},10'", text, kind));
  }
  return schedule;
}

}  // namespace

Deck parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& settings) {
  const toml::table table = deck::parse(text, path, settings);
  Section root(table, "", path);
  Deck deck;
  deck.name = std::filesystem::path(path).stem().string();
  deck.title = root.text("title", deck.name);
  // Unknown tables first: a mistyped [plaet] is not a missing [plate].
  for (const char* key : {"plate", "run"}) (void)root.has(key);
  root.finish();
  Section plate = root.needed("plate");
  deck.size = plate.whole("size", 0, kLeastSize, kMostSize);
  plate.finish();
  if (!plate.has("size")) plate.fail("size", "is missing");
  Section run = root.needed("run");
  deck.steps = run.whole("steps", 0, 1, kMostSteps);
  deck.tolerance = run.positive("tolerance", 0);
  const std::string schedule = run.text("schedule", deck.schedule.text);
  run.finish();
  if (!run.has("steps")) run.fail("steps", "is missing");
  deck.schedule = parse_schedule(run, schedule);
  return deck;
}

}  // namespace plait::heat
