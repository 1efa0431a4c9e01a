// What a process has changed of a page, byte by byte: two that write neighbouring bytes do not undo each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait::cluster {

/// One bit for each word of 8 bytes that has changed (64 bytes); then one byte for each of these, with a bit for each byte that has; then
/// the words. Empty if nothing has changed.
std::vector<std::byte> encode_diff(const std::byte* page, const std::byte* twin);
/// The diff of an object within 8 aligned bytes of the page.
std::vector<std::byte> diff_of_object(std::size_t offset, std::size_t bytes, const std::byte* page);
void apply_diff(std::span<const std::byte> diff, std::byte* page) noexcept;
/// The same where a thread may write to other bytes of the page meanwhile.
void apply_diff_to_page_in_use(std::span<const std::byte> diff, std::byte* page) noexcept;
bool differs(const std::byte* page, const std::byte* twin) noexcept;

}  // namespace plait::cluster
