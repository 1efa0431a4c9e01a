// What a blocked call does between two rounds without success: let others run, and when PLAIT_WATCHDOG says that it takes
// too long, tell once what is waited for. One per call, used by the thread that waits.
#pragma once

#include <span>

#include "base/backoff.hpp"
#include "base/watchdog.hpp"
#include "lane/request.hpp"

namespace plait::mpi {

class Waiting {
 public:
  /// `caller`: the address that the call returns to.
  Waiting(const char* call, const void* caller, int count) noexcept : call_(call), caller_(caller), count_(count) {}

  /// `pending` are plait's; `natives` says how many of the MPI's own are waited for beside them. Where those of plait's are
  /// all there is and can be waited for together, this blocks in them. May reorder `pending`.
  void pause(std::span<Request*> pending, int natives) noexcept;

 private:
  void bark(std::span<Request*> pending, int natives) const noexcept;

  const char* call_;
  const void* caller_;
  int count_;
  int rounds_ = 0;
  Watchdog watchdog_;
  Backoff backoff_;
};

}  // namespace plait::mpi
