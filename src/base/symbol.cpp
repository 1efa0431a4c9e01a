#include "base/symbol.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

namespace plait {

std::string symbol_of(const void* address) {
  Dl_info where{};
  if (!dladdr(address, &where) || !where.dli_fname) return "?";
  std::string file = where.dli_fname;
  file.erase(0, file.rfind('/') + 1);
  if (where.dli_sname && where.dli_saddr == address) return std::string(where.dli_sname) + " (" + file + ")";
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%jx",
                static_cast<std::uintmax_t>(static_cast<const char*>(address) - static_cast<const char*>(where.dli_fbase)));
  return file + offset;
}

}  // namespace plait
