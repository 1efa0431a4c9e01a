// Errors on their way to the exported functions, which hand them to the error handler that MPI names. No MPI here: codes are
// its error classes or codes, and 0 is its success, as the standard has it.
#pragma once

namespace plait {

/// Thrown anywhere below the exported functions.
struct MPIError {
  int code;
  bool reported;  ///< the MPI underneath has told the error handler already
};

/// For what a call of the MPI underneath returns.
inline void check(int code) {
  if (code != 0) throw MPIError{code, true};
}

/// For what plait has checked itself.
inline void require(bool holds, int error_class) {
  if (!holds) throw MPIError{error_class, false};
}

}  // namespace plait
