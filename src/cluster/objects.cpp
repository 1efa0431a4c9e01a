#include "cluster/objects.hpp"

#include <elf.h>

#include <cstring>
#include <string_view>

#include "base/fatal.hpp"

namespace plait::cluster {
namespace {

constexpr std::string_view kOwner{"Plait cluster\0", 14};  // with its zero

}  // namespace

bool has_mark(const dl_phdr_info& object, Mark mark) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = object.dlpi_phdr[i];
    if (header.p_type != PT_NOTE || header.p_align > 4) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const char* at = reinterpret_cast<const char*>(object.dlpi_addr + header.p_vaddr);
    for (const char* const end = at + header.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      at += sizeof note;
      if (note.n_type == mark && std::string_view(at, note.n_namesz) == kOwner) return true;
      at += (note.n_namesz + 3) / 4 * 4 + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return false;
}

namespace {

/// The first of libgomp's functions that the object wants; null where it wants none.
const char* wants_libgomp(const dl_phdr_info& object) {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  std::size_t count = 0;  // of symbols that are not defined here, and may be more
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  }
  for (; entry && entry->d_tag != DT_NULL; ++entry) {
    // The loader has made addresses of these, but for the kernel's own object.
    if (entry->d_un.d_ptr < object.dlpi_addr) continue;
    // NOLINTBEGIN(performance-no-int-to-ptr)
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    // The second word: the first symbol that is hashed, which is the first that is defined; in the old table: how many there are.
    if (entry->d_tag == DT_GNU_HASH || (entry->d_tag == DT_HASH && count == 0))
      count = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr)[1];
    // NOLINTEND(performance-no-int-to-ptr)
  }
  if (!symbols || !names) return nullptr;
  for (std::size_t i = 1; i < count; ++i) {
    const char* const name = names + symbols[i].st_name;
    if (symbols[i].st_shndx == SHN_UNDEF && std::strncmp(name, "GOMP_", 5) == 0) return name;
  }
  return nullptr;
}

int check_program_itself(dl_phdr_info* object, std::size_t, void*) {
  if (!has_mark(*object, started)) {
    fatal("OpenMP over several nodes: the program has libplait_cluster, but was not linked by plait cc --cluster (or c++, fc)");
  }
  return 1;  // the first object is the program
}

int check_library(dl_phdr_info* object, std::size_t, void*) {
  // The program's own code was looked at when it was linked; libplait_cluster is the only library that has what it asks libgomp for.
  const std::string_view name = object->dlpi_name;
  if (name.empty() || name.find("/libplait") != name.npos || name.find("/libgomp.so") != name.npos || has_mark(*object, compiled)) return 0;
  if (const char* const called = wants_libgomp(*object)) {
    fatal(
        "OpenMP over several nodes: %s uses OpenMP (%s) and was not compiled with --cluster: its atomics are the processor's instructions, "
        "which reach no other node's memory. Compile it with plait cc --cluster, or run the program on one process",
        object->dlpi_name, called);
  }
  return 0;
}

}  // namespace

void check_program() { dl_iterate_phdr(check_program_itself, nullptr); }
void check_libraries() { dl_iterate_phdr(check_library, nullptr); }

}  // namespace plait::cluster
