#include "queue/gpu_device.hpp"

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <memory>
#include <new>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/no_signals.hpp"
#include "base/settings.hpp"

namespace plait::queue {
namespace {

/// Memory is taken in powers of two. Small pieces are cut from slabs, as taking memory from the driver may wait for what runs on the GPU.
constexpr unsigned kSmallest = 8;
constexpr unsigned kLargestOfSlab = 23;
constexpr std::size_t kSlab = std::size_t{64} << 20;
constexpr std::int64_t kAskAgain = 5'000'000;  // ns
constexpr std::size_t kApart = 128;            // words that the GPU writes, and those that the host does

[[nodiscard]] unsigned class_for(std::size_t bytes) noexcept {
  const auto log = static_cast<unsigned>(std::bit_width(bytes > 0 ? bytes - 1 : 0));
  return log < kSmallest ? kSmallest : log;
}

[[nodiscard]] std::int64_t ticks() noexcept { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

GpuDevice& GpuDevice::of(Driver& driver, GpuContext context) {
  struct Entry {
    std::mutex making;
    GpuDevice* device = nullptr;
  };
  static std::mutex lock;
  static auto& devices = *new std::map<std::tuple<Driver*, GpuContext, std::uint64_t>, Entry>;
  const std::uint64_t number = driver.number_of(context);
  Entry* entry = nullptr;
  {
    const std::lock_guard guard(lock);
    entry = &devices[{&driver, context, number}];
  }
  // Who needs the same device waits for it, and nobody else: calls of the driver's may wait for what runs there.
  const std::lock_guard making(entry->making);
  if (!entry->device) {
    std::unique_ptr<GpuDevice> made(new GpuDevice(driver, context));
    made->start_asking();
    entry->device = made.release();
  }
  return *entry->device;
}

GpuDevice::GpuDevice(Driver& driver, GpuContext context)
    : driver_(driver), context_(context), number_(driver.device_of(context)), own_(driver.make_stream(context)), free_(64) {
  if (settings::text(settings::Id::gpu_signals) == "functions") return;
  const Words words = take_words(Of::graph);
  memory_operations_ = driver.has_memory_operations(context, own_, words.arrived, words.released);
  captured_memory_operations_ = memory_operations_ && driver.can_capture_memory_operations(context, own_, words.arrived, words.released);
  give_words(Of::graph, words);
}

bool GpuDevice::has_failed() noexcept {
  if (failed_.load(std::memory_order_relaxed)) return true;
  const std::int64_t when = ticks();
  if (when - asked_.load(std::memory_order_relaxed) < kAskAgain) return false;
  asked_.store(when, std::memory_order_relaxed);
  wanted_.store(true, std::memory_order_release);
  want_.notify();
  return false;
}

void GpuDevice::start_asking() {
  event_count_begin();
  const NoSignals blocked;  // as the thread inherits it
  std::thread([this] { ask(); }).detach();
}

void GpuDevice::ask() noexcept {
  for (;;) {
    const EventCount::Key key = want_.prepare();
    if (wanted_.load(std::memory_order_acquire)) {
      want_.cancel(key);
    } else {
      want_.wait(key, std::chrono::seconds(10));
    }
    if (!wanted_.exchange(false, std::memory_order_acquire)) continue;
    // A stream of plait's own tells as well as the program's, which may be gone: an error of a kernel ends all in its context.
    if (driver_.query(context_, own_) == Answer::failed) {
      failed_.store(true, std::memory_order_relaxed);
      return;
    }
  }
}

Words GpuDevice::take_words(Of of) {
  {
    const std::lock_guard guard(lock_);
    std::vector<Words>& kept = words_.at(static_cast<std::size_t>(of));
    if (!kept.empty()) {
      const Words words = kept.back();
      kept.pop_back();
      return words;
    }
  }
  Word* const released = driver_.waited_word(context_);  // the few bytes stay where there is no memory for the next
  return {new (take(kApart)) Word(0), released};
}

void GpuDevice::give_words(Of of, Words words) noexcept {
  const std::lock_guard guard(lock_);
  try {
    words_.at(static_cast<std::size_t>(of)).push_back(words);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): not used again then
  }
}

Place GpuDevice::place(const void* at, std::size_t bytes) noexcept {
  const auto is_here = [this](const GpuPlace& p) { return p.kind == GpuPlace::Kind::device && p.device == number_; };
  const GpuPlace first = driver_.place(context_, at);
  if (first.kind != GpuPlace::Kind::device) return Place::host;
  return is_here(first) && is_here(driver_.place(context_, static_cast<const std::byte*>(at) + bytes - 1)) ? Place::device
                                                                                                           : Place::elsewhere;
}
bool GpuDevice::is_shared(const void* at) noexcept { return driver_.place(context_, at).is_managed; }
bool GpuDevice::is_pageable(const void* at) noexcept { return driver_.place(context_, at).kind == GpuPlace::Kind::pageable; }

void GpuDevice::copy_now(void* to, const std::byte* from, const Rows& rows) {
  void* event = nullptr;
  {
    const std::lock_guard guard(lock_);
    if (!events_.empty()) {
      event = events_.back();
      events_.pop_back();
    }
  }
  if (!event) event = driver_.make_event(context_);
  driver_.copy(context_, own_, to, from, rows, true);
  driver_.record(context_, event, own_);
  for (Answer answer = Answer::not_yet; answer != Answer::done;) {
    answer = driver_.query_event(context_, event);
    require(answer != Answer::failed, MPI_ERR_OTHER);  // nothing of the context is of use then
    if (answer == Answer::not_yet) std::this_thread::yield();
  }
  const std::lock_guard guard(lock_);
  try {
    events_.push_back(event);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): not used again then
  }
}

std::byte* GpuDevice::cut(std::span<std::byte>& slab, unsigned size_class) {
  std::byte* const at = slab.data();
  class_of_.emplace(at, size_class);
  slab = slab.subspan(std::size_t{1} << size_class);
  return at;
}

std::byte* GpuDevice::take_kept(unsigned size_class) {
  const std::lock_guard guard(lock_);
  std::vector<std::byte*>& free = free_.at(size_class);
  if (!free.empty()) {
    std::byte* const at = free.back();
    free.pop_back();
    return at;
  }
  if (size_class > kLargestOfSlab) return nullptr;
  const auto slab = std::ranges::find_if(slabs_, [&](const auto& s) { return s.size() >= std::size_t{1} << size_class; });
  return slab == slabs_.end() ? nullptr : cut(*slab, size_class);
}

std::byte* GpuDevice::take(std::size_t bytes) {
  const unsigned size_class = class_for(bytes);
  if (std::byte* const kept = take_kept(size_class)) return kept;
  const bool from_slab = size_class <= kLargestOfSlab;
  const std::size_t more = from_slab ? kSlab : std::size_t{1} << size_class;
  std::span<std::byte> taken(driver_.host_memory(context_, more), more);
  const std::lock_guard guard(lock_);
  if (!from_slab) return cut(taken, size_class);
  slabs_.push_back(taken);
  return cut(slabs_.back(), size_class);
}

void GpuDevice::give(std::byte* at) noexcept {
  const std::lock_guard guard(lock_);
  try {
    free_.at(class_of_.at(at)).push_back(at);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): not used again then
  }
}

}  // namespace plait::queue
