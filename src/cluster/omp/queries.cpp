// OpenMP's questions about teams, and what it can be told of them, in C and Fortran. What is not here is answered by libgomp.
#include <algorithm>

#include "cluster/omp/team.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;

PLAIT_OMP int omp_get_thread_num() {
  const Member* const m = member();
  return m ? m->number : PLAIT_LIBGOMP(omp_get_thread_num)();
}
PLAIT_OMP int omp_get_num_threads() {
  const Member* const m = member();
  return m ? team_size(*m) : PLAIT_LIBGOMP(omp_get_num_threads)();
}
PLAIT_OMP int omp_get_max_threads() {
  if (!is_job() || (this_member && this_member->inner > 0)) return PLAIT_LIBGOMP(omp_get_max_threads)();
  return this_member && this_member->usual > 0 ? this_member->usual : usual_threads();
}
PLAIT_OMP void omp_set_num_threads(int threads) {
  if (!this_member && is_job()) set_usual_threads(threads);
  // In a region it is for regions within that this thread begins.
  if (Member* const m = member()) m->usual = std::max(threads, 1);
  if (this_member || !is_job()) PLAIT_LIBGOMP(omp_set_num_threads)(threads);
}
/// Of the whole job: as many as threads run.
PLAIT_OMP int omp_get_num_procs() { return is_job() ? all_threads() : PLAIT_LIBGOMP(omp_get_num_procs)(); }
PLAIT_OMP int omp_get_thread_limit() {
  const int limit = PLAIT_LIBGOMP(omp_get_thread_limit)();
  return is_job() ? std::max(limit, all_threads()) : limit;
}
PLAIT_OMP int omp_get_cancellation() {
  const Member* const m = this_member;
  return m ? m->region->may_cancel : PLAIT_LIBGOMP(omp_get_cancellation)();
}
PLAIT_OMP int omp_in_parallel() { return this_member ? 1 : PLAIT_LIBGOMP(omp_in_parallel)(); }
PLAIT_OMP int omp_in_final() {
  const Member* const m = member();
  return m ? m->final > 0 : PLAIT_LIBGOMP(omp_in_final)();
}
PLAIT_OMP int omp_get_level() { return PLAIT_LIBGOMP(omp_get_level)() + (this_member ? 1 : 0); }
PLAIT_OMP int omp_get_active_level() { return PLAIT_LIBGOMP(omp_get_active_level)() + (this_member ? 1 : 0); }
PLAIT_OMP int omp_get_ancestor_thread_num(int level) {
  const Member* const m = this_member;
  if (!m || level <= 0) return level == 0 ? 0 : PLAIT_LIBGOMP(omp_get_ancestor_thread_num)(level);
  return level == 1 ? m->number : PLAIT_LIBGOMP(omp_get_ancestor_thread_num)(level - 1);
}
PLAIT_OMP int omp_get_team_size(int level) {
  const Member* const m = this_member;
  if (!m || level <= 0) return level == 0 ? 1 : PLAIT_LIBGOMP(omp_get_team_size)(level);
  return level == 1 ? team_size(*m) : PLAIT_LIBGOMP(omp_get_team_size)(level - 1);
}

// Fortran's.
PLAIT_OMP int omp_get_thread_num_() { return omp_get_thread_num(); }
PLAIT_OMP int omp_get_num_threads_() { return omp_get_num_threads(); }
PLAIT_OMP int omp_get_max_threads_() { return omp_get_max_threads(); }
PLAIT_OMP void omp_set_num_threads_(const int* threads) { omp_set_num_threads(*threads); }
PLAIT_OMP void omp_set_num_threads_8_(const long* threads) { omp_set_num_threads(static_cast<int>(*threads)); }
PLAIT_OMP int omp_get_num_procs_() { return omp_get_num_procs(); }
PLAIT_OMP int omp_get_thread_limit_() { return omp_get_thread_limit(); }
PLAIT_OMP int omp_get_cancellation_() { return omp_get_cancellation(); }
PLAIT_OMP int omp_in_parallel_() { return omp_in_parallel(); }
PLAIT_OMP int omp_in_final_() { return omp_in_final(); }
PLAIT_OMP int omp_get_level_() { return omp_get_level(); }
PLAIT_OMP int omp_get_active_level_() { return omp_get_active_level(); }
PLAIT_OMP int omp_get_ancestor_thread_num_(const int* level) { return omp_get_ancestor_thread_num(*level); }
PLAIT_OMP int omp_get_ancestor_thread_num_8_(const long* level) { return omp_get_ancestor_thread_num(static_cast<int>(*level)); }
PLAIT_OMP int omp_get_team_size_(const int* level) { return omp_get_team_size(*level); }
PLAIT_OMP int omp_get_team_size_8_(const long* level) { return omp_get_team_size(static_cast<int>(*level)); }
