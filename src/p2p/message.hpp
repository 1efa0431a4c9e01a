// Point-to-point messages on communicators of plait's, between the exported calls and the endpoints. Arguments are checked here.
// Functions throw MPIError, std::bad_alloc.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>

#include "lane/operation.hpp"
#include "p2p/communicator.hpp"

namespace plait::p2p {

enum class Mode : std::uint8_t { standard, ready, synchronous, buffered };

/// Where a call was made, for the watchdog.
struct Call {
  const char* name;
  const void* caller;
};

/// To or from whom: a rank (or MPI_PROC_NULL, for a receive MPI_ANY_SOURCE) and which of its streams (-1: any).
struct Envelope {
  int rank;
  int tag;
  int stream;
};

/// The streams that ordinary calls use on a communicator with several.
inline constexpr int kAnyStream = -1;

/// Request for an operation that was complete when it was started: all of them share it.
[[nodiscard]] Request& completed_request();
extern const RequestKind kOperation, kCompleted;
[[nodiscard]] inline bool is_completed(const Request& r) noexcept { return r.kind == &kCompleted; }
/// The operation behind a request, or null if it is of another kind.
[[nodiscard]] inline lane::Operation* as_operation(Request& r) noexcept {
  return r.kind == &kOperation ? static_cast<lane::Operation*>(&r) : nullptr;
}

void send(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to, Mode mode, Call call);
[[nodiscard]] Request& isend(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                             Mode mode);
/// The error is that of the message, truncation say.
[[nodiscard]] int receive(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from,
                          MPI_Status* status, Call call);
[[nodiscard]] Request& ireceive(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from);

/// Persistent requests, not started yet.
[[nodiscard]] Request& send_init(Communicator& c, int local, const void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& to,
                                 Mode mode);
[[nodiscard]] Request& receive_init(Communicator& c, int local, void* buffer, MPI_Count count, MPI_Datatype type, const Envelope& from);

/// A send and a receive at once. `replace`: the send's data is taken before the receive may write.
struct Exchange {
  const void* send_buffer;
  MPI_Count send_count;
  MPI_Datatype send_type;
  Envelope to;
  void* receive_buffer;
  MPI_Count receive_count;
  MPI_Datatype receive_type;
  Envelope from;
  bool replace;
};
[[nodiscard]] int send_receive(Communicator& c, const Exchange& exchange, MPI_Status* status, Call call);
[[nodiscard]] Request& isend_receive(Communicator& c, const Exchange& exchange);

/// Looks for a message; one round of progress.
[[nodiscard]] bool probe(Communicator& c, int local, const Envelope& from, MPI_Status* status);
void wait_probe(Communicator& c, int local, const Envelope& from, MPI_Status* status, Call call);
/// A message taken out of the queues: to be received once. Null where `probe` would say no; `completed_request()` for
/// MPI_PROC_NULL.
[[nodiscard]] Request* match(Communicator& c, int local, const Envelope& from, MPI_Status* status);
[[nodiscard]] Request& wait_match(Communicator& c, int local, const Envelope& from, MPI_Status* status, Call call);
[[nodiscard]] bool is_message(const Request& r) noexcept;
/// The message is used up.
[[nodiscard]] int receive_matched(Request& message, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Status* status, Call call);
[[nodiscard]] Request& ireceive_matched(Request& message, void* buffer, MPI_Count count, MPI_Datatype type);

/// Ends an operation that is complete; no status is written where that is null or MPI_STATUS_IGNORE. Returns its error.
int retire_any(lane::Operation& operation, MPI_Status* status) noexcept;
inline int retire(lane::Operation& operation, MPI_Status* status) noexcept {
  if (operation.persistent || operation.error != lane::Error::none || (status && status != MPI_STATUS_IGNORE)) [[unlikely]]
    return retire_any(operation, status);
  const lane::EndpointGuard guard(*operation.endpoint);
  operation.endpoint->retire(operation);
  return MPI_SUCCESS;
}
/// One round of its endpoint; true if something moved.
bool progress(lane::Operation& operation) noexcept;
/// Waits for one.
void wait_long(lane::Operation& operation, Call call);
/// Waits for an operation and ends it. Returns its error.
[[nodiscard]] inline int wait(lane::Operation& operation, MPI_Status* status, Call call) {
  if (!operation.complete.load(std::memory_order_acquire)) wait_long(operation, call);
  return retire(operation, status);
}

/// Waits at an endpoint for anything else. `waits_for` is for the watchdog.
void wait_until(lane::Endpoint& endpoint, const lane::MatchContext& context, Call call, const std::function<bool()>& over,
                const std::function<std::string()>& waits_for);

/// What MPI calls an empty status, but for its error.
void set_empty(MPI_Status* status) noexcept;

}  // namespace plait::p2p
