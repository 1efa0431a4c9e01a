// Large writes that nobody waits for: GASPI ends and begins again behind them, and what is written then arrives where it should.
#include <mpi.h>
#include <string.h>

#include "check.h"

enum { kBytes = 1 << 20, kWrites = 5, kTimes = 3 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int time = 0; time < kTimes; ++time) {
    begin();
    const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
    const gaspi_rank_t last = (gaspi_rank_t)((rank + size - 1) % size);
    for (gaspi_segment_id_t s = 0; s < 3; ++s) OK(gaspi_segment_create(s, kBytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
    memset(at(0), 10 * (time + 1) + rank, kBytes);
    OK(gaspi_write_notify(0, 0, next, 1, 0, kBytes, 7, 1, 0, GASPI_BLOCK));
    expect(1, 7, 1);
    const unsigned char* const come = at(1);
    for (int i = 0; i < kBytes; ++i) CHECK(come[i] == 10 * (time + 1) + last);
    for (int i = 0; i < kWrites; ++i) OK(gaspi_write(0, 0, next, 2, 0, kBytes, (gaspi_queue_id_t)(i % 2), GASPI_BLOCK));
    barrier();  // which does not wait for queues; without it a segment may be gone already
    if (time + 1 < kTimes) {
      OK(gaspi_proc_term(GASPI_BLOCK));
    } else {
      end("nothing stays behind");
    }
  }
  MPI_Finalize();
  return 0;
}
