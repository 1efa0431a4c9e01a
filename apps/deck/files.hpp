// The files of a run: the deck's text, and the results. And what of a run does not depend on what is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plait::deck {

/// The text of a file that may be a deck, of at most `most` bytes. `needs`: what a deck must have, for who gives an empty one. Throws
/// Error, as those below do.
[[nodiscard]] std::string read_text(const std::string& path, std::size_t most, const std::string& needs);
/// Results are written to a file, not to a folder: `path` is the option --json's.
void require_file_name(const std::string& path);
/// The same, and that its folder can be written to. No path, no complaint.
void require_writable(const std::string& path);
/// The file appears under its name when it is complete.
void write_results(const std::string& text, const std::string& path);

/// A text as one line that a terminal can show: what a user has given, in a name say, may hold anything.
[[nodiscard]] std::string one_line(std::string text);
/// Of this machine, in bytes.
[[nodiscard]] double memory_of_machine();

/// A bijection that spreads every bit over the word (the finalizer of SplitMix64).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ULL;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebULL;
  return v ^ (v >> 31);
}

}  // namespace plait::deck
