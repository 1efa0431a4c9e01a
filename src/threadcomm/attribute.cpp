#include "threadcomm/attribute.hpp"

#include <map>
#include <mutex>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"

namespace plait::threadcomm {

namespace {

struct Keyval {
  MPI_Comm_copy_attr_function* copy = nullptr;
  MPI_Comm_delete_attr_function* remove = nullptr;
  void* extra = nullptr;
  int values = 0;      ///< of thread communicators, with this keyval
  bool freed = false;  ///< by the program. The MPI keeps its number until the last value is gone: no other keyval gets it
};

struct Keyvals {
  std::mutex lock;
  std::map<int, Keyval> all;
};

Keyvals& keyvals() {
  static Keyvals& keyvals = *new Keyvals;  // never destroyed: exit handlers may still ask
  return keyvals;
}

Keyval keyval_of(int keyval) {
  Keyvals& k = keyvals();
  const std::lock_guard guard(k.lock);
  const auto found = k.all.find(keyval);
  return found == k.all.end() ? Keyval{} : found->second;
}

void count_value(int keyval) {
  Keyvals& k = keyvals();
  const std::lock_guard guard(k.lock);
  ++k.all[keyval].values;
}

/// A value is gone.
void uncount_value(int keyval) {
  Keyvals& k = keyvals();
  {
    const std::lock_guard guard(k.lock);
    const auto found = k.all.find(keyval);
    if (--found->second.values != 0 || !found->second.freed) return;
    k.all.erase(found);
  }
  const MpiLock lock;
  PMPI_Comm_free_keyval(&keyval);
}

void end_value(Rank& rank, int keyval, void* value) {
  const Keyval k = keyval_of(keyval);
  if (!k.remove || k.remove == MPI_COMM_NULL_DELETE_FN) return;
  const int error = k.remove(rank.handle, keyval, value, k.extra);
  require(error == MPI_SUCCESS, error);
}

}  // namespace

void remember_keyval(int keyval, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, void* extra) {
  Keyvals& k = keyvals();
  const std::lock_guard guard(k.lock);
  k.all[keyval] = {copy, remove, extra};
}

bool forget_keyval(int keyval) {
  Keyvals& k = keyvals();
  const std::lock_guard guard(k.lock);
  const auto found = k.all.find(keyval);
  if (found == k.all.end()) return true;
  found->second.freed = true;
  if (found->second.values != 0) return false;
  k.all.erase(found);
  return true;
}

void set_attribute(Rank& rank, int keyval, void* value) {
  const auto [place, is_new] = rank.attributes.try_emplace(keyval, value);
  if (is_new) {
    count_value(keyval);
    return;
  }
  end_value(rank, keyval, place->second);
  place->second = value;
}

bool get_attribute(const Rank& rank, int keyval, void** value) noexcept {
  const auto found = rank.attributes.find(keyval);
  if (found == rank.attributes.end()) return false;
  *value = found->second;
  return true;
}

bool delete_attribute(Rank& rank, int keyval) {
  const auto found = rank.attributes.find(keyval);
  if (found == rank.attributes.end()) return false;
  end_value(rank, keyval, found->second);
  rank.attributes.erase(keyval);
  uncount_value(keyval);
  return true;
}

void delete_attributes(Rank& rank) {
  while (!rank.attributes.empty()) static_cast<void>(delete_attribute(rank, rank.attributes.rbegin()->first));
}

void copy_attributes(const Rank& from, Rank& to) {
  for (const auto& [keyval, value] : from.attributes) {
    const Keyval k = keyval_of(keyval);
    if (!k.copy || k.copy == MPI_COMM_NULL_COPY_FN) continue;
    int flag = 0;
    void* copied = nullptr;
    if (k.copy == MPI_COMM_DUP_FN) {
      flag = 1;
      copied = value;
    } else {
      const int error = k.copy(from.handle, keyval, k.extra, value, static_cast<void*>(&copied), &flag);
      require(error == MPI_SUCCESS, error);
    }
    if (!flag) continue;
    to.attributes[keyval] = copied;
    count_value(keyval);
  }
}

}  // namespace plait::threadcomm
