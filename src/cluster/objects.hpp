// What the loaded program and its libraries tell of how they were compiled and linked.
#pragma once

#include <link.h>

#include <cstdint>

namespace plait::cluster {

/// Types of the note that an object may have: mark.s, start_object.c.
enum Mark : std::uint32_t { compiled = 1, started = 2 };
bool has_mark(const dl_phdr_info& object, Mark mark);

/// Ends the process unless the program has the start object that `plait cc --cluster` links: main would run in every process.
void check_program();
/// Ends the job if a library has parallel regions and was not compiled with --cluster.
void check_libraries();

}  // namespace plait::cluster
