#include "deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "error.hpp"

namespace plait::lbm {
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

std::string nearest(std::string_view word, const std::set<std::string, std::less<>>& words) {
  const auto best =
      std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) { return distance(word, a) < distance(word, b); });
  return best == words.end() ? "" : *best;
}

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

  [[nodiscard]] long whole(std::string_view key, long otherwise, long least) {
    if (!has(key)) return otherwise;
    const auto* v = table_.get(key)->as_integer();
    if (!v) fail(key, fmt::format("must be a whole number, not {}", kind(*table_.get(key))));
    if (v->get() < least) fail(key, fmt::format("must be at least {}, not {}", least, v->get()));
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

  [[nodiscard]] Double3 vector(std::string_view key, Double3 otherwise = {}) {
    if (!has(key)) return otherwise;
    const auto* array = table_.get(key)->as_array();
    if (!array || array->size() != 3) fail(key, "must be three numbers, like [1.0, 0.0, 0.0]");
    Double3 v;
    for (int d = 0; d < 3; ++d) v[d] = as_number(key, *array->get(d));
    return v;
  }

  [[nodiscard]] Int3 whole3(std::string_view key, int least) {
    const Double3 v = vector(key);
    Int3 w{};
    for (int d = 0; d < 3; ++d) {
      if (v[d] != std::floor(v[d]) || v[d] < least || v[d] > 1 << 24) {
        fail(key, fmt::format("must be three whole numbers of at least {}, like [64, 64, 64]", least));
      }
      w[d] = static_cast<int>(v[d]);
    }
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

  /// Every key of this table must have been asked for.
  void finish() const {
    for (const auto& [key, value] : table_) {
      if (known_.contains(key.str())) continue;
      fail(key.str(), fmt::format("is unknown; did you mean '{}'?", nearest(key.str(), known_)));
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

toml::table parse_toml(const std::string& text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    throw Error(fmt::format("{}:{}: {}", path, e.source().begin.line, e.description()));
  }
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

/// Puts "a.b=value" into the deck. Where a is written [[a]] and there only once, that one is meant.
void apply(toml::table& deck, const std::string& setting) {
  const auto equals = setting.find('=');
  if (equals == std::string::npos) {
    throw Error(fmt::format("--set {}: must be key=value, like lattice.size=[64,64,64]", setting));
  }
  const toml::table change = parse_toml(setting.substr(0, equals) + " = " + setting.substr(equals + 1), "--set " + setting);
  merge(deck, change, setting);
}

void read_fluid(Section& s, Deck& deck) {
  deck.viscosity = s.positive("viscosity", 0);
  deck.reynolds = s.positive("reynolds", 0);
  deck.velocity = s.positive("velocity", 0);
  const double length = s.positive("length", 0);
  deck.force = s.vector("force");
  if (deck.viscosity > 0 && deck.reynolds > 0) s.fail("reynolds", "and 'fluid.viscosity' are both given: give one");
  if (deck.reynolds > 0) {
    if (!(deck.velocity > 0 && length > 0)) {
      s.fail("reynolds", "needs 'fluid.velocity' and 'fluid.length': viscosity = velocity * length / reynolds");
    }
    deck.viscosity = deck.velocity * length / deck.reynolds;
  }
  s.finish();
  if (!(deck.viscosity > 0)) s.fail("viscosity", "is missing: give it, or reynolds with velocity and length");
  if (deck.viscosity < 1e-4 || deck.viscosity > 10) {
    s.fail(deck.reynolds > 0 ? "reynolds" : "viscosity",
           fmt::format("gives a viscosity of {}, outside what the scheme can do: 0.0001 to 10", deck.viscosity));
  }
  if (deck.velocity > 0.3) s.fail("velocity", "must be below 0.3, well below the speed of sound 0.577");
  for (double f : deck.force) {
    if (std::abs(f) > 0.01) s.fail("force", "must be small: at most 0.01 in each direction");
  }
}

void check_speed(Section& s, std::string_view key, const Double3& v) {
  if (std::hypot(v[0], v[1], v[2]) > 0.3) s.fail(key, "must be slower than 0.3, well below the speed of sound 0.577");
}

void read_walls(Section& s, Deck& deck) {
  static constexpr const char* kNames[3][2] = {{"x-low", "x-high"}, {"y-low", "y-high"}, {"z-low", "z-high"}};
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side) {
      if (!s.has(kNames[d][side])) continue;
      deck.walls[d][side] = s.vector(kNames[d][side]);
      check_speed(s, kNames[d][side], *deck.walls[d][side]);
      if ((*deck.walls[d][side])[d] != 0) s.fail(kNames[d][side], "may only move along itself, not into the fluid");
    }
  }
  s.finish();
  for (int d = 0; d < 3; ++d) {
    if (deck.walls[d][0].has_value() == deck.walls[d][1].has_value()) continue;
    const int there = deck.walls[d][0] ? 0 : 1;
    s.fail(kNames[d][there], fmt::format("needs '{}' too (or neither, for periodic sides)", kNames[d][1 - there]));
  }
}

void read_geometry(Section& s, Deck& deck) {
  Geometry& g = deck.geometry;
  g.file = s.text("file", "");
  for (Section& e : s.sections("sphere")) {
    Sphere o{e.vector("center"), e.positive("radius", 0), e.vector("velocity")};
    if (!e.has("center")) e.fail("center", "is missing");
    if (!e.has("radius")) e.fail("radius", "is missing");
    check_speed(e, "velocity", o.velocity);
    e.finish();
    g.spheres.push_back(o);
  }
  for (Section& e : s.sections("box")) {
    Box o{e.vector("low"), e.vector("high"), e.vector("velocity")};
    if (!e.has("low")) e.fail("low", "is missing");
    if (!e.has("high")) e.fail("high", "is missing");
    for (int d = 0; d < 3; ++d) {
      if (o.low[d] >= o.high[d]) e.fail("high", "must be above 'low' in each direction");
    }
    check_speed(e, "velocity", o.velocity);
    e.finish();
    g.boxes.push_back(o);
  }
  for (Section& e : s.sections("sphere-array")) {
    SphereArray o;
    if (e.has("counts")) o.counts = e.whole3("counts", 1);
    o.radius = e.positive("radius", 0);
    const double fraction = e.positive("volume-fraction", 0);
    if ((o.radius > 0) == (fraction > 0)) e.fail("radius", "or 'volume-fraction' must be given, and not both");
    if (fraction >= 0.9) e.fail("volume-fraction", "must be below 0.9");
    if (fraction > 0) {
      const double cell = 1.0 * deck.size[0] * deck.size[1] * deck.size[2] / (1.0 * o.counts[0] * o.counts[1] * o.counts[2]);
      o.radius = std::cbrt(fraction * cell * 3.0 / (4.0 * M_PI));
    }
    e.finish();
    g.arrays.push_back(o);
  }
  for (Section& e : s.sections("packing")) {
    Packing o{e.positive("radius", 0), e.positive("volume-fraction", 0), static_cast<std::uint64_t>(e.whole("seed", 1, 0))};
    if (!e.has("radius")) e.fail("radius", "is missing");
    if (!e.has("volume-fraction")) e.fail("volume-fraction", "is missing");
    if (o.volume_fraction > 0.55) e.fail("volume-fraction", "must be at most 0.55: denser random packings jam");
    for (int d = 0; d < 3; ++d) {
      if (!deck.periodic(d)) e.fail("radius", "makes a periodic packing, but the deck has walls");
      if (4 * o.radius > deck.size[d]) {
        e.fail("radius", fmt::format("must be at most a quarter of the lattice ({}), not {}", deck.size[d], o.radius));
      }
    }
    e.finish();
    g.packings.push_back(o);
  }
  s.finish();
}

void read_initial(Section& s, Deck& deck) {
  deck.taylor_green = s.positive("taylor-green", 0);
  s.finish();
  if (deck.taylor_green > 0.3) s.fail("taylor-green", "must be below 0.3, well below the speed of sound 0.577");
}

void read_run(Section& s, Deck& deck) {
  deck.steps = s.whole("steps", 0, 1);
  if (!s.has("steps")) s.fail("steps", "is missing");
  deck.steady = s.positive("steady", 0);
  deck.interval = s.whole("interval", deck.interval, 1);
  s.finish();
}

void read_output(Section& s, Deck& deck) {
  deck.directory = s.text("directory", deck.directory);
  deck.fields = s.flag("fields", deck.fields);
  deck.fields_every = s.whole("fields-every", 0, 1);
  deck.checkpoint_every = s.whole("checkpoint-every", 0, 1);
  s.finish();
}

void read_check(Section& s, Deck& deck) {
  static const std::set<std::string, std::less<>> kNames{"taylor-green", "duct", "zick-homsy", "ghia"};
  const std::string name = s.text("against", "");
  deck.tolerance = s.positive("tolerance", 0);
  s.finish();
  if (name == "taylor-green")
    deck.reference = Reference::taylor_green;
  else if (name == "duct")
    deck.reference = Reference::duct;
  else if (name == "zick-homsy")
    deck.reference = Reference::zick_homsy;
  else if (name == "ghia")
    deck.reference = Reference::ghia;
  else
    s.fail("against", fmt::format("is '{}'; did you mean '{}'?", name, nearest(name, kNames)));
  if (!(deck.tolerance > 0)) s.fail("tolerance", "is missing");
  const Geometry& g = deck.geometry;
  const bool walls[3] = {!deck.periodic(0), !deck.periodic(1), !deck.periodic(2)};
  switch (deck.reference) {
    case Reference::taylor_green:
      if (!(deck.taylor_green > 0)) s.fail("against", "'taylor-green' needs 'initial.taylor-green'");
      break;
    case Reference::duct:
      if (walls[0] || !walls[1] || !walls[2] || !(deck.force[0] > 0)) {
        s.fail("against", "'duct' needs walls in y and z, x periodic and a force along x");
      }
      break;
    case Reference::zick_homsy:
      if (g.arrays.size() != 1 || walls[0] || walls[1] || walls[2] || !(deck.force[0] > 0)) {
        s.fail("against", "'zick-homsy' needs one [geometry.sphere-array], periodic sides and a force along x");
      }
      break;
    case Reference::ghia:
      if (!walls[0] || !walls[1] || walls[2] || deck.size[0] != deck.size[1] || (deck.reynolds != 100 && deck.reynolds != 400)) {
        s.fail("against", "'ghia' needs a square with walls in x and y, z periodic, and fluid.reynolds 100 or 400");
      }
      break;
    case Reference::none:
      break;
  }
}

}  // namespace

Deck parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& settings) {
  toml::table table = parse_toml(text, path);
  for (const auto& setting : settings) apply(table, setting);
  Section root(table, "", path);
  Deck deck;
  deck.name = std::filesystem::path(path).stem().string();
  deck.title = root.text("title", deck.name);
  const auto each = [&](std::string_view key, bool needed, auto&& read) {
    auto found = root.sections(key);
    if (found.empty() && needed) throw Error(fmt::format("{}: the table [{}] is missing", path, key));
    if (found.size() > 1) root.fail(key, "may be there only once");
    if (!found.empty()) read(found.front());
  };
  // Unknown tables first: a mistyped [latice] is not a missing [lattice].
  for (const char* key : {"lattice", "fluid", "walls", "geometry", "initial", "run", "output", "check"}) (void)root.has(key);
  root.finish();
  each("lattice", true, [&](Section& s) {
    deck.size = s.whole3("size", 1);
    s.finish();
  });
  each("fluid", true, [&](Section& s) { read_fluid(s, deck); });
  each("walls", false, [&](Section& s) { read_walls(s, deck); });
  each("geometry", false, [&](Section& s) { read_geometry(s, deck); });
  each("initial", false, [&](Section& s) { read_initial(s, deck); });
  each("run", true, [&](Section& s) { read_run(s, deck); });
  each("output", false, [&](Section& s) { read_output(s, deck); });
  each("check", false, [&](Section& s) { read_check(s, deck); });
  return deck;
}

}  // namespace plait::lbm
