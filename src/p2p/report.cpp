#include "p2p/report.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mpi_lock.hpp"
#include "base/settings.hpp"
#include "lane/endpoint.hpp"
#include "p2p/handle_bits.hpp"

namespace plait::p2p {
namespace {

using lane::Traffic;

struct Sent {
  Traffic traffic;
  std::uint64_t lock_waits = 0;
};

struct All {
  std::mutex lock;
  std::map<std::string, Sent> by_name;
};

All& all() {
  static All& all = *new All;  // never destroyed: communicators may be freed by exit handlers
  return all;
}

/// So many communicators have a line of their own, those with the most messages.
constexpr std::size_t kLines = 16;

bool is_wanted() noexcept {
  static const bool wanted = settings::flag(settings::Id::report);
  return wanted;
}

std::string line_of(std::uint64_t handle) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  const MpiLock lock;
  PMPI_Comm_get_name(from_bits<MPI_Comm>(handle), name.data(), &length);
  return length > 0 ? name.data() : "communicators without a name";
}

void add(Sent& to, const Sent& more) noexcept {
  to.traffic.messages += more.traffic.messages;
  to.traffic.bytes += more.traffic.bytes;
  to.traffic.between_nodes += more.traffic.between_nodes;
  to.traffic.rendezvous += more.traffic.rendezvous;
  to.traffic.through_chunks += more.traffic.through_chunks;
  to.lock_waits += more.lock_waits;
}

void tell_line(int rank, const std::string& name, const Sent& s) {
  const Traffic& t = s.traffic;
  std::string text = "plait: rank " + std::to_string(rank) + ": " + name + ": " + std::to_string(t.messages) + " messages of " +
                     std::to_string(t.bytes) + " bytes sent";
  if (t.between_nodes > 0) text += ", " + std::to_string(t.between_nodes) + " of them between nodes";
  // What a receiver has cut off was in no chunk, and is in no buffer.
  const std::uint64_t once = t.rendezvous - std::min(t.rendezvous, t.through_chunks);
  if (once > 0) text += ", " + std::to_string(once) + " bytes copied once";
  if (s.lock_waits > 0) text += ", " + std::to_string(s.lock_waits) + " waits for its lock";
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace

void tell_left(Left what) noexcept {
  static constexpr std::array kWhat{"intercommunicators",
                                    "communicators with processes that were spawned or connected",
                                    "a communicator, since a process has no memory to share",
                                    "collective calls on communicators that span nodes",
                                    "collective calls on communicators that span nodes, but for barriers, broadcasts, reduce and allreduce",
                                    "reductions between nodes with operations or datatypes of the program's",
                                    "collective calls between nodes on 32 KB and more, which Intel MPI makes faster"};
  static std::array<std::atomic<bool>, kWhat.size()> told{};
  const auto i = static_cast<std::size_t>(what);
  if (!is_wanted() || told[i].exchange(true, std::memory_order_relaxed)) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "plait: rank %d: left to the MPI: %s\n", rank, kWhat[i]);
}

void note_traffic(lane::MatchContext& context) noexcept try {
  if (!is_wanted() || context.handle == 0) return;
  const Sent sent{std::exchange(context.sent, {}), context.endpoint->take_lock_waits()};
  if (sent.traffic.messages == 0) return;
  const std::string name = line_of(context.handle);
  const std::lock_guard guard(all().lock);
  add(all().by_name[name], sent);
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the report lacks it
}

void report_traffic(int rank) noexcept try {
  if (!is_wanted()) return;
  lane::visit_contexts([](lane::MatchContext& context) { note_traffic(context); });
  std::vector<std::pair<std::string, Sent>> lines(all().by_name.begin(), all().by_name.end());
  std::ranges::stable_sort(lines, std::ranges::greater{}, [](const auto& line) { return line.second.traffic.messages; });
  Sent others;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < kLines)
      tell_line(rank, lines[i].first, lines[i].second);
    else
      add(others, lines[i].second);
  }
  if (lines.size() > kLines) tell_line(rank, std::to_string(lines.size() - kLines) + " other communicators", others);
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the report is shorter
}

}  // namespace plait::p2p
