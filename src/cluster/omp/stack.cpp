#include "cluster/omp/stack.hpp"

#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/fatal.hpp"
#include "base/settings.hpp"

namespace plait::cluster::omp {
namespace {

void skip_blanks(std::string_view& text) noexcept {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
}

/// A size in bytes: a number, and B, K, M or G behind it; K where there is none. 0 where the text is none.
std::size_t stack_of(std::string_view text) noexcept {
  constexpr std::string_view kUnits = "bkmg";
  skip_blanks(text);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  skip_blanks(text);
  std::size_t unit = 1;
  if (!text.empty()) {
    unit = kUnits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(text.front()))));
    text.remove_prefix(1);
    skip_blanks(text);
  }
  if (unit == kUnits.npos || !text.empty() || number > SIZE_MAX >> 10 * unit) return 0;
  return number << 10 * unit;
}

}  // namespace

std::size_t stack_wanted() noexcept {
  using settings::Id;
  const std::size_t bytes = stack_of(settings::text(Id::openmp_stack));
  return bytes > 0 ? bytes : stack_of(settings::text(Id::libgomp_stack));
}

pthread_t start_thread(void* (*function)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // One below the system's least stays unheeded.
  if (const std::size_t bytes = stack_wanted(); bytes > 0) pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread{};
  if (const int error = pthread_create(&thread, &attributes, function, argument); error != 0) {
    fatal("OpenMP over several nodes: the system gives no thread for a region: %s", std::strerror(error));
  }
  pthread_attr_destroy(&attributes);
  return thread;
}

}  // namespace plait::cluster::omp
