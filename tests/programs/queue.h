// What the programs on queues of plait's own begin and end with.
#ifndef QUEUE_H
#define QUEUE_H

#include <plait/mpix.h>
#include <plait/queue.h>

#include "check.h"

// A stream that stands for the queue, and its communicator, which gives errors back.
static inline MPI_Comm communicator_of(plait_queue queue, MPI_Comm parent, MPIX_Stream* stream) {
  MPI_Info info;
  MPI_Comm made;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "plait_queue");
  MPIX_Info_set_hex(info, "value", &queue, sizeof queue);
  CHECK(MPIX_Stream_create(info, stream) == MPI_SUCCESS);
  MPI_Info_free(&info);
  CHECK(MPIX_Stream_comm_create(parent, *stream, &made) == MPI_SUCCESS);
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

#endif
