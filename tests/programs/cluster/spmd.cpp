#include "spmd.hpp"

#include <array>
#include <cstring>

namespace {

struct Region {
  spmd::Body body;
  void* data;
};
bool in_region = false;

}  // namespace

[[gnu::visibility("default")]] void spmd::parallel(Body body, void* data) {
  const Region region{body, data};
  plait::cluster::fork(std::as_bytes(std::span(&region, 1)));
  in_region = true;
  body(plait::cluster::job().process, data);
  plait::cluster::barrier();
  in_region = false;
}

namespace plait::cluster {

void leave_places() noexcept {}
void prepare(Job& job) { job.threads = 1; }

int run_worker() {
  Region region{};
  while (await_fork(std::as_writable_bytes(std::span(&region, 1)))) {
    region.body(job().process, region.data);
    barrier();
  }
  return 0;
}

bool in_serial_part() noexcept { return job().process == 0 && !in_region; }

}  // namespace plait::cluster
