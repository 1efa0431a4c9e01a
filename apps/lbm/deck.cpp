#include "deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>

#include "deck/section.hpp"
#include "error.hpp"

namespace plait::lbm {
namespace {

using deck::Section;
using deck::suggest;

void read_fluid(Section& s, Deck& deck) {
  deck.viscosity = s.positive("viscosity", 0);
  deck.reynolds = s.positive("reynolds", 0);
  deck.velocity = s.positive("velocity", 0);
  const double length = s.positive("length", 0);
  deck.force = s.vector("force");
  s.finish();
  if (deck.viscosity > 0 && deck.reynolds > 0) s.fail("reynolds", "and 'fluid.viscosity' are both given: give one");
  if (deck.reynolds > 0) {
    if (!(deck.velocity > 0 && length > 0)) {
      s.fail("reynolds", "needs 'fluid.velocity' and 'fluid.length': viscosity = velocity * length / reynolds");
    }
    deck.viscosity = deck.velocity * length / deck.reynolds;
  }
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
    e.finish();
    if (!e.has("center")) e.fail("center", "is missing");
    if (!e.has("radius")) e.fail("radius", "is missing");
    check_speed(e, "velocity", o.velocity);
    g.spheres.push_back(o);
  }
  for (Section& e : s.sections("box")) {
    Box o{e.vector("low"), e.vector("high"), e.vector("velocity")};
    e.finish();
    if (!e.has("low")) e.fail("low", "is missing");
    if (!e.has("high")) e.fail("high", "is missing");
    for (int d = 0; d < 3; ++d) {
      if (o.low[d] >= o.high[d]) e.fail("high", "must be above 'low' in each direction");
    }
    check_speed(e, "velocity", o.velocity);
    g.boxes.push_back(o);
  }
  for (Section& e : s.sections("sphere-array")) {
    SphereArray o;
    if (e.has("counts")) o.counts = e.whole3("counts", 1);
    o.radius = e.positive("radius", 0);
    const double fraction = e.positive("volume-fraction", 0);
    e.finish();
    if ((o.radius > 0) == (fraction > 0)) e.fail("radius", "or 'volume-fraction' must be given, and not both");
    if (fraction >= 0.9) e.fail("volume-fraction", "must be below 0.9");
    for (int d = 0; d < 3; ++d) {
      if (o.counts[d] > 1 && 2L * o.counts[d] > deck.size[d]) {
        e.fail("counts", fmt::format("must leave each sphere two sites or more: at most {} of the lattice's {} in this direction, not {}",
                                     std::max(1, deck.size[d] / 2), deck.size[d], o.counts[d]));
      }
    }
    if (fraction > 0) {
      const double cell = 1.0 * deck.size[0] * deck.size[1] * deck.size[2] / (1.0 * o.counts[0] * o.counts[1] * o.counts[2]);
      o.radius = std::cbrt(fraction * cell * 3.0 / (4.0 * M_PI));
    }
    g.arrays.push_back(o);
  }
  for (Section& e : s.sections("packing")) {
    Packing o{e.positive("radius", 0), e.positive("volume-fraction", 0), static_cast<std::uint64_t>(e.whole("seed", 1, 0))};
    e.finish();
    if (!e.has("radius")) e.fail("radius", "is missing");
    if (!e.has("volume-fraction")) e.fail("volume-fraction", "is missing");
    if (o.volume_fraction > 0.55) e.fail("volume-fraction", "must be at most 0.55: denser random packings jam");
    if (o.radius < 1) e.fail("radius", fmt::format("must be at least 1, the distance of two sites, not {}", o.radius));
    for (int d = 0; d < 3; ++d) {
      if (!deck.periodic(d)) e.fail("radius", "makes a periodic packing, but the deck has walls");
      if (4 * o.radius > deck.size[d]) {
        e.fail("radius", fmt::format("must be at most a quarter of the lattice ({}), not {}", deck.size[d], o.radius));
      }
    }
    const double count = o.spheres(deck.size);
    if (count < 0.5) e.fail("volume-fraction", fmt::format("gives not one sphere of radius {}; use a larger fraction", o.radius));
    if (count > kMostPacked) {
      e.fail("radius", fmt::format("makes a packing of {:.3g} spheres, and more than {} take too long to place: use a larger radius", count,
                                   kMostPacked));
    }
    g.packings.push_back(o);
  }
  s.finish();
}

void read_initial(Section& s, Deck& deck) {
  deck.taylor_green = s.positive("taylor-green", 0);
  s.finish();
  // Vortices that are longer than wide are faster along than across.
  const double nx = deck.size[0], ny = deck.size[1], stretch = std::sqrt(std::max(nx / ny, ny / nx));
  if (deck.taylor_green * stretch <= 0.3) return;
  s.fail("taylor-green",
         fmt::format("gives speeds up to {:.3g} on a lattice of {} by {}: must be at most {:.3g} there, for speeds below 0.3, "
                     "well below the speed of sound 0.577",
                     deck.taylor_green * stretch, nx, ny, 0.3 / stretch));
}

void read_run(Section& s, Deck& deck) {
  deck.steps = s.whole("steps", 0, 1, kMostSteps);
  deck.steady = s.positive("steady", 0);
  if (deck.steady >= 1) s.fail("steady", "must be below 1: the change of the mean velocity relative to itself");
  deck.interval = s.whole("interval", deck.interval, 1);
  s.finish();
  if (!s.has("steps")) s.fail("steps", "is missing");
}

void read_output(Section& s, Deck& deck) {
  deck.directory = s.text("directory", deck.directory);
  deck.fields = s.flag("fields", deck.fields);
  deck.fields_every = s.whole("fields-every", 0, 1);
  deck.checkpoint_every = s.whole("checkpoint-every", 0, 1);
  s.finish();
}

bool at_rest(const std::optional<Double3>& wall) { return !wall || *wall == Double3{}; }
bool along_x_only(const Double3& v) { return v[0] > 0 && v[1] == 0 && v[2] == 0; }
bool nothing_in(const Geometry& g) {
  return g.spheres.empty() && g.boxes.empty() && g.arrays.empty() && g.packings.empty() && g.file.empty();
}

std::string why_no_taylor_green(const Deck& deck) {
  if (!(deck.taylor_green > 0)) return "needs 'initial.taylor-green'";
  if (!deck.periodic(0) || !deck.periodic(1) || !deck.periodic(2) || !nothing_in(deck.geometry)) {
    return "needs periodic sides and no geometry";
  }
  if (deck.force != Double3{}) return "needs a flow without 'fluid.force'";
  if (deck.size[0] < 4 || deck.size[1] < 4) return "needs at least 4 sites along x and along y";
  return "";
}

std::string why_no_duct(const Deck& deck) {
  if (!deck.periodic(0) || deck.periodic(1) || deck.periodic(2) || !along_x_only(deck.force)) {
    return "needs walls in y and z, x periodic and a force along x alone";
  }
  for (int d = 1; d < 3; ++d) {
    if (!at_rest(deck.walls[d][0]) || !at_rest(deck.walls[d][1])) return "needs walls at rest";
  }
  return nothing_in(deck.geometry) ? "" : "needs a duct with no geometry in it";
}

std::string why_no_zick_homsy(const Deck& deck) {
  const Geometry& g = deck.geometry;
  if (g.arrays.size() != 1 || !deck.periodic(0) || !deck.periodic(1) || !deck.periodic(2) || !along_x_only(deck.force)) {
    return "needs one [geometry.sphere-array], periodic sides and a force along x alone";
  }
  Geometry others = g;
  others.arrays.clear();
  if (!nothing_in(others)) return "needs a sphere array and no other geometry";
  const Int3 &n = deck.size, &c = g.arrays.front().counts;
  if (1L * n[0] * c[1] != 1L * n[1] * c[0] || 1L * n[0] * c[2] != 1L * n[2] * c[0]) {
    return fmt::format("needs cubic cells: 'lattice.size' {}x{}x{} divided by 'counts' {}x{}x{} must be the same in each direction", n[0],
                       n[1], n[2], c[0], c[1], c[2]);
  }
  const double cell = 1.0 * n[0] / c[0], fraction = 4.0 / 3.0 * M_PI * std::pow(g.arrays.front().radius / cell, 3);
  std::string known;
  for (const ZickHomsy& row : kZickHomsy) {
    if (std::abs(fraction / row.fraction - 1) < 0.005) return "";
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.fraction);
  }
  return fmt::format("needs a volume fraction of its table ({}), not {:.4g}", known, fraction);
}

std::string why_no_ghia(const Deck& deck) {
  if (deck.periodic(0) || deck.periodic(1) || !deck.periodic(2) || deck.size[0] != deck.size[1] ||
      (deck.reynolds != 100 && deck.reynolds != 400)) {
    return "needs a square with walls in x and y, z periodic, and fluid.reynolds 100 or 400";
  }
  if (deck.size[0] < 8) return "needs at least 8 sites along x and along y";
  const Double3& lid = *deck.walls[1][1];
  if (!along_x_only(lid) || !at_rest(deck.walls[0][0]) || !at_rest(deck.walls[0][1]) || !at_rest(deck.walls[1][0])) {
    return "needs 'walls.y-high' moving towards higher x alone, and the other walls at rest";
  }
  if (deck.force != Double3{} || !nothing_in(deck.geometry)) return "needs a cavity without force and geometry";
  const double reynolds = lid[0] * deck.size[0] / deck.viscosity;
  if (std::abs(reynolds / deck.reynolds - 1) > 1e-6) {
    return fmt::format(
        "needs 'fluid.velocity' to be the lid's, {}, and 'fluid.length' the cavity's side, {}: its Reynolds number is {:.6g}", lid[0],
        deck.size[0], reynolds);
  }
  return "";
}

/// Why the deck's check says nothing of its flow; empty where it does.
std::string why_unfit(const Deck& deck) {
  switch (deck.reference) {
    case Reference::taylor_green:
      return why_no_taylor_green(deck);
    case Reference::duct:
      return why_no_duct(deck);
    case Reference::zick_homsy:
      return why_no_zick_homsy(deck);
    case Reference::ghia:
      return why_no_ghia(deck);
    case Reference::none:
      break;
  }
  return "";
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
    s.fail("against", fmt::format("{}; {}", name.empty() ? "is missing" : fmt::format("is '{}'", name), suggest(name, kNames)));
  if (!(deck.tolerance > 0)) s.fail("tolerance", "is missing");
  // What a check does not fit would fail it, as if the code were wrong.
  if (const std::string why = why_unfit(deck); !why.empty()) s.fail("against", fmt::format("'{}' {}", name, why));
}

}  // namespace

double Packing::spheres(const Int3& size) const {
  return volume_fraction * (1.0 * size[0] * size[1] * size[2]) / (4.0 / 3.0 * M_PI * std::pow(radius, 3));
}

Deck parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& settings) {
  const toml::table table = deck::parse(text, path, settings);
  Section root(table, "", path);
  Deck deck;
  deck.name = std::filesystem::path(path).stem().string();
  deck.title = root.text("title", deck.name);
  const auto each = [&](std::string_view key, bool needed, auto&& read) {
    auto found = needed ? std::optional(root.needed(key)) : root.section(key);
    if (found) read(*found);
  };
  // Unknown tables first: a mistyped [latice] is not a missing [lattice].
  for (const char* key : {"lattice", "fluid", "walls", "geometry", "initial", "run", "output", "check"}) (void)root.has(key);
  root.finish();
  each("lattice", true, [&](Section& s) {
    const bool there = s.has("size");
    s.finish();
    if (!there) s.fail("size", "is missing");
    deck.size = s.whole3("size", 1);
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
