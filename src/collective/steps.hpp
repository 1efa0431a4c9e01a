// The algorithm of a collective call as a coroutine: it runs until it has to wait for messages, and goes on when they have
// come. Used by whoever uses the rank's endpoint.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace plait::collective {

class [[nodiscard]] Steps {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  /// Back to the algorithm that awaits this one, if any.
  struct Back {
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] static std::coroutine_handle<> await_suspend(Handle ended) noexcept {
      const std::coroutine_handle<> caller = ended.promise().caller;
      return caller ? caller : std::noop_coroutine();
    }
    static void await_resume() noexcept {}
  };

  struct promise_type {
    std::coroutine_handle<> caller;
    std::exception_ptr thrown;
    Steps get_return_object() noexcept { return Steps(Handle::from_promise(*this)); }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static Back final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    void unhandled_exception() noexcept { thrown = std::current_exception(); }
  };

  Steps() = default;
  explicit Steps(Handle handle) noexcept : handle_(handle) {}
  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] std::coroutine_handle<> handle() const noexcept { return handle_; }
  [[nodiscard]] bool done() const noexcept { return handle_.done(); }
  void rethrow() const {
    if (handle_.promise().thrown) std::rethrow_exception(handle_.promise().thrown);
  }

  /// As a part of another algorithm.
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  void await_resume() const { rethrow(); }

 private:
  Handle handle_;
};

}  // namespace plait::collective
