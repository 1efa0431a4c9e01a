// The calls of the MPI's that libplait has made in this process: a tool behind libplait counts them (leaders_calls.cpp).
#pragma once

#include <atomic>

[[gnu::visibility("default")]] extern std::atomic<int> native_calls;
