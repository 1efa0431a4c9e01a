// The exported calls on sub-teams: plait/subteam.h. They call no MPI.
#include <plait/subteam.h>

#include <new>

#include "base/event_count.hpp"
#include "base/fatal.hpp"
#include "subteam/balance.hpp"
#include "subteam/loops.hpp"
#include "subteam/team.hpp"

namespace plait::mpi {
namespace {

using subteam::Balance;
using subteam::Team;

Team& team_of(plait_team handle) noexcept {
  if (!handle) fatal("a call on PLAIT_TEAM_NULL: plait_team_create makes a team");
  return *reinterpret_cast<Team*>(handle);
}

Balance& balance_of(plait_balance handle) noexcept {
  if (!handle) fatal("a call on PLAIT_BALANCE_NULL: plait_balance_create makes a balance");
  return *reinterpret_cast<Balance*>(handle);
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::fatal;
using plait::mpi::balance_of;
using plait::mpi::team_of;
using plait::subteam::Balance;
using plait::subteam::Construct;
using plait::subteam::SubTeam;
using plait::subteam::Team;

extern "C" plait_team plait_team_create(int threads) {
  if (threads < 1 || threads > plait::subteam::kMostThreads) {
    fatal("plait_team_create(%d): a team has 1 to %d threads", threads, plait::subteam::kMostThreads);
  }
  plait::event_count_begin();
  auto* const team = new (std::nothrow) Team(threads);
  if (!team) fatal("no memory left for a team of threads");
  return reinterpret_cast<plait_team>(team);
}

extern "C" void plait_team_free(plait_team* team) {
  if (!team) return;
  delete reinterpret_cast<Team*>(*team);
  *team = PLAIT_TEAM_NULL;
}

extern "C" int plait_team_size(plait_team team) { return team_of(team).size(); }

extern "C" void plait_team_barrier(plait_team team, int me, int first, int last) {
  SubTeam& threads = team_of(team).threads(me, first, last);
  threads.come_to(me, {.kind = Construct::Kind::barrier});
  threads.meet(me);
}

extern "C" plait_single plait_single_begin(plait_team team, int me, int first, int last) {
  SubTeam& threads = team_of(team).threads(me, first, last);
  plait_single single{0, me, &threads};
  if (!threads.has(me)) return single;
  threads.come_to(me, {.kind = Construct::Kind::single});
  single.runs = threads.claim_single(me) ? 1 : 0;
  if (!single.runs) threads.meet(me);
  return single;
}

extern "C" void plait_single_end(plait_single* single) {
  if (!single->runs) return;
  single->runs = 0;
  static_cast<SubTeam*>(single->of)->meet(single->me);
}

extern "C" plait_loop plait_loop_begin(plait_team team, int me, int first, int last, long low, long high, long chunk) {
  return plait::subteam::begin_loop(team_of(team).threads(me, first, last), me, low, high, chunk);
}

extern "C" int plait_loop_next(plait_loop* loop) { return plait::subteam::next_range(*loop) ? 1 : 0; }

extern "C" plait_balance plait_balance_create(plait_team team, int first, int last) {
  try {
    return reinterpret_cast<plait_balance>(new Balance(team_of(team).threads(first, last)));
  } catch (const std::bad_alloc&) {
    fatal("no memory left for a balanced loop");
  }
}

extern "C" void plait_balance_free(plait_balance* balance) {
  if (!balance) return;
  delete reinterpret_cast<Balance*>(*balance);
  *balance = PLAIT_BALANCE_NULL;
}

extern "C" void plait_balance_begin(plait_balance balance, int me) { balance_of(balance).begin_round(me); }

extern "C" plait_loop plait_balance_loop(plait_balance balance, int me, long low, long high) {
  return balance_of(balance).begin_loop(me, low, high);
}

extern "C" void plait_balance_fix(plait_balance balance, const double* shares) { balance_of(balance).fix(shares); }

extern "C" double plait_balance_share(plait_balance balance, int thread) { return balance_of(balance).share(thread); }
