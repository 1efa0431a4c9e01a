#include "files.hpp"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "error.hpp"

namespace plait::deck {

std::string read_text(const std::string& path, std::size_t most, const std::string& needs) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text(most + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) throw Error(fmt::format("deck {} cannot be read: {}", path, errno ? std::strerror(errno) : "not a file"));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.empty()) throw Error(fmt::format("deck {} is empty; it needs {}", path, needs));
  if (text.size() > most) throw Error(fmt::format("deck {} is longer than {} bytes: is it a deck?", path, most));
  return text;
}

void require_file_name(const std::string& path) {
  const std::filesystem::path file(path);
  std::error_code error;
  if (file.has_filename() && !std::filesystem::is_directory(file, error)) return;
  throw Error(fmt::format("--json {} names a folder; name a file in it, like {}", path, (file / "results.json").string()));
}

void require_writable(const std::string& path) {
  if (path.empty()) return;
  require_file_name(path);
  const std::filesystem::path file(path);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (access(folder.c_str(), W_OK) != 0) throw Error(fmt::format("results cannot be written to {}: {}", path, std::strerror(errno)));
}

void write_results(const std::string& text, const std::string& path) {
  const std::string partial = fmt::format("{}.{}.partial", path, getpid());
  std::ofstream out(partial);
  out << text << '\n';
  out.close();
  if (out && std::rename(partial.c_str(), path.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  std::remove(partial.c_str());
  throw Error(fmt::format("results cannot be written to {}: {}", path, why));
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return text;
}

double memory_of_machine() {
  struct sysinfo info{};
  if (sysinfo(&info) != 0) return std::numeric_limits<double>::infinity();
  return (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) * info.mem_unit;
}

}  // namespace plait::deck
