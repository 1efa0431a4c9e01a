// A device that is a thread of the host's: as much of CUDA's runtime as grequest.c calls. What is enqueued is done in order by the
// thread. An event that was not recorded counts as over, as CUDA's does.
#ifndef HOST_DEVICE_H
#define HOST_DEVICE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum { cudaSuccess, cudaErrorNotReady } cudaError_t;
typedef enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost } cudaMemcpyKind;
typedef unsigned long* cudaEvent_t;  // the number of the task that was the last one when it was recorded

typedef struct {
  void (*kernel)(int, float, float*, float*);
  int n;
  float a;
  float *x, *y;
} DeviceTask;

enum { MOST_TASKS = 16 };
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  DeviceTask tasks[MOST_TASKS];
  unsigned long enqueued, done;
  int running;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void* device_runs(void* unused) {
  (void)unused;
  pthread_mutex_lock(&device.lock);
  for (;;) {
    while (device.running && device.done == device.enqueued) pthread_cond_wait(&device.changed, &device.lock);
    if (device.done == device.enqueued) break;
    const DeviceTask t = device.tasks[device.done];
    pthread_mutex_unlock(&device.lock);
    t.kernel(t.n, t.a, t.x, t.y);
    pthread_mutex_lock(&device.lock);
    ++device.done;
  }
  pthread_mutex_unlock(&device.lock);
  return NULL;
}

static void device_enqueue(DeviceTask task) {
  pthread_mutex_lock(&device.lock);
  if (device.enqueued == MOST_TASKS) abort();
  device.tasks[device.enqueued++] = task;
  if (!device.running) {
    device.running = 1;
    pthread_create(&device.thread, NULL, device_runs, NULL);
  }
  pthread_cond_signal(&device.changed);
  pthread_mutex_unlock(&device.lock);
}

static void device_copy(int bytes, float unused, float* from, float* to) {
  (void)unused;
  memcpy(to, from, (size_t)bytes);
}

static inline cudaError_t cudaMalloc(float** to, size_t bytes) {
  *to = (float*)malloc(bytes);
  return cudaSuccess;
}
static inline cudaError_t cudaFree(float* at) {
  free(at);
  return cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(float* to, float* from, size_t bytes, cudaMemcpyKind kind, void* stream) {
  (void)kind;
  (void)stream;
  device_enqueue((DeviceTask){device_copy, (int)bytes, 0, from, to});
  return cudaSuccess;
}
static inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = (cudaEvent_t)calloc(1, sizeof **event);
  return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t event, void* stream) {
  (void)stream;
  pthread_mutex_lock(&device.lock);
  *event = device.enqueued;
  pthread_mutex_unlock(&device.lock);
  return cudaSuccess;
}
static inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  pthread_mutex_lock(&device.lock);
  const int over = device.done >= *event;
  pthread_mutex_unlock(&device.lock);
  return over ? cudaSuccess : cudaErrorNotReady;
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t* event) {
  free(*event);
  return cudaSuccess;
}
/// At the program's end: the thread does what is left and ends.
static inline void device_close(void) {
  pthread_mutex_lock(&device.lock);
  const int running = device.running;
  device.running = 0;
  pthread_cond_signal(&device.changed);
  pthread_mutex_unlock(&device.lock);
  if (running) pthread_join(device.thread, NULL);
}

#endif
