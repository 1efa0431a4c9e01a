// The processes of the job; set when it starts and never after.
#pragma once

#include "cluster/engine.hpp"

namespace plait::cluster {

extern Job the_job;

}  // namespace plait::cluster
