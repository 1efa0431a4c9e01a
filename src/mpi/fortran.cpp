// Fortran. Its bindings are libraries of the MPI's. Those of Open MPI call PMPI_ functions of C, past whoever stands before MPI_
// functions, and so do those of MPICH's mpi_f08 in MPI_Init and some more. So the places where these libraries keep the addresses of
// PMPI_ functions (their global offset tables) get those of plait's MPI_ functions, as far as plait has one, when libplait is loaded.
// Nobody calls the MPI yet.
//
// Open MPI's completion calls read the number of a request out of the MPI's own object after the call, which a persistent request of
// plait's is not. These calls are plait's own here, under all names by which programs and the modules call them: mpi_wait_,
// pmpi_wait_, ompi_wait_f.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace plait::mpi {
namespace {

// ---- addresses of functions

#if defined(__x86_64__)
constexpr std::array<std::uint32_t, 2> kFunctions{R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#elif defined(__aarch64__)
constexpr std::array<std::uint32_t, 2> kFunctions{R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#else
constexpr std::array<std::uint32_t, 0> kFunctions{};  // Fortran goes to the MPI
#endif

using Dynamic = ElfW(Dyn);
using Part = ElfW(Phdr);
using Symbol = ElfW(Sym);
using Relocation = ElfW(Rela);

template <class T>
T* at_address(std::uintptr_t address) noexcept {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// A program or library in memory, and its dynamic section.
struct Library {
  std::uintptr_t base;
  const Dynamic* dynamic;
  bool binds;  ///< the MPI's, for Fortran
};

bool is_binding(const char* path) noexcept {
  std::string_view name = path ? path : "";
  name.remove_prefix(name.rfind('/') + 1);
  // Open MPI's; then MPICH's, by Debian's name and its own, which is Intel's, too.
  constexpr std::array kNames{"libmpi_mpifh.", "libmpi_usempi", "libmpichfort.", "libmpifort."};
  return std::ranges::any_of(kNames, [&](const char* begin) { return name.starts_with(begin); });
}

int list(dl_phdr_info* info, std::size_t, void* all) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const Part& part = info->dlpi_phdr[i];
    if (part.p_type != PT_DYNAMIC) continue;
    const auto* const dynamic = at_address<const Dynamic>(info->dlpi_addr + part.p_vaddr);
    static_cast<std::vector<Library>*>(all)->push_back({info->dlpi_addr, dynamic, is_binding(info->dlpi_name)});
  }
  return 0;
}

/// Plait's function for one that is called by this name, or null.
void* own(void* libplait, const Dl_info& here, const char* name, bool by_binding) noexcept {
  const std::string_view called = name;
  const bool profiled = called.starts_with("pmpi_") || (by_binding && called.starts_with("PMPI_"));
  if (!profiled && !called.starts_with("ompi_") && !called.starts_with("mpi_")) return nullptr;
  void* const address = dlsym(libplait, profiled ? name + 1 : name);
  Dl_info there{};
  if (!address || !dladdr(address, &there) || there.dli_fbase != here.dli_fbase) return nullptr;
  // A profiling tool stands before both; what it calls then has another name.
  const bool tool =
      !profiled && dladdr(dlsym(RTLD_DEFAULT, name), &there) && there.dli_fbase != here.dli_fbase && !is_binding(there.dli_fname);
  return tool ? nullptr : address;
}

/// The table may have been made read-only.
void write(void** at, void* address) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const begin = at_address<void>(reinterpret_cast<std::uintptr_t>(at) / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) == 0) *at = address;
}

void redirect(const Library& library, void* libplait, const Dl_info& here) noexcept {
  const Symbol* symbols = nullptr;
  const char* names = nullptr;
  struct Table {
    const Relocation* first = nullptr;
    std::size_t bytes = 0;
  };
  std::array<Table, 2> tables;
  const auto at = [&](std::uintptr_t p) { return p < library.base ? library.base + p : p; };  // relocated by some systems
  for (const Dynamic* d = library.dynamic; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = at_address<const Symbol>(at(d->d_un.d_ptr));
    if (d->d_tag == DT_STRTAB) names = at_address<const char>(at(d->d_un.d_ptr));
    if (d->d_tag == DT_JMPREL) tables[0].first = at_address<const Relocation>(at(d->d_un.d_ptr));
    if (d->d_tag == DT_PLTRELSZ) tables[0].bytes = d->d_un.d_val;
    if (d->d_tag == DT_RELA) tables[1].first = at_address<const Relocation>(at(d->d_un.d_ptr));
    if (d->d_tag == DT_RELASZ) tables[1].bytes = d->d_un.d_val;
    if (d->d_tag == DT_PLTREL && d->d_un.d_val != DT_RELA) return;
  }
  if (!symbols || !names) return;
  for (const Table& table : tables) {
    for (std::size_t i = 0; table.first && i < table.bytes / sizeof(Relocation); ++i) {
      const Relocation& r = table.first[i];
      const auto kind = static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info));
      if (std::find(kFunctions.begin(), kFunctions.end(), kind) == kFunctions.end()) continue;
      const char* const name = names + symbols[ELF64_R_SYM(r.r_info)].st_name;
      void* const address = own(libplait, here, name, library.binds);
      if (address) write(at_address<void*>(library.base + r.r_offset), address);
    }
  }
}

[[gnu::constructor]] void redirect_bindings() noexcept try {
  std::vector<Library> all;
  dl_iterate_phdr(list, &all);
  Dl_info here{};
  if (std::ranges::none_of(all, &Library::binds) || !dladdr(reinterpret_cast<void*>(&redirect_bindings), &here)) return;
  void* const libplait = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!libplait) return;
  for (const Library& library : all) redirect(library, libplait, here);
  dlclose(libplait);
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then Fortran goes to the MPI
}

#ifdef OMPI_MAJOR_VERSION

// ---- completion calls

/// Short arrays of a call.
template <class T>
class Array {
 public:
  explicit Array(int count) {
    if (static_cast<std::size_t>(count) > few_.size()) many_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
  }
  T* data() noexcept { return many_ ? many_.get() : few_.data(); }

 private:
  std::array<T, 16> few_;
  std::unique_ptr<T[]> many_;
};

constexpr std::size_t kStatus = sizeof(MPI_Status) / sizeof(MPI_Fint);

bool ignored(const MPI_Fint* statuses) noexcept { return statuses == MPI_F_STATUS_IGNORE || statuses == MPI_F_STATUSES_IGNORE; }

/// `call` gets requests and statuses as C has them. It gives its error, and of how many statuses there is something to tell.
struct Outcome {
  int error, statuses;
};
template <class Call>
void complete(int count, MPI_Fint* numbers, MPI_Fint* told, MPI_Fint* ierr, Call call) noexcept {
  Outcome outcome{MPI_ERR_NO_MEM, 0};
  try {
    const int n = count > 0 ? count : 0;
    Array<MPI_Request> requests(n);
    Array<MPI_Status> statuses(n);
    for (int i = 0; i < n; ++i) requests.data()[i] = MPI_Request_f2c(numbers[i]);
    outcome = call(requests.data(), ignored(told) ? MPI_STATUSES_IGNORE : statuses.data());
    for (int i = 0; i < n; ++i) numbers[i] = MPI_Request_c2f(requests.data()[i]);
    if (outcome.error == MPI_SUCCESS || outcome.error == MPI_ERR_IN_STATUS) {
      for (int i = 0; i < outcome.statuses && !ignored(told); ++i)
        MPI_Status_c2f(&statuses.data()[i], told + static_cast<std::size_t>(i) * kStatus);
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nothing was begun
  }
  if (ierr) *ierr = outcome.error;
}

/// A status even where there is no request at all.
MPI_Status* one(MPI_Status* statuses, MPI_Status& spare) noexcept { return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &spare; }
void tell(const MPI_Status& status, MPI_Fint* told) noexcept {
  if (!ignored(told)) MPI_Status_c2f(&status, told);
}

MPI_Fint from_one(int index) noexcept { return index == MPI_UNDEFINED ? index : index + 1; }

#endif

}  // namespace
}  // namespace plait::mpi

#ifdef OMPI_MAJOR_VERSION
#pragma GCC visibility push(default)

using plait::mpi::complete;
using plait::mpi::from_one;
using plait::mpi::one;
using plait::mpi::Outcome;
using plait::mpi::tell;

// LOGICAL is 0 or 1 here, as gfortran has it; others look at the lowest bit.
#define PLAIT_FORTRAN(NAME, ARGUMENTS)                                        \
  extern "C" void ompi_##NAME##_f ARGUMENTS;                                  \
  extern "C" [[gnu::alias("ompi_" #NAME "_f")]] void mpi_##NAME##_ ARGUMENTS; \
  extern "C" void ompi_##NAME##_f ARGUMENTS

PLAIT_FORTRAN(wait, (MPI_Fint * request, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(1, request, status, ierr, [](MPI_Request* r, MPI_Status* s) { return Outcome{MPI_Wait(r, s), 1}; });
}

PLAIT_FORTRAN(test, (MPI_Fint * request, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(1, request, status, ierr, [&](MPI_Request* r, MPI_Status* s) {
    const int error = MPI_Test(r, flag, s);
    return Outcome{error, *flag};
  });
}

PLAIT_FORTRAN(waitall, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete(*count, requests, statuses, ierr, [&](MPI_Request* r, MPI_Status* s) { return Outcome{MPI_Waitall(*count, r, s), *count}; });
}

PLAIT_FORTRAN(testall, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* flag, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete(*count, requests, statuses, ierr, [&](MPI_Request* r, MPI_Status* s) {
    const int error = MPI_Testall(*count, r, flag, s);
    return Outcome{error, *flag ? *count : 0};
  });
}

PLAIT_FORTRAN(waitany, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(*count, requests, status, ierr, [&](MPI_Request* r, MPI_Status* s) {
    MPI_Status which{};
    const int error = MPI_Waitany(*count, r, index, one(s, which));
    if (error == MPI_SUCCESS) tell(which, status);
    *index = from_one(*index);
    return Outcome{error, 0};
  });
}

PLAIT_FORTRAN(testany, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(*count, requests, status, ierr, [&](MPI_Request* r, MPI_Status* s) {
    MPI_Status which{};
    const int error = MPI_Testany(*count, r, index, flag, one(s, which));
    if (error == MPI_SUCCESS && *flag) tell(which, status);
    *index = from_one(*index);
    return Outcome{error, 0};
  });
}

namespace {

template <class Call>
void complete_some(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* found, MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierr,
                   Call call) noexcept {
  complete(*count, requests, statuses, ierr, [&](MPI_Request* r, MPI_Status* s) {
    const int error = call(*count, r, found, indices, s);
    const int n = *found == MPI_UNDEFINED ? 0 : *found;
    for (int i = 0; i < n; ++i) indices[i] = from_one(indices[i]);
    return Outcome{error, n};
  });
}

}  // namespace

PLAIT_FORTRAN(waitsome, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* found, MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete_some(count, requests, found, indices, statuses, ierr, MPI_Waitsome);
}

PLAIT_FORTRAN(testsome, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* found, MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete_some(count, requests, found, indices, statuses, ierr, MPI_Testsome);
}

#pragma GCC visibility pop

#endif
