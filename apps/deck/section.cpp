#include "section.hpp"

#include <algorithm>

namespace plait::deck {
namespace {

/// Edits (insert, delete, replace, swap neighbours) that lead from a to b.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

void merge(toml::table& to, const toml::table& from, const std::string& setting) {
  for (const auto& [key, value] : from) {
    toml::table* below = to.get_as<toml::table>(key.str());
    if (auto* list = to.get_as<toml::array>(key.str()); list && value.is_table()) {
      if (list->size() != 1) throw Error(fmt::format("--set {}: the deck has {} of these; change the deck", setting, list->size()));
      below = list->get_as<toml::table>(0);
    }
    if (below && value.is_table())
      merge(*below, *value.as_table(), setting);
    else
      to.insert_or_assign(key, value);
  }
}

}  // namespace

std::string suggest(std::string_view word, const std::set<std::string, std::less<>>& words) {
  const auto best =
      std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) { return distance(word, a) < distance(word, b); });
  if (best != words.end() && 2 * distance(word, *best) <= std::max(word.size(), best->size()))
    return fmt::format("did you mean '{}'?", *best);
  return fmt::format("there {} '{}'", words.size() == 1 ? "is" : "are", fmt::join(words, "', '"));
}

namespace {

toml::table parse_toml(const std::string& text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    throw Error(fmt::format("{}:{}: {}", path, e.source().begin.line, e.description()));
  }
}

void apply(toml::table& deck, const std::string& setting) {
  const auto equals = setting.find('=');
  if (equals == std::string::npos) {
    throw Error(fmt::format("--set {}: must be key=value, like run.steps=100", setting));
  }
  const toml::table change = parse_toml(setting.substr(0, equals) + " = " + setting.substr(equals + 1), "--set " + setting);
  merge(deck, change, setting);
}

}  // namespace

toml::table parse(const std::string& text, const std::string& path, const std::vector<std::string>& settings) {
  toml::table table = parse_toml(text, path);
  for (const auto& setting : settings) apply(table, setting);
  return table;
}

}  // namespace plait::deck
