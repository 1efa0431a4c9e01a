// What the program wants to be done at its end: destructors of its static objects, and what it gave to atexit. Process 0 does it, while the
// job can still move pages; the other processes do not. What libraries want is left to the system.
#pragma once

namespace plait::cluster {

/// Last registered first, as exit() does.
void run_ends_of_program();

}  // namespace plait::cluster
