#include "queue/handles.hpp"

namespace plait::queue {

Table<plait_queue, HostQueue>& queues() {
  static auto& table = *new Table<plait_queue, HostQueue>;  // never destroyed: threads of queues may outlive static objects
  return table;
}

Table<plait_event, Event>& events() {
  static auto& table = *new Table<plait_event, Event>;
  return table;
}

}  // namespace plait::queue
