// The messages of locks (engine.hpp).
#pragma once

namespace plait::cluster {

void start_locks();

}  // namespace plait::cluster
