// The smallest run time on top of the memory engine (src/cluster/engine.hpp), to test it without OpenMP: one thread a process.
#pragma once

#include "cluster/engine.hpp"

namespace spmd {

using Body = void (*)(int process, void* data);

/// Process 0: all processes run `body`, and meet at its end.
void parallel(Body body, void* data);

}  // namespace spmd
