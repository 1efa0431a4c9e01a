// What decks of all applications have in common: tables of TOML that know which of their keys were asked for, and settings that replace
// values.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "deck/error.hpp"

namespace plait::deck {

/// The word that is near, or else all there are.
[[nodiscard]] std::string suggest(std::string_view word, const std::set<std::string, std::less<>>& words);

/// The deck's tables. `path` is named in messages. Each setting puts "a.b=value" into the deck; where a is written [[a]] and there only
/// once, that one is meant. Throws Error.
[[nodiscard]] toml::table parse(const std::string& text, const std::string& path, const std::vector<std::string>& settings);

/// One table of the deck. Each read names the key, so that what is never asked for is unknown.
class Section {
 public:
  Section(const toml::table& table, std::string name, const std::string& path) : table_(table), name_(std::move(name)), path_(path) {}

  [[nodiscard]] bool has(std::string_view key) {
    known_.emplace(key);
    return table_.contains(key);
  }

  [[noreturn]] void fail(std::string_view key, const std::string& what) const {
    const toml::node* node = table_.get(key);
    const auto line = node ? node->source().begin.line : table_.source().begin.line;
    const std::string where = line ? fmt::format("{}:{}", path_, line) : path_;
    throw Error(fmt::format("{}: '{}{}' {}", where, name_.empty() ? "" : name_ + ".", key, what));
  }

  [[nodiscard]] double number(std::string_view key, double otherwise) { return has(key) ? as_number(key, *table_.get(key)) : otherwise; }

  [[nodiscard]] double positive(std::string_view key, double otherwise) {
    const double v = number(key, otherwise);
    if (has(key) && !(v > 0)) fail(key, fmt::format("must be above 0, not {}", v));
    return v;
  }

  [[nodiscard]] long whole(std::string_view key, long otherwise, long least, long most = std::numeric_limits<long>::max()) {
    if (!has(key)) return otherwise;
    const auto* v = table_.get(key)->as_integer();
    if (!v) fail(key, fmt::format("must be a whole number, not {}", kind(*table_.get(key))));
    if (v->get() < least) fail(key, fmt::format("must be at least {}, not {}", least, v->get()));
    if (v->get() > most) fail(key, fmt::format("must be at most {}, not {}", most, v->get()));
    return static_cast<long>(v->get());
  }

  [[nodiscard]] bool flag(std::string_view key, bool otherwise) {
    if (!has(key)) return otherwise;
    const auto* v = table_.get(key)->as_boolean();
    if (!v) fail(key, fmt::format("must be true or false, not {}", kind(*table_.get(key))));
    return v->get();
  }

  [[nodiscard]] std::string text(std::string_view key, const std::string& otherwise) {
    if (!has(key)) return otherwise;
    const auto* v = table_.get(key)->as_string();
    if (!v) fail(key, fmt::format("must be a text in quotes, not {}", kind(*table_.get(key))));
    return v->get();
  }

  [[nodiscard]] std::array<double, 3> vector(std::string_view key, std::array<double, 3> otherwise = {}) {
    if (!has(key)) return otherwise;
    const auto* array = table_.get(key)->as_array();
    if (!array || array->size() != 3) fail(key, "must be three numbers, like [1.0, 0.0, 0.0]");
    std::array<double, 3> v;
    for (int d = 0; d < 3; ++d) v[d] = as_number(key, *array->get(d));
    return v;
  }

  /// Of one that is there.
  [[nodiscard]] std::array<int, 3> whole3(std::string_view key, int least) {
    constexpr int kMost = 1 << 24;
    const auto* array = table_.get(key)->as_array();
    bool right = array && array->size() == 3;
    std::array<int, 3> w{};
    for (int d = 0; right && d < 3; ++d) {
      const double v = as_number(key, *array->get(d));
      right = v == std::floor(v) && v >= least && v <= kMost;
      if (right) w[d] = static_cast<int>(v);
    }
    if (!right) fail(key, fmt::format("must be three whole numbers of at least {} and at most {}, like [64, 64, 64]", least, kMost));
    return w;
  }

  /// The tables under `key`: one, or several written as [[name.key]].
  [[nodiscard]] std::vector<Section> sections(std::string_view key) {
    std::vector<Section> found;
    if (!has(key)) return found;
    const std::string name = name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
    const toml::node& node = *table_.get(key);
    if (const auto* t = node.as_table()) found.emplace_back(*t, name, path_);
    if (const auto* array = node.as_array()) {
      for (const auto& element : *array) {
        if (!element.is_table()) fail(key, "must be a table");
        found.emplace_back(*element.as_table(), name, path_);
      }
    } else if (!node.is_table()) {
      fail(key, fmt::format("must be a table, like [{}]", name));
    }
    return found;
  }

  /// The table under `key`, of which there may be one.
  [[nodiscard]] std::optional<Section> section(std::string_view key) {
    auto found = sections(key);
    if (found.size() > 1) fail(key, "may be there only once");
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
  }
  /// The same where there must be one.
  [[nodiscard]] Section needed(std::string_view key) {
    auto found = section(key);
    if (!found) throw Error(fmt::format("{}: the table [{}] is missing", path_, key));
    return std::move(*found);
  }

  /// Every key of this table must have been asked for.
  void finish() const {
    for (const auto& [key, value] : table_) {
      if (known_.contains(key.str())) continue;
      fail(key.str(), fmt::format("is unknown; {}", suggest(key.str(), known_)));
    }
  }

 private:
  static std::string kind(const toml::node& node) {
    switch (node.type()) {
      case toml::node_type::string:
        return "a text";
      case toml::node_type::integer:
        return "a whole number";
      case toml::node_type::floating_point:
        return "a number with a point";
      case toml::node_type::boolean:
        return "true or false";
      case toml::node_type::array:
        return "a list";
      case toml::node_type::table:
        return "a table";
      default:
        return "a date or time";
    }
  }

  double as_number(std::string_view key, const toml::node& node) const {
    if (node.is_string() || node.is_boolean() || !node.value<double>()) {
      fail(key, fmt::format("must be a number, not {}", kind(node)));
    }
    const double v = *node.value<double>();
    if (!std::isfinite(v)) fail(key, "must be finite");
    return v;
  }

  const toml::table& table_;
  std::string name_;
  const std::string& path_;
  std::set<std::string, std::less<>> known_;
};
}  // namespace plait::deck
