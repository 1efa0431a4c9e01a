// The exported point-to-point calls. On a stream communicator they are plait's, on others the MPI's own.
#include <string_view>

#include "mpi/communicator.hpp"
#include "mpi/lend.hpp"
#include "mpi/native.hpp"
#include "mpi/queue.hpp"
#include "mpi/quirks.hpp"
#include "p2p/exchange.hpp"
#include "p2p/message.hpp"
#include "p2p/persistent.hpp"
#include "p2p/plain.hpp"
#include "p2p/probe.hpp"

using plait::mpi::on;
using plait::mpi::on_returning;
using plait::p2p::Communicator;
using plait::p2p::communicators_exist;
using plait::p2p::find_communicator;
using plait::p2p::kAnyStream;
using plait::p2p::Mode;
using plait::p2p::receive_plain;
using plait::p2p::send_plain;

namespace plait::mpi {
namespace {

// The inline path for the commonest sends and receives (p2p/plain.hpp). False where a call is not one of these.

[[gnu::always_inline]] inline bool isend_plain(Communicator& c, const void* buffer, MPI_Count count, MPI_Datatype type, int dest, int tag,
                                               Mode mode, MPI_Request* request) noexcept {
  // acquire: what was made of it.
  const Request* const completed = p2p::completed_one.load(std::memory_order_acquire);
  if (mode == Mode::synchronous || !completed || !send_plain(c, buffer, count, type, dest, tag)) return false;
  *request = handle_of(*completed);
  return true;
}

[[gnu::always_inline]] inline bool ireceive_plain(Communicator& c, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                                  MPI_Request* request) noexcept {
  const lane::Operation* const o = receive_plain(c, buffer, count, type, source, tag);
  if (o) *request = handle_of(*o);
  return o != nullptr;
}

/// Is a call of PLAIT_ISEND one that a queue can take?
constexpr bool is_isend(std::string_view function, Mode mode) noexcept { return function == "isend" && mode == Mode::standard; }

// Persistent requests have no inline path.
constexpr bool send_init_plain(auto&&...) noexcept { return false; }
constexpr bool receive_init_plain(auto&&...) noexcept { return false; }

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

// Each of the commonest calls is several functions, which pass their arguments on unchanged. The exported one, NAME, is no more than a
// jump: to NAME_native where the program has no communicator of plait's, else to NAME_stream, which tries the inline path. NAME_any does
// everything else, and NAME_ordinary what blocks on the MPI's own communicators: the inline path wants no frame of theirs.

#define PLAIT_CALLER __builtin_return_address(0)
/// A blocking call of the MPI's own.
#define PLAIT_NATIVE(CALL) plait::mpi::blocking([&] { return CALL; })
/// One that does not block.
#define PLAIT_GATED(CALL) plait::mpi::gated([&] { return CALL; })
/// Before a call of the MPI's own, where cores may be lent: makes it in another way, or asks afterwards.
#define PLAIT_IF_LENT(HOW)                 \
  if (plait::lend::polls()) [[unlikely]] { \
    return plait::mpi::HOW;                \
  }
/// find_communicator(comm) as `c`; then the same.
#define PLAIT_FIND(HOW)          \
  Communicator* c = nullptr;     \
  if (communicators_exist()) {   \
    c = find_communicator(comm); \
    if (!c) PLAIT_IF_LENT(HOW)   \
  }

// ---- blocking sends

#define PLAIT_SEND(NAME, COUNT, MODE, START)                                                                                             \
  [[gnu::noinline]] static int NAME##_ordinary(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {   \
    PLAIT_IF_LENT(poll_started([=](MPI_Request* request) { return START(buffer, count, type, dest, tag, comm, request); }))              \
    return PLAIT_NATIVE(P##NAME(buffer, count, type, dest, tag, comm));                                                                  \
  }                                                                                                                                      \
  [[gnu::noinline]] static int NAME##_any(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,          \
                                          const void* caller) {                                                                          \
    Communicator& c = *find_communicator(comm);                                                                                          \
    if constexpr (Mode::MODE == Mode::standard) {                                                                                        \
      if (auto* const q = plait::queue::find(&c))                                                                                        \
        return plait::mpi::enqueue_send(*q, {buffer, count, type, {dest, tag, kAnyStream}}, #NAME);                                      \
    }                                                                                                                                    \
    return on_returning(                                                                                                                 \
        comm, [&] { return plait::p2p::send(c, 0, buffer, count, type, {dest, tag, kAnyStream}, Mode::MODE, {#NAME, caller}); }, #NAME); \
  }                                                                                                                                      \
  [[gnu::noinline]] static int NAME##_stream(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,       \
                                             const void* caller) {                                                                       \
    Communicator* const c = find_communicator(comm);                                                                                     \
    if (!c) return NAME##_ordinary(buffer, count, type, dest, tag, comm);                                                                \
    if (Mode::MODE != Mode::synchronous && send_plain(*c, buffer, count, type, dest, tag)) return MPI_SUCCESS;                           \
    return NAME##_any(buffer, count, type, dest, tag, comm, caller);                                                                     \
  }                                                                                                                                      \
  extern "C" int NAME(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {                            \
    return communicators_exist() ? NAME##_stream(buffer, count, type, dest, tag, comm, PLAIT_CALLER)                                     \
                                 : PLAIT_NATIVE(P##NAME(buffer, count, type, dest, tag, comm));                                          \
  }

// ---- nonblocking and persistent sends

#define PLAIT_ISEND(NAME, COUNT, FUNCTION, MODE)                                                                                         \
  [[gnu::noinline]] static int NAME##_native(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,       \
                                             MPI_Request* request) {                                                                     \
    return PLAIT_GATED(P##NAME(buffer, count, type, dest, tag, comm, request));                                                          \
  }                                                                                                                                      \
  [[gnu::noinline]] static int NAME##_any(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,          \
                                          MPI_Request* request) {                                                                        \
    Communicator& c = *find_communicator(comm);                                                                                          \
    if constexpr (plait::mpi::is_isend(#FUNCTION, Mode::MODE)) {                                                                         \
      if (auto* const q = plait::queue::find(&c))                                                                                        \
        return plait::mpi::enqueue_isend(*q, {buffer, count, type, {dest, tag, kAnyStream}}, request, #NAME);                            \
    }                                                                                                                                    \
    return on(                                                                                                                           \
        comm,                                                                                                                            \
        [&] { *request = plait::mpi::handle_of(plait::p2p::FUNCTION(c, 0, buffer, count, type, {dest, tag, kAnyStream}, Mode::MODE)); }, \
        #NAME);                                                                                                                          \
  }                                                                                                                                      \
  [[gnu::noinline]] static int NAME##_stream(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,       \
                                             MPI_Request* request) {                                                                     \
    Communicator* const c = find_communicator(comm);                                                                                     \
    if (!c) {                                                                                                                            \
      if constexpr (std::string_view(#FUNCTION) == "isend")                                                                              \
        PLAIT_IF_LENT(after_start(NAME##_native(buffer, count, type, dest, tag, comm, request)))                                         \
      return NAME##_native(buffer, count, type, dest, tag, comm, request);                                                               \
    }                                                                                                                                    \
    if (plait::mpi::FUNCTION##_plain(*c, buffer, count, type, dest, tag, Mode::MODE, request)) return MPI_SUCCESS;                       \
    return NAME##_any(buffer, count, type, dest, tag, comm, request);                                                                    \
  }                                                                                                                                      \
  extern "C" int NAME(const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {      \
    return communicators_exist() ? NAME##_stream(buffer, count, type, dest, tag, comm, request)                                          \
                                 : NAME##_native(buffer, count, type, dest, tag, comm, request);                                         \
  }

// ---- receives

#define PLAIT_RECV(NAME, COUNT, START)                                                                                                    \
  [[gnu::noinline]] static int NAME##_ordinary(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,          \
                                               MPI_Status* status) {                                                                      \
    PLAIT_IF_LENT(poll_started([=](MPI_Request* request) { return START(buffer, count, type, source, tag, comm, request); }, status))     \
    return PLAIT_NATIVE(P##NAME(buffer, count, type, source, tag, comm, status));                                                         \
  }                                                                                                                                       \
  [[gnu::noinline]] static int NAME##_any(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,               \
                                          MPI_Status* status, const void* caller) {                                                       \
    Communicator& c = *find_communicator(comm);                                                                                           \
    if (auto* const q = plait::queue::find(&c))                                                                                           \
      return plait::mpi::enqueue_receive(*q, {buffer, count, type, {source, tag, kAnyStream}}, status, #NAME);                            \
    return on_returning(                                                                                                                  \
        comm, [&] { return plait::p2p::receive(c, 0, buffer, count, type, {source, tag, kAnyStream}, status, {#NAME, caller}); }, #NAME); \
  }                                                                                                                                       \
  [[gnu::noinline]] static int NAME##_stream(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,            \
                                             MPI_Status* status, const void* caller) {                                                    \
    Communicator* const c = find_communicator(comm);                                                                                      \
    if (!c) return NAME##_ordinary(buffer, count, type, source, tag, comm, status);                                                       \
    if (plait::lane::Operation* const o = receive_plain(*c, buffer, count, type, source, tag)) {                                          \
      return plait::mpi::report_on(comm, plait::p2p::wait(*o, status, {#NAME, caller}), #NAME);                                           \
    }                                                                                                                                     \
    return NAME##_any(buffer, count, type, source, tag, comm, status, caller);                                                            \
  }                                                                                                                                       \
  extern "C" int NAME(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {             \
    return communicators_exist() ? NAME##_stream(buffer, count, type, source, tag, comm, status, PLAIT_CALLER)                            \
                                 : PLAIT_NATIVE(P##NAME(buffer, count, type, source, tag, comm, status));                                 \
  }

#define PLAIT_IRECV(NAME, COUNT, FUNCTION)                                                                                           \
  [[gnu::noinline]] static int NAME##_native(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,       \
                                             MPI_Request* request) {                                                                 \
    return PLAIT_GATED(P##NAME(buffer, count, type, source, tag, comm, request));                                                    \
  }                                                                                                                                  \
  [[gnu::noinline]] static int NAME##_any(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,          \
                                          MPI_Request* request) {                                                                    \
    Communicator& c = *find_communicator(comm);                                                                                      \
    if constexpr (std::string_view(#FUNCTION) == "ireceive") {                                                                       \
      if (auto* const q = plait::queue::find(&c))                                                                                    \
        return plait::mpi::enqueue_ireceive(*q, {buffer, count, type, {source, tag, kAnyStream}}, request, #NAME);                   \
    }                                                                                                                                \
    return on(                                                                                                                       \
        comm, [&] { *request = plait::mpi::handle_of(plait::p2p::FUNCTION(c, 0, buffer, count, type, {source, tag, kAnyStream})); }, \
        #NAME);                                                                                                                      \
  }                                                                                                                                  \
  [[gnu::noinline]] static int NAME##_stream(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,       \
                                             MPI_Request* request) {                                                                 \
    Communicator* const c = find_communicator(comm);                                                                                 \
    if (!c) return NAME##_native(buffer, count, type, source, tag, comm, request);                                                   \
    if (plait::mpi::FUNCTION##_plain(*c, buffer, count, type, source, tag, request)) return MPI_SUCCESS;                             \
    return NAME##_any(buffer, count, type, source, tag, comm, request);                                                              \
  }                                                                                                                                  \
  extern "C" int NAME(void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {      \
    return communicators_exist() ? NAME##_stream(buffer, count, type, source, tag, comm, request)                                    \
                                 : NAME##_native(buffer, count, type, source, tag, comm, request);                                   \
  }

// ---- both ways

#define PLAIT_SENDRECV(NAME, COUNT, RECEIVE, SEND)                                                                                        \
  extern "C" int NAME(const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, COUNT recvcount, \
                      MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {                                \
    PLAIT_FIND(poll_both([=](MPI_Request* request) { return RECEIVE(recvbuf, recvcount, recvtype, source, recvtag, comm, request); },     \
                         [=](MPI_Request* request) { return SEND(sendbuf, sendcount, sendtype, dest, sendtag, comm, request); }, status)) \
    if (!c) {                                                                                                                             \
      return PLAIT_NATIVE(                                                                                                                \
          P##NAME(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status));             \
    }                                                                                                                                     \
    const plait::p2p::Call call{#NAME, PLAIT_CALLER};                                                                                     \
    const plait::p2p::Exchange both{                                                                                                      \
        sendbuf, sendcount, sendtype, {dest, sendtag, kAnyStream}, recvbuf, recvcount, recvtype, {source, recvtag, kAnyStream}, false};   \
    return on_returning(comm, [&] { return plait::p2p::send_receive(*c, both, status, call); });                                          \
  }

#define PLAIT_SENDRECV_REPLACE(NAME, COUNT)                                                                                               \
  extern "C" int NAME(void* buffer, COUNT count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,        \
                      MPI_Status* status) {                                                                                               \
    Communicator* const c = find_communicator(comm);                                                                                      \
    if (!c) return PLAIT_NATIVE(P##NAME(buffer, count, type, dest, sendtag, source, recvtag, comm, status));                              \
    const plait::p2p::Call call{#NAME, PLAIT_CALLER};                                                                                     \
    const plait::p2p::Exchange both{buffer, count, type, {dest, sendtag, kAnyStream}, buffer, count, type, {source, recvtag, kAnyStream}, \
                                    true};                                                                                                \
    return on_returning(comm, [&] { return plait::p2p::send_receive(*c, both, status, call); });                                          \
  }

#define PLAIT_ISENDRECV(NAME, COUNT)                                                                                                      \
  extern "C" int NAME(const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, COUNT recvcount, \
                      MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request) {                              \
    PLAIT_FIND(after_start(                                                                                                               \
        PLAIT_GATED(P##NAME(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request)))) \
    if (!c) {                                                                                                                             \
      return PLAIT_GATED(                                                                                                                 \
          P##NAME(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request));            \
    }                                                                                                                                     \
    const plait::p2p::Exchange both{                                                                                                      \
        sendbuf, sendcount, sendtype, {dest, sendtag, kAnyStream}, recvbuf, recvcount, recvtype, {source, recvtag, kAnyStream}, false};   \
    return on(comm, [&] { *request = plait::mpi::handle_of(plait::p2p::isend_receive(*c, both)); });                                      \
  }

#define PLAIT_ISENDRECV_REPLACE(NAME, COUNT)                                                                                              \
  extern "C" int NAME(void* buffer, COUNT count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,        \
                      MPI_Request* request) {                                                                                             \
    PLAIT_FIND(after_start(PLAIT_GATED(P##NAME(buffer, count, type, dest, sendtag, source, recvtag, comm, request))))                     \
    if (!c) return PLAIT_GATED(P##NAME(buffer, count, type, dest, sendtag, source, recvtag, comm, request));                              \
    const plait::p2p::Exchange both{buffer, count, type, {dest, sendtag, kAnyStream}, buffer, count, type, {source, recvtag, kAnyStream}, \
                                    true};                                                                                                \
    return on(comm, [&] { *request = plait::mpi::handle_of(plait::p2p::isend_receive(*c, both)); });                                      \
  }

PLAIT_SEND(MPI_Send, int, standard, PMPI_Isend)
PLAIT_SEND(MPI_Bsend, int, buffered, PMPI_Ibsend)
PLAIT_SEND(MPI_Ssend, int, synchronous, PMPI_Issend)
PLAIT_SEND(MPI_Rsend, int, ready, PMPI_Irsend)
PLAIT_ISEND(MPI_Isend, int, isend, standard)
PLAIT_ISEND(MPI_Ibsend, int, isend, buffered)
PLAIT_ISEND(MPI_Issend, int, isend, synchronous)
PLAIT_ISEND(MPI_Irsend, int, isend, ready)
PLAIT_ISEND(MPI_Send_init, int, send_init, standard)
PLAIT_ISEND(MPI_Bsend_init, int, send_init, buffered)
PLAIT_ISEND(MPI_Ssend_init, int, send_init, synchronous)
PLAIT_ISEND(MPI_Rsend_init, int, send_init, ready)
PLAIT_RECV(MPI_Recv, int, PMPI_Irecv)
PLAIT_IRECV(MPI_Irecv, int, ireceive)
PLAIT_IRECV(MPI_Recv_init, int, receive_init)
PLAIT_SENDRECV(MPI_Sendrecv, int, PMPI_Irecv, PMPI_Isend)
PLAIT_SENDRECV_REPLACE(MPI_Sendrecv_replace, int)
#if MPI_VERSION >= 4
PLAIT_SEND(MPI_Send_c, MPI_Count, standard, PMPI_Isend_c)
PLAIT_SEND(MPI_Bsend_c, MPI_Count, buffered, PMPI_Ibsend_c)
PLAIT_SEND(MPI_Ssend_c, MPI_Count, synchronous, PMPI_Issend_c)
PLAIT_SEND(MPI_Rsend_c, MPI_Count, ready, PMPI_Irsend_c)
PLAIT_ISEND(MPI_Isend_c, MPI_Count, isend, standard)
PLAIT_ISEND(MPI_Ibsend_c, MPI_Count, isend, buffered)
PLAIT_ISEND(MPI_Issend_c, MPI_Count, isend, synchronous)
PLAIT_ISEND(MPI_Irsend_c, MPI_Count, isend, ready)
PLAIT_ISEND(MPI_Send_init_c, MPI_Count, send_init, standard)
PLAIT_ISEND(MPI_Bsend_init_c, MPI_Count, send_init, buffered)
PLAIT_ISEND(MPI_Ssend_init_c, MPI_Count, send_init, synchronous)
PLAIT_ISEND(MPI_Rsend_init_c, MPI_Count, send_init, ready)
PLAIT_RECV(MPI_Recv_c, MPI_Count, PMPI_Irecv_c)
PLAIT_IRECV(MPI_Irecv_c, MPI_Count, ireceive)
PLAIT_IRECV(MPI_Recv_init_c, MPI_Count, receive_init)
PLAIT_SENDRECV(MPI_Sendrecv_c, MPI_Count, PMPI_Irecv_c, PMPI_Isend_c)
PLAIT_SENDRECV_REPLACE(MPI_Sendrecv_replace_c, MPI_Count)
PLAIT_ISENDRECV(MPI_Isendrecv_c, MPI_Count)
PLAIT_ISENDRECV_REPLACE(MPI_Isendrecv_replace_c, MPI_Count)
#endif
#if PLAIT_MPI_HAS_CALLS_OF_4
PLAIT_ISENDRECV(MPI_Isendrecv, int)
PLAIT_ISENDRECV_REPLACE(MPI_Isendrecv_replace, int)
#endif

// ---- probes and matched receives

extern "C" int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  PLAIT_FIND(poll([=](int* flag) { return PMPI_Iprobe(source, tag, comm, flag, status); }))
  if (!c) return PLAIT_NATIVE(PMPI_Probe(source, tag, comm, status));
  const plait::p2p::Call call{"MPI_Probe", PLAIT_CALLER};
  return on(comm, [&] { plait::p2p::wait_probe(*c, 0, {source, tag, kAnyStream}, status, call); });
}

extern "C" int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Communicator* const c = find_communicator(comm);
  if (!c) return plait::mpi::asking([&] { return PMPI_Iprobe(source, tag, comm, flag, status); });
  return on(comm, [&] {
    *flag = plait::p2p::probe(*c, 0, {source, tag, kAnyStream}, status) ? 1 : 0;
    if (!*flag) plait::mpi::move_rest();
  });
}

extern "C" int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  PLAIT_FIND(poll([=](int* flag) { return PMPI_Improbe(source, tag, comm, flag, message, status); }))
  if (!c) return PLAIT_NATIVE(PMPI_Mprobe(source, tag, comm, message, status));
  const plait::p2p::Call call{"MPI_Mprobe", PLAIT_CALLER};
  return on(comm, [&] { *message = plait::mpi::message_handle(plait::p2p::wait_match(*c, 0, {source, tag, kAnyStream}, status, call)); });
}

extern "C" int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  Communicator* const c = find_communicator(comm);
  if (!c) return plait::mpi::asking([&] { return PMPI_Improbe(source, tag, comm, flag, message, status); });
  return on(comm, [&] {
    plait::Request* const found = plait::p2p::match(*c, 0, {source, tag, kAnyStream}, status);
    *flag = found ? 1 : 0;
    if (found) {
      *message = plait::mpi::message_handle(*found);
    } else {
      plait::mpi::move_rest();
    }
  });
}

#define PLAIT_MRECV(NAME, COUNT)                                                                                \
  extern "C" int NAME(void* buffer, COUNT count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) { \
    plait::Request* const m = plait::mpi::our_message(*message);                                                \
    if (!m) return PLAIT_NATIVE(P##NAME(buffer, count, type, message, status));                                 \
    const plait::p2p::Call call{#NAME, PLAIT_CALLER};                                                           \
    return on_returning(plait::mpi::communicator_of(*m), [&] {                                                  \
      plait::require(plait::p2p::is_message(*m), MPI_ERR_REQUEST);                                              \
      const int error = plait::p2p::receive_matched(*m, buffer, count, type, status, call);                     \
      *message = MPI_MESSAGE_NULL;                                                                              \
      return error;                                                                                             \
    });                                                                                                         \
  }

#define PLAIT_IMRECV(NAME, COUNT)                                                                                 \
  extern "C" int NAME(void* buffer, COUNT count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) { \
    plait::Request* const m = plait::mpi::our_message(*message);                                                  \
    if (!m) return PLAIT_GATED(P##NAME(buffer, count, type, message, request));                                   \
    return on(plait::mpi::communicator_of(*m), [&] {                                                              \
      plait::require(plait::p2p::is_message(*m), MPI_ERR_REQUEST);                                                \
      *request = plait::mpi::handle_of(plait::p2p::ireceive_matched(*m, buffer, count, type));                    \
      *message = MPI_MESSAGE_NULL;                                                                                \
    });                                                                                                           \
  }

PLAIT_MRECV(MPI_Mrecv, int)
PLAIT_IMRECV(MPI_Imrecv, int)
#if MPI_VERSION >= 4
PLAIT_MRECV(MPI_Mrecv_c, MPI_Count)
PLAIT_IMRECV(MPI_Imrecv_c, MPI_Count)
#endif

#pragma GCC visibility pop
