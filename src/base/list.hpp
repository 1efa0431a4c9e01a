// Intrusive doubly linked lists: what is listed carries its links, so that nothing is allocated and anything can leave from
// the middle. Not thread-safe.
#pragma once

namespace plait {

template <class T>
struct Link {
  T* next = nullptr;
  T* before = nullptr;
};

/// First in, first out, linked through the member L.
template <class T, Link<T> T::* L>
class List {
 public:
  [[nodiscard]] bool empty() const noexcept { return !first_; }
  [[nodiscard]] T* front() const noexcept { return first_; }
  [[nodiscard]] static T* next(const T& t) noexcept { return (t.*L).next; }

  void push_back(T& t) noexcept {
    t.*L = {nullptr, last_};
    (last_ ? (last_->*L).next : first_) = &t;
    last_ = &t;
  }
  void push_front(T& t) noexcept {
    t.*L = {first_, nullptr};
    (first_ ? (first_->*L).before : last_) = &t;
    first_ = &t;
  }
  void remove(T& t) noexcept {
    const Link<T> link = t.*L;
    (link.before ? (link.before->*L).next : first_) = link.next;
    (link.next ? (link.next->*L).before : last_) = link.before;
    t.*L = {};
  }
  T* pop_front() noexcept {
    T* const t = first_;
    if (!t) return nullptr;
    first_ = (t->*L).next;
    (first_ ? (first_->*L).before : last_) = nullptr;
    t->*L = {};
    return t;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace plait
