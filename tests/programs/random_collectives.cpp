// random_collectives: random collective calls on thread communicators, every result held against a plain reference.
//
//   random_collectives [--seed S] [--calls N] [--threads T] [--more M] [--leaders 1]
//
// Every process has T threads, and M more than the one before it (0: the process itself is the rank, on ordinary communicators, which tests
// the MPI and this program). All ranks draw the same calls: which, on which communicator, how much, of which datatypes, to which root,
// blocking or not, in place or not; with --leaders only those that nodes' leaders make between nodes. Data are a hash of who sends what to
// whom, so each rank knows what it has to find.
#include <mpi.h>
#include <plait/mpix.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

std::uint64_t seed = 0;
int calls = 300;
int threads = 4;
int added = 0;
bool leaders = false;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0, std::uint64_t d = 0) { return mix(mix(mix(mix(a) + b) + c) + d); }

class Rng {
 public:
  explicit Rng(std::uint64_t state) : state_(state) {}
  std::uint64_t next() { return mix(state_++); }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

[[noreturn]] void wrong(const std::string& what) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "random_collectives: WRONG in process %d, --seed %llu --calls %d --threads %d: %s\n", rank,
               static_cast<unsigned long long>(seed), calls, threads, what.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}
void check(bool holds, const char* call, const std::string& where) {
  if (!holds) wrong(std::string(call) + ": " + where);
}

/// Three ints an element, one after the other or with gaps.
struct Layout {
  MPI_Datatype type;
  int elements;  ///< for three ints
  std::vector<int> places;
  int extent;  ///< of three ints, in ints
};
constexpr int kCanary = -77;

struct Layouts {
  std::vector<Layout> all;
  Layouts() {
    all.push_back({MPI_INT, 3, {0, 1, 2}, 3});
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Datatype strided = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 7 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    MPI_Type_free(&vector);
    all.push_back({strided, 1, {0, 2, 4}, 7});
    MPI_Datatype triple = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    all.push_back({triple, 1, {0, 1, 2}, 3});
  }
  Layouts(const Layouts&) = delete;
  Layouts& operator=(const Layouts&) = delete;
  ~Layouts() {
    MPI_Type_free(&all[1].type);
    MPI_Type_free(&all[2].type);
  }
};

/// (a, b) stands for x -> a x + b; the left operand is applied last. Not commutative.
struct Affine {
  std::uint32_t a, b;
  bool operator==(const Affine&) const = default;
};
Affine after(Affine l, Affine r) { return {l.a * r.a, l.a * r.b + l.b}; }
extern "C" void apply_affine(void* in, void* inout, int* n, MPI_Datatype*) {
  const auto* const l = static_cast<const Affine*>(in);
  auto* const r = static_cast<Affine*>(inout);
  // As the program's buffers are.
  if (reinterpret_cast<std::uintptr_t>(in) % alignof(Affine) != 0 || reinterpret_cast<std::uintptr_t>(inout) % alignof(Affine) != 0)
    wrong("an operation's operands are not aligned");
  for (int i = 0; i < *n; ++i) r[i] = after(l[i], r[i]);
}
MPI_Op affine_op = MPI_OP_NULL;
MPI_Datatype affine_type = MPI_DATATYPE_NULL;

/// Blocks of triples by rank, in ints.
struct Buffer {
  const Layout* layout = nullptr;
  std::vector<int> triples, displacements;  ///< by block; displacements in triples
  std::vector<int> ints;

  Buffer() = default;
  Buffer(const Layout& l, std::vector<int> t, std::vector<int> d) : layout(&l), triples(std::move(t)), displacements(std::move(d)) {
    int most = 0;
    for (std::size_t i = 0; i < triples.size(); ++i) most = std::max(most, displacements[i] + triples[i]);
    ints.assign(static_cast<std::size_t>(most * l.extent + 8), kCanary);
  }
  int& at(int block, int i) {
    const int triple = displacements[static_cast<std::size_t>(block)] + i / 3;
    return ints[static_cast<std::size_t>(triple * layout->extent + layout->places[static_cast<std::size_t>(i % 3)])];
  }
  void fill(int block, const std::function<int(int)>& value) {
    for (int i = 0; i < 3 * triples[static_cast<std::size_t>(block)]; ++i) at(block, i) = value(i);
  }
  /// Takes out what is right, so that only canaries are to be left.
  bool take(int block, const std::function<int(int)>& value) {
    for (int i = 0; i < 3 * triples[static_cast<std::size_t>(block)]; ++i) {
      if (at(block, i) != value(i)) return false;
      at(block, i) = kCanary;
    }
    return true;
  }
  [[nodiscard]] bool untouched() const {
    return std::ranges::all_of(ints, [](int i) { return i == kCanary; });
  }
  [[nodiscard]] std::vector<int> counts() const {
    std::vector<int> c;
    for (const int t : triples) c.push_back(t * layout->elements);
    return c;
  }
  [[nodiscard]] std::vector<int> places() const {
    std::vector<int> d;
    for (const int t : displacements) d.push_back(t * layout->elements);
    return d;
  }
};

struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<void()> verify;
  std::vector<std::shared_ptr<void>> kept;  ///< what the call reads until it is over
};

class Player {
 public:
  Player(MPI_Comm base, const Layouts& layouts) : layouts_(layouts) {
    comms_.push_back(base);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(base, &rank);
    MPI_Comm_size(base, &size);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(base, &made);
    comms_.push_back(made);
    MPI_Comm_split(base, 0, -rank, &made);  // the other way round
    comms_.push_back(made);
    MPI_Comm_split(base, rank % 2, static_cast<int>(mix(seed, static_cast<std::uint64_t>(rank)) % 100), &made);
    comms_.push_back(made);
    MPI_Comm_split(base, rank == 0 ? MPI_UNDEFINED : 3, rank, &made);
    check((made == MPI_COMM_NULL) == (rank == 0), "MPI_Comm_split", "MPI_UNDEFINED");
    comms_.push_back(made);
    world_rank_ = rank;
  }

  void play(int number) {
    Rng rng(mix(seed, static_cast<std::uint64_t>(number)));
    const int which = rng.below(static_cast<int>(comms_.size()));
    comm_ = comms_[static_cast<std::size_t>(which)];
    call_ = static_cast<std::uint64_t>(number);
    nonblocking_ = rng.one_in(2);
    in_place_ = rng.one_in(3);
    large_ = rng.one_in(6);
    int kind = rng.below(14);
    if (leaders) {
      nonblocking_ = false;
      kind = std::array{0, 1, 9, 10}[static_cast<std::size_t>(kind % 4)];  // barrier, broadcast, reduce, allreduce
    }
    const std::uint64_t more = rng.next();
    if (comm_ != MPI_COMM_NULL) {
      MPI_Comm_rank(comm_, &me_);
      MPI_Comm_size(comm_, &n_);
      Rng shared(more);
      root_ = shared.below(n_);
      own_ = Rng(mix(more, static_cast<std::uint64_t>(world_rank_)));
      one(kind, shared);
    }
    if (pending_.size() >= 4 || rng.one_in(3)) settle();
  }

  void end() {
    settle();
    for (std::size_t i = 1; i < comms_.size(); ++i) {
      if (comms_[i] != MPI_COMM_NULL) MPI_Comm_free(&comms_[i]);
    }
  }

 private:
  void settle() {
    std::vector<MPI_Request> requests;
    for (const auto& p : pending_) requests.push_back(p->request);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (const auto& p : pending_) p->verify();
    pending_.clear();
  }

  [[nodiscard]] std::string where() const {
    return "call " + std::to_string(call_) + ", rank " + std::to_string(me_) + " of " + std::to_string(n_) + ", root " +
           std::to_string(root_) + (nonblocking_ ? ", nonblocking" : "") + (in_place_ ? ", in place" : "") + (large_ ? ", large" : "");
  }
  const Layout& layout() { return layouts_.all[static_cast<std::size_t>(own_.below(static_cast<int>(layouts_.all.size())))]; }
  [[nodiscard]] std::function<int(int)> value(int from, int to) const {
    const std::uint64_t key = mix(seed, call_, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
    return [key](int i) { return static_cast<int>(mix(key, static_cast<std::uint64_t>(i)) & 0xFFFFFF); };
  }
  /// Triples that `from` has for `to`; the same on all ranks.
  [[nodiscard]] int amount(int from, int to) const {
    const std::uint64_t h = mix(seed, call_, static_cast<std::uint64_t>(from) + 1000, static_cast<std::uint64_t>(to));
    const bool huge = large_ && call_ % 8 == 0 && from == 0 && to <= 1;
    return static_cast<int>(h % (huge ? 40000 : large_ ? 3000 : 6));
  }
  /// Blocks in some order with gaps.
  std::vector<int> scattered(const std::vector<int>& triples) {
    std::vector<int> order(triples.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(own_.below(static_cast<int>(i)))]);
    std::vector<int> places(triples.size());
    int at = own_.below(3);
    for (const int b : order) {
      places[static_cast<std::size_t>(b)] = at;
      at += triples[static_cast<std::size_t>(b)] + own_.below(2);
    }
    return places;
  }
  static std::vector<int> in_a_row(const std::vector<int>& triples) {
    std::vector<int> places(triples.size());
    std::exclusive_scan(triples.begin(), triples.end(), places.begin(), 0);
    return places;
  }
  std::vector<int> amounts(bool varying, bool to_me) const {
    std::vector<int> t;
    for (int r = 0; r < n_; ++r) t.push_back(!varying ? amount(0, 0) : to_me ? amount(r, 0) : amount(0, r));
    return t;
  }

  /// Ends a call, or keeps it for later.
  void finish(int error, const char* name, const std::shared_ptr<Pending>& p) {
    check(error == MPI_SUCCESS, name, where() + ": error " + std::to_string(error));
    if (nonblocking_) {
      pending_.push_back(p);
    } else {
      p->verify();
    }
  }

#define CALL(NAME, INAME, ...) \
  finish(nonblocking_ ? MPI_##INAME(__VA_ARGS__, comm_, &p->request) : MPI_##NAME(__VA_ARGS__, comm_), nonblocking_ ? #INAME : #NAME, p)

  void one(int kind, Rng& shared) {
    switch (kind) {
      case 0:
        barrier();
        break;
      case 1:
        broadcast();
        break;
      case 2:
        gather(shared.one_in(2));
        break;
      case 3:
        scatter(shared.one_in(2));
        break;
      case 4:
      case 5:
        allgather(kind == 5);
        break;
      case 6:
      case 7:
      case 8:
        alltoall(kind - 6);
        break;
      default:
        reduction(kind - 9, shared);
        break;
    }
  }

  void barrier() {
    auto p = std::make_shared<Pending>();
    p->verify = [] {};
    const int error = nonblocking_ ? MPI_Ibarrier(comm_, &p->request) : MPI_Barrier(comm_);
    finish(error, "Barrier", p);
  }

  void broadcast() {
    auto p = std::make_shared<Pending>();
    auto b = std::make_shared<Buffer>(layout(), std::vector<int>{amount(0, 0)}, std::vector<int>{0});
    if (me_ == root_) b->fill(0, value(root_, 0));
    p->verify = [b, v = value(root_, 0), w = where()] { check(b->take(0, v) && b->untouched(), "Bcast", w); };
    CALL(Bcast, Ibcast, b->ints.data(), b->counts()[0], b->layout->type, root_);
  }

  void gather(bool varying) {
    auto p = std::make_shared<Pending>();
    const std::vector<int> triples = amounts(varying, true);
    auto all = std::make_shared<Buffer>(layout(), triples, varying ? scattered(triples) : in_a_row(triples));
    auto mine = std::make_shared<Buffer>(layout(), std::vector<int>{triples[static_cast<std::size_t>(me_)]}, std::vector<int>{0});
    const bool in_place = in_place_ && me_ == root_;
    if (in_place) {
      all->fill(me_, value(me_, 0));
    } else {
      mine->fill(0, value(me_, 0));
    }
    auto counts = std::make_shared<std::vector<int>>(all->counts());
    auto places = std::make_shared<std::vector<int>>(all->places());
    p->verify = [this, all, mine, counts, places, w = where(), values = values(), root = me_ == root_] {
      for (int r = 0; root && r < static_cast<int>(counts->size()); ++r)
        check(all->take(r, values[static_cast<std::size_t>(r)]), "Gather", w);
      check(all->untouched(), "Gather", w + ", outside");
    };
    const void* const from = in_place ? MPI_IN_PLACE : mine->ints.data();
    if (varying) {
      CALL(Gatherv, Igatherv, from, mine->counts()[0], mine->layout->type, all->ints.data(), counts->data(), places->data(),
           all->layout->type, root_);
    } else {
      CALL(Gather, Igather, from, mine->counts()[0], mine->layout->type, all->ints.data(), (*counts)[0], all->layout->type, root_);
    }
  }

  void scatter(bool varying) {
    auto p = std::make_shared<Pending>();
    const std::vector<int> triples = amounts(varying, false);
    auto all = std::make_shared<Buffer>(layout(), triples, varying ? scattered(triples) : in_a_row(triples));
    auto mine = std::make_shared<Buffer>(layout(), std::vector<int>{triples[static_cast<std::size_t>(me_)]}, std::vector<int>{0});
    for (int r = 0; r < n_; ++r) all->fill(r, value(root_, r));
    const bool in_place = in_place_ && me_ == root_;
    auto counts = std::make_shared<std::vector<int>>(all->counts());
    auto places = std::make_shared<std::vector<int>>(all->places());
    p->verify = [all, mine, counts, places, in_place, v = value(root_, me_), w = where()] {
      if (!in_place) check(mine->take(0, v), "Scatter", w);
      check(mine->untouched(), "Scatter", w + ", outside");
    };
    void* const to = in_place ? MPI_IN_PLACE : mine->ints.data();
    if (varying) {
      CALL(Scatterv, Iscatterv, all->ints.data(), counts->data(), places->data(), all->layout->type, to, mine->counts()[0],
           mine->layout->type, root_);
    } else {
      CALL(Scatter, Iscatter, all->ints.data(), (*counts)[0], all->layout->type, to, mine->counts()[0], mine->layout->type, root_);
    }
  }

  void allgather(bool varying) {
    auto p = std::make_shared<Pending>();
    const std::vector<int> triples = amounts(varying, true);
    auto all = std::make_shared<Buffer>(layout(), triples, varying ? scattered(triples) : in_a_row(triples));
    auto mine = std::make_shared<Buffer>(layout(), std::vector<int>{triples[static_cast<std::size_t>(me_)]}, std::vector<int>{0});
    (in_place_ ? all : mine)->fill(in_place_ ? me_ : 0, value(me_, 0));
    auto counts = std::make_shared<std::vector<int>>(all->counts());
    auto places = std::make_shared<std::vector<int>>(all->places());
    p->verify = [all, mine, counts, places, w = where(), values = values()] {
      for (int r = 0; r < static_cast<int>(counts->size()); ++r) check(all->take(r, values[static_cast<std::size_t>(r)]), "Allgather", w);
      check(all->untouched(), "Allgather", w + ", outside");
    };
    const void* const from = in_place_ ? MPI_IN_PLACE : mine->ints.data();
    if (varying) {
      CALL(Allgatherv, Iallgatherv, from, mine->counts()[0], mine->layout->type, all->ints.data(), counts->data(), places->data(),
           all->layout->type);
    } else {
      CALL(Allgather, Iallgather, from, mine->counts()[0], mine->layout->type, all->ints.data(), (*counts)[0], all->layout->type);
    }
  }

  void alltoall(int form) {
    auto p = std::make_shared<Pending>();
    std::vector<int> out;
    std::vector<int> in;
    for (int r = 0; r < n_; ++r) {
      // In place both ways have the same amount.
      out.push_back(form == 0 ? amount(0, 0) : in_place_ ? amount(std::min(me_, r), std::max(me_, r)) : amount(me_, r));
      in.push_back(form == 0 ? amount(0, 0) : in_place_ ? amount(std::min(me_, r), std::max(me_, r)) : amount(r, me_));
    }
    auto from = std::make_shared<Buffer>(layout(), out, form ? scattered(out) : in_a_row(out));
    auto to = std::make_shared<Buffer>(layout(), in, form ? scattered(in) : in_a_row(in));
    for (int r = 0; r < n_; ++r) (in_place_ ? to : from)->fill(r, value(me_, r));
    struct Arrays {
      std::vector<int> out, out_at, in, in_at;
      std::vector<MPI_Datatype> out_types, in_types;
    };
    auto a = std::make_shared<Arrays>(Arrays{from->counts(), from->places(), to->counts(), to->places(), {}, {}});
    a->out_types.assign(static_cast<std::size_t>(n_), from->layout->type);
    a->in_types.assign(static_cast<std::size_t>(n_), to->layout->type);
    std::vector<std::function<int(int)>> expected;
    for (int r = 0; r < n_; ++r) expected.push_back(value(r, me_));
    p->verify = [from, to, a, expected, w = where()] {
      for (int r = 0; r < static_cast<int>(expected.size()); ++r) check(to->take(r, expected[static_cast<std::size_t>(r)]), "Alltoall", w);
      check(to->untouched(), "Alltoall", w + ", outside");
    };
    const void* const send = in_place_ ? MPI_IN_PLACE : from->ints.data();
    if (form == 0) {
      CALL(Alltoall, Ialltoall, send, a->out[0], from->layout->type, to->ints.data(), a->in[0], to->layout->type);
    } else if (form == 1) {
      CALL(Alltoallv, Ialltoallv, send, a->out.data(), a->out_at.data(), from->layout->type, to->ints.data(), a->in.data(), a->in_at.data(),
           to->layout->type);
    } else {
      for (int r = 0; r < n_; ++r) {
        const auto i = static_cast<std::size_t>(r);
        a->out_at[i] = from->displacements[i] * from->layout->extent * static_cast<int>(sizeof(int));
        a->in_at[i] = to->displacements[i] * to->layout->extent * static_cast<int>(sizeof(int));
      }
      CALL(Alltoallw, Ialltoallw, send, a->out.data(), a->out_at.data(), a->out_types.data(), to->ints.data(), a->in.data(),
           a->in_at.data(), a->in_types.data());
    }
  }

  [[nodiscard]] std::vector<std::function<int(int)>> values() const {
    std::vector<std::function<int(int)>> v;
    for (int r = 0; r < n_; ++r) v.push_back(value(r, 0));
    return v;
  }

  // ---- reductions

  void reduction(int form, Rng& shared) {
    const int what = shared.below(4);
    switch (what) {
      case 0:
        reduce<int>(form, shared, MPI_INT, MPI_SUM, [](int key) { return key; }, [](int a, int b) { return a + b; });
        break;
      case 1:
        reduce<double>(
            form, shared, MPI_DOUBLE, MPI_SUM, [](int key) { return 1.0 / (1.0 + key); }, [](double a, double b) { return a + b; });
        break;
      default:
        // As many bytes, once as a predefined datatype.
        reduce<Affine>(
            form, shared, what == 2 ? MPI_UINT64_T : affine_type, affine_op,
            [](int key) { return Affine{static_cast<std::uint32_t>(key) | 1U, static_cast<std::uint32_t>(key) * 7}; }, after);
        break;
    }
  }

  /// In the order that docs/threadcomm.md promises.
  template <class T, class Op>
  static T tree(std::vector<T> v, Op op) {
    for (std::size_t d = 1; d < v.size(); d *= 2) {
      for (std::size_t i = 0; i + d < v.size(); i += 2 * d) v[i] = op(v[i], v[i + d]);
    }
    return v[0];
  }
  static bool close(int a, int b) { return a == b; }
  static bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }
  static bool close(Affine a, Affine b) { return a == b; }

  template <class T, class Make, class Op>
  void reduce(int form, Rng& shared, MPI_Datatype type, MPI_Op op, Make make, Op combine) {
    // Reduce, Allreduce, Reduce_scatter, Reduce_scatter_block, Scan and Exscan share five numbers.
    if (form == 4 && shared.one_in(2)) form = 5;
    auto p = std::make_shared<Pending>();
    std::vector<int> parts;
    for (int r = 0; r < n_; ++r) parts.push_back(form == 2 ? amount(r, 1) : amount(0, 1));
    const int total = form == 2 || form == 3 ? std::accumulate(parts.begin(), parts.end(), 0) : amount(0, 1) * (large_ ? 3 : 1);
    const int first = form == 2 || form == 3 ? std::accumulate(parts.begin(), parts.begin() + me_, 0) : 0;
    const int got = form == 2 || form == 3 ? parts[static_cast<std::size_t>(me_)] : total;
    auto in = std::make_shared<std::vector<T>>(static_cast<std::size_t>(total));
    auto out = std::make_shared<std::vector<T>>(static_cast<std::size_t>(total) + 1);
    const bool in_place = in_place_ && (form != 0 || me_ == root_);
    for (int i = 0; i < total; ++i) (in_place ? *out : *in)[static_cast<std::size_t>(i)] = make(value(me_, 0)(i));
    auto counts = std::make_shared<std::vector<int>>(parts);
    p->kept = {in, counts};
    p->verify = [=, w = where(), values = values(), me = me_, n = n_, root = root_] {
      if (form == 0 && me != root) return;
      if (form == 5 && me == 0) return;
      for (int i = 0; i < got; ++i) {
        std::vector<T> all;
        const int until = form == 4 ? me + 1 : form == 5 ? me : n;
        for (int r = 0; r < until; ++r) all.push_back(make(values[static_cast<std::size_t>(r)](first + i)));
        const T expected = tree(all, combine);
        const T found = (*out)[static_cast<std::size_t>(i)];
        check(form < 4 && threads > 0 ? found == expected : close(found, expected), "Reduce",
              w + ", form " + std::to_string(form) + ", element " + std::to_string(i) + " of " + std::to_string(got));
      }
    };
    const void* const from = in_place ? MPI_IN_PLACE : in->data();
    void* const to = out->data();
    switch (form) {
      case 0:
        CALL(Reduce, Ireduce, from, to, total, type, op, root_);
        break;
      case 1:
        CALL(Allreduce, Iallreduce, from, to, total, type, op);
        break;
      case 2:
        CALL(Reduce_scatter, Ireduce_scatter, from, to, counts->data(), type, op);
        break;
      case 3:
        CALL(Reduce_scatter_block, Ireduce_scatter_block, from, to, parts[0], type, op);
        break;
      case 4:
        CALL(Scan, Iscan, from, to, total, type, op);
        break;
      default:
        CALL(Exscan, Iexscan, from, to, total, type, op);
        break;
    }
  }

  const Layouts& layouts_;
  std::vector<MPI_Comm> comms_;
  std::vector<std::shared_ptr<Pending>> pending_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::uint64_t call_ = 0;
  int me_ = 0, n_ = 0, root_ = 0, world_rank_ = 0;
  bool nonblocking_ = false, in_place_ = false, large_ = false;
  Rng own_{0};
};

void run(MPI_Comm comm, const Layouts& layouts) {
  Player player(comm, layouts);
  for (int i = 0; i < calls; ++i) player.play(i);
  player.end();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) seed = std::random_device{}();
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 0);
    if (word == "--calls") calls = std::atoi(argv[i + 1]);
    if (word == "--threads") threads = std::atoi(argv[i + 1]);
    if (word == "--leaders") leaders = std::atoi(argv[i + 1]) != 0;
    if (word == "--more") added = std::atoi(argv[i + 1]);
  }
  MPI_Type_contiguous(2, MPI_UINT32_T, &affine_type);
  MPI_Type_commit(&affine_type);
  MPI_Op_create(apply_affine, 0, &affine_op);
  {
    const Layouts layouts;
    if (threads == 0) {
      run(MPI_COMM_WORLD, layouts);
    } else {
      MPI_Comm comm = MPI_COMM_NULL;
      const int here = threads + rank * added;
      MPIX_Threadcomm_init(MPI_COMM_WORLD, here, &comm);
      std::vector<std::thread> team;
      for (int t = 0; t < here; ++t) {
        team.emplace_back([&] {
          MPIX_Threadcomm_start(comm);
          run(comm, layouts);
          MPIX_Threadcomm_finish(comm);
        });
      }
      for (std::thread& t : team) t.join();
      MPIX_Threadcomm_free(&comm);
    }
  }
  MPI_Op_free(&affine_op);
  MPI_Type_free(&affine_type);
  if (rank == 0)
    std::printf("random_collectives: seed %llu, %d calls by %d x %d ranks, all as the reference says\n",
                static_cast<unsigned long long>(seed), calls, size, std::max(threads, 1));
  MPI_Finalize();
  return 0;
}
