#include "p2p/world.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "lane/remote.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {
namespace {

/// Set while there is one thread.
std::vector<MPI_Comm>& own_worlds() {
  static auto& worlds = *new std::vector<MPI_Comm>;  // never destroyed: exit handlers may ask
  return worlds;
}
constinit std::atomic<bool> serialized_one{false};

}  // namespace

MPI_Comm make_channel() noexcept {
  MPI_Comm comm = MPI_COMM_NULL;
  if (PMPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS) return MPI_COMM_NULL;
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  PMPI_Comm_set_name(comm, "plait");
  return comm;
}

void set_world(std::vector<MPI_Comm> duplicates, bool serialized) {
  own_worlds() = std::move(duplicates);
  serialized_one.store(serialized, std::memory_order_relaxed);
}

MPI_Comm world() noexcept { return own_worlds().empty() ? MPI_COMM_NULL : own_worlds().front(); }

bool world_is_serialized() noexcept { return serialized_one.load(std::memory_order_relaxed); }

bool open_network() {
  if (own_worlds().empty()) return false;
  transport::open_packets(own_worlds(), lane::remote_sink, world_is_serialized());
  return true;
}

void close_world() noexcept {
  transport::close_packets();
  transport::set_pollers(transport::Pollers::none, MPI_COMM_NULL);
  for (MPI_Comm& w : own_worlds()) PMPI_Comm_free(&w);
  own_worlds().clear();
}

std::uint64_t node_hash() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check(PMPI_Get_processor_name(name.data(), &length));
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a: the same in all processes
  for (int i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(name[static_cast<std::size_t>(i)])) * 0x100000001B3u;
  return hash;
}

int ask_tag_limit() noexcept {
  constexpr int kLeast = 32767;  // that MPI promises
  void* largest = nullptr;
  int found = 0;
  if (!transport::world_exists()) return kLeast;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &found);
  return found ? *static_cast<int*>(largest) : kLeast;
}

GroupOf::GroupOf(MPI_Comm comm, bool own) {
  int inter = 0;
  check(PMPI_Comm_test_inter(comm, &inter));
  check(inter && !own ? PMPI_Comm_remote_group(comm, &group_) : PMPI_Comm_group(comm, &group_));
}

GroupOf::~GroupOf() { PMPI_Group_free(&group_); }

void GroupOf::processes(std::span<const int> ranks, std::span<int> found) const {
  if (!transport::world_exists()) {
    std::ranges::fill(found, MPI_UNDEFINED);
    return;
  }
  MPI_Group all = MPI_GROUP_NULL;
  check(PMPI_Comm_group(MPI_COMM_WORLD, &all));
  const int error = PMPI_Group_translate_ranks(group_, static_cast<int>(ranks.size()), ranks.data(), all, found.data());
  PMPI_Group_free(&all);
  check(error);
}

int GroupOf::size() const {
  int size = 0;
  check(PMPI_Group_size(group_, &size));
  return size;
}

std::vector<int> GroupOf::processes() const {
  std::vector<int> ranks(static_cast<std::size_t>(size()));
  std::vector<int> found(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  processes(ranks, found);
  return found;
}

}  // namespace plait::p2p
