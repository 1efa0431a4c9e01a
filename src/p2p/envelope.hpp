// To whom a message goes or from whom it comes, in which mode, and which call of the program's it is.
#pragma once

#include <cstdint>

namespace plait::p2p {

enum class Mode : std::uint8_t { standard, ready, synchronous, buffered };

/// Where a call was made, for the watchdog.
struct Call {
  const char* name;
  const void* caller;
};

/// To or from whom: a rank (or MPI_PROC_NULL, for a receive MPI_ANY_SOURCE) and which of its streams (-1: any).
struct Envelope {
  int rank;
  int tag;
  int stream;
};

/// The streams that ordinary calls use on a communicator with several.
inline constexpr int kAnyStream = -1;

}  // namespace plait::p2p
