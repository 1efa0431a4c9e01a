// The exported functions that make, free and describe communicators, where streams, threads and names are concerned.
#include "mpi/communicator.hpp"

#include <memory>
#include <vector>

#include "mpi/from_group.hpp"
#include "mpi/naming.hpp"
#include "mpi/native.hpp"
#include "mpi/quirks.hpp"
#include "mpi/threads.hpp"
#include "p2p/duplicate.hpp"
#include "p2p/waiting.hpp"
#include "queue/communicator.hpp"
#include "stream/stream.hpp"
#include "threadcomm/attribute.hpp"

namespace plait::mpi {
namespace {

using p2p::Communicator;

/// A duplicate keeps the streams, or the threads.
void duplicate(Communicator& c, MPI_Comm* newcomm, p2p::Call call) {
  require(newcomm, MPI_ERR_ARG);
  if (threadcomm::is_threadcomm(c)) {
    threadcomm::Rank& rank = threadcomm::rank_of(c);
    threadcomm::Rank& made = threadcomm::duplicate(rank, call);
    *newcomm = made.handle;
    threadcomm::copy_attributes(rank, made);
    return;
  }
  const queue::Communicator* const queued = queue::find(&c);
  const std::vector<p2p::LocalEndpoint>& locals = queued ? queued->inner->locals : c.locals;
  std::vector<int> streams;
  streams.reserve(locals.size());
  for (const p2p::LocalEndpoint& l : locals) streams.push_back(l.stream);
  *newcomm = stream::create_communicator(c.handle, streams, c.multiplex);
}

void duplicate_later(const Communicator& c, const p2p::StartNative& start, MPI_Comm* newcomm, MPI_Request* request) {
  // The same on all processes: one without a queue would wait for those that have one.
  require(!threadcomm::is_threadcomm(c) && !c.queued && c.queues == 0, MPI_ERR_UNSUPPORTED_OPERATION);
  require(newcomm && request, MPI_ERR_ARG);
  *request = handle_of(p2p::start_duplicate(c, start, newcomm));
}

#if PLAIT_MPI_HAS_CALLS_OF_4
/// Null for none.
std::shared_ptr<MPI_Info> copy_hints(MPI_Info info) {
  MPI_Info made = MPI_INFO_NULL;
  if (info == MPI_INFO_NULL || gated([&] { return PMPI_Info_dup(info, &made); }) != MPI_SUCCESS) return nullptr;
  const auto release = [](MPI_Info* copy) {
    gated([&] { return PMPI_Info_free(copy); });
    delete copy;  // NOLINT(cppcoreguidelines-owning-memory): the pointer's deleter
  };
  return {new MPI_Info(made), release};
}
#endif

int release(MPI_Comm* comm, int (*native)(MPI_Comm*), const char* call = __builtin_FUNCTION()) {
  Communicator* const c = comm ? p2p::find_communicator(*comm) : nullptr;
  if (c && threadcomm::is_threadcomm(*c)) {
    const auto body = [&] {
      threadcomm::Rank& rank = threadcomm::rank_of(*c);
      threadcomm::delete_attributes(rank);
      threadcomm::free_rank(rank);
      *comm = MPI_COMM_NULL;
    };
    return on(*comm, body, call);
  }
  if (comm) p2p::wait_until_made(*comm);
  if (queue::Communicator* const q = queue::find(c)) {
    const int error = on(*comm, [&] { queue::wait_until_over(*q, call); }, call);
    if (error != MPI_SUCCESS) return error;
  }
  // These two are not freed, as the MPI will say.
  if (c && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF) {
    if (c->collectives || c->by_leaders) {
      ordinary::free_carried(*c);
    } else {
      p2p::destroy_communicator(*c);
    }
  }
  return blocking([&] { return native(comm); });
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::blocking;
using plait::mpi::carrying;
using plait::mpi::gated;
using plait::mpi::handle_of;
using plait::mpi::on;
using plait::mpi::refused;
using plait::mpi::threads;
using plait::p2p::Call;
using plait::p2p::Communicator;
using plait::p2p::find_communicator;
using plait::p2p::wait_until_made;
using plait::threadcomm::rank_of;

#define PLAIT_CALLER __builtin_return_address(0)

extern "C" int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  Communicator* const c = threads(comm);
  if (!c) return PMPI_Comm_rank(comm, rank);
  return on(comm, [&] { *rank = rank_of(*c).rank; });
}

extern "C" int MPI_Comm_size(MPI_Comm comm, int* size) {
  Communicator* const c = threads(comm);
  if (!c) return PMPI_Comm_size(comm, size);
  return on(comm, [&] { *size = rank_of(*c).size; });
}

extern "C" int MPI_Comm_compare(MPI_Comm one, MPI_Comm other, int* result) {
  Communicator* const a = threads(one);
  Communicator* const b = threads(other);
  if (!a && !b) return gated([&] { return PMPI_Comm_compare(one, other, result); });
  return on(one, [&] {
    plait::require(result, MPI_ERR_ARG);
    *result = a && b ? plait::threadcomm::compare(rank_of(*a), rank_of(*b)) : MPI_UNEQUAL;
  });
}

extern "C" int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  Communicator* const c = find_communicator(comm);
  wait_until_made(comm);
  if (!c || c->ordinary) return carrying(newcomm, [&] { return blocking([&] { return PMPI_Comm_dup(comm, newcomm); }); });
  const Call call{"MPI_Comm_dup", PLAIT_CALLER};
  return on(comm, [&] { plait::mpi::duplicate(*c, newcomm, call); });
}

extern "C" int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  Communicator* const c = find_communicator(comm);
  wait_until_made(comm);
  if (!c || c->ordinary) {
    return carrying(newcomm, [&] { return blocking([&] { return PMPI_Comm_dup_with_info(comm, info, newcomm); }); }, info);
  }
  const Call call{"MPI_Comm_dup_with_info", PLAIT_CALLER};
  return on(comm, [&] {
    plait::mpi::duplicate(*c, newcomm, call);
    if (!plait::threadcomm::is_threadcomm(*c)) plait::check(blocking([&] { return PMPI_Comm_set_info(*newcomm, info); }));
  });
}

extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  Communicator* const c = find_communicator(comm);
  if (!c) return gated([&] { return PMPI_Comm_idup(comm, newcomm, request); });
  return on(comm, [&] { plait::mpi::duplicate_later(*c, PMPI_Comm_idup, newcomm, request); });
}

#if PLAIT_MPI_HAS_CALLS_OF_4
extern "C" int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  Communicator* const c = find_communicator(comm);
  if (!c) return gated([&] { return PMPI_Comm_idup_with_info(comm, info, newcomm, request); });
  // The program may free its hints before the duplicate starts.
  const auto start = [hints = plait::mpi::copy_hints(info)](MPI_Comm original, MPI_Comm* made, MPI_Request* its) {
    return PMPI_Comm_idup_with_info(original, hints ? *hints : MPI_INFO_NULL, made, its);
  };
  return on(comm, [&] { plait::mpi::duplicate_later(*c, start, newcomm, request); });
}
#endif

extern "C" int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  Communicator* const c = threads(comm);
  if (!c) return plait::mpi::naming_child(comm, newcomm, [&] { return PMPI_Comm_split(comm, color, key, newcomm); });
  const Call call{"MPI_Comm_split", PLAIT_CALLER};
  return on(comm, [&] {
    plait::require(newcomm && (color >= 0 || color == MPI_UNDEFINED), MPI_ERR_ARG);
    *newcomm = handle_of(plait::threadcomm::split(rank_of(*c), color, key, call));
  });
}

extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* newcomm) {
  Communicator* const c = threads(comm);
  if (!c) return plait::mpi::naming_child(comm, newcomm, [&] { return PMPI_Comm_split_type(comm, type, key, info, newcomm); });
  const Call call{"MPI_Comm_split_type", PLAIT_CALLER};
  return on(comm, [&] {
    plait::require(newcomm, MPI_ERR_ARG);
    plait::require(type == MPI_COMM_TYPE_SHARED || type == MPI_UNDEFINED, MPI_ERR_UNSUPPORTED_OPERATION);
    *newcomm = handle_of(plait::threadcomm::split_by_node(rank_of(*c), type == MPI_UNDEFINED, key, call));
  });
}

extern "C" int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  if (const int no = refused(comm); no != MPI_SUCCESS) return no;
  if (plait::mpi::is_our_group(group)) return plait::mpi::report_on(comm, MPI_ERR_GROUP);
  return plait::mpi::naming_apart(comm, tag, newcomm, [&] { return PMPI_Comm_create_group(comm, group, tag, newcomm); });
}

#if PLAIT_MPI_HAS_CALLS_OF_4
extern "C" int MPI_Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                          MPI_Comm* newcomm) {
  if (plait::mpi::is_our_group(group)) return plait::mpi::report_to(errhandler, MPI_ERR_GROUP);
  return carrying(newcomm, [&] { return plait::mpi::create_from_group(group, stringtag, info, errhandler, newcomm); }, info);
}

extern "C" int MPI_Intercomm_create_from_groups(MPI_Group local, int leader, MPI_Group remote, int remote_leader, const char* stringtag,
                                                MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  if (plait::mpi::is_our_group(local) || plait::mpi::is_our_group(remote)) return plait::mpi::report_to(errhandler, MPI_ERR_GROUP);
  return plait::mpi::create_from_groups({local, leader}, {remote, remote_leader}, stringtag, info, errhandler, newcomm);
}
#endif

extern "C" int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm* newcomm) {
  if (const int no = refused(local); no != MPI_SUCCESS) return no;
  // Only the leader says who the peers are.
  int rank = -1;
  if (threads(peers) && PMPI_Comm_rank(local, &rank) == MPI_SUCCESS && rank == leader) return refused(peers);
  return plait::mpi::naming_apart(MPI_COMM_NULL, tag, newcomm,
                                  [&] { return PMPI_Intercomm_create(local, leader, peers, remote, tag, newcomm); });
}

extern "C" int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* newcomm) {
  if (const int no = refused(comm); no != MPI_SUCCESS) return no;
  return plait::mpi::naming_child(comm, newcomm, [&] { return PMPI_Intercomm_merge(comm, high, newcomm); });
}

extern "C" int MPI_Comm_free(MPI_Comm* comm) { return plait::mpi::release(comm, PMPI_Comm_free); }

extern "C" int MPI_Comm_disconnect(MPI_Comm* comm) {
  const Call call{"MPI_Comm_disconnect", PLAIT_CALLER};
  if (Communicator* const c = comm ? find_communicator(*comm) : nullptr) {
    const int error = on(*comm, [&] { plait::p2p::wait_until_left(*c, call); });
    if (error != MPI_SUCCESS) return error;
  }
  return plait::mpi::release(comm, PMPI_Comm_disconnect);
}

#pragma GCC visibility pop
