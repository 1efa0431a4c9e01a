#include "cluster/report.hpp"

#include <cstdio>

#include "base/settings.hpp"
#include "cluster/engine.hpp"
#include "cluster/job.hpp"

namespace plait::cluster {

void report() {
  if (!settings::flag(settings::Id::report)) return;
  const auto count = [](Event event) { return static_cast<unsigned long long>(count_of(event)); };
  std::fprintf(
      stderr,
      "plait: process %d: %llu read faults, %llu write faults, %llu copies of pages, %llu notices, %llu changes made, %llu asked for, "
      "%llu sent along with barriers, %llu pages given up, %llu atomic operations on memory of others\n",
      the_job.process, count(Event::read_fault), count(Event::write_fault), count(Event::twin), count(Event::notice), count(Event::diff),
      count(Event::ask), count(Event::push), count(Event::repossess), count(Event::operate));
}

}  // namespace plait::cluster
