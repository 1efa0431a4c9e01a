// How a job ends. The program's exit(), in whatever process and thread, ends all processes with its status, after the destructors of the
// program have run once, on process 0; quick_exit() likewise, after what at_quick_exit has; _exit() and _Exit() at once.
#pragma once

namespace plait::cluster {

/// Before the program's constructors: what quick_exit() does last.
void note_quick_exit();
/// Sets the handler of its messages, and what exit() does.
void start_exit();
/// This is one, and not a child that one has made.
bool is_process_of_job() noexcept;
/// The MPI ends the process now: exit(), which some call for it, is the system's again.
void end_without_exit() noexcept;
/// This process has served all regions.
extern bool served;

}  // namespace plait::cluster
