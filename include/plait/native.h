/* The MPI's own functions, past plait: for programs that compare the two (docs/preload.md). C and C++. */
#ifndef PLAIT_NATIVE_H
#define PLAIT_NATIVE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The address of the MPI's own function, "MPI_Send" say, or null where it has none of this name. Messages that one side sends past plait
 * and the other receives through it do not meet. Any thread, at any time. */
void* plait_native_function(const char* name);

#ifdef __cplusplus
}
#endif

#endif
