// Accesses to pages that are not here, or not writable yet: the handler of SIGSEGV. Those to memory that is nobody's go to the program's
// own handler, or end it where they happened.
#pragma once

namespace plait::cluster {

void catch_faults();

}  // namespace plait::cluster
