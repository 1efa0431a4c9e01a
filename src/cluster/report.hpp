// PLAIT_REPORT: what has happened to pages.
#pragma once

namespace plait::cluster {

void report();

}  // namespace plait::cluster
