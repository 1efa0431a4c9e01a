#include "base/loaded_object.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace plait {
namespace {

#if defined(__x86_64__)
constexpr bool keeps(std::uint64_t kind) { return kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_GLOB_DAT || kind == R_X86_64_64; }
#elif defined(__aarch64__)
constexpr bool keeps(std::uint64_t kind) { return kind == R_AARCH64_JUMP_SLOT || kind == R_AARCH64_GLOB_DAT || kind == R_AARCH64_ABS64; }
#elif defined(__riscv) && __riscv_xlen == 64
constexpr bool keeps(std::uint64_t kind) { return kind == R_RISCV_JUMP_SLOT || kind == R_RISCV_64; }
#elif defined(__powerpc64__) && _CALL_ELF == 2
constexpr bool keeps(std::uint64_t kind) { return kind == R_PPC64_JMP_SLOT || kind == R_PPC64_GLOB_DAT || kind == R_PPC64_ADDR64; }
#else
#error "for this processor it is not known yet which entries of ELF's tables keep addresses of functions"
#endif

template <class T>
const T* at(std::uintptr_t address) noexcept {
  return reinterpret_cast<const T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Of DT_GNU_HASH: words of its head, Bloom filter of whole addresses, buckets, and a word for each symbol from kFirst on.
enum : std::uint8_t { kBuckets, kFirst, kFilters, kShift, kHead };
constexpr unsigned kWord = sizeof(ElfW(Addr)) * 8;

std::uintptr_t page_size() noexcept { return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)); }
std::uintptr_t down_to_page(std::uintptr_t address) noexcept { return address / page_size() * page_size(); }

std::uint32_t hash_of(std::string_view name) noexcept {
  std::uint32_t h = 5381;
  for (const char c : name) h = h * 33 + static_cast<unsigned char>(c);
  return h;
}

}  // namespace

std::vector<LoadedObject> LoadedObject::all() {
  std::vector<LoadedObject> found;
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    static_cast<std::vector<LoadedObject>*>(to)->push_back(LoadedObject(*info));
    return 0;
  };
  dl_iterate_phdr(add, &found);
  return found;
}

LoadedObject::LoadedObject(const dl_phdr_info& info) noexcept : base_(info.dlpi_addr), all_{~std::uintptr_t{0}, 0} {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = info.dlpi_phdr[i];
    const Range where{base_ + part.p_vaddr, base_ + part.p_vaddr + part.p_memsz};
    if (part.p_type == PT_LOAD) all_ = {std::min(all_.begin, where.begin), std::max(all_.end, where.end)};
    // A page that belongs to it in part stays writable.
    if (part.p_type == PT_GNU_RELRO) read_only_ = {{down_to_page(where.begin), down_to_page(where.end)}, PROT_READ};
    if (part.p_type == PT_DYNAMIC) dynamic = at<ElfW(Dyn)>(where.begin);
  }
  if (dynamic) read(dynamic);
  if (!symbols_ || !names_) uses_[0] = uses_[1] = {};
  count_symbols();
  symbol_pages_ = pages_of_symbols(info);
}

void LoadedObject::read(const ElfW(Dyn) * dynamic) noexcept {
  // Relocated by some systems, not by others.
  const auto where = [&](const ElfW(Dyn) & d) { return d.d_un.d_ptr < base_ ? base_ + d.d_un.d_ptr : d.d_un.d_ptr; };
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
    switch (d->d_tag) {
      case DT_SYMTAB:
        symbols_ = at<Symbol>(where(*d));
        break;
      case DT_STRTAB:
        names_ = at<char>(where(*d));
        break;
      case DT_GNU_HASH:
        gnu_hash_ = at<std::uint32_t>(where(*d));
        buckets_ = gnu_hash_ + kHead + gnu_hash_[kFilters] * (kWord / 32);
        chains_ = buckets_ + gnu_hash_[kBuckets];
        break;
      case DT_HASH:
        hash_ = at<std::uint32_t>(where(*d));
        break;
      case DT_JMPREL:
        uses_[0].first = at<Relocation>(where(*d));
        break;
      case DT_PLTRELSZ:
        uses_[0].count = d->d_un.d_val / sizeof(Relocation);
        break;
      case DT_RELA:
        uses_[1].first = at<Relocation>(where(*d));
        break;
      case DT_RELASZ:
        uses_[1].count = d->d_un.d_val / sizeof(Relocation);
        break;
      default:
        break;
    }
  }
  for (Table& uses : uses_) {
    if (!uses.first) uses.count = 0;
  }
}

/// How many there are no table says. The last one of the last chain is the last one of all.
void LoadedObject::count_symbols() noexcept {
  if (!symbols_ || !names_) return;
  if (!gnu_hash_) {
    count_ = hash_ ? hash_[1] : 0;
    return;
  }
  std::uint32_t last = *std::max_element(buckets_, chains_);
  const std::uint32_t first = gnu_hash_[kFirst];
  if (last < first) return;
  while (!(chains_[last - first] & 1)) ++last;
  count_ = last + 1;
}

LoadedObject::Pages LoadedObject::pages_of_symbols(const dl_phdr_info& info) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(symbols_);
  const auto last = reinterpret_cast<std::uintptr_t>(symbols_ + count_) - 1;
  for (int i = 0; count_ > 0 && i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || begin < base_ + part.p_vaddr || last >= base_ + part.p_vaddr + part.p_memsz) continue;
    if (part.p_flags & PF_W) return {};
    const int protection = (part.p_flags & PF_R ? PROT_READ : 0) | (part.p_flags & PF_X ? PROT_EXEC : 0);
    return {{down_to_page(begin), down_to_page(last) + page_size()}, protection};
  }
  return {};
}

bool LoadedObject::has(const void* address) const noexcept {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  return all_.begin <= a && a < all_.end;
}

bool LoadedObject::is_defined(const Symbol& s) noexcept {
  const unsigned binding = ELF64_ST_BIND(s.st_info);
  return s.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK);
}

bool LoadedObject::keeps_an_address(const Relocation& use) noexcept { return keeps(ELF64_R_TYPE(use.r_info)) && use.r_addend == 0; }

void* LoadedObject::find(std::string_view name) const noexcept {
  const auto is = [&](const Symbol& s) { return is_defined(s) && this->name(s) == name; };
  if (!gnu_hash_ || count_ == 0) {
    const Symbol* const found = std::find_if(symbols_, symbols_ + count_, is);
    return found == symbols_ + count_ ? nullptr : address(*found);
  }
  const std::uint32_t hash = hash_of(name);
  const auto* const filters = reinterpret_cast<const ElfW(Addr)*>(gnu_hash_ + kHead);
  const ElfW(Addr) filter = filters[hash / kWord % gnu_hash_[kFilters]];
  if (!(filter >> hash % kWord & filter >> (hash >> gnu_hash_[kShift]) % kWord & 1)) return nullptr;
  const std::uint32_t first = gnu_hash_[kFirst];
  for (std::uint32_t i = buckets_[hash % gnu_hash_[kBuckets]]; i >= first; ++i) {
    // The lowest bit of a word marks the end of its chain.
    if ((chains_[i - first] ^ hash) < 2 && is(symbols_[i])) return address(symbols_[i]);
    if (chains_[i - first] & 1) break;
  }
  return nullptr;
}

LoadedObject::Writable::Writable(const Pages& pages) noexcept
    : pages_(pages), is_(pages.begin == pages.end || protect(pages, pages.protection | PROT_WRITE)) {}

LoadedObject::Writable::~Writable() {
  if (is_ && pages_.begin != pages_.end) protect(pages_, pages_.protection);
}

bool LoadedObject::protect(const Pages& pages, int protection) noexcept {
  return mprotect(const_cast<char*>(at<char>(pages.begin)), pages.end - pages.begin, protection) == 0;
}

}  // namespace plait
