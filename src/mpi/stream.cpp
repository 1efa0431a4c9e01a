// The exported functions of streams and stream communicators.
#include "stream/stream.hpp"

#include <array>

#include "grequest/grequest.hpp"
#include "mpi/communicator.hpp"
#include "mpi/error.hpp"
#include "mpi/native.hpp"
#include "mpi/queue.hpp"
#include "mpi/threads.hpp"
#include "ordinary/carried.hpp"
#include "p2p/message.hpp"
#include "plait/mpix.h"
#include "progress/helper.hpp"
#include "queue/communicator.hpp"
#include "transport/packets.hpp"

namespace plait::mpi {
namespace {

using p2p::Communicator;
using stream::Stream;

/// What plait has that belongs to no stream.
bool progress_rest() noexcept {
  grequest::poll_all();
  lane::Endpoint* const shared = lane::shared_endpoint_if_any();
  const bool moved = shared && shared->try_progress();
  return transport::drive_network() || moved;
}

/// A round of the helper for a stream, or for what belongs to none, the MPI's own operations included.
bool progress_of(int handle) noexcept {
  if (handle != MPIX_STREAM_NULL) {
    const bool driven = transport::drive_network();
    const Stream* const s = stream::find(handle);
    return (s && s->endpoint->try_progress()) || driven;
  }
  const bool moved = progress_rest();
  progress::poll_mpi();
  return moved;
}

Stream& stream_of(MPIX_Stream handle) {
  Stream* const s = stream::find(handle);
  require(s, MPI_ERR_ARG);
  return *s;
}

/// A stream communicator; calls that name streams need one.
Communicator& with_streams(MPI_Comm comm) {
  Communicator* const c = p2p::find_communicator(comm);
  require(c && !c->ordinary, MPI_ERR_COMM);
  return *c;
}

void create(MPI_Comm comm, std::span<const int> streams, bool multiplex, MPI_Comm* newcomm) {
  require(newcomm, MPI_ERR_ARG);
  require(!threads(comm), MPI_ERR_COMM);
  try {
    *newcomm = stream::create_communicator(comm, streams, multiplex);
    if (!p2p::find_communicator(*newcomm)) ordinary::carry(*newcomm);
  } catch (const std::system_error&) {
    throw MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};
  }
}

/// The queue that a stream is to stand for, as its info says; null without one. Throws MPIError.
queue::QueuePointer queue_in(MPI_Info info) {
  if (info == MPI_INFO_NULL) return nullptr;
  const auto get = [&](const char* key, std::span<char> into) {
    int found = 0;
    check(gated([&] { return PMPI_Info_get(info, key, static_cast<int>(into.size()) - 1, into.data(), &found); }));
    return found != 0;
  };
  std::array<char, 64> type{};
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  if (!get("type", type)) return nullptr;
  queue::set_fatal(tell_if_fatal);
  if (!get("value", value)) value.front() = '\0';
  return queue::find_queue(type.data(), value.data());
}

}  // namespace

}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::require;
using plait::mpi::guarded;
using plait::mpi::on;
using plait::mpi::on_returning;
using plait::mpi::with_streams;

extern "C" int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream) {
  return guarded([&] {
    require(stream, MPI_ERR_ARG);
    try {
      *stream = plait::stream::create(plait::mpi::queue_in(info)).handle;
    } catch (const std::system_error&) {
      throw plait::MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};
    }
  });
}

extern "C" int MPIX_Stream_free(MPIX_Stream* stream) {
  return guarded([&] {
    require(stream, MPI_ERR_ARG);
    plait::stream::Stream& s = plait::mpi::stream_of(*stream);
    if (s.queue) s.queue->forget();
    // Also those that are freed and have operations left: its endpoint is still in use.
    require(s.endpoint->contexts.load(std::memory_order_acquire) == 0, MPI_ERR_ARG);
    plait::stream::destroy(s);
    *stream = MPIX_STREAM_NULL;
  });
}

extern "C" int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm) {
  return on(comm, [&] { plait::mpi::create(comm, {&stream, 1}, false, newcomm); });
}

extern "C" int MPIX_Stream_comm_create_multiplex(MPI_Comm comm, int count, MPIX_Stream streams[], MPI_Comm* newcomm) {
  return on(comm, [&] {
    require(count >= 0, MPI_ERR_COUNT);
    require(count == 0 || streams, MPI_ERR_ARG);
    // Without any stream a process takes part through the one that all share.
    const int none = MPIX_STREAM_NULL;
    const std::span<const int> given = count > 0 ? std::span<const int>(streams, static_cast<std::size_t>(count)) : std::span(&none, 1);
    plait::mpi::create(comm, given, true, newcomm);
  });
}

extern "C" int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream) {
  return on(comm, [&] {
    require(stream && idx >= 0, MPI_ERR_ARG);
    const plait::p2p::Communicator* c = plait::p2p::find_communicator(comm);
    if (const auto* const queued = plait::queue::find(plait::p2p::find_communicator(comm))) c = queued->inner.get();
    require(c || idx == 0, MPI_ERR_ARG);
    require(!c || (static_cast<std::size_t>(idx) < c->locals.size() && (idx == 0 || !c->ordinary)), MPI_ERR_ARG);
    *stream = c ? c->locals[static_cast<std::size_t>(idx)].stream : MPIX_STREAM_NULL;
  });
}

#define PLAIT_STREAM_SEND(NAME, COUNT)                                                                                                \
  extern "C" int NAME(const void* buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, int source_stream_index, \
                      int dest_stream_index) {                                                                                        \
    const plait::p2p::Call call{#NAME, __builtin_return_address(0)};                                                                  \
    return on_returning(comm, [&] {                                                                                                   \
      require(dest_stream_index >= 0, MPI_ERR_ARG);                                                                                   \
      return plait::p2p::send(with_streams(comm), source_stream_index, buf, count, datatype, {dest, tag, dest_stream_index},          \
                              plait::p2p::Mode::standard, call);                                                                      \
    });                                                                                                                               \
  }

#define PLAIT_STREAM_ISEND(NAME, COUNT)                                                                                               \
  extern "C" int NAME(const void* buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, int source_stream_index, \
                      int dest_stream_index, MPI_Request* request) {                                                                  \
    return on(comm, [&] {                                                                                                             \
      require(dest_stream_index >= 0, MPI_ERR_ARG);                                                                                   \
      *request = plait::mpi::handle_of(plait::p2p::isend(with_streams(comm), source_stream_index, buf, count, datatype,               \
                                                         {dest, tag, dest_stream_index}, plait::p2p::Mode::standard));                \
    });                                                                                                                               \
  }

#define PLAIT_STREAM_RECV(NAME, COUNT)                                                                                                    \
  extern "C" int NAME(void* buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, int source_stream_index,         \
                      int dest_stream_index, MPI_Status* status) {                                                                        \
    const plait::p2p::Call call{#NAME, __builtin_return_address(0)};                                                                      \
    return on_returning(comm, [&] {                                                                                                       \
      require(source_stream_index >= -1, MPI_ERR_ARG);                                                                                    \
      return plait::p2p::receive(with_streams(comm), dest_stream_index, buf, count, datatype, {source, tag, source_stream_index}, status, \
                                 call);                                                                                                   \
    });                                                                                                                                   \
  }

#define PLAIT_STREAM_IRECV(NAME, COUNT)                                                                                           \
  extern "C" int NAME(void* buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, int source_stream_index, \
                      int dest_stream_index, MPI_Request* request) {                                                              \
    return on(comm, [&] {                                                                                                         \
      require(source_stream_index >= -1, MPI_ERR_ARG);                                                                            \
      *request = plait::mpi::handle_of(                                                                                           \
          plait::p2p::ireceive(with_streams(comm), dest_stream_index, buf, count, datatype, {source, tag, source_stream_index})); \
    });                                                                                                                           \
  }

PLAIT_STREAM_SEND(MPIX_Stream_send, int)
PLAIT_STREAM_SEND(MPIX_Stream_send_c, MPI_Count)
PLAIT_STREAM_ISEND(MPIX_Stream_isend, int)
PLAIT_STREAM_ISEND(MPIX_Stream_isend_c, MPI_Count)
PLAIT_STREAM_RECV(MPIX_Stream_recv, int)
PLAIT_STREAM_RECV(MPIX_Stream_recv_c, MPI_Count)
PLAIT_STREAM_IRECV(MPIX_Stream_irecv, int)
PLAIT_STREAM_IRECV(MPIX_Stream_irecv_c, MPI_Count)

extern "C" int MPIX_Stream_progress(MPIX_Stream stream) {
  return guarded([&] {
    if (stream == MPIX_STREAM_NULL) {
      static_cast<void>(plait::mpi::progress_rest());
      plait::transport::poll_mpi_as_asked();
      return;
    }
    plait::lane::Endpoint& endpoint = *plait::mpi::stream_of(stream).endpoint;
    {
      const plait::lane::EndpointGuard guard(endpoint);
      static_cast<void>(endpoint.progress());
    }
    static_cast<void>(plait::transport::drive_network());
  });
}

extern "C" int MPIX_Start_progress_thread(MPIX_Stream stream) {
  return guarded([&] {
    int level = MPI_THREAD_SINGLE;
    plait::check(PMPI_Query_thread(&level));
    // A thread of ours would call an MPI that lets only one in.
    require(level == MPI_THREAD_MULTIPLE || stream != MPIX_STREAM_NULL, MPI_ERR_UNSUPPORTED_OPERATION);
    if (stream != MPIX_STREAM_NULL) static_cast<void>(plait::mpi::stream_of(stream));
    require(plait::progress::start_thread(stream, plait::mpi::progress_of), MPI_ERR_OTHER);
  });
}

extern "C" int MPIX_Stop_progress_thread(MPIX_Stream stream) {
  return guarded([&] { require(plait::progress::stop_thread(stream), MPI_ERR_ARG); });
}

#pragma GCC visibility pop
