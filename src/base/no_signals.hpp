// Signals are for the program's threads: a thread that is made while one of these lives takes none, as it inherits the mask.
#pragma once

#include <csignal>

namespace plait {

class NoSignals {
 public:
  NoSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace plait
