/* examples/heat_mpi.c after its exchange has moved from MPI to shared notifications: neighbours on the node copy rows straight out of each
 * other's plates, and only those on other nodes are sent messages. New lines end with //.
 *
 *     plait cc -O2 heat_shared.c -o heat_shared && plait run -n 4 ./heat_shared [rows and columns] [steps] */
#include <SHAN_comm.h>  //
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int n = argc > 1 ? atoi(argv[1]) : 256, steps = argc > 2 ? atoi(argv[2]) : 500;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int first = (int)((long)n * rank / size), rows = (int)((long)n * (rank + 1) / size) - first;
  const size_t row = (size_t)n + 2, plane = row * (size_t)(rows + 2); /* with a border */

  int me, neighbors[2], k = 0;                                                                                                         //
  MPI_Comm node;                                                                                                                       //
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);                                                  //
  MPI_Comm_rank(node, &me);                                                                                                            //
  if (rank > 0) neighbors[k++] = rank - 1;                                                                                             //
  if (rank + 1 < size) neighbors[k++] = rank + 1;                                                                                      //
  shan_segment_t segment;                                                                                                              //
  shan_neighborhood_t plates; /* of two types: an exchange of each plane. To each neighbour an element goes, which is a row */         //
  const long bytes[2] = {(long)(row * sizeof(double)), (long)(row * sizeof(double))};                                                  //
  shan_alloc_shared(&segment, 0, SHAN_DATA, (long)(2 * plane * sizeof(double)), node);                                                 //
  shan_comm_init_comm(&plates, 0, neighbors, k, bytes, bytes, (int[]){1, 1}, (int[]){1, 1}, 2, node, MPI_COMM_WORLD);                  //
  for (int type = 0; type < 2; ++type) {                                                                                               //
    int *send, *receive, *send_bytes, *receive_bytes;                                                                                  //
    long *from, *to;                                                                                                                   //
    shan_comm_type_offset(&plates, type, &send, &receive, &send_bytes, &receive_bytes, &from, &to);                                    //
    for (int i = 0; i < k; ++i) {                                                                                                      //
      const size_t edge = neighbors[i] < rank ? 1 : (size_t)rows, border = neighbors[i] < rank ? 0 : (size_t)rows + 1;                 //
      send[i] = receive[i] = 1, send_bytes[i] = receive_bytes[i] = (int)bytes[type];                                                   //
      from[i] = (long)((type * plane + row * edge) * sizeof(double)), to[i] = (long)((type * plane + row * border) * sizeof(double));  //
    }  //
  }  //
  void* memory;                                //
  shan_get_shared_ptr(&segment, me, &memory);  //
  double* u = memory; /* zeroed */             //
  for (size_t j = 0; j < row; ++j) {
    if (rank == 0) u[j] = u[plane + j] = 1; /* the upper edge is hot */
  }
  for (int s = 0; s < steps; ++s) {
    double *now = u + (s % 2 ? plane : 0), *next = u + (s % 2 ? 0 : plane);
    for (int i = 0; i < k; ++i) shan_comm_notify_or_write(&plates, &segment, s % 2, i);                                      //
    shan_comm_wait4AllRecv(&plates, &segment, s % 2);                                                                        //
    if (s > 0) shan_comm_wait4AllSend(&plates, 1 - s % 2); /* before the other plane is written: its rows have been read */  //
    for (size_t i = 1; i <= (size_t)rows; ++i) {
      for (size_t j = 1; j <= (size_t)n; ++j) {
        const double* c = now + i * row + j;
        next[i * row + j] = 0.25 * (c[-(long)row] + c[-1] + c[1] + c[row]);
      }
    }
  }
  double mine = 0, all = 0;
  for (size_t i = 1; i <= (size_t)rows; ++i) {
    for (size_t j = 1; j <= (size_t)n; ++j) mine += u[(steps % 2 ? plane : 0) + i * row + j];
  }
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("heat in the plate after %d steps: %.9f\n", steps, all);
  shan_comm_free_comm(&plates);  //
  shan_free_shared(&segment);    //
  MPI_Comm_free(&node);
  MPI_Finalize();
  return 0;
}
