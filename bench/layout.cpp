// bench-layout: what layouts cost, against the MPI underneath and the machine. One process, one thread.
//
//   segment  one segment by number out of a 1000^3 sub-volume of a larger array
//   faces    packing the six-sided lattice's faces, one site thick, of 128^3 sites x 19 doubles, both ways of storing
//            them: structure of arrays [19][z][y][x] and array of structures [z][y][x][19]
//            warm: packed over and over; cold: after other memory went through the caches, as a time step would
//   memcpy   contiguous bytes through pack
//
// MPI_Pack and pack take turns; figures are medians, the ratio is the median of the turns' ratios. JSON on stdout
// with --json.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "layout/cache.hpp"
#include "timing.hpp"

namespace {

using plait::bench::seconds;
using plait::layout::Buffer;
using plait::layout::layout_of;

constexpr int kSites = 128, kVelocities = 19;

double median(std::vector<double> all) { return plait::bench::Summary(std::move(all)).median; }

struct Figure {
  std::string name;
  double ours, other, ratio;  ///< microseconds, and how many times as fast ours is
};

/// Runs other memory through the caches: more than they hold.
void chill() {
  static std::vector<char> other(std::size_t{96} << 20, 1);
  for (std::size_t i = 0; i < other.size(); i += 64) ++other[i];
}

/// Both in turn, the order changing from turn to turn.
template <class Ours, class Other>
Figure compare(const std::string& name, int turns, Ours ours, Other other, bool cold = false) {
  const auto timed = [cold](auto& f) {
    if (cold) chill();
    const double start = seconds();
    f();
    return (seconds() - start) * 1e6;
  };
  std::vector<double> a, b, ratio;
  for (int i = 0; i < turns; ++i) {
    const double first = i % 2 == 0 ? timed(ours) : timed(other);
    const double second = i % 2 == 0 ? timed(other) : timed(ours);
    a.push_back(i % 2 == 0 ? first : second);
    b.push_back(i % 2 == 0 ? second : first);
    ratio.push_back(b.back() / a.back());
  }
  return {name, median(a), median(b), median(ratio)};
}

/// The face where direction `across` (0 is x) is 1, as a subarray of the whole lattice.
MPI_Datatype face(bool arrays, int across) {
  int sizes[4], sub[4], start[4] = {};
  const int first = arrays ? 1 : 0;  // where z is
  sizes[arrays ? 0 : 3] = sub[arrays ? 0 : 3] = kVelocities;
  for (int d = 0; d < 3; ++d) sizes[first + 2 - d] = sub[first + 2 - d] = kSites;
  sub[first + 2 - across] = start[first + 2 - across] = 1;
  MPI_Datatype t;
  MPI_Type_create_subarray(4, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &t);
  MPI_Type_commit(&t);
  return t;
}

void faces(std::vector<Figure>& figures, int turns, bool cold) {
  std::vector<double> lattice(std::size_t{kSites} * kSites * kSites * kVelocities, 1.0);
  std::vector<std::byte> ours(std::size_t{kSites} * kSites * kVelocities * sizeof(double)), theirs(ours.size());
  for (std::size_t i = 0; i < lattice.size(); ++i) lattice[i] = static_cast<double>(i);
  for (const bool arrays : {true, false}) {
    for (int across = 0; across < 3; ++across) {
      MPI_Datatype t = face(arrays, across);
      const auto layout = layout_of(t);
      const auto pack_ours = [&] { plait::layout::pack(Buffer(*layout, lattice.data(), 1), 0, ours); };
      const auto pack_theirs = [&] {
        int position = 0;
        MPI_Pack(lattice.data(), 1, t, theirs.data(), static_cast<int>(theirs.size()), &position, MPI_COMM_SELF);
      };
      const std::string name = std::string(arrays ? "arrays" : "structures") + " face " + "XYZ"[across] + (cold ? ", cold" : ", warm");
      figures.push_back(compare(name, turns, pack_ours, pack_theirs, cold));
      if (ours != theirs) std::fprintf(stderr, "%s: MPI_Pack has other bytes\n", name.c_str());
      MPI_Type_free(&t);
    }
  }
}

void contiguous(std::vector<Figure>& figures, int turns) {
  for (const std::size_t bytes : {std::size_t{4} << 10, std::size_t{1} << 20, std::size_t{64} << 20}) {
    std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
    const auto layout = layout_of(MPI_DOUBLE);
    const int repeats = static_cast<int>(std::max<std::size_t>((std::size_t{1} << 20) / bytes, 1));
    const auto ours = [&] {
      for (int i = 0; i < repeats; ++i) {
        plait::layout::pack(Buffer(*layout, from.data(), static_cast<std::int64_t>(bytes / 8)), 0, to);
      }
    };
    const auto plain = [&] {
      for (int i = 0; i < repeats; ++i) {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory");
      }
    };
    figures.push_back(compare("contiguous " + std::to_string(bytes >> 10) + " KiB, memcpy", turns, ours, plain));
  }
}

void segment() {
  const int sizes[] = {1200, 1100, 1300}, sub[] = {1000, 1000, 1000}, start[] = {100, 50, 200};
  MPI_Datatype t;
  MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &t);
  MPI_Type_commit(&t);
  const double begin = seconds();
  const auto layout = layout_of(t);
  const double made = seconds();
  constexpr int kTimes = 1'000'000;
  std::int64_t sum = 0;
  for (int i = 0; i < kTimes; ++i) sum += layout->segment(999'999 - i % 2).offset;
  const double found = seconds();
  std::printf("segment 1,000,000 of %lld: %.0f ns; flattened in %.1f us into %zu bytes (checksum %lld)\n",
              static_cast<long long>(layout->segments()), (found - made) / kTimes * 1e9, (made - begin) * 1e6, layout->footprint(),
              static_cast<long long>(sum % 1000));
  MPI_Type_free(&t);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool json = argc > 1 && std::string(argv[1]) == "--json";
  std::vector<Figure> figures;
  faces(figures, 41, false);
  faces(figures, 21, true);
  contiguous(figures, 41);
  if (!json) segment();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& f = figures[i];
    const char* form = json ? "%s{\"name\": \"%s\", \"us\": %.2f, \"other_us\": %.2f, \"ratio\": %.3f}%s\n"
                            : "%s%-32s %9.1f us   other %9.1f us   ratio %5.2f%s\n";
    const bool last = i + 1 == figures.size();
    std::printf(form, json && i == 0 ? "[" : "", f.name.c_str(), f.ours, f.other, f.ratio, json ? (last ? "]" : ",") : "");
  }
  MPI_Finalize();
  return 0;
}
