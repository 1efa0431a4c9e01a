#include "mpi/from_group.hpp"

#include <functional>
#include <string_view>

#include "mpi/communicator.hpp"
#include "mpi/native.hpp"
#include "p2p/world.hpp"

namespace plait::mpi {
namespace {

#ifdef OMPI_MAJOR_VERSION
constexpr bool kLosesMessages = OMPI_MAJOR_VERSION >= 5;
#else
constexpr bool kLosesMessages = false;
#endif

MPI_Comm parent = MPI_COMM_NULL;  // of MPI_COMM_WORLD's processes; written while no other thread may call

#if PLAIT_MPI_HAS_CALLS_OF_4
/// What is wrong the MPI says. Members say the same: where one knows processes of other worlds, they all do.
bool is_of_parent(MPI_Group group, MPI_Errhandler handler) noexcept {
  if (parent == MPI_COMM_NULL || group == MPI_GROUP_NULL || handler == MPI_ERRHANDLER_NULL) return false;
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group others = MPI_GROUP_NULL;
  if (PMPI_Comm_group(parent, &world) != MPI_SUCCESS) return false;
  int count = -1;
  if (PMPI_Group_difference(group, world, &others) == MPI_SUCCESS) PMPI_Group_size(others, &count);
  if (others != MPI_GROUP_NULL && others != MPI_GROUP_EMPTY) PMPI_Group_free(&others);
  PMPI_Group_free(&world);
  return count == 0;
}

/// Calls at one time have names that differ (MPI-4.0, 7.4.2).
int tag_of(std::string_view name) {
  static const int limit = p2p::ask_tag_limit();
  return static_cast<int>(std::hash<std::string_view>()(name) % static_cast<std::size_t>(limit));
}

int finish(int error, MPI_Comm made, MPI_Info info, MPI_Errhandler handler, const char* call) noexcept {
  if (error == MPI_SUCCESS && made != MPI_COMM_NULL) {
    const MpiLock lock;
    error = PMPI_Comm_set_errhandler(made, handler);
    if (error == MPI_SUCCESS && info != MPI_INFO_NULL) error = PMPI_Comm_set_info(made, info);
  }
  return error == MPI_SUCCESS ? error : report_to(handler, error, call);
}
#endif

}  // namespace

void open_groups() noexcept {
  if (kLosesMessages) parent = p2p::make_channel();
}

void close_groups() noexcept {
  if (parent != MPI_COMM_NULL) PMPI_Comm_free(&parent);
}

#if PLAIT_MPI_HAS_CALLS_OF_4
int create_from_group(MPI_Group group, const char* name, MPI_Info info, MPI_Errhandler handler, MPI_Comm* made) noexcept {
  if (!name || !made || !is_of_parent(group, handler)) {
    return blocking([&] { return PMPI_Comm_create_from_group(group, name, info, handler, made); });
  }
  const int error = blocking([&] { return PMPI_Comm_create_group(parent, group, tag_of(name), made); });
  return finish(error, *made, info, handler, "MPI_Comm_create_from_group");
}

int create_from_groups(const Side& local, const Side& remote, const char* name, MPI_Info info, MPI_Errhandler handler,
                       MPI_Comm* made) noexcept {
  if (!name || !made || !is_of_parent(local.group, handler) || !is_of_parent(remote.group, handler)) {
    return blocking([&] {
      return PMPI_Intercomm_create_from_groups(local.group, local.leader, remote.group, remote.leader, name, info, handler, made);
    });
  }
  const int error = blocking([&] {
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int leader = MPI_UNDEFINED;
    int failed = PMPI_Comm_group(parent, &world);
    if (failed == MPI_SUCCESS) failed = PMPI_Group_translate_ranks(remote.group, 1, &remote.leader, world, &leader);
    if (world != MPI_GROUP_NULL) PMPI_Group_free(&world);
    if (failed == MPI_SUCCESS) failed = PMPI_Comm_create_group(parent, local.group, tag_of(name), &mine);
    if (failed == MPI_SUCCESS) failed = PMPI_Intercomm_create(mine, local.leader, parent, leader, tag_of(name), made);
    if (mine != MPI_COMM_NULL) PMPI_Comm_free(&mine);
    return failed;
  });
  return finish(error, *made, info, handler, "MPI_Intercomm_create_from_groups");
}
#endif

}  // namespace plait::mpi
