#include "halo.hpp"

#include <algorithm>
#include <limits>

#include "error.hpp"

namespace plait::lbm {
namespace {

int tag(const Int3& side) { return (side[0] + 1) + 3 * (side[1] + 1) + 9 * (side[2] + 1); }

/// First and last index, in direction d, of places that velocity c has at a side.
struct Range {
  int first, last;
};

/// `layer` is the index of the layer where the side lies in this direction. Along the side, a place whose site
/// of origin lies beyond another shared face or wall belongs to that edge's link or to nobody.
Range range(const Subdomain& box, int d, int side, int layer, int c) {
  if (side != 0) return {layer, layer};
  const int last = box.size[d] - 1;
  if (box.wraps(d)) return {0, last};
  return {c > 0 ? 1 : 0, c < 0 ? last - 1 : last};
}

/// The runs of all velocities with components `towards` at a side, in a fixed order.
std::vector<Run> list_runs(Lattice& l, const Int3& side, const Int3& towards, bool outer) {
  const Subdomain& box = l.box();
  std::vector<Run> runs;
  long total = 0;
  for (int i = 0; i < kVelocities; ++i) {
    const auto& c = kVelocity[i];
    Range r[3];
    bool crosses = true;
    for (int d = 0; d < 3; ++d) {
      const int layer = side[d] > 0 ? box.size[d] - (outer ? 0 : 1) : (outer ? -1 : 0);
      crosses = crosses && (side[d] == 0 || c[d] == towards[d]);
      r[d] = range(box, d, side[d], layer, c[d]);
    }
    if (!crosses) continue;
    const auto add = [&](int x, int y, int z, std::ptrdiff_t stride, int count) {
      if (count <= 0) return;
      // Links wrap by images where the box is its own neighbour; kinds have their layer there, too.
      const std::uint8_t* writer = l.kinds() + l.index(x - c[0], y - c[1], z - c[2]);
      bool wall = false;
      for (int k = 0; k < count; ++k) wall = wall || writer[k * stride];
      const auto offset = static_cast<std::int32_t>(total);
      runs.push_back({l.places(i) + l.index(x, y, z), stride, count, offset, wall ? writer : nullptr});
      total += count;
      if (total > std::numeric_limits<std::int32_t>::max()) {
        throw Error("a face between two processes is too large for one message: cut the lattice otherwise with --grid");
      }
    };
    for (int z = r[2].first; z <= r[2].last; ++z) {
      if (side[0] != 0) {  // one site wide in x: runs along y
        add(r[0].first, r[1].first, z, l.row(), r[1].last - r[1].first + 1);
        continue;
      }
      for (int y = r[1].first; y <= r[1].last; ++y) add(r[0].first, y, z, 1, r[0].last - r[0].first + 1);
    }
  }
  return runs;
}

void pack_run(const Run& run, double* buffer) {
  double* to = buffer + run.offset;
  if (run.stride == 1) {
    std::copy_n(run.place, run.count, to);
  } else {
    for (std::int32_t k = 0; k < run.count; ++k) to[k] = run.place[k * run.stride];
  }
}

void unpack_run(const Run& run, const double* buffer, bool returned) {
  const double* from = buffer + run.offset;
  if (returned && run.writer) {
    for (std::int32_t k = 0; k < run.count; ++k) {
      if (!run.writer[k * run.stride]) run.place[k * run.stride] = from[k];
    }
  } else if (run.stride == 1) {
    std::copy_n(from, run.count, run.place);
  } else {
    for (std::int32_t k = 0; k < run.count; ++k) run.place[k * run.stride] = from[k];
  }
}

/// `rows` rows of `count` places each, at equal distances in bytes: what a datatype describes without a table.
struct Rows {
  MPI_Aint at, stride, distance;
  int count, rows;

  /// Takes up a row that goes on as the ones before do.
  bool add(const Rows& next) {
    if (next.stride != stride || next.count != count) return false;
    if (rows > 1 && next.at != at + rows * distance) return false;
    if (rows == 1) distance = next.at - at;
    ++rows;
    return true;
  }
};

/// Those of the runs' places whose writer is fluid.
std::vector<Rows> rows_of_fluid(std::span<const Run> runs, const void* base) {
  std::vector<Rows> all;
  for (const Run& run : runs) {
    const auto is_wall = [&run](std::int32_t k) { return run.writer && run.writer[k * run.stride]; };
    for (std::int32_t k = 0; k < run.count;) {
      const std::int32_t first = k;
      while (k < run.count && !is_wall(k)) ++k;
      if (k > first) {
        const MPI_Aint at = reinterpret_cast<const char*>(run.place + first * run.stride) - static_cast<const char*>(base);
        const Rows row{at, run.stride * static_cast<MPI_Aint>(sizeof(double)), 0, k - first, 1};
        if (all.empty() || !all.back().add(row)) all.push_back(row);
      }
      while (k < run.count && is_wall(k)) ++k;
    }
  }
  return all;
}

MPI_Datatype datatype(std::span<const Run> runs, const void* base) {
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> places;
  for (const Rows& r : rows_of_fluid(runs, base)) {
    MPI_Datatype row = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(r.count, 1, r.stride, MPI_DOUBLE, &row);
    MPI_Type_create_hvector(r.rows, 1, r.distance, row, &types.emplace_back());
    MPI_Type_free(&row);
    places.push_back(r.at);
  }
  const std::vector<int> ones(types.size(), 1);
  MPI_Datatype all = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), places.data(), types.data(), &all);
  MPI_Type_commit(&all);
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  return all;
}

}  // namespace

Link::Link(Lattice& lattice, const Int3& side)
    : neighbor_(lattice.box().neighbor(side)),
      send_tag_(tag(side)),
      receive_tag_(tag({-side[0], -side[1], -side[2]})),
      inner_(list_runs(lattice, side, {-side[0], -side[1], -side[2]}, false)),
      outer_(list_runs(lattice, side, side, true)) {
  const auto length = [](const std::vector<Run>& runs) {
    return runs.empty() ? 0 : static_cast<std::size_t>(runs.back().offset + runs.back().count);
  };
  send_.resize(length(inner_));
  receive_.resize(length(outer_));
}

Link::Extent Link::extent(int piece, int pieces) const {
  const auto [begin, end] = runs(piece, pieces);
  if (begin == end) return {0, 0};
  const auto first = static_cast<std::size_t>(inner_[begin].offset);
  return {first, static_cast<std::size_t>(inner_[end - 1].offset + inner_[end - 1].count) - first};
}

void Link::pack(Direction d, double* buffer, int piece, int pieces) const {
  const auto& from = d == Direction::lend ? inner_ : outer_;
  const auto [begin, end] = runs(piece, pieces);
  for (std::size_t k = begin; k < end; ++k) pack_run(from[k], buffer);
}

void Link::unpack(Direction d, const double* buffer, int piece, int pieces) const {
  const auto& to = d == Direction::lend ? outer_ : inner_;
  const auto [begin, end] = runs(piece, pieces);
  for (std::size_t k = begin; k < end; ++k) unpack_run(to[k], buffer, d == Direction::hand_back);
}

MPI_Datatype Link::sent(Direction d, const void* base, int piece, int pieces) const {
  const auto [begin, end] = runs(piece, pieces);
  const auto& all = d == Direction::lend ? inner_ : outer_;
  return datatype({all.data() + begin, end - begin}, base);
}

MPI_Datatype Link::received(Direction d, const void* base, int piece, int pieces) const {
  return sent(d == Direction::lend ? Direction::hand_back : Direction::lend, base, piece, pieces);
}

std::vector<Int3> shared_sides(const Subdomain& box) {
  std::vector<Int3> sides;
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        const Int3 side{x, y, z};
        const int crossed = (x != 0) + (y != 0) + (z != 0);
        bool shared = crossed == 1 || crossed == 2;
        for (int d = 0; d < 3; ++d) shared = shared && (side[d] == 0 || box.divided(d));
        if (shared && box.neighbor(side) != MPI_PROC_NULL) sides.push_back(side);
      }
    }
  }
  return sides;
}

long places_across(const Subdomain& box, const Int3& side) {
  long all = 0;
  for (const auto& c : kVelocity) {
    long places = 1;
    for (int d = 0; d < 3; ++d) {
      const Range r = range(box, d, side[d], 0, c[d]);
      const bool crosses = side[d] == 0 || c[d] == -side[d];
      places *= crosses ? std::max(0, r.last - r.first + 1) : 0;
    }
    all += places;
  }
  return all;
}

Halo::Halo(Lattice& lattice) {
  for (const Int3& side : shared_sides(lattice.box())) {
    links_.emplace_back(lattice, side);
    bytes_ += static_cast<long>(links_.back().receive_buffer().size_bytes());
  }
}

}  // namespace plait::lbm
