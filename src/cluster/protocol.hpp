// The parts of the consistency protocol that wait for other processes: faults, barriers, forks.
#pragma once

#include "cluster/pages.hpp"

namespace plait::cluster {

/// Sets the handlers of its messages.
void start_protocol();
/// Makes the page present, and writable where `write`. False if it is none that the program may use. Any thread, also in a signal handler.
bool access(PageId id, bool write);
/// Brings all copies that are here up to date.
void fetch_copies();
/// For handlers, which must not wait. True if the page has all changes that this process has notice of, and so have those that cannot wait
/// for a fault. If not, they are asked for, and `when_pages_come` is called when some are there, and when
/// notices of a barrier or a fork were heeded.
bool is_current(Page& page);
extern void (*when_pages_come)();
/// Barriers and forks whose notices were heeded here; all processes come to the same ones.
extern std::uint32_t meetings;
/// Process 0, after notices were heeded: the pages that cannot wait for a fault.
void fetch_watched();
/// Process 0: the others' await_fork returns false.
void tell_the_end();
/// All processes meet, without any meaning for memory.
void meet();

}  // namespace plait::cluster
