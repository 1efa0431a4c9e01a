// Work of an endpoint that takes several steps between messages: what a collective call does on one rank. Every round of
// progress of the endpoint moves it on, whichever call or visitor makes the round.
#pragma once

#include "base/list.hpp"

namespace plait::lane {

class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

 protected:
  ~Task() = default;

 private:
  friend class Endpoint;
  /// By a thread that uses the endpoint. What it waits for may have come: goes on as far as it can, true if it did. It may
  /// start operations, and take itself out of the endpoint's list; nothing of it is touched after that.
  virtual bool step() noexcept = 0;
  Link<Task> in_endpoint_;
};

}  // namespace plait::lane
