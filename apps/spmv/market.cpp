// Matrix Market files (Boisvert, Pozo, Remington: The Matrix Market exchange formats, NISTIR 5935, 1996), in coordinate format.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

#include "deck/files.hpp"
#include "error.hpp"
#include "rows.hpp"
#include "work.hpp"

namespace plait::spmv {
namespace {

enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew };

struct Entry {
  long row = 0, column = 0;
  double value = 1;
};

/// The words of a line.
std::vector<std::string_view> words_of(std::string_view line) {
  static constexpr std::string_view kBlank = " \t\r\v\f";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos; at = line.find_first_not_of(kBlank, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

template <class Number>
bool parse(std::string_view word, Number& number) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);  // from_chars knows none
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    errno = 0;
    in_.open(path, std::ios::binary);
    line_.resize(sizeof kBanner - 1);
    in_.read(line_.data(), static_cast<std::streamsize>(line_.size()));
    if (!in_.is_open() || in_.bad())
      throw Error(fmt::format("matrix {} cannot be read: {}", path, errno ? std::strerror(errno) : "not a file"));
    if (!same(line_, kBanner)) throw Error(fmt::format("{} is not a Matrix Market file: such begins with {}", path, kBanner));
  }

  Market read() {
    read_banner();
    read_size();
    std::vector<Entry> entries = read_entries();
    return arrange(entries);
  }

 private:
  static constexpr char kBanner[] = "%%MatrixMarket";

  static bool same(std::string_view word, std::string_view lower) {
    return std::equal(word.begin(), word.end(), lower.begin(), lower.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(fmt::format("{}:{}: {}", path_, number_, what)); }

  /// As much of a text as a message may have.
  static std::string shown(std::string_view text) {
    constexpr std::size_t kMost = 60;
    return text.size() > kMost ? fmt::format("{}...", text.substr(0, kMost)) : std::string(text);
  }
  [[nodiscard]] std::string shown_line() const {
    std::string_view line = line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return fmt::format("'{}'", shown(line));
  }

  bool next_line() {
    ++number_;
    return static_cast<bool>(std::getline(in_, line_));
  }
  /// The next line that is neither blank nor a comment.
  bool next_words(std::vector<std::string_view>& words) {
    while (next_line()) {
      if (line_.starts_with('%')) continue;
      words = words_of(line_);
      if (!words.empty()) return true;
    }
    if (in_.bad()) throw Error(fmt::format("matrix {} cannot be read: {}", path_, std::strerror(errno)));
    return false;
  }

  void read_banner() {
    // What begins the line has been read.
    std::string rest;
    ++number_;
    std::getline(in_, rest);
    line_ += rest;
    const auto words = words_of(line_);
    if (words.size() != 5 || !same(words[0], kBanner) || !same(words[1], "matrix"))
      fail(fmt::format("{} must be followed by: matrix coordinate real general, or the like", kBanner));
    if (!same(words[2], "coordinate")) fail(fmt::format("the format is {}; it must be coordinate", shown(words[2])));
    if (same(words[3], "real")) {
      field_ = Field::real;
    } else if (same(words[3], "integer")) {
      field_ = Field::integer;
    } else if (same(words[3], "pattern")) {
      field_ = Field::pattern;
    } else {
      fail(fmt::format("the values are {}; they must be real, integer or pattern", shown(words[3])));
    }
    if (same(words[4], "general")) {
      symmetry_ = Symmetry::general;
    } else if (same(words[4], "symmetric")) {
      symmetry_ = Symmetry::symmetric;
    } else if (same(words[4], "skew-symmetric")) {
      symmetry_ = Symmetry::skew;
    } else {
      fail(fmt::format("the matrix is {}; it must be general, symmetric or skew-symmetric", shown(words[4])));
    }
  }

  void read_size() {
    std::vector<std::string_view> words;
    if (!next_words(words)) throw Error(fmt::format("{} ends before its size line: rows, columns, entries", path_));
    long columns = 0;
    if (words.size() != 3 || !parse(words[0], rows_) || !parse(words[1], columns) || !parse(words[2], entries_) || rows_ < 1 ||
        columns < 1 || entries_ < 0) {
      fail(fmt::format("{} must be three whole numbers: rows, columns, entries", shown_line()));
    }
    if (rows_ != columns) fail(fmt::format("the matrix has {} rows and {} columns; it must be square", rows_, columns));
    const double bytes = 3.0 * sizeof(double) * static_cast<double>(rows_), memory = deck::memory_of_machine();
    if (bytes > memory) {
      fail(fmt::format("{} rows take {:.1f} GB at least, and there are {:.1f} GB of memory", rows_, bytes / 1e9, memory / 1e9));
    }
  }

  std::vector<Entry> read_entries() {
    const long size_line = number_;
    std::vector<Entry> entries;
    std::vector<std::string_view> words;
    long found = 0;
    for (; next_words(words); ++found) {
      if (found == entries_) fail(fmt::format("here is one more than the {} entries that line {} tells of", entries_, size_line));
      const Entry entry = parse_entry(words);
      entries.push_back(entry);
      if (symmetry_ == Symmetry::general || entry.row == entry.column) continue;
      entries.push_back({entry.column, entry.row, symmetry_ == Symmetry::skew ? -entry.value : entry.value});
    }
    if (found < entries_)
      throw Error(fmt::format("{} ends after {} of the {} entries that line {} tells of", path_, found, entries_, size_line));
    return entries;
  }

  [[nodiscard]] Entry parse_entry(const std::vector<std::string_view>& words) const {
    const std::size_t expected = field_ == Field::pattern ? 2 : 3;
    Entry entry;
    if (words.size() != expected || !parse(words[0], entry.row) || !parse(words[1], entry.column)) {
      fail(fmt::format("{} must be {}", shown_line(), expected == 2 ? "a row and a column" : "a row, a column and a value"));
    }
    if (field_ == Field::real && (!parse(words[2], entry.value) || !std::isfinite(entry.value))) {
      fail(fmt::format("the value in {} is no number that a double holds", shown_line()));
    }
    if (long whole = 0; field_ == Field::integer) {
      if (!parse(words[2], whole)) fail(fmt::format("the value in {} is no whole number", shown_line()));
      entry.value = static_cast<double>(whole);
    }
    if (entry.row < 1 || entry.row > rows_) fail(fmt::format("row {} is not one of 1 to {}", entry.row, rows_));
    if (entry.column < 1 || entry.column > rows_) fail(fmt::format("column {} is not one of 1 to {}", entry.column, rows_));
    if (symmetry_ != Symmetry::general && entry.row < entry.column) {
      fail(fmt::format("row {}, column {} is above the diagonal; of a symmetric matrix the file has the lower half", entry.row,
                       entry.column));
    }
    if (symmetry_ == Symmetry::skew && entry.row == entry.column) fail("a skew-symmetric matrix has nothing on its diagonal");
    --entry.row;
    --entry.column;
    return entry;
  }

  /// By rows, and in these by columns. What is there twice stays so, in the order of the file.
  [[nodiscard]] Market arrange(std::vector<Entry>& entries) const {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.row != b.row ? a.row < b.row : a.column < b.column; });
    Market market;
    const auto n = static_cast<std::size_t>(rows_);
    market.rows = rows_;
    market.start.assign(n + 1, 0);
    market.column_sum.assign(n, 0);
    market.column_size.assign(n, 0);
    market.column.reserve(entries.size());
    market.value.reserve(entries.size());
    for (const Entry& e : entries) {
      ++market.start[e.row + 1];
      market.column.push_back(e.column);
      market.value.push_back(e.value);
      market.column_sum[e.column] += e.value;
      market.column_size[e.column] += std::abs(e.value);
    }
    for (std::size_t r = 0; r < n; ++r) market.start[r + 1] += market.start[r];
    return market;
  }

  std::string path_, line_;
  std::ifstream in_;
  long number_ = 0;  // of the line, from 1 on
  Field field_ = Field::real;
  Symmetry symmetry_ = Symmetry::general;
  long rows_ = 0, entries_ = 0;
};

/// Hands parts of process 0's array to all. A message has fewer numbers than MPI's counts can tell.
template <class T>
std::vector<T> deal(const std::vector<T>& all, const std::vector<long>& cuts, MPI_Datatype type, MPI_Comm comm) {
  constexpr long kMost = 1L << 30;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) {
    for (int p = 1; p < static_cast<int>(cuts.size()) - 1; ++p) {
      for (long at = cuts[p]; at < cuts[p + 1]; at += kMost) {
        MPI_Send(all.data() + at, static_cast<int>(std::min(kMost, cuts[p + 1] - at)), type, p, 0, comm);
      }
    }
    return {all.begin(), all.begin() + cuts[1]};
  }
  std::vector<T> mine(static_cast<std::size_t>(cuts[rank + 1] - cuts[rank]));
  const auto count = static_cast<long>(mine.size());
  for (long at = 0; at < count; at += kMost) {
    MPI_Recv(mine.data() + at, static_cast<int>(std::min(kMost, count - at)), type, 0, 0, comm, MPI_STATUS_IGNORE);
  }
  return mine;
}

}  // namespace

Market read_market(const std::string& path) { return Reader(path).read(); }

std::vector<long> cut_rows(const std::vector<long>& start, int processes) {
  const Work work(start);
  const long rows = work.rows();
  if (processes > rows)
    throw Error(fmt::format("{} processes are too many for a matrix of {} rows: take at most {}", processes, rows, rows));
  std::vector<long> cuts{0};
  for (int p = 1; p <= processes; ++p) {
    const long at = work.rows_before(work.total() / processes * p + work.total() % processes * p / processes);
    cuts.push_back(std::clamp(at, cuts.back() + 1, rows - (processes - p)));
  }
  return cuts;
}

Rows market_rows(const std::string& path, MPI_Comm comm) {
  int rank = 0, processes = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &processes);
  Market market;
  std::vector<long> cuts(static_cast<std::size_t>(processes) + 1), entries = cuts;
  collectively(comm, [&] {
    if (rank != 0) return;
    market = read_market(path);
    cuts = cut_rows(market.start, processes);
    for (std::size_t p = 0; p < cuts.size(); ++p) entries[p] = market.start[cuts[p]];
  });
  MPI_Bcast(cuts.data(), processes + 1, MPI_LONG, 0, comm);
  MPI_Bcast(entries.data(), processes + 1, MPI_LONG, 0, comm);
  Rows rows;
  rows.first = cuts[rank];
  rows.all = cuts[processes];
  // The end of a process's last row is the start of the next one's first.
  rows.start = deal(market.start, cuts, MPI_LONG, comm);
  for (long& at : rows.start) at -= entries[rank];
  rows.start.push_back(entries[rank + 1] - entries[rank]);
  rows.column = deal(market.column, entries, MPI_LONG, comm);
  rows.value = deal(market.value, entries, MPI_DOUBLE, comm);
  rows.column_sum = deal(market.column_sum, cuts, MPI_DOUBLE, comm);
  rows.column_size = deal(market.column_size, cuts, MPI_DOUBLE, comm);
  return rows;
}

}  // namespace plait::spmv
