// What the loaded program and its libraries tell of how they were compiled and linked.
#pragma once

namespace plait::cluster {

/// Ends the process unless the program has the start object that `plait cc --cluster` links: main would run in every process.
void check_program();
/// Ends the job if a library has parallel regions and was not compiled with --cluster.
void check_libraries();

}  // namespace plait::cluster
