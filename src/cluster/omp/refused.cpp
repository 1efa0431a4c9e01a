// What is not carried over several processes yet: a shared team that calls one of these ends the job with a message that names it. Outside
// of shared teams they are libgomp's.
#include "cluster/omp/team.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;
using plait::fatal;

namespace {

[[noreturn]] void refuse(const char* name) {
  fatal(
      "OpenMP over several nodes: %s is not carried in a region of all processes yet; run the program on one process, or do without it "
      "there",
      name);
}

}  // namespace

namespace {
using Word = long;
using Any = Word(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
}  // namespace

// All of their arguments are integers and pointers, at most these many: what a call has not given is passed on as it lies there, and
// unused.
#define PLAIT_REFUSED(name)                                                                                                             \
  PLAIT_OMP Word name(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l, Word m, Word n) { \
    if (member()) refuse(#name);                                                                                                        \
    static constinit Next<Any> real(#name);                                                                                             \
    return real(a, b, c, d, e, f, g, h, i, j, k, l, m, n);                                                                              \
  }
PLAIT_REFUSED(GOMP_target)
PLAIT_REFUSED(GOMP_target_ext)
PLAIT_REFUSED(GOMP_teams)
PLAIT_REFUSED(GOMP_teams4)
// gcc 4.8 and before called these.
PLAIT_REFUSED(GOMP_parallel_start)
PLAIT_REFUSED(GOMP_parallel_loop_static_start)
PLAIT_REFUSED(GOMP_parallel_loop_dynamic_start)
PLAIT_REFUSED(GOMP_parallel_loop_guided_start)
PLAIT_REFUSED(GOMP_parallel_loop_runtime_start)
PLAIT_REFUSED(GOMP_parallel_sections_start)
