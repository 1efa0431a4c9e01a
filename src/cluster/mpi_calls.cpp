// MPI calls of the program on memory that all processes share: the MPI works on private copies of it (mpi_calls.hpp). The MPI was started
// and will be ended by the carrier. In serial parts only process 0 runs the program: a collective call there would wait for ever.
#include "cluster/mpi_calls.hpp"

#include "base/fatal.hpp"
#include "cluster/next.hpp"
#include "cluster/signals.hpp"
#define PLAIT_MPI extern "C" [[gnu::visibility("default")]] int

using namespace plait::cluster;
using plait::fatal;

namespace {

/// Begun before the program asked for it.
bool by_carrier = false;

bool is_begun() {
  int there = 0;
  PMPI_Initialized(&there);
  if (there) by_carrier = true;
  return by_carrier;
}

int size_of(MPI_Comm comm) {
  int inter = 0;
  int size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) {
    PMPI_Comm_remote_size(comm, &size);
  } else {
    PMPI_Comm_size(comm, &size);
  }
  return size;
}

bool is_root(int root, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return root == MPI_ROOT || root == rank;
}

/// A collective call of this communicator's can be met by the others.
void check_met(const char* name, MPI_Comm comm) {
  if (job().processes == 1 || comm == MPI_COMM_NULL || !in_serial_part() || size_of(comm) == 1) return;
  fatal(
      "OpenMP over several nodes: MPI_%s in a serial part waits for ever, as only process 0 runs there: call it in a parallel "
      "region, by one thread of each process, or on MPI_COMM_SELF",
      name);
}

[[noreturn]] void refuse(const char* name) {
  fatal(
      "OpenMP over several nodes: %s is not carried on memory that all processes share: give it memory of MPI_Alloc_mem or of a "
      "thread's own stack",
      name);
}

}  // namespace

// --- Begin and end: the carrier's.

PLAIT_MPI MPI_Init(int* argc, char*** argv) { return is_begun() ? MPI_SUCCESS : PMPI_Init(argc, argv); }
PLAIT_MPI MPI_Init_thread(int* argc, char*** argv, int wanted, int* level) {
  return is_begun() ? PMPI_Query_thread(level) : PMPI_Init_thread(argc, argv, wanted, level);
}
PLAIT_MPI MPI_Finalize() { return by_carrier ? MPI_SUCCESS : PMPI_Finalize(); }

// --- Calls that end when they return, and nonblocking ones that begin. PLAIT_UNPACK takes the brackets off a list.

#define PLAIT_UNPACK(...) __VA_ARGS__
#define PLAIT_ENDS(name, check, parameters, arguments)    \
  PLAIT_MPI MPI_##name parameters {                       \
    check;                                                \
    const Undisturbed undisturbed;                        \
    Call call;                                            \
    return call.end(PMPI_##name(PLAIT_UNPACK arguments)); \
  }
#define PLAIT_BEGINS(name, check, parameters, arguments)             \
  PLAIT_MPI MPI_##name(PLAIT_UNPACK parameters, MPI_Request* to) {   \
    check;                                                           \
    const Undisturbed undisturbed;                                   \
    Call call;                                                       \
    MPI_Request request = MPI_REQUEST_NULL;                          \
    const int error = PMPI_##name(PLAIT_UNPACK arguments, &request); \
    return call.begun(error, request, to);                           \
  }
#define PLAIT_BLOCKING(name, parameters, arguments) PLAIT_ENDS(name, , parameters, arguments)
#define PLAIT_NONBLOCKING(name, parameters, arguments) PLAIT_BEGINS(name, , parameters, arguments)

#define PLAIT_SEND(name) \
  PLAIT_BLOCKING(name, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (call.sent(b, n, t), n, t, to, tag, c))
PLAIT_SEND(Send)
PLAIT_SEND(Ssend)
PLAIT_SEND(Rsend)
PLAIT_SEND(Bsend)
#define PLAIT_ISEND(name) \
  PLAIT_NONBLOCKING(name, (const void* b, int n, MPI_Datatype t, int dest, int tag, MPI_Comm c), (call.sent(b, n, t), n, t, dest, tag, c))
PLAIT_ISEND(Isend)
PLAIT_ISEND(Issend)
PLAIT_ISEND(Irsend)
PLAIT_ISEND(Ibsend)
PLAIT_BLOCKING(Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
               (call.received(b, n, t), n, t, from, tag, c, call.out(s)))
PLAIT_NONBLOCKING(Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c), (call.received(b, n, t), n, t, from, tag, c))
PLAIT_BLOCKING(Mrecv, (void* b, int n, MPI_Datatype t, MPI_Message* m, MPI_Status* s),
               (call.received(b, n, t), n, t, call.out(m), call.out(s)))
// The message's handle is changed at once.
PLAIT_MPI MPI_Imrecv(void* b, int n, MPI_Datatype t, MPI_Message* m, MPI_Request* to) {
  const Undisturbed undisturbed;
  Call call;
  MPI_Message message = *m;
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = PMPI_Imrecv(call.received(b, n, t), n, t, &message, &request);
  *m = message;
  return call.begun(error, request, to);
}
PLAIT_BLOCKING(Sendrecv,
               (const void* b, int n, MPI_Datatype t, int to, int tag, void* rb, int rn, MPI_Datatype rt, int from, int rtag, MPI_Comm c,
                MPI_Status* s),
               (call.sent(b, n, t), n, t, to, tag, call.received(rb, rn, rt), rn, rt, from, rtag, c, call.out(s)))
PLAIT_BLOCKING(Sendrecv_replace, (void* b, int n, MPI_Datatype t, int to, int tag, int from, int rtag, MPI_Comm c, MPI_Status* s),
               (call.received(b, n, t), n, t, to, tag, from, rtag, c, call.out(s)))
PLAIT_BLOCKING(Probe, (int from, int tag, MPI_Comm c, MPI_Status* s), (from, tag, c, call.out(s)))
PLAIT_BLOCKING(Iprobe, (int from, int tag, MPI_Comm c, int* there, MPI_Status* s), (from, tag, c, call.out(there), call.out(s)))
PLAIT_BLOCKING(Mprobe, (int from, int tag, MPI_Comm c, MPI_Message* m, MPI_Status* s), (from, tag, c, call.out(m), call.out(s)))
PLAIT_BLOCKING(Improbe, (int from, int tag, MPI_Comm c, int* there, MPI_Message* m, MPI_Status* s),
               (from, tag, c, call.out(there), call.out(m), call.out(s)))

PLAIT_BLOCKING(Pack, (const void* b, int n, MPI_Datatype t, void* to, int size, int* at, MPI_Comm c),
               (call.sent(b, n, t), n, t, call.received(to, size, MPI_BYTE), size, call.out(at), c))
PLAIT_BLOCKING(Unpack, (const void* from, int size, int* at, void* b, int n, MPI_Datatype t, MPI_Comm c),
               (call.sent(from, size, MPI_BYTE), size, call.out(at), call.received(b, n, t), n, t, c))
PLAIT_BLOCKING(Reduce_local, (const void* b, void* rb, int n, MPI_Datatype t, MPI_Op op),
               (call.sent(b, n, t), call.received(rb, n, t), n, t, op))

// --- Collective calls, blocking and not.

#define PLAIT_MET(name, parameters, arguments) PLAIT_ENDS(name, check_met(#name, c), parameters, arguments)
#define PLAIT_COLLECTIVE(name, iname, parameters, arguments) \
  PLAIT_MET(name, parameters, arguments)                     \
  PLAIT_BEGINS(iname, check_met(#iname, c), parameters, arguments)

PLAIT_COLLECTIVE(Barrier, Ibarrier, (MPI_Comm c), (c))
PLAIT_COLLECTIVE(Bcast, Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (call.received(b, n, t), n, t, root, c))
PLAIT_COLLECTIVE(Reduce, Ireduce, (const void* b, void* rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
                 (call.sent(b, n, t), call.received(rb, is_root(root, c) ? n : 0, t), n, t, op, root, c))
#define PLAIT_REDUCTION(name, iname)                                                                     \
  PLAIT_COLLECTIVE(name, iname, (const void* b, void* rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), \
                   (call.sent(b, n, t), call.received(rb, n, t), n, t, op, c))
PLAIT_REDUCTION(Allreduce, Iallreduce)
PLAIT_REDUCTION(Scan, Iscan)
PLAIT_REDUCTION(Exscan, Iexscan)
PLAIT_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, (const void* b, void* rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
                 (call.sent(b, MPI_Count{n} * size_of(c), t), call.received(rb, MPI_Count{n} * (b == MPI_IN_PLACE ? size_of(c) : 1), t), n,
                  t, op, c))

// Counts and places belong to the call, too: the MPI reads them until it is completed.
PLAIT_COLLECTIVE(Gather, Igather, (const void* b, int n, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, int root, MPI_Comm c),
                 (call.sent(b, n, t), n, t, is_root(root, c) ? call.received(rb, MPI_Count{rn} * size_of(c), rt) : rb, rn, rt, root, c))
PLAIT_COLLECTIVE(Scatter, Iscatter, (const void* b, int n, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, int root, MPI_Comm c),
                 (is_root(root, c) ? call.sent(b, MPI_Count{n} * size_of(c), t) : b, n, t, call.received(rb, rn, rt), rn, rt, root, c))
PLAIT_COLLECTIVE(Gatherv, Igatherv,
                 (const void* b, int n, MPI_Datatype t, void* rb, const int* rn, const int* rp, MPI_Datatype rt, int root, MPI_Comm c),
                 (call.sent(b, n, t), n, t, call.parts(rb, rn, rp, rt, is_root(root, c) ? size_of(c) : 0, true),
                  call.in(rn, is_root(root, c) ? size_of(c) : 0), call.in(rp, is_root(root, c) ? size_of(c) : 0), rt, root, c))
PLAIT_COLLECTIVE(Scatterv, Iscatterv,
                 (const void* b, const int* n, const int* p, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, int root, MPI_Comm c),
                 (call.parts(b, n, p, t, is_root(root, c) ? size_of(c) : 0, false), call.in(n, is_root(root, c) ? size_of(c) : 0),
                  call.in(p, is_root(root, c) ? size_of(c) : 0), t, call.received(rb, rn, rt), rn, rt, root, c))
#define PLAIT_ALL(name, iname, times)                                                                                  \
  PLAIT_COLLECTIVE(name, iname, (const void* b, int n, MPI_Datatype t, void* rb, int rn, MPI_Datatype rt, MPI_Comm c), \
                   (call.sent(b, b == MPI_IN_PLACE ? 0 : MPI_Count{n} * (times), t), n, t,                             \
                    call.received(rb, MPI_Count{rn} * size_of(c), rt), rn, rt, c))
PLAIT_ALL(Allgather, Iallgather, 1)
PLAIT_ALL(Alltoall, Ialltoall, size_of(c))
PLAIT_COLLECTIVE(Allgatherv, Iallgatherv,
                 (const void* b, int n, MPI_Datatype t, void* rb, const int* rn, const int* rp, MPI_Datatype rt, MPI_Comm c),
                 (call.sent(b, b == MPI_IN_PLACE ? 0 : n, t), n, t, call.parts(rb, rn, rp, rt, size_of(c), true), call.in(rn, size_of(c)),
                  call.in(rp, size_of(c)), rt, c))
PLAIT_COLLECTIVE(Alltoallv, Ialltoallv,
                 (const void* b, const int* n, const int* p, MPI_Datatype t, void* rb, const int* rn, const int* rp, MPI_Datatype rt,
                  MPI_Comm c),
                 (b == MPI_IN_PLACE ? b : call.parts(b, n, p, t, size_of(c), false), b == MPI_IN_PLACE ? n : call.in(n, size_of(c)),
                  b == MPI_IN_PLACE ? p : call.in(p, size_of(c)), t, call.parts(rb, rn, rp, rt, size_of(c), true), call.in(rn, size_of(c)),
                  call.in(rp, size_of(c)), rt, c))
PLAIT_COLLECTIVE(Alltoallw, Ialltoallw,
                 (const void* b, const int* n, const int* p, const MPI_Datatype* t, void* rb, const int* rn, const int* rp,
                  const MPI_Datatype* rt, MPI_Comm c),
                 (b == MPI_IN_PLACE ? b : call.parts(b, n, p, t, size_of(c), false), b == MPI_IN_PLACE ? n : call.in(n, size_of(c)),
                  b == MPI_IN_PLACE ? p : call.in(p, size_of(c)), b == MPI_IN_PLACE ? t : call.in(t, size_of(c)),
                  call.parts(rb, rn, rp, rt, size_of(c), true), call.in(rn, size_of(c)), call.in(rp, size_of(c)), call.in(rt, size_of(c)),
                  c))

// --- Collective calls that make communicators.

PLAIT_MET(Comm_dup, (MPI_Comm c, MPI_Comm* made), (c, call.out(made)))
PLAIT_MET(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm* made), (c, color, key, call.out(made)))
PLAIT_MET(Comm_split_type, (MPI_Comm c, int kind, int key, MPI_Info info, MPI_Comm* made), (c, kind, key, info, call.out(made)))
PLAIT_MET(Comm_create, (MPI_Comm c, MPI_Group group, MPI_Comm* made), (c, group, call.out(made)))
PLAIT_MET(Cart_create, (MPI_Comm c, int n, const int* dims, const int* periods, int reorder, MPI_Comm* made),
          (c, n, call.in(dims, n), call.in(periods, n), reorder, call.out(made)))

// --- Completion. The requests come first: they are taken out before the call.

#define PLAIT_COMPLETES(name, parameters, count, arguments) \
  PLAIT_MPI MPI_##name parameters {                         \
    const Undisturbed undisturbed;                          \
    Requests requests(count, r);                            \
    Call call;                                              \
    const int error = PMPI_##name(PLAIT_UNPACK arguments);  \
    return requests.end(call.end(error));                   \
  }
PLAIT_COMPLETES(Wait, (MPI_Request * r, MPI_Status* s), 1, (requests.data(), call.out(s)))
PLAIT_COMPLETES(Waitall, (int n, MPI_Request* r, MPI_Status* s), n, (n, requests.data(), call.out(s, n)))
PLAIT_COMPLETES(Waitany, (int n, MPI_Request* r, int* which, MPI_Status* s), n, (n, requests.data(), call.out(which), call.out(s)))
PLAIT_COMPLETES(Waitsome, (int n, MPI_Request* r, int* done, int* which, MPI_Status* s), n,
                (n, requests.data(), call.out(done), call.out(which, n), call.out(s, n)))
PLAIT_COMPLETES(Test, (MPI_Request * r, int* done, MPI_Status* s), 1, (requests.data(), call.out(done), call.out(s)))
PLAIT_COMPLETES(Testall, (int n, MPI_Request* r, int* done, MPI_Status* s), n, (n, requests.data(), call.out(done), call.out(s, n)))
PLAIT_COMPLETES(Testany, (int n, MPI_Request* r, int* which, int* done, MPI_Status* s), n,
                (n, requests.data(), call.out(which), call.out(done), call.out(s)))
PLAIT_COMPLETES(Testsome, (int n, MPI_Request* r, int* done, int* which, MPI_Status* s), n,
                (n, requests.data(), call.out(done), call.out(which, n), call.out(s, n)))
PLAIT_MPI MPI_Request_free(MPI_Request* r) {
  const Undisturbed undisturbed;
  if (!forget(*r)) fatal("OpenMP over several nodes: MPI_Request_free of a call that receives into memory that all processes share");
  MPI_Request request = *r;
  const int error = PMPI_Request_free(&request);
  *r = request;
  return error;
}

// --- Not carried: buffers that the MPI keeps, files, and calls with counts of more than 32 bits.

namespace {
using Word = long;
using Any = int(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
}  // namespace

// The arguments are integers and pointers, at most these many: what a call has not given is passed on as it lies there, and unused. `one`
// and `two` are the buffers, by their letters. The compiler knows these names by their own arguments, the assembler gets them.
#define PLAIT_REFUSED(name, one, two)                                                                                                 \
  extern "C" int plait_refused_##name(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l, \
                                      Word m) __asm__("MPI_" #name) __attribute__((visibility("default")));                           \
  extern "C" int plait_refused_##name(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l, \
                                      Word m) {                                                                                       \
    if (shared(reinterpret_cast<const void*>(one)) || shared(reinterpret_cast<const void*>(two))) refuse("MPI_" #name);               \
    const Undisturbed undisturbed;                                                                                                    \
    static constinit Next<Any> real("PMPI_" #name);                                                                                   \
    return real(a, b, c, d, e, f, g, h, i, j, k, l, m);                                                                               \
  }
#define PLAIT_REFUSED_64(name, one, two) \
  PLAIT_REFUSED(name, one, two)          \
  PLAIT_REFUSED(name##_c, one, two)
#define PLAIT_REFUSED_NEIGHBORS(name, one, two) \
  PLAIT_REFUSED_64(Neighbor_##name, one, two)   \
  PLAIT_REFUSED_64(Ineighbor_##name, one, two)
// NOLINTBEGIN(performance-no-int-to-ptr): they are pointers
PLAIT_REFUSED_64(Send_init, a, a)
PLAIT_REFUSED_64(Ssend_init, a, a)
PLAIT_REFUSED_64(Rsend_init, a, a)
PLAIT_REFUSED_64(Bsend_init, a, a)
PLAIT_REFUSED_64(Recv_init, a, a)
PLAIT_REFUSED(Psend_init, a, a)
PLAIT_REFUSED(Precv_init, a, a)
PLAIT_REFUSED_64(Buffer_attach, a, a)
PLAIT_REFUSED_64(Win_create, a, a)
PLAIT_REFUSED(Win_attach, b, b)
PLAIT_REFUSED_64(Put, a, a)
PLAIT_REFUSED_64(Get, a, a)
PLAIT_REFUSED_64(Accumulate, a, a)
PLAIT_REFUSED_64(Rput, a, a)
PLAIT_REFUSED_64(Rget, a, a)
PLAIT_REFUSED_64(Raccumulate, a, a)
PLAIT_REFUSED_64(Get_accumulate, a, d)
PLAIT_REFUSED_64(Rget_accumulate, a, d)
PLAIT_REFUSED(Fetch_and_op, a, b)
PLAIT_REFUSED(Compare_and_swap, a, c)
PLAIT_REFUSED_NEIGHBORS(allgather, a, d)
PLAIT_REFUSED_NEIGHBORS(allgatherv, a, d)
PLAIT_REFUSED_NEIGHBORS(alltoall, a, d)
PLAIT_REFUSED_NEIGHBORS(alltoallv, a, e)
PLAIT_REFUSED_NEIGHBORS(alltoallw, a, e)
PLAIT_REFUSED_64(Reduce_scatter, a, b)
PLAIT_REFUSED_64(Ireduce_scatter, a, b)
PLAIT_REFUSED_64(File_read, b, b)
PLAIT_REFUSED_64(File_read_all, b, b)
PLAIT_REFUSED_64(File_read_shared, b, b)
PLAIT_REFUSED_64(File_read_ordered, b, b)
PLAIT_REFUSED_64(File_read_at, c, c)
PLAIT_REFUSED_64(File_read_at_all, c, c)
PLAIT_REFUSED_64(File_iread, b, b)
PLAIT_REFUSED_64(File_iread_all, b, b)
PLAIT_REFUSED_64(File_iread_shared, b, b)
PLAIT_REFUSED_64(File_iread_at, c, c)
PLAIT_REFUSED_64(File_iread_at_all, c, c)
PLAIT_REFUSED_64(File_read_all_begin, b, b)
PLAIT_REFUSED_64(File_read_ordered_begin, b, b)
PLAIT_REFUSED_64(File_read_at_all_begin, c, c)
PLAIT_REFUSED_64(File_write, b, b)
PLAIT_REFUSED_64(File_write_all, b, b)
PLAIT_REFUSED_64(File_write_shared, b, b)
PLAIT_REFUSED_64(File_write_ordered, b, b)
PLAIT_REFUSED_64(File_write_at, c, c)
PLAIT_REFUSED_64(File_write_at_all, c, c)
PLAIT_REFUSED_64(File_iwrite, b, b)
PLAIT_REFUSED_64(File_iwrite_all, b, b)
PLAIT_REFUSED_64(File_iwrite_shared, b, b)
PLAIT_REFUSED_64(File_iwrite_at, c, c)
PLAIT_REFUSED_64(File_iwrite_at_all, c, c)
PLAIT_REFUSED_64(File_write_all_begin, b, b)
PLAIT_REFUSED_64(File_write_ordered_begin, b, b)
PLAIT_REFUSED_64(File_write_at_all_begin, c, c)
PLAIT_REFUSED(Send_c, a, a)
PLAIT_REFUSED(Ssend_c, a, a)
PLAIT_REFUSED(Rsend_c, a, a)
PLAIT_REFUSED(Bsend_c, a, a)
PLAIT_REFUSED(Isend_c, a, a)
PLAIT_REFUSED(Issend_c, a, a)
PLAIT_REFUSED(Irsend_c, a, a)
PLAIT_REFUSED(Ibsend_c, a, a)
PLAIT_REFUSED(Recv_c, a, a)
PLAIT_REFUSED(Irecv_c, a, a)
PLAIT_REFUSED(Mrecv_c, a, a)
PLAIT_REFUSED(Imrecv_c, a, a)
PLAIT_REFUSED(Bcast_c, a, a)
PLAIT_REFUSED(Ibcast_c, a, a)
PLAIT_REFUSED(Sendrecv_c, a, f)
PLAIT_REFUSED(Sendrecv_replace_c, a, a)
PLAIT_REFUSED(Reduce_c, a, b)
PLAIT_REFUSED(Ireduce_c, a, b)
PLAIT_REFUSED(Allreduce_c, a, b)
PLAIT_REFUSED(Iallreduce_c, a, b)
PLAIT_REFUSED(Scan_c, a, b)
PLAIT_REFUSED(Iscan_c, a, b)
PLAIT_REFUSED(Exscan_c, a, b)
PLAIT_REFUSED(Iexscan_c, a, b)
PLAIT_REFUSED(Reduce_scatter_block_c, a, b)
PLAIT_REFUSED(Ireduce_scatter_block_c, a, b)
PLAIT_REFUSED(Gather_c, a, d)
PLAIT_REFUSED(Igather_c, a, d)
PLAIT_REFUSED(Gatherv_c, a, d)
PLAIT_REFUSED(Igatherv_c, a, d)
PLAIT_REFUSED(Scatter_c, a, d)
PLAIT_REFUSED(Iscatter_c, a, d)
PLAIT_REFUSED(Scatterv_c, a, e)
PLAIT_REFUSED(Iscatterv_c, a, e)
PLAIT_REFUSED(Allgather_c, a, d)
PLAIT_REFUSED(Iallgather_c, a, d)
PLAIT_REFUSED(Allgatherv_c, a, d)
PLAIT_REFUSED(Iallgatherv_c, a, d)
PLAIT_REFUSED(Alltoall_c, a, d)
PLAIT_REFUSED(Ialltoall_c, a, d)
PLAIT_REFUSED(Alltoallv_c, a, e)
PLAIT_REFUSED(Ialltoallv_c, a, e)
PLAIT_REFUSED(Alltoallw_c, a, e)
PLAIT_REFUSED(Ialltoallw_c, a, e)
PLAIT_REFUSED_64(Bcast_init, a, a)
PLAIT_REFUSED_64(Reduce_init, a, b)
PLAIT_REFUSED_64(Allreduce_init, a, b)
PLAIT_REFUSED_64(Scan_init, a, b)
PLAIT_REFUSED_64(Exscan_init, a, b)
PLAIT_REFUSED_64(Gather_init, a, d)
PLAIT_REFUSED_64(Gatherv_init, a, d)
PLAIT_REFUSED_64(Scatter_init, a, d)
PLAIT_REFUSED_64(Scatterv_init, a, e)
PLAIT_REFUSED_64(Allgather_init, a, d)
PLAIT_REFUSED_64(Allgatherv_init, a, d)
PLAIT_REFUSED_64(Alltoall_init, a, d)
PLAIT_REFUSED_64(Alltoallv_init, a, e)
PLAIT_REFUSED_64(Alltoallw_init, a, e)
PLAIT_REFUSED_64(Reduce_scatter_init, a, b)
PLAIT_REFUSED_64(Reduce_scatter_block_init, a, b)
// NOLINTEND(performance-no-int-to-ptr)
