#include "queue/step.hpp"

#include <algorithm>
#include <new>
#include <thread>

#include "base/error.hpp"
#include "p2p/status.hpp"

namespace plait::queue {
namespace {

template <class Body>
int error_of(Body body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MPIError& e) {
    return e.code;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (...) {
    return MPI_ERR_INTERN;
  }
}

}  // namespace

bool Step::claim(Fate fate) noexcept {
  Fate found = Fate::open;
  // relaxed: what either does then is ordered by `over_` and `begun_`.
  return fate_.compare_exchange_strong(found, fate, std::memory_order_relaxed) || found == fate;
}

void Step::begin() noexcept {
  if (!claim(Fate::begins)) return;
  // relaxed: of a step that begins again, as those of graphs do, this thread has seen the end, and no other one asks meanwhile.
  begun_.store(false, std::memory_order_relaxed);
  over_.store(false, std::memory_order_relaxed);
  if (const int error = error_of([&] { do_begin(); }); error != MPI_SUCCESS) end(error);
  // release: what do_begin has written, for whoever makes the first round.
  begun_.store(true, std::memory_order_release);
}

bool Step::advance() noexcept {
  if (over()) return true;
  // acquire: with the release below, what the round before has written; with that in begin(), what it has.
  if (!begun_.load(std::memory_order_acquire) || busy_.exchange(true, std::memory_order_acquire)) return false;
  bool is_over = over_.load(std::memory_order_relaxed);
  if (!is_over) {
    const int error = error_of([&] { is_over = do_advance(); });
    is_over |= error != MPI_SUCCESS;
    if (is_over) end(error);
  }
  busy_.store(false, std::memory_order_release);
  return is_over;
}

bool Step::give_up(int error) noexcept {
  if (!claim(Fate::begins)) return false;  // it is cancelled
  // acquire, release: as in advance(). Another thread may be at a round of it, which is short.
  while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  const bool was_over = over_.load(std::memory_order_relaxed);
  if (!was_over) end(error);
  busy_.store(false, std::memory_order_release);
  return !was_over;
}

void Step::cancel() noexcept {
  if (claim(Fate::withdrawn)) {
    do_withdraw();
    end(MPI_SUCCESS);
    return;
  }
  // It has begun, or is just about to: that and a round are short.
  while (!over()) {
    // acquire, release: as in advance().
    if (!begun_.load(std::memory_order_acquire) || busy_.exchange(true, std::memory_order_acquire)) {
      std::this_thread::yield();
      continue;
    }
    if (!over_.load(std::memory_order_relaxed)) do_cancel();
    busy_.store(false, std::memory_order_release);
    return;
  }
}

void Step::end(int error) noexcept {
  error_ = error;
  // release: what it has written, for whoever sees that it is over.
  over_.store(true, std::memory_order_release);
}

void Step::write_status(MPI_Status* status) const noexcept {
  if (p2p::wants(status)) p2p::set_empty(status);
}

bool Awaited::over() const noexcept { return step ? step->over() : request->kind->done(*request); }

bool Awaited::advance() noexcept {
  if (over()) return true;
  if (step) return step->any_thread() && step->advance();
  Round round;
  request->kind->progress(*request, round);
  return over();
}

progress::Waiter* Awaited::waiter() const noexcept {
  if (step) return step->waiter();
  return request->kind->waiter ? request->kind->waiter(*request) : nullptr;
}

int Awaited::end() noexcept {
  if (!step) return request->kind->retire(*request, status);
  if (status) step->write_status(status);
  return step->error();
}

const Awaited* WaitStep::first_left() const noexcept {
  const auto at = std::ranges::find_if(awaited_, [](const Awaited& a) { return !a.over(); });
  return at == awaited_.end() ? nullptr : &*at;
}

progress::Waiter* WaitStep::waiter() const noexcept {
  const Awaited* const left = first_left();
  return left ? left->waiter() : nullptr;
}

std::string WaitStep::waits_for() const {
  const Awaited* const left = first_left();
  if (!left) return call();
  if (left->step) return left->step->waits_for();
  std::string text;
  left->request->kind->describe(*left->request, text);
  return text;
}

void WaitStep::put_behind() {
  for (const Awaited& a : awaited_) {
    if (a.step) a.step->put_behind();
  }
}

bool WaitStep::puts_behind() const noexcept {
  return std::ranges::any_of(awaited_, [](const Awaited& a) { return a.step && a.step->puts_behind(); });
}

bool WaitStep::do_advance() {
  bool all = true;
  for (Awaited& a : awaited_) all &= a.advance();
  if (!all) return false;
  int failed = MPI_SUCCESS;
  for (Awaited& a : awaited_) {
    const int error = a.end();
    if (each_has_status_ && p2p::wants(a.status)) a.status->MPI_ERROR = error;
    if (error != MPI_SUCCESS) failed = error;
  }
  if (failed != MPI_SUCCESS) throw MPIError{each_has_status_ ? MPI_ERR_IN_STATUS : failed, false};
  return true;
}

}  // namespace plait::queue
