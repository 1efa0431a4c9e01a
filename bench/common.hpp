// What the benchmarks share: the job and its start, figures taken in turn, and their report. The parts that need large headers are
// compiled once, into the library bench_common.
//
// All functions are called by the main thread, and those that say collective by the main threads of all processes.
#pragma once

#include "job.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "program.hpp"
#include "results.hpp"
#include "timing.hpp"
