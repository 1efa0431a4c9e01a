// plait-settings: libplait's table of environment variables with the values that they have here, for `plait info --settings`. A line
// for each: name, who reads it, what it may be, what holds where it is not set, its meaning, whether it is set, its value, with tabs
// between. Then a line "problem" for each that is wrong or unknown.
#include "base/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

/// Tabs and ends of lines would break the table.
std::string on_one_line(const char* value) {
  std::string text = value;
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

int main() {
  namespace settings = plait::settings;
  for (const settings::Setting& s : settings::table()) {
    const char* const value = std::getenv(s.name);
    std::printf("%s\t%s\t%s\t%s\t%s\t%d\t%s\n", s.name, settings::name_of(s.reader), settings::expected(s).c_str(), s.initially, s.meaning,
                value != nullptr, value ? on_one_line(value).c_str() : "");
  }
  for (const std::string& line : settings::problems()) std::printf("problem\t%s\n", on_one_line(line.c_str()).c_str());
  return 0;
}
