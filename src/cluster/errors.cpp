// err(), error() and their kin: libc ends the process there by an exit() of its own, which the library does not stand before.
#include <err.h>
#include <error.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cluster/next.hpp"

#define PLAIT_EXPORT extern "C" [[gnu::visibility("default")]] void

namespace {

struct Free {
  void operator()(char* text) const noexcept { std::free(text); }
};
using Text = std::unique_ptr<char, Free>;

[[gnu::format(printf, 1, 0)]] Text text_of(const char* format, std::va_list arguments) {
  char* text = nullptr;
  return Text(vasprintf(&text, format, arguments) < 0 ? nullptr : text);
}

}  // namespace

PLAIT_EXPORT verr(int status, const char* format, std::va_list arguments) {
  vwarn(format, arguments);
  std::exit(status);
}
PLAIT_EXPORT verrx(int status, const char* format, std::va_list arguments) {
  vwarnx(format, arguments);
  std::exit(status);
}
PLAIT_EXPORT err(int status, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  verr(status, format, arguments);
}
PLAIT_EXPORT errx(int status, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  verrx(status, format, arguments);
}

// With status 0 these only say something.
PLAIT_EXPORT error(int status, int number, const char* format, ...) {
  static constinit plait::cluster::Next<void(int, int, const char*, ...)> real("error");
  std::va_list arguments;
  va_start(arguments, format);
  real(0, number, "%s", text_of(format, arguments).get());
  va_end(arguments);
  if (status != 0) std::exit(status);
}
PLAIT_EXPORT error_at_line(int status, int number, const char* file, unsigned line, const char* format, ...) {
  static constinit plait::cluster::Next<void(int, int, const char*, unsigned, const char*, ...)> real("error_at_line");
  std::va_list arguments;
  va_start(arguments, format);
  real(0, number, file, line, "%s", text_of(format, arguments).get());
  va_end(arguments);
  if (status != 0) std::exit(status);
}
