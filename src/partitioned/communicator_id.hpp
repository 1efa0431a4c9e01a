// A number by which all members of a communicator know it, found without a message: collective calls on a communicator come in the
// same order everywhere, so that the communicators they make can be numbered.
//
// The id lies in an attribute. A duplicate gets its own when the MPI copies attributes; for other communicators the exported functions
// call `identify_child`. Any thread, as MPI wants it of calls on communicators.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace plait::partitioned {

struct CommunicatorId {
  explicit CommunicatorId(std::uint64_t number) noexcept : id(number) {}
  const std::uint64_t id;
  std::atomic<std::uint64_t> children{0};  ///< made of it so far; collective calls are ordered, so relaxed
  std::atomic<bool> freed{false};          ///< the communicator is
};

/// When the MPI has been initialized: gives MPI_COMM_WORLD and MPI_COMM_SELF their ids.
void open_ids() noexcept;
/// What a collective call over `parent` has made; MPI_COMM_NULL where this process is in none of it.
void identify_child(MPI_Comm parent, MPI_Comm child) noexcept;
/// What some processes have made by themselves, by a call with this tag: numbered among those of the same processes and tag, and of
/// the same `parent`, unless that is MPI_COMM_NULL.
void identify_apart(MPI_Comm parent, MPI_Comm made, int tag) noexcept;

/// Around a call of this thread's that makes a communicator which is no duplicate. Open MPI 5.0.11 copies attributes in some of
/// these too: in MPI_Comm_create_group, in which not all processes of the parent take part, so that its duplicates would be
/// numbered differently from then on.
class NoDuplicate {
 public:
  NoDuplicate() noexcept;
  ~NoDuplicate();
  NoDuplicate(const NoDuplicate&) = delete;
  NoDuplicate& operator=(const NoDuplicate&) = delete;
};

/// Null for one that was made behind plait's back.
[[nodiscard]] std::shared_ptr<const CommunicatorId> id_of(MPI_Comm comm) noexcept;

}  // namespace plait::partitioned
