// bench-reorder: what it brings that MPI_Cart_create puts ranks where few messages leave a node.
//
// Ranks are dealt to the nodes one by one, wherever the launcher has put them. Each talks to six neighbours in a periodic grid of three
// dimensions, which is made
//
//   as-dealt   with reorder = 0
//   reordered  with reorder = 1, by plait
//
//   exchange       a message to each neighbour and one from each
//   between_nodes  the bytes of all messages that leave a node, in one exchange
//
// With one node both are the same. Contents are compared in each exchange.
#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common.hpp"
#include "neighbours.hpp"

namespace plait::bench {
namespace {

/// A communicator of a node's processes.
class Node {
 public:
  /// Collective.
  Node() { MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { MPI_Comm_free(&comm_); }

  /// All processes, dealt to nodes one by one. Collective.
  [[nodiscard]] MPI_Comm deal() const {
    int place = 0;
    MPI_Comm_rank(comm_, &place);
    MPI_Comm dealt = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, place, &dealt);
    return dealt;
  }

  /// How many messages of an exchange leave a node. Collective.
  [[nodiscard]] std::int64_t messages_away(const Neighbours& neighbours) const {
    std::array<int, Neighbours::kNeighbours> here{};
    MPI_Group grid = MPI_GROUP_NULL, node = MPI_GROUP_NULL;
    MPI_Comm_group(neighbours.grid(), &grid);
    MPI_Comm_group(comm_, &node);
    MPI_Group_translate_ranks(grid, Neighbours::kNeighbours, neighbours.ranks().data(), node, here.data());
    MPI_Group_free(&grid);
    MPI_Group_free(&node);
    return Job::sum(std::count(here.begin(), here.end(), MPI_UNDEFINED));
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

void benchmark(const Job& job, const Options& o) {
  o.check_sizes();
  Report report("reorder", job, o, 1);
  const Node node;
  MPI_Comm dealt = node.deal();
  {
    Neighbours as_dealt(dealt, false), reordered(dealt, true);
    for (const std::size_t bytes : o.sizes) {
      std::vector<Side> sides{as_dealt.side("as-dealt", bytes), reordered.side("reordered", bytes)};
      measure(sides, o.time, o.rounds);
      report.add("exchange", {{"bytes", bytes}}, sides);
      for (const auto& [side, neighbours] : {std::pair{&sides[0], &as_dealt}, std::pair{&sides[1], &reordered}}) {
        const double away = static_cast<double>(bytes) * static_cast<double>(node.messages_away(*neighbours));
        if (away > 0) report.add("between_nodes", "B", {{"bytes", bytes}}, *side, {away});
        if (report.prints()) fmt::print("{:<16} {:>8} bytes  {:<20} {:.4g} B\n", "between_nodes", bytes, side->name, away);
      }
    }
  }
  MPI_Comm_free(&dealt);
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::Options o;
  o.time = 0.02;
  o.sizes = {8, 4096, 65536, 1048576};
  plait::bench::CommandLine line("Exchange with six neighbours, with ranks dealt to nodes one by one and reordered", "bench-reorder");
  o.describe_sizes(line, "Bytes in a message, multiples of 8");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); },
                           {1, plait::bench::kAny});
}
