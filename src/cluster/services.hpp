// The carrier's side of ask and tell (engine.hpp).
#pragma once

namespace plait::cluster {

void start_services();

}  // namespace plait::cluster
