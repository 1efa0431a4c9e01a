// Atomic operations on the memory of other processes.
#pragma once

namespace plait::cluster {

/// Sets the handlers of its messages.
void start_atomics();

}  // namespace plait::cluster
