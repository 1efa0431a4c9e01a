#include "options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "error.hpp"

namespace plait::bench {

struct CommandLine::Parser {
  Parser(const std::string& what, const std::string& program) : app(what, program) {}

  CLI::App app;

  template <class T>
  CLI::Option* number(const std::string& names, T& value, const std::string& what, T least, T most) {
    return app.add_option(names, value, what)->check(CLI::Range(least, most));
  }
};

CommandLine::CommandLine(const std::string& what, const std::string& program) : parser_(std::make_unique<Parser>(what, program)) {}
CommandLine::~CommandLine() = default;

void CommandLine::number(const std::string& names, int& value, const std::string& what, int least, int most) {
  parser_->number(names, value, what, least, most)->capture_default_str();
}

void CommandLine::number(const std::string& names, double& value, const std::string& what, double least, double most) {
  parser_->number(names, value, what, least, most)->capture_default_str();
}

void CommandLine::optional_number(const std::string& names, int& value, const std::string& what, int least, int most) {
  parser_->number(names, value, what, least, most);
}

void CommandLine::text(const std::string& names, std::string& value, const std::string& what) {
  parser_->app.add_option(names, value, what);
}

void CommandLine::texts(const std::string& names, std::vector<std::string>& values, const std::string& what) {
  parser_->app.add_option(names, values, what)->allow_extra_args(false);
}

void CommandLine::sizes(const std::string& names, std::vector<std::size_t>& values, const std::string& what) {
  parser_->app.add_option(names, values, what)
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 30))
      ->capture_default_str();
}

void CommandLine::flag(const std::string& names, bool& value, const std::string& what) { parser_->app.add_flag(names, value, what); }

bool CommandLine::parse(int argc, char** argv, bool prints) {
  try {
    parser_->app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw UsageError(e.what());
    if (prints) parser_->app.exit(e);
    return false;
  }
}

std::string CommandLine::program() const { return parser_->app.get_name(); }

void Options::describe_sizes(CommandLine& line, const std::string& what) { line.sizes("--sizes", sizes, what); }

void Options::describe(CommandLine& line) {
  line.text("-o,--out", out, "Write the figures there as JSON");
  line.number("--rounds", rounds, "Measure every side so many times, in turn", 1, 100000);
  line.number("--time", time, "Seconds that one measurement takes", 1e-6, 60.0);
  line.texts("--only", only, "Measure only sides whose names contain this; may be repeated");
}

void Options::check_sizes() const {
  for (const std::size_t n : sizes) {
    if (n == 0 || n % 8 != 0) throw Error(fmt::format("--sizes: {} is no multiple of 8", n));
  }
}

bool Options::wants(const std::string& side) const {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const auto& o) { return side.find(o) != std::string::npos; });
}

}  // namespace plait::bench
