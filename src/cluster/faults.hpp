// Accesses to pages that are not here, or not writable yet: the handler of SIGSEGV. Those to memory that is nobody's go to the program's
// own handler, or end it where they happened.
#pragma once

#include <csignal>

namespace plait::cluster {

void catch_faults();
/// As sigaction, of SIGSEGV.
int action_on_faults(const struct sigaction* wanted, struct sigaction* before) noexcept;

}  // namespace plait::cluster
