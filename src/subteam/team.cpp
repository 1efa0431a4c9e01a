#include "subteam/team.hpp"

#include <new>

#include "base/fatal.hpp"

namespace plait::subteam {

Team::~Team() {
  SubTeam* at = sub_teams_.load(std::memory_order_relaxed);
  while (at) {
    SubTeam* const next = at->next;
    delete at;
    at = next;
  }
}

SubTeam* Team::find(SubTeam* from, const SubTeam* to, int first, int last) const noexcept {
  while (from != to && (from->first() != first || from->last() != last)) from = from->next;
  return from != to ? from : nullptr;
}

SubTeam& Team::threads(int first, int last) noexcept {
  // acquire: what the thread that has made a sub-team wrote into it. The list's links are set before it is at the head.
  SubTeam* head = sub_teams_.load(std::memory_order_acquire);
  if (SubTeam* const found = find(head, nullptr, first, last)) return *found;
  if (first < 0 || last >= threads_ || first > last) {
    fatal("threads %d to %d are no sub-team: %s; the threads of this team are 0 to %d", first, last,
          first > last ? "there are none" : "some are not of the team", threads_ - 1);
  }
  SubTeam* made = nullptr;
  try {
    made = new SubTeam(first, last, threads_);
  } catch (const std::bad_alloc&) {
    fatal("no memory left for a sub-team of threads");
  }
  for (;;) {
    made->next = head;
    // release: for those that find it.
    if (sub_teams_.compare_exchange_weak(head, made, std::memory_order_release, std::memory_order_acquire)) return *made;
    // What others have put there since may be the same.
    if (SubTeam* const found = find(head, made->next, first, last)) {
      delete made;
      return *found;
    }
  }
}

SubTeam& Team::threads(int me, int first, int last) noexcept {
  if (me < 0 || me >= threads_) {
    fatal("a thread says that it is number %d of a team whose threads are 0 to %d", me, threads_ - 1);
  }
  return threads(first, last);
}

}  // namespace plait::subteam
