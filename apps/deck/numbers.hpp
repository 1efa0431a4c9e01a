// Numbers on a command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait::deck {

/// A whole number of at least 1 and at most `most`; nothing if the text is anything else.
[[nodiscard]] std::optional<long> whole_number(std::string_view text, long most);

/// As many whole numbers, of at least 1 and at most `most`, as `example` has, like "1x2x2". `option` is named in the message. Throws Error.
[[nodiscard]] std::vector<int> numbers_by(const std::string& option, const std::string& text, int most, const std::string& example);

}  // namespace plait::deck
