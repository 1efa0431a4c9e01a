// The parts of the consistency protocol that wait for other processes: faults, barriers, forks.
#pragma once

#include "cluster/space.hpp"

namespace plait::cluster {

/// Sets the handlers of its messages.
void start_protocol();
/// Makes the page present, and writable where `write`. False if it is none that the program may use. Any thread, also in a signal handler.
bool access(PageId id, bool write);
/// Process 0, after notices were heeded: the pages that cannot wait for a fault.
void fetch_watched();
/// Process 0: the others' await_fork returns false.
void tell_the_end();
/// All processes meet, without any meaning for memory.
void meet();

}  // namespace plait::cluster
