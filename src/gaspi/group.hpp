// Groups and their collective calls. Each member of a committed group has a mailbox in its region, into which near ones write; what far
// ones send is put there by whoever drives the network. A call is a sequence of steps that can be left and taken up again, as GASPI's
// timeouts want it.
//
// A barrier is a dissemination (Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988), a reduction a recursive
// doubling that combines neighbours in the order of ranks. Both have a number, counted by each member alike; slots are used again by the
// next but one, when whoever could still read them has been heard of again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/shared_memory.hpp"
#include "gaspi/config.hpp"
#include "gaspi/deadline.hpp"

namespace plait::gaspi {

struct Job;

/// What goes from one member to another.
struct Letter {
  enum class Kind : std::uint8_t { barrier, reduction };
  Kind kind = Kind::barrier;
  std::uint8_t slot = 0;
  std::uint64_t key = 0;
  std::uint64_t number = 0;
};

/// How a reduction combines two operands; the first is of lower ranks. `into` may be either.
struct Reducer {
  gaspi_reduce_operation_t function = nullptr;  ///< the program's; null: one of GASPI's own
  gaspi_reduce_state_t state = nullptr;
  gaspi_operation_t operation = GASPI_OP_SUM;
  gaspi_datatype_t type = GASPI_TYPE_INT;
  gaspi_number_t count = 0;
  gaspi_size_t element = 0;

  [[nodiscard]] std::size_t bytes() const noexcept { return count * element; }
  [[nodiscard]] gaspi_return_t combine(void* one, void* two, void* into, gaspi_timeout_t timeout) const noexcept;
  [[nodiscard]] bool operator==(const Reducer&) const = default;
};

class Group;

/// All of a process's. Which groups there are is changed under a lock; calls in them are not.
class Groups {
 public:
  explicit Groups(Job& job);
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  [[nodiscard]] gaspi_return_t create(std::uint32_t& number);
  [[nodiscard]] gaspi_return_t remove(std::uint32_t number);
  [[nodiscard]] gaspi_return_t add(std::uint32_t number, std::uint16_t rank);
  [[nodiscard]] gaspi_return_t commit(std::uint32_t number, gaspi_timeout_t timeout);
  [[nodiscard]] std::uint32_t count();
  [[nodiscard]] gaspi_return_t ranks(std::uint32_t number, std::vector<std::uint16_t>& ranks);

  [[nodiscard]] gaspi_return_t ranks_of_committed(std::uint32_t number, std::vector<std::uint16_t>& ranks);

  [[nodiscard]] gaspi_return_t barrier(std::uint32_t number, gaspi_timeout_t timeout) noexcept;
  [[nodiscard]] gaspi_return_t reduce(std::uint32_t number, const void* from, void* to, const Reducer& reducer,
                                      gaspi_timeout_t timeout) noexcept;

  /// One from a far member; by whoever drives the network.
  void deliver(const Letter& letter, std::span<const std::byte> data);

 private:
  friend class Group;
  struct Early {
    Letter letter;
    std::vector<std::byte> data;
  };

  [[nodiscard]] Group* find(std::uint32_t number) const noexcept;
  [[nodiscard]] Group* committed(std::uint32_t number) const noexcept;
  [[nodiscard]] Region::Place take_mailbox(std::size_t bytes);
  void prepare(Group& group);

  Job& job_;
  std::mutex lock_;
  std::array<std::atomic<Group*>, kGroups> groups_{};
  std::uint32_t count_ = 0;
  std::map<std::uint64_t, std::uint64_t> commits_;     ///< of each set of ranks, so far
  std::map<std::uint64_t, std::vector<Early>> early_;  ///< by key: of groups that are not committed here yet
  std::multimap<std::size_t, Region::Place> unused_;   ///< mailboxes, by their bytes
};

}  // namespace plait::gaspi
