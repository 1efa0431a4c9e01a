/* Queues of plait's own, on the host: functions of the program and operations of the MPI's run one after the other, asynchronously to
 * the thread that puts them there. What a program without an accelerator uses, and what a task runtime can give its own executor to.
 * C and C++; docs/queues.md.
 *
 * All calls but plait_queue_create_on's executor may be made by any thread, before MPI_Init as well. They return MPI_SUCCESS or an error
 * class, and call no error handler. */
#ifndef PLAIT_QUEUE_H
#define PLAIT_QUEUE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plait_queue_s* plait_queue;
typedef struct plait_event_s* plait_event;

#define PLAIT_QUEUE_NULL ((plait_queue)0)
#define PLAIT_EVENT_NULL ((plait_event)0)

/* Returns 0, or anything else where it has failed: then nothing that is behind it on the queue runs, until the next call on the queue has
 * told the program so by MPI_ERR_OTHER. An event that is recorded there occurs, but says that its queue has failed, and a queue that waits
 * for it fails, too. */
typedef int plait_queue_function(void* argument);
/* Has `run(argument)` called once, soon, by any thread; it does not block. */
typedef void plait_queue_executor(void (*run)(void* argument), void* argument, void* extra_state);

/* With a thread of its own, which sleeps while there is nothing to do. MPI_ERR_NO_MEM, MPI_ERR_OTHER: there is no thread to be had. */
int plait_queue_create(plait_queue* queue);
/* Run by the program's executor: at most one call of `run` is outstanding. */
int plait_queue_create_on(plait_queue_executor* executor, void* extra_state, plait_queue* queue);
/* What is on it runs first. MPI_ERR_ARG: no queue (any more), or a function that runs on it makes the call. Its communicators and stream
 * are freed before; calls on those that are not give MPI_ERR_ARG from then on. */
int plait_queue_free(plait_queue* queue);

/* Puts a function on the queue. MPI_ERR_OTHER: something has failed; this one is not put there. */
int plait_queue_enqueue(plait_queue queue, plait_queue_function* function, void* argument);
/* Blocks until all that is on the queue now has run. MPI_ERR_OTHER and other classes: something has failed. Not by a function that runs on
 * the queue: MPI_ERR_ARG. */
int plait_queue_synchronize(plait_queue queue);

/* An event that occurs when the queue comes to it. Recorded again, it stands for the new place. */
int plait_event_create(plait_event* event);
int plait_event_free(plait_event* event);
int plait_queue_record(plait_queue queue, plait_event event);
/* What is put on the queue later runs after the event has occurred, at the place where it was recorded last; at once if it never was. */
int plait_queue_wait_event(plait_queue queue, plait_event event);
/* MPI_ERR_OTHER: it has occurred, but its queue had failed, and has not run all that was before it. */
int plait_event_query(plait_event event, int* occurred);
/* MPI_ERR_ARG also where it would never occur, as it is behind the function that makes the call, on the same queue. */
int plait_event_synchronize(plait_event event);

#ifdef __cplusplus
}
#endif

#endif
