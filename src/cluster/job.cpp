#include "cluster/job.hpp"

namespace plait::cluster {

Job the_job;

const Job& job() noexcept { return the_job; }

}  // namespace plait::cluster
