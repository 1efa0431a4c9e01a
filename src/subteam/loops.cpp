#include "subteam/loops.hpp"

#include "base/fatal.hpp"
#include "subteam/balance.hpp"

namespace plait::subteam {
namespace {

SubTeam& threads_of(const plait_loop& loop) noexcept { return *static_cast<SubTeam*>(loop.of); }

void set(plait_loop& loop, State state) noexcept { loop.state = static_cast<int>(state); }

/// The next chunk; false if there is none.
bool take_chunk(plait_loop& loop) noexcept {
  if (loop.high <= loop.low) return false;
  // Unsigned, as the difference may be larger than any long.
  const auto low = static_cast<unsigned long>(loop.low), chunk = static_cast<unsigned long>(loop.chunk);
  const unsigned long n = static_cast<unsigned long>(loop.high) - low;
  const unsigned long k = threads_of(loop).next_chunk();
  if (k >= n / chunk + (n % chunk != 0 ? 1 : 0)) return false;
  const unsigned long begin = k * chunk;
  loop.begin = static_cast<long>(low + begin);
  loop.end = n - begin <= chunk ? loop.high : static_cast<long>(low + begin + chunk);
  return true;
}

}  // namespace

plait_loop begin_loop(SubTeam& threads, int me, long low, long high, long chunk) noexcept {
  if (chunk < 0) fatal("a loop in chunks of %ld iterations: at least 1, or 0 for equal parts", chunk);
  plait_loop loop{low, low, &threads, low, high, chunk, me, static_cast<int>(State::over), 0};
  if (chunk > 0) {
    threads.come_to(me, {Construct::Kind::chunks, low, high, chunk});
    if (threads.has(me)) {
      threads.open_door(me);
      set(loop, State::chunks);
    } else if (threads.come_in(me)) {
      set(loop, State::helps);
    }
  } else if (threads.has(me)) {
    threads.come_to(me, {Construct::Kind::parts, low, high, 0});
    const Range part = part_of(low, high, me - threads.first(), threads.size());
    loop.begin = part.begin;
    loop.end = part.end;
    set(loop, part.end > part.begin ? State::part : State::part_done);
  }
  return loop;
}

bool next_range(plait_loop& loop) noexcept {
  if (loop.unfinished != 0) {
    fatal("thread %d has left iterations %ld to %ld of a loop by break: some are not done", loop.me, loop.begin, loop.end - 1);
  }
  switch (static_cast<State>(loop.state)) {
    case State::over:
      return false;
    case State::part:
      set(loop, State::part_done);
      return true;
    case State::part_done:
      threads_of(loop).meet(loop.me);
      break;
    case State::chunks:
      if (take_chunk(loop)) return true;
      threads_of(loop).meet(loop.me, [&] { threads_of(loop).shut_door(loop.me); });
      break;
    case State::helps:
      if (take_chunk(loop)) return true;
      threads_of(loop).go_out(loop.me);
      break;
    case State::balanced:
      set(loop, State::balanced_done);
      return true;
    case State::balanced_done:
      static_cast<Balance*>(loop.of)->end_round(loop.me);
      break;
  }
  set(loop, State::over);
  return false;
}

}  // namespace plait::subteam
