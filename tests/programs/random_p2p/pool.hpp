// The pending requests of one thread, completed by whichever call the dice say, in whatever mix they lie. What has been
// completed stays in the array for a while: null and inactive requests are part of what completion calls must bear.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "quirks.hpp"
#include "report.hpp"
#include "rng.hpp"

namespace random_p2p {

class Pool {
 public:
  Pool(Where& where, const Quirks& quirks, bool has_get_status) : where_(where), quirks_(quirks), has_get_status_(has_get_status) {}

  enum class After : std::uint8_t { gone, keep, free };  ///< what becomes of the handle: null, persistent and kept, persistent and freed

  struct Entry {
    int owner = -1;             ///< told back at completion; -1: completed, or null from the start
    bool needs_status = false;  ///< cannot do without
    bool quirky = false;        ///< persistent, of a communicator that the MPI underneath serves
    After after = After::gone;
  };

  /// Returns where the request lies.
  std::size_t add(MPI_Request request, const Entry& entry) {
    requests_.push_back(request);
    entries_.push_back(entry);
    ++active_;
    where_.pending.store(active_, std::memory_order_relaxed);
    return requests_.size() - 1;
  }
  MPI_Request& request(std::size_t at) { return requests_[at]; }

  /// One look at some of them without waiting.
  template <class Completed>
  void poke(Rng& rng, Completed&& completed) {
    if (requests_.empty()) return;
    const Segment s = draw(rng);
    rng.one_in(2) ? testsome(s, completed) : testany(s, completed);
  }

  template <class Completed>
  void complete_all(Rng& rng, Completed&& completed) {
    if (rng.one_in(2)) {
      // Null requests between the others, and another order than that of posting.
      for (std::uint32_t n = rng.below(3); n > 0; --n) {
        requests_.push_back(MPI_REQUEST_NULL);
        entries_.push_back({});
      }
      for (std::size_t i = requests_.size(); i > 1; --i) {
        const std::size_t j = rng.below(i);
        std::swap(requests_[i - 1], requests_[j]);
        std::swap(entries_[i - 1], entries_[j]);
      }
    }
    while (active_ > 0) {
      const Segment s = draw(rng);
      switch (rng.below(has_get_status_ ? 9 : 8)) {
        case 0:
          wait(s.first, completed);
          break;
        case 1:
          waitall(s, completed);
          break;
        case 2:
          waitany(s, completed);
          break;
        case 3:
          waitsome(s, completed);
          break;
        case 4:
          test(s.first, completed);
          break;
        case 5:
          testall(s, completed);
          break;
        case 6:
          testany(s, completed);
          break;
        case 7:
          testsome(s, completed);
          break;
        default:
          get_status(s.first);
          break;
      }
      if (2 * active_ < requests_.size() && rng.one_in(2)) compact();
    }
    compact();
  }

 private:
  struct Segment {
    std::size_t first, size;
    bool ignore;  ///< pass MPI_STATUS(ES)_IGNORE
  };

  Segment draw(Rng& rng) {
    const std::size_t n = requests_.size();
    std::size_t size = 1;
    switch (rng.below(4)) {
      case 0:
        break;
      case 1:
        size = 1 + rng.below(std::min<std::size_t>(n, 8));
        break;
      case 2:
        size = n;
        break;
      default:
        size = 1 + rng.below(n);
        break;
    }
    Segment s{.first = rng.below(n - size + 1), .size = size, .ignore = rng.one_in(4)};
    for (std::size_t i = s.first; s.ignore && i < s.first + size; ++i) s.ignore = !entries_[i].needs_status;
    return s;
  }

  template <class Completed>
  void done(std::size_t at, const MPI_Status* status, Completed& completed) {
    Entry& e = entries_[at];
    if (e.owner < 0) {
      // Null or inactive all along: the empty status.
      if (status == nullptr) return;
      int count = -1;
      MPI_Get_count(status, MPI_BYTE, &count);
      if (status->MPI_SOURCE != MPI_ANY_SOURCE || status->MPI_TAG != MPI_ANY_TAG || count != 0) {
        fail(where_, "expected the empty status of a null or inactive request, came source %d tag %d count %d", status->MPI_SOURCE,
             status->MPI_TAG, count);
      }
      return;
    }
    if (e.after == After::gone && requests_[at] != MPI_REQUEST_NULL) fail(where_, "a completed request is not null");
    if (e.after != After::gone && requests_[at] == MPI_REQUEST_NULL) fail(where_, "a completed persistent request is null");
    const int owner = std::exchange(e.owner, -1);
    --active_;
    where_.pending.store(active_, std::memory_order_relaxed);
    where_.steps.fetch_add(1, std::memory_order_relaxed);
    completed(owner, status);
  }

  /// Persistent requests are inactive now, others null.
  void compact() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (entries_[i].owner >= 0) {
        requests_[kept] = requests_[i];
        entries_[kept++] = entries_[i];
      } else if (entries_[i].after == After::free) {
        RANDOM_P2P_TRY(where_, MPI_Request_free, &requests_[i]);
        if (requests_[i] != MPI_REQUEST_NULL) fail(where_, "a freed request is not null");
      }
    }
    requests_.resize(kept);
    entries_.resize(kept);
  }

  MPI_Status* one(const Segment& s) { return s.ignore ? MPI_STATUS_IGNORE : &status_; }
  MPI_Status* all(const Segment& s) {
    if (s.ignore) return MPI_STATUSES_IGNORE;
    statuses_.resize(s.size);
    return statuses_.data();
  }
  const MPI_Status* seen(const Segment& s, std::size_t i) { return s.ignore ? nullptr : &statuses_[i]; }

  template <class Completed>
  void wait(std::size_t at, Completed& completed) {
    RANDOM_P2P_TRY(where_, MPI_Wait, &requests_[at], &status_);
    done(at, &status_, completed);
  }
  template <class Completed>
  void test(std::size_t at, Completed& completed) {
    for (int tries = 0; tries < 50; ++tries) {
      int flag = -1;
      RANDOM_P2P_TRY(where_, MPI_Test, &requests_[at], &flag, &status_);
      if (flag != 0) return done(at, &status_, completed);
      sched_yield();
    }
  }
  template <class Completed>
  void waitall(const Segment& s, Completed& completed) {
    RANDOM_P2P_TRY(where_, MPI_Waitall, static_cast<int>(s.size), &requests_[s.first], all(s));
    for (std::size_t i = 0; i < s.size; ++i) done(s.first + i, seen(s, i), completed);
  }
  template <class Completed>
  void testall(Segment s, Completed& completed) {
    for (std::size_t i = s.first; s.ignore && s.size > 64 && i < s.first + s.size; ++i) {
      s.ignore = !(entries_[i].quirky && quirks_.long_testall_forgets_persistent);
    }
    for (int tries = 0; tries < 3; ++tries) {
      int flag = -1;
      RANDOM_P2P_TRY(where_, MPI_Testall, static_cast<int>(s.size), &requests_[s.first], &flag, all(s));
      if (flag != 0) {
        for (std::size_t i = 0; i < s.size; ++i) done(s.first + i, seen(s, i), completed);
        return;
      }
      sched_yield();
    }
  }
  template <class Completed>
  void waitany(const Segment& s, Completed& completed) {
    int index = -1;
    RANDOM_P2P_TRY(where_, MPI_Waitany, static_cast<int>(s.size), &requests_[s.first], &index, one(s));
    any_done(s, index, completed);
  }
  template <class Completed>
  void testany(const Segment& s, Completed& completed) {
    int index = -1, flag = -1;
    RANDOM_P2P_TRY(where_, MPI_Testany, static_cast<int>(s.size), &requests_[s.first], &index, &flag, one(s));
    if (flag != 0) return any_done(s, index, completed);
    if (index != MPI_UNDEFINED) fail(where_, "nothing completed, yet index %d", index);
    sched_yield();
  }
  template <class Completed>
  void any_done(const Segment& s, int index, Completed& completed) {
    if (index == MPI_UNDEFINED) return none_active(s);
    if (index < 0 || static_cast<std::size_t>(index) >= s.size || entries_[s.first + index].owner < 0) {
      fail(where_, "expected the index of an active request of %zu, came %d", s.size, index);
    }
    done(s.first + index, s.ignore ? nullptr : &status_, completed);
  }
  template <class Completed>
  void waitsome(const Segment& s, Completed& completed) {
    int n = -1;
    indices_.resize(s.size);
    RANDOM_P2P_TRY(where_, MPI_Waitsome, static_cast<int>(s.size), &requests_[s.first], &n, indices_.data(), all(s));
    if (n == 0) fail(where_, "nothing completed, yet it returned");
    some_done(s, n, completed);
  }
  template <class Completed>
  void testsome(const Segment& s, Completed& completed) {
    int n = -1;
    indices_.resize(s.size);
    RANDOM_P2P_TRY(where_, MPI_Testsome, static_cast<int>(s.size), &requests_[s.first], &n, indices_.data(), all(s));
    some_done(s, n, completed);
    if (n <= 0) sched_yield();
  }
  template <class Completed>
  void some_done(const Segment& s, int n, Completed& completed) {
    if (n == MPI_UNDEFINED) return none_active(s);
    if (n < 0 || static_cast<std::size_t>(n) > s.size) fail(where_, "of %zu requests %d completed", s.size, n);
    for (int i = 0; i < n; ++i) {
      const int index = indices_[i];
      if (index < 0 || static_cast<std::size_t>(index) >= s.size || entries_[s.first + index].owner < 0) {
        fail(where_, "expected the index of an active request of %zu, came %d", s.size, index);
      }
      done(s.first + index, seen(s, i), completed);
    }
  }
  void none_active(const Segment& s) {
    for (std::size_t i = s.first; i < s.first + s.size; ++i) {
      if (entries_[i].owner >= 0) fail(where_, "says no request is active, but one of %zu is", s.size);
    }
  }
  /// Looks without completing.
  void get_status(std::size_t at) {
    if (entries_[at].quirky && quirks_.look_completes_persistent) return;
    int flag = -1;
    const MPI_Request before = requests_[at];
    RANDOM_P2P_TRY(where_, MPI_Request_get_status, requests_[at], &flag, &status_);
    if (requests_[at] != before) fail(where_, "the request changed");
    if (entries_[at].owner < 0 && flag == 0) fail(where_, "a null or inactive request is not complete");
    if (flag == 0) sched_yield();
  }

  Where& where_;
  Quirks quirks_;
  bool has_get_status_;
  std::vector<MPI_Request> requests_;
  std::vector<Entry> entries_;
  std::size_t active_ = 0;
  MPI_Status status_{};
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
};

}  // namespace random_p2p
