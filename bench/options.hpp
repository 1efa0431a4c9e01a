// The command line of a benchmark. What parses it is a header of many thousand lines, which options.cpp alone includes.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace plait::bench {

/// Words that the benchmark does not take.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Options and where their values go: the values that stand there when an option is added are its defaults, and --help tells them.
class CommandLine {
 public:
  CommandLine(const std::string& what, const std::string& program);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  void number(const std::string& names, int& value, const std::string& what, int least, int most);
  void number(const std::string& names, double& value, const std::string& what, double least, double most);
  /// One whose default is not a number to tell: 0 means that it was not given.
  void optional_number(const std::string& names, int& value, const std::string& what, int least, int most);
  void text(const std::string& names, std::string& value, const std::string& what);
  /// One that may be repeated.
  void texts(const std::string& names, std::vector<std::string>& values, const std::string& what);
  void sizes(const std::string& names, std::vector<std::size_t>& values, const std::string& what);
  void flag(const std::string& names, bool& value, const std::string& what);

  /// Fills in the values. False where the words asked for help, which is printed if `prints`. Throws UsageError.
  [[nodiscard]] bool parse(int argc, char** argv, bool prints);

  [[nodiscard]] std::string program() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// What every benchmark takes from its command line.
struct Options {
  std::string out;
  int rounds = 7;
  double time = 0;  ///< seconds each measurement of a side takes
  std::vector<std::string> only;
  std::vector<std::size_t> sizes;

  void describe_sizes(CommandLine& line, const std::string& what);
  void describe(CommandLine& line);

  /// Of messages that consist of numbers: throws Error.
  void check_sizes() const;

  [[nodiscard]] bool wants(const std::string& side) const;
};

}  // namespace plait::bench
