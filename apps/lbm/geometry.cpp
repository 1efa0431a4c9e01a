#include "geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string_view>

#include "error.hpp"

namespace plait::lbm {
namespace {

/// v taken into [-n/2, n/2): the nearest periodic image.
double nearest_image(double v, double n) { return v - n * std::floor(v / n + 0.5); }

/// Relaxation of random centres: pairs nearer than `reach` push each other apart until they would be just that far
/// apart. Cells of at least `reach` keep the search local.
class Relaxation {
 public:
  Relaxation(std::vector<Double3>& centers, const Int3& size, double reach) : centers_(centers), size_(size), reach_(reach) {
    for (int d = 0; d < 3; ++d) cells_[d] = std::max(1, static_cast<int>(size[d] / reach));
    // Few spheres in a large lattice: most cells would be empty, and take memory.
    constexpr double kMostCells = 1 << 24;
    while (1.0 * cells_[0] * cells_[1] * cells_[2] > kMostCells) *std::max_element(cells_, cells_ + 3) /= 2;
  }

  /// If no two centres are nearer than `apart`, returns true; else moves all one step.
  bool done_or_step(double apart) {
    fill();
    push_.assign(centers_.size(), {});
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < centers_.size(); ++a) least = std::min(least, push_from(a));
    if (least >= apart * apart) return true;
    for (std::size_t a = 0; a < centers_.size(); ++a) {
      for (int d = 0; d < 3; ++d) {
        centers_[a][d] += push_[a][d];
        centers_[a][d] -= size_[d] * std::floor(centers_[a][d] / size_[d]);
      }
    }
    return false;
  }

 private:
  [[nodiscard]] int cell(const Double3& c, int d) const { return std::min(cells_[d] - 1, static_cast<int>(c[d] / size_[d] * cells_[d])); }

  void fill() {
    members_.assign(static_cast<std::size_t>(cells_[0]) * cells_[1] * cells_[2], {});
    for (std::size_t a = 0; a < centers_.size(); ++a) {
      const Double3& c = centers_[a];
      members_[cell(c, 0) + cells_[0] * (cell(c, 1) + cells_[1] * cell(c, 2))].push_back(a);
    }
  }

  /// Distinct neighbouring cells in one direction (fewer than three where there are few cells).
  [[nodiscard]] std::vector<int> around(int c, int d) const {
    std::vector<int> n{(c + cells_[d] - 1) % cells_[d], c, (c + 1) % cells_[d]};
    std::sort(n.begin(), n.end());
    n.erase(std::unique(n.begin(), n.end()), n.end());
    return n;
  }

  double push_from(std::size_t a) {
    double least = std::numeric_limits<double>::infinity();
    const Double3& p = centers_[a];
    for (int z : around(cell(p, 2), 2)) {
      for (int y : around(cell(p, 1), 1)) {
        for (int x : around(cell(p, 0), 0)) {
          for (std::size_t b : members_[x + cells_[0] * (y + cells_[1] * z)]) {
            if (b != a) least = std::min(least, push_pair(a, b));
          }
        }
      }
    }
    return least;
  }

  double push_pair(std::size_t a, std::size_t b) {
    Double3 r{};
    double square = 0;
    for (int d = 0; d < 3; ++d) {
      r[d] = nearest_image(centers_[a][d] - centers_[b][d], size_[d]);
      square += r[d] * r[d];
    }
    if (square < reach_ * reach_ && square > 0) {
      const double by = 0.5 * (reach_ / std::sqrt(square) - 1);
      for (int d = 0; d < 3; ++d) push_[a][d] += by * r[d];
    }
    return square;
  }

  std::vector<Double3>& centers_;
  const Int3& size_;
  double reach_;
  int cells_[3]{};
  std::vector<std::vector<std::size_t>> members_;
  std::vector<Double3> push_;
};

/// The box's sites in direction d, the layer around it included, that may be nearer than `radius` to `center` or an image of it.
/// One too many at either end does no harm.
void list_near(const Deck& deck, const Subdomain& box, int d, double center, double radius, std::vector<int>& sites) {
  sites.clear();
  const int n = deck.size[d], last = box.size[d];
  constexpr double kExact = 1e9;  // far from here a double does not tell a site from the next
  if (std::abs(center) + radius > kExact || (deck.periodic(d) && 2 * radius + 4 >= n)) {
    for (int i = -1; i <= last; ++i) sites.push_back(i);
    return;
  }
  const double middle = center - 0.5 - box.offset[d];
  const auto first_image = static_cast<std::int64_t>(deck.periodic(d) ? std::ceil((-2 - radius - middle) / n) : 0);
  const auto last_image = static_cast<std::int64_t>(deck.periodic(d) ? std::floor((last + 1 + radius - middle) / n) : 0);
  for (std::int64_t image = first_image; image <= last_image; ++image) {
    const double at = middle + static_cast<double>(image) * n;
    const auto from = static_cast<std::int64_t>(std::max(-1.0, std::floor(at - radius) - 1));
    const auto to = static_cast<std::int64_t>(std::min<double>(last, std::ceil(at + radius) + 1));
    for (std::int64_t i = from; i <= to; ++i) sites.push_back(static_cast<int>(i));
  }
}

void mark_sphere(Solids& s, const Deck& deck, const Subdomain& box, const Sphere& sphere, std::uint8_t kind) {
  const Int3& n = box.size;
  std::vector<int> near[3];
  for (int d = 2; d >= 0; --d) {
    list_near(deck, box, d, sphere.center[d], sphere.radius, near[d]);
    if (near[d].empty()) return;
  }
  for (const int z : near[2]) {
    for (const int y : near[1]) {
      std::uint8_t* row = s.kind.data() + (n[0] + 2) * (y + 1 + static_cast<std::size_t>(n[1] + 2) * (z + 1));
      const auto part = [&](int d, int i) {
        const double r = box.offset[d] + i + 0.5 - sphere.center[d];
        return deck.periodic(d) ? nearest_image(r, deck.size[d]) : r;
      };
      const double yz = part(1, y) * part(1, y) + part(2, z) * part(2, z);
      if (yz > sphere.radius * sphere.radius) continue;
      for (const int x : near[0]) {
        if (yz + part(0, x) * part(0, x) <= sphere.radius * sphere.radius) row[x + 1] = kind;
      }
    }
  }
}

void mark_box(Solids& s, const Deck& deck, const Subdomain& box, const Box& b, std::uint8_t kind) {
  const auto inside = [&](int d, int i) {
    const double c = box.offset[d] + i + 0.5;
    if (!deck.periodic(d)) return c >= b.low[d] && c <= b.high[d];
    const double above = c - b.low[d] - deck.size[d] * std::floor((c - b.low[d]) / deck.size[d]);
    return above <= b.high[d] - b.low[d];
  };
  std::size_t at = 0;
  for (int z = -1; z <= box.size[2]; ++z) {
    for (int y = -1; y <= box.size[1]; ++y) {
      for (int x = -1; x <= box.size[0]; ++x, ++at) {
        if (inside(2, z) && inside(1, y) && inside(0, x)) s.kind[at] = kind;
      }
    }
  }
}

constexpr std::uint8_t kAtRest = 1;

/// The kind for a wall of this velocity, made if it is not there yet.
std::uint8_t wall_kind(Solids& s, const Double3& velocity) {
  const auto found = std::find(s.walls.begin(), s.walls.end(), velocity);
  if (found != s.walls.end()) return static_cast<std::uint8_t>(found - s.walls.begin() + 1);
  if (s.walls.size() == 255) throw Error("more than 255 different wall velocities; use fewer");
  s.walls.push_back(velocity);
  return static_cast<std::uint8_t>(s.walls.size());
}

/// Sites beyond a wall of the domain are solid. Where two walls meet that do not move alike, the edge is at rest: what a wall
/// pushes into the fluid at its one end it then takes at the other, and the mass stays.
void mark_domain_walls(Solids& s, const Deck& deck, const Subdomain& box) {
  std::uint8_t kinds[3][2]{};
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2 && !deck.periodic(d); ++side) kinds[d][side] = wall_kind(s, *deck.walls[d][side]);
  }
  std::size_t at = 0;
  Int3 p;
  for (p[2] = -1; p[2] <= box.size[2]; ++p[2]) {
    for (p[1] = -1; p[1] <= box.size[1]; ++p[1]) {
      for (p[0] = -1; p[0] <= box.size[0]; ++p[0], ++at) {
        std::uint8_t kind = 0;
        for (int d = 0; d < 3; ++d) {
          const int global = box.offset[d] + p[d];
          const std::uint8_t here = global < 0 ? kinds[d][0] : global >= box.global[d] ? kinds[d][1] : 0;
          if (here) kind = !kind || kind == here ? here : kAtRest;
        }
        if (kind) s.kind[at] = kind;
      }
    }
  }
}

/// A .npy file of bytes, shape (nz, ny, nx).
class NumpyBytes {
 public:
  NumpyBytes(const std::string& path, const Int3& size) : path_(path), size_(size) {
    // To open a pipe is to wait for whoever writes to it.
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) fail("is a folder or a device, not a file");
    in_.open(path, std::ios::binary);
    if (!in_) fail("cannot be opened: " + std::string(std::strerror(errno)));
    char magic[8]{};
    in_.read(magic, 8);
    if (!in_ || std::memcmp(magic, "\x93NUMPY", 6) != 0) fail("is not a NumPy .npy file");
    if (magic[6] < 1 || magic[6] > 3) fail(fmt::format("is of version {} of the .npy format; save it as version 1, 2 or 3", int{magic[6]}));
    const int width = magic[6] == 1 ? 2 : 4;
    unsigned char length[4]{};
    in_.read(reinterpret_cast<char*>(length), width);
    if (!in_) fail("is cut short");
    const std::size_t bytes = length[0] | length[1] << 8 | length[2] << 16 | static_cast<std::size_t>(length[3]) << 24;
    constexpr std::size_t kLongest = 1 << 16;
    if (bytes > kLongest) fail(fmt::format("has a damaged header: it says that it is {} bytes long", bytes));
    std::string header(bytes, ' ');
    in_.read(header.data(), static_cast<std::streamsize>(bytes));
    if (!in_) fail("is cut short");
    check(header);
    data_ = in_.tellg();
    in_.seekg(0, std::ios::end);
    const auto have = in_.tellg() - data_;
    const auto need = static_cast<std::streamoff>(1) * size[0] * size[1] * size[2];
    if (have < need) fail(fmt::format("is cut short: {} of {} bytes of data", static_cast<long>(have), static_cast<long>(need)));
  }

  /// One row of sites along x.
  void row(int y, int z, std::vector<std::uint8_t>& bytes) {
    bytes.resize(size_[0]);
    in_.seekg(data_ + static_cast<std::streamoff>(size_[0]) * (y + static_cast<std::streamoff>(size_[1]) * z));
    in_.read(reinterpret_cast<char*>(bytes.data()), size_[0]);
    if (!in_) fail("could not be read");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(fmt::format("geometry file {} {}", path_, what)); }

  /// What follows a key and spaces; empty where the key is not there.
  static std::string_view after(std::string_view header, std::string_view key) {
    const auto at = header.find(key);
    if (at == std::string_view::npos) return {};
    header.remove_prefix(at + key.size());
    header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
    return header;
  }

  /// What stands between `open` and `close` there, cut to a line's length; empty where there is none.
  static std::string value(std::string_view header, std::string_view key, char open, char close) {
    constexpr std::size_t kShown = 80;
    const std::string_view rest = after(header, key);
    const auto end = rest.find(close, 1);
    if (rest.empty() || rest[0] != open || end == std::string_view::npos) return {};
    return std::string(rest.substr(1, std::min(end - 1, kShown)));
  }

  void check(const std::string& header) const {
    const std::string type = value(header, "'descr':", '\'', '\'');
    if (type.empty()) fail("has no plain element type; save bytes (uint8)");
    if (type != "|u1" && type != "|i1" && type != "|b1") fail(fmt::format("holds '{}'; it must hold bytes (uint8, int8 or bool)", type));
    if (!after(header, "'fortran_order':").starts_with("False")) fail("is in Fortran order; save it in C order");
    const std::string shape = value(header, "'shape':", '(', ')');
    if (shape.empty()) fail("has no shape");
    const std::string want = fmt::format("{}, {}, {}", size_[2], size_[1], size_[0]);
    if (shape != want) fail(fmt::format("has the shape ({}); lattice.size needs (nz, ny, nx) = ({})", shape, want));
  }

  std::string path_;
  Int3 size_;
  std::ifstream in_;
  std::streamoff data_ = 0;
};

void mark_file(Solids& s, const Deck& deck, const Subdomain& box, const std::string& path) {
  NumpyBytes file(path, deck.size);
  const auto wrap = [&](int d, int i) { return (box.offset[d] + i + deck.size[d]) % deck.size[d]; };
  std::vector<std::uint8_t> row;
  std::size_t at = 0;
  for (int z = -1; z <= box.size[2]; ++z) {
    for (int y = -1; y <= box.size[1]; ++y) {
      file.row(wrap(1, y), wrap(2, z), row);
      for (int x = -1; x <= box.size[0]; ++x, ++at) {
        if (row[wrap(0, x)]) s.kind[at] = 1;
      }
    }
  }
}

void mark_array(Solids& s, const Deck& deck, const Subdomain& box, const SphereArray& a) {
  for (int k = 0; k < a.counts[2]; ++k) {
    for (int j = 0; j < a.counts[1]; ++j) {
      for (int i = 0; i < a.counts[0]; ++i) {
        const Int3 cell{i, j, k};
        Sphere sphere{{}, a.radius, {}};
        for (int d = 0; d < 3; ++d) sphere.center[d] = (cell[d] + 0.5) * deck.size[d] / a.counts[d];
        mark_sphere(s, deck, box, sphere, 1);
      }
    }
  }
}

}  // namespace

std::vector<Double3> pack_spheres(const Packing& packing, const Int3& size) {
  const auto count = static_cast<std::size_t>(std::llround(packing.spheres(size)));
  std::mt19937_64 random(packing.seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<Double3> centers(count);
  for (auto& c : centers) {
    for (int d = 0; d < 3; ++d) c[d] = uniform() * size[d];
  }
  // Pushing to a little more than touching makes it end with no overlap at all.
  Relaxation relaxation(centers, size, 2 * packing.radius * 1.002);
  for (int k = 0; k < 20000; ++k) {
    if (relaxation.done_or_step(2 * packing.radius)) return centers;
  }
  throw Error(fmt::format("no packing of spheres of radius {} with volume fraction {} found; use a lower fraction or another seed",
                          packing.radius, packing.volume_fraction));
}

Solids mark_solids(const Deck& deck, const Subdomain& box, const std::string& folder, const std::vector<std::vector<Double3>>& packed) {
  const Geometry& g = deck.geometry;
  Solids s;
  s.kind.assign(static_cast<std::size_t>(box.size[0] + 2) * (box.size[1] + 2) * (box.size[2] + 2), 0);
  if (!g.file.empty()) mark_file(s, deck, box, (std::filesystem::path(folder) / g.file).string());
  for (const auto& a : g.arrays) mark_array(s, deck, box, a);
  for (std::size_t k = 0; k < packed.size(); ++k) {
    for (const auto& c : packed[k]) mark_sphere(s, deck, box, {c, g.packings[k].radius, {}}, 1);
  }
  for (const auto& b : g.boxes) mark_box(s, deck, box, b, wall_kind(s, b.velocity));
  for (const auto& o : g.spheres) mark_sphere(s, deck, box, o, wall_kind(s, o.velocity));
  mark_domain_walls(s, deck, box);
  return s;
}

Solids make_solids(const Deck& deck, const Subdomain& box, const std::string& folder, MPI_Comm comm) {
  const auto& packings = deck.geometry.packings;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::vector<std::vector<Double3>> packed(packings.size());
  collectively(comm, [&] {
    for (std::size_t k = 0; k < packed.size() && rank == 0; ++k) packed[k] = pack_spheres(packings[k], deck.size);
  });
  for (auto& centers : packed) {
    auto count = static_cast<std::uint64_t>(centers.size());
    MPI_Bcast(&count, 1, MPI_UINT64_T, 0, comm);
    centers.resize(count);
    MPI_Bcast(centers.data(), static_cast<int>(3 * count), MPI_DOUBLE, 0, comm);  // at most 3 kMostPacked
  }
  Solids solids;
  collectively(comm, [&] { solids = mark_solids(deck, box, folder, packed); });
  return solids;
}

}  // namespace plait::lbm
