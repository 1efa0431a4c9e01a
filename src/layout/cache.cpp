#include "cache.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "contents.hpp"
#include "flatten.hpp"
#include "quiet.hpp"

namespace plait::layout {
namespace {

using Shared = std::shared_ptr<const Layout>;

extern "C" int plait_layout_forget(MPI_Datatype, int, void* value, void*) {
  delete static_cast<Shared*>(value);
  return MPI_SUCCESS;
}

/// The attribute that holds a datatype's layout. A duplicate does not take it over and gets its own.
int key() {
  static const int made = [] {
    int k = MPI_KEYVAL_INVALID;
    check(PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, plait_layout_forget, &k, nullptr));
    return k;
  }();
  return made;
}

/// Layouts handed to the MPI so far. The standard does not say that who reads an attribute also sees what was written to
/// memory before it was set, and not every MPI takes a lock for it: release before setting, acquire after getting.
std::atomic<std::uint64_t> handed_over{0};

Shared kept_with(MPI_Datatype datatype) {
  void* value = nullptr;
  int found = 0;
  check(PMPI_Type_get_attr(datatype, key(), static_cast<void*>(&value), &found));
  handed_over.load(std::memory_order_acquire);
  return found ? *static_cast<Shared*>(value) : nullptr;
}

/// Nothing in MPI asks a datatype whether it is committed, but a call that moves data refuses one that is not, even
/// for no elements.
void require_committed(MPI_Datatype datatype) {
  char in[1] = {}, out[1] = {};
  int position = 0;
  const int code = PMPI_Pack(in, 0, datatype, out, 1, &position, quiet());
  if (code != MPI_SUCCESS) throw MPIError{MPI_ERR_TYPE, false};
}

std::mutex making;

/// Attributes of predefined datatypes would outlive MPI_Finalize, so theirs stay here. They are few and small.
Shared predefined(MPI_Datatype datatype) {
  static std::unordered_map<MPI_Datatype, Shared> all;
  const std::lock_guard lock(making);
  Shared& layout = all[datatype];
  if (!layout) layout = flatten(datatype);
  return layout;
}

Shared keep(MPI_Datatype datatype) {
  require_committed(datatype);
  const std::lock_guard lock(making);
  if (Shared other = kept_with(datatype)) return other;  // another thread was first
  auto layout = std::make_unique<Shared>(flatten(datatype));
  Shared result = *layout;  // before others can see it, since the datatype may be freed right after
  handed_over.fetch_add(1, std::memory_order_release);
  check(PMPI_Type_set_attr(datatype, key(), layout.get()));
  static_cast<void>(layout.release());  // NOLINT(bugprone-unused-return-value): the datatype owns it now
  return result;
}

/// Streams inside a node need no lock around the MPI. Where that lets in one thread at a time, theirs meet here alone.
std::unique_lock<std::mutex> one_at_a_time() {
  static const bool serialized = [] {
    int level = MPI_THREAD_MULTIPLE;
    check(PMPI_Query_thread(&level));
    return level < MPI_THREAD_MULTIPLE;
  }();
  static std::mutex inside;
  return serialized ? std::unique_lock(inside) : std::unique_lock<std::mutex>();
}

}  // namespace

std::shared_ptr<const Layout> layout_of(MPI_Datatype datatype) {
  if (datatype == MPI_DATATYPE_NULL) throw MPIError{MPI_ERR_TYPE, false};
  const MpiLock gate;
  const auto turn = one_at_a_time();
  if (Shared layout = kept_with(datatype)) return layout;
  return is_predefined(combiner_of(datatype)) ? predefined(datatype) : keep(datatype);
}

}  // namespace plait::layout
