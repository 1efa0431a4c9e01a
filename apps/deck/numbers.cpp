#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "error.hpp"

namespace plait::deck {

std::optional<long> whole_number(std::string_view text, long most) {
  long n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > most) return std::nullopt;
  return n;
}

std::vector<int> numbers_by(const std::string& option, const std::string& text, int most, const std::string& example) {
  const auto count = std::count(example.begin(), example.end(), 'x') + 1;
  std::vector<int> numbers;
  std::size_t at = 0;
  for (std::ptrdiff_t d = 0; d < count; ++d) {
    const std::size_t end = d < count - 1 ? text.find('x', at) : text.size();
    const auto n = end == std::string::npos ? std::nullopt : whole_number(std::string_view(text).substr(at, end - at), most);
    if (!n) {
      throw Error(fmt::format("{} {}: must be {} whole numbers of at least 1 and at most {}, like {}", option, text,
                              count == 2 ? "two" : "three", most, example));
    }
    numbers.push_back(static_cast<int>(*n));
    at = end + 1;
  }
  return numbers;
}

}  // namespace plait::deck
