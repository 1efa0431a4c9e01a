// Who calls which function by a name of the MPI's. MPI_X and PMPI_X are one and the same to everybody but plait, which exports both; so
// what wraps MPI_X and goes on by PMPI_X, as MPI's profiling interface has it, comes to plait from in front of it. The loader gives each
// object the first function of a name that it finds, in the order in which it has loaded them. Some have to have another one:
//
//     who calls                 MPI_X                              PMPI_X
//     libplait                  its own                            the next MPI_X behind it: a tool's or the MPI's
//     a tool behind libplait    as libplait's PMPI_X               the MPI's
//     the MPI                   the MPI's                          the MPI's
//     all others                a tool's in front, or libplait's   libplait's
//
// When libplait is loaded, what it exports and what else is there is looked up, and their tables are set so. Who asks the MPI's library by
// its handle, as Python's ctypes and Julia do, finds plait's, too, as do libraries that come later and know the MPI alone.
#include <mpi.h>

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fatal.hpp"
#include "base/loaded_object.hpp"
#include "plait/native.h"

namespace plait::mpi {
namespace {

/// What goes by one name.
struct Functions {
  void *plait, *mpi, *pmpi;
  void* next;  ///< of MPI_X, behind libplait
};

bool is_profiled(std::string_view name) noexcept { return name.starts_with('P'); }

class Names {
  using Objects = std::vector<LoadedObject>;

  [[nodiscard]] const Functions* find(std::string_view name) const noexcept {
    if (is_profiled(name)) name.remove_prefix(1);
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : &found->second;
  }
  /// For LoadedObject: what MPI_X and PMPI_X shall be.
  [[nodiscard]] auto by_name(void* Functions::* plain, void* Functions::* profiled) const noexcept {
    return [=, this](std::string_view name) -> void* {
      if (!name.starts_with("MPI") && !name.starts_with("PMPI")) return nullptr;
      const Functions* const f = find(name);
      return !f ? nullptr : f->*(is_profiled(name) ? profiled : plain);
    };
  }

 public:
  Names() : objects_(LoadedObject::all()) {
    static const char here = 0;
    own_ = std::ranges::find_if(objects_, [](const LoadedObject& o) { return o.has(&here); });
    // A call that plait has not.
    mpi_ = std::ranges::find_if(objects_, [](const LoadedObject& o) { return o.find("PMPI_Get_version"); });
    if (mpi_ == objects_.end()) fatal("the MPI's library is not among those that are loaded, or has no table of its symbols");
    own_->for_each_definition([&](std::string_view name, void* address) {
      if (!name.starts_with("MPI")) return;
      functions_[name] = {address, mpi_->find(name), mpi_->find("P" + std::string(name)), behind(name)};
    });
  }

  [[nodiscard]] void* native(std::string_view name) const noexcept {
    const Functions* const f = find(name);
    return !f ? mpi_->find(name) : is_profiled(name) ? f->pmpi : f->mpi;
  }

  void take() const {
    bool taken = own_->redirect_uses(by_name(&Functions::plait, &Functions::next));
    taken &= mpi_->redirect_uses(by_name(&Functions::mpi, &Functions::pmpi));
    for (const LoadedObject* const tool : tools_) taken &= tool->redirect_uses(by_name(&Functions::next, &Functions::pmpi));
    if (!tools_.empty()) {
      taken &= pass_fortran_by_tools();
    } else if (int begun = 0; PMPI_Initialized(&begun) == MPI_SUCCESS && !begun) {
      taken &= take_late();
    }
    if (!taken) fatal("the system does not let libplait set which functions of the MPI's are called");
  }

 private:
  /// The first of this name behind libplait. Whoever has it and is not the MPI is a tool.
  void* behind(std::string_view name) {
    for (auto o = own_ + 1; o < mpi_; ++o) {
      void* const found = o->find(name);
      if (!found) continue;
      if (std::ranges::find(tools_, &*o) == tools_.end()) tools_.push_back(&*o);
      return found;
    }
    return mpi_->find(name);
  }

  /// Fortran's calls come to C's, and so to plait, by the MPI's bindings. A tool behind libplait may stand in front of these, too, and
  /// would call the MPI. It sees what plait calls in C.
  [[nodiscard]] bool pass_fortran_by_tools() const {
    const auto first = [&](std::string_view name, bool among_tools) {
      return std::ranges::find_if(objects_, [&](const LoadedObject& o) { return is_tool(o) <= among_tools && o.find(name); });
    };
    const auto passed = [&](std::string_view name) -> void* {
      if (!name.starts_with("mpi_")) return nullptr;
      const auto found = first(name, true);
      if (found == objects_.end() || !is_tool(*found)) return nullptr;
      const auto binding = first(name, false);
      return binding == objects_.end() ? nullptr : binding->find(name);
    };
    return std::ranges::all_of(objects_, [&](const LoadedObject& o) { return is_tool(o) || o.redirect_uses(passed); });
  }

  /// Those that do not come to libplait by the order in which things were loaded.
  [[nodiscard]] bool take_late() const {
    const auto taken = by_name(&Functions::plait, &Functions::plait);
    const auto unless_wrapped = [&](std::string_view name) {
      const bool wrapped = !is_profiled(name) && std::any_of(objects_.begin(), mpi_, [&](const LoadedObject& o) { return o.find(name); });
      return wrapped ? nullptr : taken(name);
    };
    if (mpi_ < own_) {
      for (const LoadedObject& o : objects_) {
        if (&o != &*mpi_ && &o != &*own_ && !o.redirect_uses(unless_wrapped)) return false;
      }
    }
    return mpi_->redirect_definitions(taken);
  }

  [[nodiscard]] bool is_tool(const LoadedObject& o) const noexcept { return std::ranges::find(tools_, &o) != tools_.end(); }

  Objects objects_;
  Objects::const_iterator own_, mpi_;
  std::vector<const LoadedObject*> tools_;                     ///< behind libplait
  std::unordered_map<std::string_view, Functions> functions_;  ///< by their names without the P, those that plait exports
};

/// Never destroyed: programs call the MPI in their own destructors.
const Names& names() {
  static const Names& all = *new Names;
  return all;
}

[[gnu::constructor]] void take_names() noexcept try { names().take(); } catch (const std::bad_alloc&) {
  fatal("no memory left for the names of the MPI's functions");
}

}  // namespace
}  // namespace plait::mpi

extern "C" [[gnu::visibility("default")]] void* plait_native_function(const char* name) { return plait::mpi::names().native(name); }
