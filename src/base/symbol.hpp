// What a code address is called, for messages.
#pragma once

#include <string>

namespace plait {

/// "function (file)" where the address begins a function with a dynamic symbol, else "file+0xoffset" as addr2line takes
/// it. Any thread.
[[nodiscard]] std::string symbol_of(const void* address);

}  // namespace plait
