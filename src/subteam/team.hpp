// A team: so many threads of a process, and the sub-teams that they have used so far.
#pragma once

#include <atomic>

#include "subteam/subteam.hpp"

namespace plait::subteam {

class Team {
 public:
  explicit Team(int threads) noexcept : threads_(threads) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  [[nodiscard]] int size() const noexcept { return threads_; }
  /// Threads `first` to `last`. Made when they are asked for first. Any thread. Fatal where there are no such threads, or no memory.
  [[nodiscard]] SubTeam& threads(int first, int last) noexcept;
  /// The same for a call of thread `me`. Fatal where that is none of the team's.
  [[nodiscard]] SubTeam& threads(int me, int first, int last) noexcept;

 private:
  [[nodiscard]] SubTeam* find(SubTeam* from, const SubTeam* to, int first, int last) const noexcept;

  const int threads_;
  std::atomic<SubTeam*> sub_teams_{nullptr};  ///< a list: grows at its head, lives as long as the team
};

}  // namespace plait::subteam
