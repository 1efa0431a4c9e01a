#include "lattice.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "simd.hpp"

namespace plait::lbm {
namespace {

constexpr std::ptrdiff_t kLine = 8;     // doubles in a cache line
constexpr std::ptrdiff_t kPage = 512;   // doubles in a page
constexpr std::size_t kHuge = 2 << 20;  // bytes in a huge page

std::ptrdiff_t round_up(std::ptrdiff_t n, std::ptrdiff_t to) { return (n + to - 1) / to * to; }

}  // namespace

void Spans::add(Span span, long work) {
  spans_.push_back(span);
  before_.push_back(before_.back() + work);
}

std::pair<const Span*, const Span*> Spans::part(double from, double to) const {
  const auto unit = [&](double share) { return share >= 1.0 ? work() : std::lround(share * static_cast<double>(work())); };
  return begun_in(unit(from), unit(to));
}

std::pair<const Span*, const Span*> Spans::begun_in(long begin, long end) const {
  const auto at = [&](long unit) {
    return unit == work() ? spans_.size() : static_cast<std::size_t>(std::ranges::lower_bound(before_, unit) - before_.begin());
  };
  return {spans_.data() + at(begin), spans_.data() + at(end)};
}

Lattice::Lattice(const Subdomain& box, Solids solids, int threads, const Allocate& allocate)
    : box_(box),
      solids_(std::move(solids)),
      row_(round_up(box.size[0] + 2, kLine)),
      plane_(row_ * (box.size[1] + 2)),
      blocks_((box.size[0] + simd::kWidth - 1) / simd::kWidth) {
  // 19 arrays are walked at once. Were they a multiple of a page apart, all would fall into the same set of
  // the first-level cache; three more lines spread them over its sets.
  const std::ptrdiff_t sites = plane_ * (box.size[2] + 2) + 4 * kLine;
  pitch_ = round_up(sites, kPage) + 3 * kLine;
  const std::size_t bytes = static_cast<std::size_t>(pitch_ * kVelocities) * sizeof(double) + kHuge;
  memory_ = allocate(bytes);
  // Site (0, 0, 0) begins a cache line, so a local step's vectors are aligned.
  first_ = static_cast<double*>(memory_->data()) + round_up(row_ + plane_ + kLine, kLine);
  place_kinds();
  classify();
  divide();
#pragma omp parallel num_threads(threads)
  {
    const auto [begin, end] = all_.part(omp_get_thread_num(), omp_get_num_threads());
    for (const Span* s = begin; s != end; ++s) {
      for (int i = 0; i < kVelocities; ++i) std::memset(places(i) + index(0, s->y, s->z), 0, sizeof(double) * row_);
    }
  }
}

/// The kinds, laid out as the populations are; what pads a row counts as solid.
void Lattice::place_kinds() {
  kind_memory_.assign(static_cast<std::size_t>(plane_ * (box_.size[2] + 2) + 4 * kLine), 1);
  kind_first_ = kind_memory_.data() + plane_ + row_ + kLine;
  const std::uint8_t* from = solids_.kind.data();
  for (int z = -1; z <= box_.size[2]; ++z) {
    for (int y = -1; y <= box_.size[1]; ++y) {
      std::copy_n(from, box_.size[0] + 2, kind_first_ + index(-1, y, z));
      from += box_.size[0] + 2;
    }
  }
  solids_.kind.clear();
  solids_.kind.shrink_to_fit();
}

WallBlock Lattice::look_at(int b, int y, int z) const {
  WallBlock w;
  for (int k = 0; k < simd::kWidth; ++k) {
    const int x = b * simd::kWidth + k;
    if (x >= box_.size[0] || !fluid(x, y, z)) continue;
    const auto bit = static_cast<std::uint8_t>(1U << k);
    w.fluid |= bit;
    for (int i = 1; i < kVelocities; ++i) {
      const auto& c = kVelocity[i];
      const int kind = kind_first_[index(x - c[0], y - c[1], z - c[2])];
      if (!kind) continue;
      w.from_wall[i] |= bit;
      w.moving = w.moving || solids_.walls[kind - 1] != Double3{};
    }
  }
  return w;
}

void Lattice::classify() {
  blocks_of_.reserve(static_cast<std::size_t>(blocks_) * box_.size[1] * box_.size[2]);
  for (int z = 0; z < box_.size[2]; ++z) {
    for (int y = 0; y < box_.size[1]; ++y) {
      for (int b = 0; b < blocks_; ++b) {
        const WallBlock w = look_at(b, y, z);
        fluid_sites_ += std::popcount(w.fluid);
        if (!w.fluid) {
          blocks_of_.push_back(kSkip);
        } else if (w.fluid == simd::kAll && w.from_wall == decltype(w.from_wall){}) {
          blocks_of_.push_back(kFree);
        } else {
          blocks_of_.push_back(static_cast<std::int32_t>(wall_blocks_.size()));
          wall_blocks_.push_back(w);
        }
      }
    }
  }
}

/// Lists the spans. A row at a face that is shared with another process is boundary; where x is shared, so
/// are the first and the last block of every row.
void Lattice::divide() {
  const auto at_face = [&](int d, int i) {
    if (!box_.divided(d)) return false;
    Int3 low{}, high{};
    low[d] = -1;
    high[d] = 1;
    return (i == 0 && box_.neighbor(low) != MPI_PROC_NULL) || (i == box_.size[d] - 1 && box_.neighbor(high) != MPI_PROC_NULL);
  };
  const auto add = [&](Spans& spans, const Span& s) {
    long work = 0;
    for (int b = s.begin; b < s.end; ++b) {
      const std::int32_t kind = row_blocks(s.y, s.z)[b];
      work += kind == kSkip ? 0 : kind == kFree ? 2 : 3;  // measured: a wall block takes half as long again
    }
    if (work) spans.add(s, work);
  };
  const bool x_shared = box_.divided(0);
  for (int z = 0; z < box_.size[2]; ++z) {
    for (int y = 0; y < box_.size[1]; ++y) {
      add(all_, {y, z, 0, blocks_});
      if (at_face(1, y) || at_face(2, z)) {
        add(boundary_, {y, z, 0, blocks_});
      } else if (!x_shared || blocks_ <= 2) {
        add(x_shared ? boundary_ : interior_, {y, z, 0, blocks_});
      } else {
        add(boundary_, {y, z, 0, 1});
        add(interior_, {y, z, 1, blocks_ - 1});
        add(boundary_, {y, z, blocks_ - 1, blocks_});
      }
    }
  }
}

double Lattice::population(int i, int x, int y, int z, Phase phase) const {
  if (phase == Phase::local) return places(i)[index(x, y, z)];
  const auto& c = kVelocity[i];
  const int kind = kind_first_[index(x - c[0], y - c[1], z - c[2])];
  if (kind) {
    const Double3& u = solids_.walls[kind - 1];
    const double f = places(i)[index(x, y, z)];
    return u == Double3{} ? f : f + 6 * weight(i) * (c[0] * u[0] + c[1] * u[1] + c[2] * u[2]);
  }
  return places(opposite(i))[index(wrap(0, x - c[0]), wrap_y(y - c[1]), wrap_z(z - c[2]))];
}

}  // namespace plait::lbm
