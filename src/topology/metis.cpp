#include "topology/metis.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <numeric>

#include "base/no_signals.hpp"

namespace plait::topology {
namespace {

// As metis.h of version 5 has them, for 32-bit indices and single precision.
using Index = std::int32_t;
using SetDefaultOptions = int(Index* options);
using PartGraph = int(Index* vertices, Index* constraints, Index* first, Index* edges, Index* vertex_weights, Index* sizes,
                      Index* edge_weights, Index* parts, float* shares, float* imbalances, Index* options, Index* cut, Index* part_of);
constexpr int kOk = 1;
constexpr std::size_t kOptions = 40;
// As 5.1.0 numbers them. In later ones these are others, for which 1 is what they are anyway; the seed is fixed then, and the imbalance is
// a thousandth without a word.
constexpr std::size_t kSeed = 8;
constexpr std::size_t kImbalance = 16;

/// The library stays loaded. Where the program has a METIS of its own, which may be built otherwise, its functions would come before those
/// that the library calls of its own: then it is left alone.
struct Library {
  SetDefaultOptions* set_default_options = nullptr;
  PartGraph* part_graph = nullptr;

  Library() {
    void* const metis = dlopen("libmetis.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!metis) return;
    set_default_options = reinterpret_cast<SetDefaultOptions*>(dlsym(metis, "METIS_SetDefaultOptions"));
    constexpr const char* kPartGraph = "METIS_PartGraphRecursive";
    auto* const part = reinterpret_cast<PartGraph*>(dlsym(metis, kPartGraph));
    auto* const first = reinterpret_cast<PartGraph*>(dlsym(RTLD_DEFAULT, kPartGraph));
    if (!set_default_options || !part || (first && first != part)) return;
    // Built with 64-bit indices it fills twice as much.
    std::array<Index, 2 * kOptions> options{};
    set_default_options(options.data());
    if (options[kOptions] == 0) part_graph = part;
  }
};

/// METIS seeds rand() and sets handlers of these signals; when it is done, they are as the program had them.
class AsItWas {
 public:
  AsItWas() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &handlers_[i]);
    random_ = initstate(1, state_.data(), state_.size());
  }
  ~AsItWas() {
    setstate(random_);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &handlers_[i], nullptr);
  }
  AsItWas(const AsItWas&) = delete;
  AsItWas& operator=(const AsItWas&) = delete;

 private:
  static constexpr std::array kSignals{SIGABRT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> handlers_{};
  std::array<char, 128> state_{};
  char* random_ = nullptr;
};

}  // namespace

Parts by_metis(const Graph& graph, std::span<const int> sizes) {
  // It complains on stdout of parts without a vertex.
  constexpr int kLeast = 4;
  if (sizes.size() < 2 || !graph.has_edges() || std::ranges::min(sizes) < kLeast) return {};
  static const Library metis;
  if (!metis.part_graph) return {};

  std::int64_t all = 0;
  for (int v = 0; v < graph.vertices(); ++v) {
    for (const Edge& e : graph.edges(v)) all += e.bytes;
  }
  // It adds weights up in 32 bits.
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const std::int64_t scale = all / kMost + 1;
  std::vector<Index> first{0};
  std::vector<Index> edges;
  std::vector<Index> weights;
  for (int v = 0; v < graph.vertices(); ++v) {
    for (const Edge& e : graph.edges(v)) {
      edges.push_back(e.to);
      weights.push_back(static_cast<Index>(std::max<std::int64_t>(1, e.bytes / scale)));
    }
    first.push_back(static_cast<Index>(edges.size()));
  }
  auto vertices = static_cast<Index>(graph.vertices());
  auto count = static_cast<Index>(sizes.size());
  // With room for as many doubles: a METIS that was built for these reads no further, and refuses what it finds.
  std::vector<float> shares(2 * sizes.size(), 0);
  for (std::size_t p = 0; p < sizes.size(); ++p) shares[p] = static_cast<float>(sizes[p]) / static_cast<float>(vertices);
  std::array<Index, kOptions> options{};
  metis.set_default_options(options.data());
  options[kSeed] = 1;
  options[kImbalance] = 1;  // a thousandth
  Index constraints = 1;
  Index cut = 0;
  Parts parts(static_cast<std::size_t>(vertices), 0);

  static std::mutex one;
  const std::lock_guard guard(one);
  const NoSignals later;  // to this thread: when the handlers are the program's again
  const AsItWas restored;
  const int answer = metis.part_graph(&vertices, &constraints, first.data(), edges.data(), nullptr, nullptr, weights.data(), &count,
                                      shares.data(), nullptr, options.data(), &cut, parts.data());
  return answer == kOk ? parts : Parts{};
}

}  // namespace plait::topology
