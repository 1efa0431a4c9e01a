#include "gaspi/in_use.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/fatal.hpp"

namespace plait::gaspi {

constinit thread_local std::atomic<std::uint64_t>* InUse::word = nullptr;

namespace {

struct Word {
  alignas(64) std::atomic<std::uint64_t> n{0};  ///< odd: inside
};
using Seen = std::vector<std::pair<const Word*, std::uint64_t>>;
struct Ended {
  std::function<void()> end;
  Seen inside;
};

struct All {
  std::mutex lock;
  std::vector<Word*> words;  ///< of threads that have been inside; of those that have ended, for new ones
  std::vector<Word*> unused;
  std::vector<Ended> ended;
};

All& all() {
  static All& all = *new All;  // never destroyed: threads may end later
  return all;
}

/// A thread's word goes to the next.
struct Owner {
  Word* word = nullptr;
  ~Owner() {
    if (!word) return;
    All& a = all();
    const std::lock_guard guard(a.lock);
    a.unused.push_back(word);
  }
};

}  // namespace

std::atomic<std::uint64_t>& InUse::add() noexcept {
  thread_local Owner owner;
  All& a = all();
  const std::lock_guard guard(a.lock);
  if (a.unused.empty()) {
    owner.word = new (std::nothrow) Word;
    if (!owner.word) fatal("no memory left for a thread that uses GASPI");
    a.words.push_back(owner.word);
    a.unused.reserve(a.words.size());
  } else {
    owner.word = a.unused.back();
    a.unused.pop_back();
  }
  return owner.word->n;
}

void when_unused(std::function<void()> end) {
  std::vector<Ended> over;
  barrier_in_this_process();
  All& a = all();
  {
    const std::lock_guard guard(a.lock);
    Ended ended{std::move(end), {}};
    for (const Word* const w : a.words) {
      // acquire: what was done inside is over.
      const std::uint64_t n = w->n.load(std::memory_order_acquire);
      if (n % 2 != 0) ended.inside.emplace_back(w, n);
    }
    a.ended.push_back(std::move(ended));
    const auto first = std::partition(a.ended.begin(), a.ended.end(), [](Ended& e) {
      std::erase_if(e.inside, [](const auto& seen) { return seen.first->n.load(std::memory_order_acquire) != seen.second; });
      return !e.inside.empty();
    });
    std::move(first, a.ended.end(), std::back_inserter(over));
    a.ended.erase(first, a.ended.end());
  }
  for (const Ended& e : over) e.end();
}

}  // namespace plait::gaspi
