// Children that the program makes by fork(). A child gets a copy of the shared memory that is here, and is no part of the job.
//
// It shares the file with its parent, main's stack among it, and both come back from fork() on that: so the used part of the stack is made
// private before, and shared again in the parent after. The child copies the rest, before any code of the program's runs in it, and the
// parent waits for that. What other processes have changed is fetched before, where there is a copy here; a page without one is missed in
// the child, where nobody can be asked: that ends it, with a message.
#pragma once

#include "cluster/space.hpp"

namespace plait::cluster {

/// Before the program's constructors: at each fork() of whatever library's.
void lead_children();
/// This is a child, of process 0 or of any other.
enum class Child : char { none, of_first, of_other };
Child is_child() noexcept;
/// Of a page that is protected in a child. False if it is none that the program may use.
bool access_in_child(PageId id);

}  // namespace plait::cluster
