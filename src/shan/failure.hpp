// Why a call of shared notifications fails: one line, which the exported function says.
#pragma once

#include <stdexcept>
#include <string>

namespace plait::shan {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void expect(bool holds, const char* otherwise) {
  if (!holds) throw Failure(otherwise);
}

}  // namespace plait::shan
