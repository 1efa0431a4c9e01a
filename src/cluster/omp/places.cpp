#include "cluster/omp/places.hpp"

#include <sched.h>

#include <vector>

#include "cluster/engine.hpp"

extern "C" {
int omp_get_num_places();
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* ids);
int omp_get_place_num();
int omp_get_proc_bind();
}

namespace plait::cluster {
namespace {

// Of omp_proc_bind_t.
constexpr int kFalse = 0;
constexpr int kPrimary = 2;
constexpr int kSpread = 4;

void add(int place, cpu_set_t& cpus) {
  std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
  omp_get_place_proc_ids(place, ids.data());
  for (const int id : ids) CPU_SET(static_cast<std::size_t>(id), &cpus);
}

void run_on(const cpu_set_t& cpus) noexcept {
  // Where the system refuses, threads stay where they are.
  if (CPU_COUNT(&cpus) > 0) sched_setaffinity(0, sizeof cpus, &cpus);
}

int place_of(int local, int threads, int places) noexcept {
  const int bind = omp_get_proc_bind();
  if (bind == kPrimary) return 0;
  if (bind == kSpread || threads > places) return static_cast<int>(static_cast<long>(local) * places / threads) % places;
  return local;
}

}  // namespace

void leave_places() noexcept {
  if (omp_get_proc_bind() == kFalse) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int place = 0; place < omp_get_num_places(); ++place) add(place, all);
  run_on(all);
}

}  // namespace plait::cluster

namespace plait::cluster::omp {

void take_place(int local, int threads) noexcept {
  const int places = omp_get_num_places();
  if (places == 0 || omp_get_proc_bind() == kFalse) return;
  // libgomp binds a thread of others to the first place when it first begins a team; now it has.
  omp_get_place_num();
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  add(place_of(local, threads, places), cpus);
  run_on(cpus);
}

}  // namespace plait::cluster::omp
