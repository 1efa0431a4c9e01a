// shan_random [--seed N] [--rounds N]: random neighbourhoods, elements and orders of calls of shared notifications, against a model.
//
// Each process computes from the seed what every pair of neighbours exchanges in each round: the elements of both sides, by lists or as a
// datatype, and the bytes. So it knows what has to lie in its segment after each round, byte by byte, untouched bytes included.
#include <SHAN_comm.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../check.h"

namespace {

constexpr int kTypes = 3;
constexpr int kMostElements = 40;
constexpr int kMostLength = 24;
constexpr int kMostTimes = 2;  // that one process names another
constexpr long kMostBytes = kMostElements * kMostLength;
constexpr long kSlot = 4 * kMostBytes;  // of the segment: what one type sends to a neighbour, and what it receives
constexpr unsigned char kNothing = 0xA5;

std::uint64_t mix(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

/// One side of what a pair exchanges.
struct Side {
  int length = 0;
  std::vector<long> offsets;  // in the slot
  bool datatype = false;
};

/// What `from`, with its neighbour number `index`, sends in a round; both sides have as many bytes.
struct Exchange {
  Side send, receive;
};

Side make_side(std::mt19937_64& rng, int length, int count) {
  Side side;
  side.length = length;
  side.datatype = rng() % 3 == 0;
  // Elements do not overlap: places in the slot, in any order.
  std::vector<long> places(static_cast<std::size_t>(kSlot / length));
  std::iota(places.begin(), places.end(), 0);
  if (rng() % 2 == 0) std::shuffle(places.begin(), places.end(), rng);
  for (int k = 0; k < count; ++k) side.offsets.push_back(places[static_cast<std::size_t>(k)] * length);
  return side;
}

Exchange make_exchange(std::uint64_t seed, int from, int index, int type, int round) {
  std::mt19937_64 rng(mix(seed ^ mix(static_cast<std::uint64_t>(((from * 64 + index) * kTypes + type) * 100000 + round))));
  const int lengths[] = {1, 2, 4, 8, 12, 24};
  const int a = lengths[rng() % 6];
  const int b = rng() % 2 ? a : lengths[rng() % 6];
  const int both = std::lcm(a, b);
  const int most = static_cast<int>(kMostElements * std::min(a, b) / both);
  const int times = rng() % 8 == 0 ? 0 : static_cast<int>(rng() % static_cast<std::uint64_t>(most + 1));
  Exchange e;
  e.send = make_side(rng, a, times * both / a);
  e.receive = make_side(rng, b, times * both / b);
  return e;
}

unsigned char byte_of(std::uint64_t seed, int from, int index, int type, int round, long at) {
  return static_cast<unsigned char>(mix(seed + static_cast<std::uint64_t>(((from * 64 + index) * kTypes + type) * 100000 + round) * 4096 +
                                        static_cast<std::uint64_t>(at)));
}

MPI_Datatype make_datatype(const Side& side, long slot) {
  std::vector<MPI_Aint> at;
  for (const long offset : side.offsets) at.push_back(slot + offset);
  MPI_Datatype made;
  MPI_Type_create_hindexed_block(static_cast<int>(at.size()), side.length, at.data(), MPI_BYTE, &made);
  MPI_Type_commit(&made);
  return made;
}

/// The neighbours of each process: the same number of times in both directions, in random orders.
std::vector<std::vector<int>> make_graph(std::uint64_t seed, int size) {
  std::mt19937_64 rng(mix(seed));
  std::vector<std::vector<int>> of(static_cast<std::size_t>(size));
  for (int a = 0; a < size; ++a) {
    for (int b = a; b < size; ++b) {
      const int times = static_cast<int>(rng() % (kMostTimes + 1));
      for (int k = 0; k < times; ++k) {
        of[static_cast<std::size_t>(a)].push_back(b);
        if (a != b) of[static_cast<std::size_t>(b)].push_back(a);
      }
    }
  }
  for (auto& list : of) std::shuffle(list.begin(), list.end(), rng);
  return of;
}

class Run {
 public:
  Run(std::uint64_t seed, MPI_Comm all) : seed_(seed) {
    MPI_Comm_rank(all, &rank_);
    int size = 0;
    MPI_Comm_size(all, &size);
    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
    MPI_Comm_rank(node_, &local_);
    graph_ = make_graph(seed, size);
    neighbors_ = graph_[static_cast<std::size_t>(rank_)];
    const int n = static_cast<int>(neighbors_.size());
    // The k-th time that this process names another belongs to the k-th time that it is named there.
    for (int i = 0; i < n; ++i) {
      const auto& theirs = graph_[static_cast<std::size_t>(neighbors_[static_cast<std::size_t>(i)])];
      auto nth = std::count(neighbors_.begin(), neighbors_.begin() + i, neighbors_[static_cast<std::size_t>(i)]);
      for (int j = 0; j < static_cast<int>(theirs.size()); ++j) {
        if (theirs[static_cast<std::size_t>(j)] == rank_ && nth-- == 0) index_there_.push_back(j);
      }
    }
    CHECK(static_cast<int>(index_there_.size()) == n);
    const long bytes = static_cast<long>(kTypes) * n * 2 * kSlot;
    CHECK(shan_alloc_shared(&segment_, 7, SHAN_DATA, bytes, node_) == SHAN_SUCCESS);
    void* mine = nullptr;
    CHECK(shan_get_shared_ptr(&segment_, local_, &mine) == SHAN_SUCCESS);
    memory_ = static_cast<unsigned char*>(mine);
    const std::vector<long> most_bytes(kTypes, kMostBytes);
    const std::vector<int> most_elements(kTypes, kMostElements);
    CHECK(shan_comm_init_comm(&hood_, 0, neighbors_.data(), n, most_bytes.data(), most_bytes.data(), most_elements.data(),
                              most_elements.data(), kTypes, node_, all) == SHAN_SUCCESS);
  }
  ~Run() {
    CHECK(shan_comm_free_comm(&hood_) == SHAN_SUCCESS);
    CHECK(shan_free_shared(&segment_) == SHAN_SUCCESS);
    MPI_Comm_free(&node_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// All types, begun in an order of this process's own.
  void round(int number, std::mt19937_64& own) {
    std::vector<int> types(kTypes);
    std::iota(types.begin(), types.end(), 0);
    std::shuffle(types.begin(), types.end(), own);
    for (const int type : types) begin(type, number, own);
    // In one order for all: a send is over when the other side has read it.
    std::mt19937_64 common(mix(seed_ + static_cast<std::uint64_t>(number)));
    std::sort(types.begin(), types.end());
    std::shuffle(types.begin(), types.end(), common);
    for (const int type : types) end(type, number, own);
  }
  [[nodiscard]] long exchanges() const { return exchanges_; }

 private:
  [[nodiscard]] int n() const { return static_cast<int>(neighbors_.size()); }
  [[nodiscard]] long send_slot(int type, int i) const { return ((static_cast<long>(type) * n() + i) * 2) * kSlot; }
  [[nodiscard]] long receive_slot(int type, int i) const { return send_slot(type, i) + kSlot; }

  void begin(int type, int round, std::mt19937_64& own) {
    int *send_count, *receive_count, *send_length, *receive_length;
    long *send_offset, *receive_offset;
    CHECK(shan_comm_type_offset(&hood_, type, &send_count, &receive_count, &send_length, &receive_length, &send_offset, &receive_offset) ==
          SHAN_SUCCESS);
    std::vector<int> order(static_cast<std::size_t>(n()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), own);
    for (const int i : order) {
      const Exchange out = make_exchange(seed_, rank_, i, type, round);
      const Exchange in =
          make_exchange(seed_, neighbors_[static_cast<std::size_t>(i)], index_there_[static_cast<std::size_t>(i)], type, round);
      const Side& s = out.send;
      const Side& r = in.receive;
      std::memset(memory_ + send_slot(type, i), kNothing, 2 * kSlot);
      long at = 0;
      for (const long offset : s.offsets) {
        for (int b = 0; b < s.length; ++b) memory_[send_slot(type, i) + offset + b] = byte_of(seed_, rank_, i, type, round, at++);
      }
      // Both of one process's sides are lists, or both datatypes.
      if (s.datatype) {
        MPI_Datatype send = make_datatype(s, send_slot(type, i));
        MPI_Datatype receive = make_datatype(r, receive_slot(type, i));
        CHECK(plait_shan_comm_datatypes(&hood_, type, i, send, receive) == SHAN_SUCCESS);
        MPI_Type_free(&send);
        MPI_Type_free(&receive);
      } else {
        CHECK(plait_shan_comm_datatypes(&hood_, type, i, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL) == SHAN_SUCCESS);
        send_count[i] = static_cast<int>(s.offsets.size());
        send_length[i] = s.length;
        receive_count[i] = static_cast<int>(r.offsets.size());
        receive_length[i] = r.length;
        for (std::size_t k = 0; k < s.offsets.size(); ++k)
          send_offset[i * kMostElements + static_cast<int>(k)] = send_slot(type, i) + s.offsets[k];
        for (std::size_t k = 0; k < r.offsets.size(); ++k) {
          receive_offset[i * kMostElements + static_cast<int>(k)] = receive_slot(type, i) + r.offsets[k];
        }
      }
      CHECK(shan_comm_notify_or_write(&hood_, &segment_, type, i) == SHAN_SUCCESS);
      ++exchanges_;
    }
  }

  void end(int type, int round, std::mt19937_64& own) {
    switch (own() % 4) {
      case 0:
        CHECK(shan_comm_wait4All(&hood_, &segment_, type) == SHAN_SUCCESS);
        break;
      case 1:
        CHECK(shan_comm_wait4AllRecv(&hood_, &segment_, type) == SHAN_SUCCESS);
        CHECK(shan_comm_wait4AllSend(&hood_, type) == SHAN_SUCCESS);
        break;
      case 2: {  // one by one, by tests; then what is left
        std::vector<char> has(static_cast<std::size_t>(n()));
        for (int tries = 0; tries < 100; ++tries) {
          for (int i = 0; i < n(); ++i) {
            if (has[static_cast<std::size_t>(i)]) continue;
            const int result = shan_comm_test4Recv(&hood_, &segment_, type, i);
            CHECK(result == SHAN_SUCCESS || result == SHAN_FAIL);
            has[static_cast<std::size_t>(i)] = result == SHAN_SUCCESS;
          }
        }
        CHECK(shan_comm_wait4All(&hood_, &segment_, type) == SHAN_SUCCESS);
        break;
      }
      default:
        for (int i = n() - 1; i >= 0; --i) CHECK(shan_comm_wait4Recv(&hood_, &segment_, type, i) == SHAN_SUCCESS);
        for (int i = 0; i < n(); ++i) {
          if (shan_comm_test4Send(&hood_, type, i) != SHAN_SUCCESS) CHECK(shan_comm_wait4Send(&hood_, type, i) == SHAN_SUCCESS);
        }
    }
    for (int i = 0; i < n(); ++i) check(type, i, round);
  }

  void check(int type, int i, int round) const {
    const int from = neighbors_[static_cast<std::size_t>(i)];
    const int index = index_there_[static_cast<std::size_t>(i)];
    const Exchange in = make_exchange(seed_, from, index, type, round);
    std::vector<unsigned char> wanted(kSlot, kNothing);
    long at = 0;
    for (const long offset : in.receive.offsets) {
      for (int b = 0; b < in.receive.length; ++b)
        wanted[static_cast<std::size_t>(offset + b)] = byte_of(seed_, from, index, type, round, at++);
    }
    if (std::memcmp(wanted.data(), memory_ + receive_slot(type, i), kSlot) == 0) return;
    std::fprintf(stderr, "rank %d, type %d, round %d: what came from neighbour %d, rank %d, is wrong\n", rank_, type, round, i, from);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  std::uint64_t seed_;
  int rank_ = 0, local_ = 0;
  MPI_Comm node_ = MPI_COMM_NULL;
  std::vector<std::vector<int>> graph_;
  std::vector<int> neighbors_, index_there_;
  shan_segment_t segment_{};
  shan_neighborhood_t hood_{};
  unsigned char* memory_ = nullptr;
  long exchanges_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::map<std::string, long> options{{"--seed", 1}, {"--rounds", 200}};
  for (int i = 1; i + 1 < argc; i += 2) options.at(argv[i]) = std::atol(argv[i + 1]);
  const long seed = options.at("--seed");
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long exchanges = 0;
  std::mt19937_64 own(mix(static_cast<std::uint64_t>(seed) * 1000 + static_cast<std::uint64_t>(rank)));
  for (int neighbourhood = 0; neighbourhood < 3; ++neighbourhood) {
    Run run(mix(static_cast<std::uint64_t>(seed * 3 + neighbourhood)), MPI_COMM_WORLD);
    for (long r = 0; r < options.at("--rounds"); ++r) run.round(static_cast<int>(r), own);
    exchanges += run.exchanges();
  }
  long all = 0;
  MPI_Reduce(&exchanges, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("shan_random: seed %ld, %ld exchanges of %d processes, all as the model says\n", seed, all, size);
  MPI_Finalize();
  return 0;
}
