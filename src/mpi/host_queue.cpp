// The exported calls on queues of plait's own: plait/queue.h. They call no error handler, and need no MPI.
#include <mpi.h>

#include <new>

#include "base/error.hpp"
#include "queue/handles.hpp"

namespace plait::mpi {
namespace {

/// Runs a call: its error class.
template <class Body>
int answer(Body body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MPIError& e) {
    return e.code;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (const std::exception&) {
    return MPI_ERR_OTHER;
  }
}

std::shared_ptr<queue::Occurrence> last_of(plait_event handle) {
  const std::shared_ptr<queue::Event> event = queue::events().find(handle);
  const std::lock_guard guard(event->lock);
  return event->last;
}

/// Throws what has failed on the queue.
void tell_errors(queue::HostQueue& queue) {
  const int error = queue.take_error();
  require(error == MPI_SUCCESS, error);
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::require;
using plait::mpi::answer;
using plait::mpi::last_of;
using plait::mpi::tell_errors;
using plait::queue::events;
using plait::queue::HostQueue;
using plait::queue::Occurrence;
using plait::queue::queues;

extern "C" int plait_queue_create(plait_queue* queue) {
  return answer([&] {
    require(queue, MPI_ERR_ARG);
    auto made = std::make_shared<HostQueue>();
    made->start();
    *queue = queues().enter(std::move(made));
  });
}

extern "C" int plait_queue_create_on(plait_queue_executor* executor, void* extra_state, plait_queue* queue) {
  return answer([&] {
    require(queue && executor, MPI_ERR_ARG);
    *queue = queues().enter(std::make_shared<HostQueue>(executor, extra_state));
  });
}

extern "C" int plait_queue_free(plait_queue* queue) {
  return answer([&] {
    require(queue && !queues().find(*queue)->runs_here(), MPI_ERR_ARG);
    queues().take(*queue)->close();
    *queue = PLAIT_QUEUE_NULL;
  });
}

extern "C" int plait_queue_enqueue(plait_queue queue, plait_queue_function* function, void* argument) {
  return answer([&] {
    require(function, MPI_ERR_ARG);
    const std::shared_ptr<HostQueue> q = queues().find(queue);
    tell_errors(*q);
    q->put(function, argument);
  });
}

extern "C" int plait_queue_synchronize(plait_queue queue) {
  return answer([&] {
    const std::shared_ptr<HostQueue> q = queues().find(queue);
    require(!q->runs_here(), MPI_ERR_ARG);
    const auto here = std::make_shared<Occurrence>();
    q->record(here);
    here->wait();
    tell_errors(*q);
  });
}

extern "C" int plait_event_create(plait_event* event) {
  return answer([&] {
    require(event, MPI_ERR_ARG);
    *event = events().enter(std::make_shared<plait::queue::Event>());
  });
}

extern "C" int plait_event_free(plait_event* event) {
  return answer([&] {
    require(event, MPI_ERR_ARG);
    static_cast<void>(events().take(*event));
    *event = PLAIT_EVENT_NULL;
  });
}

extern "C" int plait_queue_record(plait_queue queue, plait_event event) {
  return answer([&] {
    const std::shared_ptr<HostQueue> q = queues().find(queue);
    const std::shared_ptr<plait::queue::Event> e = events().find(event);
    auto here = std::make_shared<Occurrence>();
    const std::lock_guard guard(e->lock);
    // A program that does not look at what it is told must not find the event as if what it stands for had been done.
    const int error = q->take_error();
    if (error == MPI_SUCCESS) {
      q->record(here);
    } else {
      here->occur(true);
    }
    e->last = std::move(here);
    require(error == MPI_SUCCESS, error);
  });
}

extern "C" int plait_queue_wait_event(plait_queue queue, plait_event event) {
  return answer([&] {
    const std::shared_ptr<HostQueue> q = queues().find(queue);
    std::shared_ptr<Occurrence> last = last_of(event);
    // What comes after it runs, and needs the order whether the program looks at what it is told or not.
    const int error = q->take_error();
    if (last) q->wait_for(std::move(last));
    require(error == MPI_SUCCESS, error);
  });
}

extern "C" int plait_event_query(plait_event event, int* occurred) {
  return answer([&] {
    require(occurred, MPI_ERR_ARG);
    const std::shared_ptr<Occurrence> last = last_of(event);
    *occurred = !last || last->has_occurred() ? 1 : 0;
    require(!last || !last->has_failed(), MPI_ERR_OTHER);
  });
}

extern "C" int plait_event_synchronize(plait_event event) {
  return answer([&] {
    const std::shared_ptr<Occurrence> last = last_of(event);
    if (!last) return;
    require(!last->waits_for_caller(), MPI_ERR_ARG);
    last->wait();
    require(!last->has_failed(), MPI_ERR_OTHER);
  });
}

#pragma GCC visibility pop
