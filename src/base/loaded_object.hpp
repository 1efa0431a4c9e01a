// The program and the libraries in memory: what each defines, and where it keeps the addresses of what it uses (its global offset table).
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace plait {

class LoadedObject {
 public:
  using Symbol = ElfW(Sym);
  using Relocation = ElfW(Rela);

  /// All there are: first those that the program was started with, in the order in which the loader searches them.
  static std::vector<LoadedObject> all();

  /// Whether this address is in it.
  [[nodiscard]] bool has(const void* address) const noexcept;
  /// The address of what it defines by this name, or null.
  [[nodiscard]] void* find(std::string_view name) const noexcept;

  /// Calls f(name, address) for what it defines.
  template <class F>
  void for_each_definition(F f) const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (is_defined(symbols_[i])) f(name(symbols_[i]), address(symbols_[i]));
    }
  }

  /// Has each use of a name in this object go to f(name), unless that is null. For those that this thread or others make from now on.
  /// False where memory could not be written.
  template <class F>
  bool redirect_uses(F f) const {
    const Writable table(read_only_);
    bool all = static_cast<bool>(table);
    for (const Table& uses : uses_) {
      for (std::size_t i = 0; all && i < uses.count; ++i) {
        const Relocation& use = uses.first[i];
        if (!keeps_an_address(use)) continue;
        void* const to = f(name(symbols_[ELF64_R_SYM(use.r_info)]));
        if (to) *reinterpret_cast<void**>(base_ + use.r_offset) = to;  // NOLINT(performance-no-int-to-ptr)
      }
    }
    return all;
  }

  /// Has who looks up a name in this object from now on, by dlsym() or as the loader does, find f(name), unless that is null. False where
  /// memory could not be written.
  template <class F>
  bool redirect_definitions(F f) const {
    const Writable table(symbol_pages_);
    for (std::uint32_t i = 0; table && i < count_; ++i) {
      if (!is_defined(symbols_[i])) continue;
      void* const to = f(name(symbols_[i]));
      // The loader adds the two again: it does not matter which of them is larger.
      if (to) const_cast<Symbol&>(symbols_[i]).st_value = reinterpret_cast<std::uintptr_t>(to) - base_;
    }
    return static_cast<bool>(table);
  }

 private:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
  };
  /// Whole pages, and what may be done with them.
  struct Pages : Range {
    int protection = 0;
  };
  /// While it lives, pages can be written.
  class Writable {
   public:
    explicit Writable(const Pages& pages) noexcept;
    ~Writable();
    Writable(const Writable&) = delete;
    Writable& operator=(const Writable&) = delete;
    explicit operator bool() const noexcept { return is_; }

   private:
    Pages pages_;
    bool is_;
  };
  struct Table {
    const Relocation* first = nullptr;
    std::size_t count = 0;
  };

  explicit LoadedObject(const dl_phdr_info& info) noexcept;
  void read(const ElfW(Dyn) * dynamic) noexcept;
  void count_symbols() noexcept;
  [[nodiscard]] Pages pages_of_symbols(const dl_phdr_info& info) const noexcept;
  [[nodiscard]] std::string_view name(const Symbol& s) const noexcept { return names_ + s.st_name; }
  [[nodiscard]] void* address(const Symbol& s) const noexcept {
    return reinterpret_cast<void*>(base_ + s.st_value);  // NOLINT(performance-no-int-to-ptr)
  }
  static bool protect(const Pages& pages, int protection) noexcept;
  static bool is_defined(const Symbol& s) noexcept;
  static bool keeps_an_address(const Relocation& use) noexcept;

  std::uintptr_t base_;
  Range all_;           ///< of its addresses
  Pages read_only_;     ///< once the loader is done
  Pages symbol_pages_;  ///< those of symbols_
  const Symbol* symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* buckets_ = nullptr;  ///< its
  const std::uint32_t* chains_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
  std::uint32_t count_ = 0;  ///< symbols
  Table uses_[2];
};

}  // namespace plait
