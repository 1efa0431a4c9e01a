// What an application says of a deck or of its command line.
#pragma once

#include <stdexcept>

namespace plait::deck {

/// Something the user can put right. what() is one line that says what is wrong and what would be right.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace plait::deck
