#pragma once

#include <stdexcept>

namespace plait::bench {

/// Why a benchmark cannot go on. Thrown by all processes alike; process 0 prints it in one line.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace plait::bench
