#include "queue/request.hpp"

#include <new>

#include "base/error.hpp"
#include "progress/wait.hpp"
#include "queue/engine.hpp"

namespace plait::queue {
namespace {

struct QueueRequest : Request {
  StepPointer step;
  QueuePointer queue;
  std::uint64_t communicator = 0;
};

QueueRequest& own(Request& r) noexcept { return static_cast<QueueRequest&>(r); }
const QueueRequest& own(const Request& r) noexcept { return static_cast<const QueueRequest&>(r); }

constexpr RequestKind kQueued{
    .progress = [](Request& r, Round&) { return own(r).step->any_thread() && own(r).step->advance(); },
    .done = [](const Request& r) { return own(r).step->over(); },
    .retire =
        [](Request& r, void* status) {
          const StepPointer step = take(r);
          step->write_status(static_cast<MPI_Status*>(status));
          try {
            step->finish_here();
          } catch (const MPIError& e) {
            return e.code;
          }
          return step->error();
        },
    .peek =
        [](Request& r, void* status) {
          own(r).step->write_status(static_cast<MPI_Status*>(status));
          return own(r).step->error();
        },
    .free =
        [](Request& r) {
          static_cast<void>(take(r));
          return MPI_SUCCESS;
        },
    .cancel =
        [](Request& r) {
          own(r).step->cancel();
          // Whoever makes its rounds sees that it ends; whoever waits, that it has.
          engine::wake();
          engine::ended().notify();
          return MPI_SUCCESS;
        },
    .waiter = [](Request&) -> progress::Waiter* { return &engine::where_steps_end(); },
    .patience = &progress::kForThreads,
    .communicator = [](const Request& r) { return own(r).communicator; },
    .describe = [](const Request& r, std::string& text) { text += own(r).step->waits_for(); },
};

}  // namespace

Request& make_request(Communicator& c, StepPointer step) {
  auto* const made = request::make<QueueRequest>();
  if (!made) throw std::bad_alloc();
  step->answer_for_itself();
  made->kind = &kQueued;
  made->step = std::move(step);
  made->queue = c.queue;
  made->communicator = p2p::to_bits(c.handle);
  return *made;
}

QueuePointer queue_of(const Request& r) noexcept { return r.kind == &kQueued ? own(r).queue : nullptr; }

StepPointer take(Request& r) noexcept {
  StepPointer step = std::move(own(r).step);
  request::destroy(own(r));
  return step;
}

}  // namespace plait::queue
