// A communicator at whose endpoint here is a queue: its calls are put there. The program's handle leads to this object, which has no
// endpoint that ordinary calls could use; the one that the steps use is inside.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>

#include "collective/rank.hpp"
#include "p2p/communicator.hpp"
#include "p2p/envelope.hpp"
#include "queue/queue.hpp"
#include "queue/turns.hpp"

namespace plait::queue {

struct Communicator final : p2p::Communicator {
  Communicator() = default;
  ~Communicator() override;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  QueuePointer queue;
  std::shared_ptr<collective::Rank> inner;  ///< where the messages go; requests and graphs may hold it longer
  std::shared_ptr<Turns> sends = std::make_shared<Turns>();
  bool everywhere = false;  ///< all processes have brought a queue: then its collective calls can be put there
};

/// Null where it has no queue here.
[[nodiscard]] inline Communicator* find(p2p::Communicator* c) noexcept { return c && c->queued ? static_cast<Communicator*>(c) : nullptr; }

/// What becomes of a stream communicator that has just been made, and is not known yet, where a process has brought a queue: is it this
/// one, `queue` is given. Collective then. Throws MPIError, std::bad_alloc.
[[nodiscard]] p2p::Draft take_over(p2p::Draft made, QueuePointer queue);

/// Before it is freed: until its steps are over. They may be another communicator's of the same queue. Throws MPIError{MPI_ERR_ARG} where
/// they would never begin, as the caller is a function that is before them on the queue; the reason is on stderr then.
void wait_until_over(Communicator& c, const char* call);

/// A message, whose arguments are checked here. It holds up the queue where no request is made of it. `status`: of a receive that holds it
/// up, or null. Throws MPIError, std::bad_alloc.
struct Message {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  p2p::Envelope envelope;
};
[[nodiscard]] StepPointer make_send(Communicator& c, const Message& message, bool holds_up, const char* call);
[[nodiscard]] StepPointer make_receive(Communicator& c, const Message& message, bool holds_up, MPI_Status* status, const char* call);

}  // namespace plait::queue
