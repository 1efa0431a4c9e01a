#include "threadcomm/attribute.hpp"

#include <map>
#include <mutex>

#include "base/error.hpp"

namespace plait::threadcomm {

namespace {

struct Keyval {
  MPI_Comm_copy_attr_function* copy = nullptr;
  MPI_Comm_delete_attr_function* remove = nullptr;
  void* extra = nullptr;
};

struct Keyvals {
  std::mutex lock;
  std::map<int, Keyval> all;  ///< also those that were freed: their values may still be there
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

void set_attribute(Rank& rank, int keyval, void* value) {
  if (const auto old = rank.attributes.find(keyval); old != rank.attributes.end()) end_value(rank, keyval, old->second);
  rank.attributes[keyval] = value;
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
    if (flag) to.attributes[keyval] = copied;
  }
}

}  // namespace plait::threadcomm
