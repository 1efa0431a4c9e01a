#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "base/fatal.hpp"
#include "base/spinlock.hpp"
#include "cluster/mpi_calls.hpp"
#include "cluster/signals.hpp"
#include "cluster/space.hpp"

namespace plait::cluster {
namespace {

/// Of nonblocking calls that are under way. Some MPIs give one handle to all requests that were complete at once: any of these will do.
Spinlock lock;
std::multimap<MPI_Request, std::unique_ptr<Call>>& under_way = *new std::multimap<MPI_Request, std::unique_ptr<Call>>;
std::atomic<std::size_t> count_under_way{0};

std::unique_ptr<Call> take(MPI_Request request) {
  const UndisturbedLock guard(lock);
  const auto found = under_way.find(request);
  if (found == under_way.end()) return nullptr;
  std::unique_ptr<Call> call = std::move(found->second);
  under_way.erase(found);
  count_under_way.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a thread completes what it knows of
  return call;
}

void put(MPI_Request request, std::unique_ptr<Call> call) {
  const UndisturbedLock guard(lock);
  under_way.emplace(request, std::move(call));
  count_under_way.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
}

/// The bytes of `now` that differ from `before`, to where they belong. Others may write the bytes between.
void put_changes(std::byte* to, const std::byte* now, const std::byte* before, std::size_t bytes) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  for (std::size_t at = 0; at < bytes;) {
    std::size_t same = at;
    while (same + kWord <= bytes && std::memcmp(now + same, before + same, kWord) == 0) same += kWord;
    while (same < bytes && now[same] == before[same]) ++same;
    std::size_t end = same;
    while (end < bytes && now[end] != before[end]) ++end;
    std::memcpy(to + same, now + same, end - same);
    at = end;
  }
}

}  // namespace

void* Call::copy(void* start, std::size_t bytes, bool results) {
  if (bytes == 0 || !shared(start)) return start;
  auto* const begin = static_cast<std::byte*>(start);
  auto now = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::memcpy(now.get(), begin, bytes);
  std::unique_ptr<std::byte[]> before;
  if (results) {
    before = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::memcpy(before.get(), now.get(), bytes);
  }
  copies_.push_back({begin, bytes, std::move(now), std::move(before)});
  return copies_.back().now.get();
}

void Call::Span::add(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL) return;
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_low = 0;
  MPI_Aint true_extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  PMPI_Type_get_true_extent(type, &true_low, &true_extent);
  if (true_extent <= 0) return;
  const MPI_Aint last = extent * static_cast<MPI_Aint>(count - 1);
  // MPI_BOTTOM is a null pointer, and its types have addresses.
  const auto base = reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(true_low);
  // NOLINTBEGIN(performance-no-int-to-ptr)
  auto* const first = reinterpret_cast<std::byte*>(base + static_cast<std::uintptr_t>(std::min<MPI_Aint>(last, 0)));
  auto* const after = reinterpret_cast<std::byte*>(base + static_cast<std::uintptr_t>(std::max<MPI_Aint>(last, 0) + true_extent));
  // NOLINTEND(performance-no-int-to-ptr)
  if (begin == end) begin = first;
  begin = std::min(begin, first);
  end = std::max(end, after);
}

void* Call::moved(const void* buffer, const Span& span, bool results) {
  auto* const given = static_cast<std::byte*>(const_cast<void*>(buffer));
  if (buffer == MPI_IN_PLACE || span.begin == span.end) return given;
  const auto bytes = static_cast<std::size_t>(span.end - span.begin);
  const bool begin_shared = shared(span.begin);
  if (!begin_shared && !shared(span.end - 1)) return given;
  const auto pages = reinterpret_cast<std::uintptr_t>(span.end - 1) / kPage - reinterpret_cast<std::uintptr_t>(span.begin) / kPage;
  if (begin_shared != shared(span.end - 1) || page_of(span.end - 1) - page_of(span.begin) != pages) {
    fatal("OpenMP over several nodes: a datatype of an MPI call reaches from memory that all processes share to memory that they do not");
  }
  const auto* const to = static_cast<std::byte*>(copy(span.begin, bytes, results));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it may lie before the copy
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(given) + reinterpret_cast<std::uintptr_t>(to) -
                                 reinterpret_cast<std::uintptr_t>(span.begin));
}

void* Call::buffer_of(const void* buffer, MPI_Count count, MPI_Datatype type, bool results) {
  Span span;
  if (buffer != MPI_IN_PLACE) span.add(buffer, count, type);
  return moved(buffer, span, results);
}

void* Call::parts(const void* buffer, const int* counts, const int* places, MPI_Datatype type, int processes, bool results) {
  Span span;
  if (buffer != MPI_IN_PLACE && type != MPI_DATATYPE_NULL) {
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &low, &extent);
    for (int n = 0; n < processes; ++n) span.add(static_cast<const std::byte*>(buffer) + extent * places[n], counts[n], type);
  }
  return moved(buffer, span, results);
}

void* Call::parts(const void* buffer, const int* counts, const int* places, const MPI_Datatype* types, int processes, bool results) {
  Span span;
  for (int n = 0; n < processes && buffer != MPI_IN_PLACE; ++n) {
    span.add(static_cast<const std::byte*>(buffer) + places[n], counts[n], types[n]);
  }
  return moved(buffer, span, results);
}

int Call::end(int error) {
  for (const Copy& copy : copies_) {
    if (copy.before) put_changes(copy.start, copy.now.get(), copy.before.get(), copy.bytes);
  }
  copies_.clear();
  return error;
}

int Call::begun(int error, MPI_Request request, MPI_Request* to) {
  if (!copies_.empty()) {
    if (error != MPI_SUCCESS || request == MPI_REQUEST_NULL) {
      end(error);
    } else {
      put(request, std::make_unique<Call>(std::move(*this)));
    }
  }
  *to = request;
  return error;
}

Requests::Requests(int count, MPI_Request* requests) : user_(requests) {
  // relaxed: see take
  if (count <= 0 || (count_under_way.load(std::memory_order_relaxed) == 0 && !shared(requests))) return;
  now_.assign(requests, requests + count);
  before_ = now_;
  // Taken before the call: after it the handle may mean another request already.
  for (const MPI_Request request : now_) calls_.push_back(request == MPI_REQUEST_NULL ? nullptr : take(request));
}

int Requests::end(int error) {
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (calls_[i] && now_[i] == MPI_REQUEST_NULL) calls_[i]->end(error);
    if (calls_[i] && now_[i] != MPI_REQUEST_NULL) put(now_[i], std::move(calls_[i]));
    if (now_[i] != before_[i]) user_[i] = now_[i];
  }
  return error;
}

bool forget(MPI_Request request) {
  Call* const call = take(request).release();
  return !call || !call->has_results();
}

}  // namespace plait::cluster
