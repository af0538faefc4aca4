// C11 threads over pthreads, for builds under ThreadSanitizer.
//
// librdkafka takes its threads, mutexes and conditions from glibc's <threads.h>. ThreadSanitizer intercepts pthreads only: it does not know a thread that
// thrd_create has made, and crashes when that thread first calls it. These definitions stand in the executable and so come before glibc's (it must
// export its symbols, see EroicaTsan.cmake). glibc's C11 types are its pthread types under other names, of the same size, so that each call is one call.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "thrd_t is a pthread_t");
_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t is a pthread_mutex_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t is a pthread_cond_t");

static int ToThreads(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

static pthread_mutex_t* Mutex(mtx_t* mutex) { return (pthread_mutex_t*)mutex; }
static pthread_cond_t* Condition(cnd_t* condition) { return (pthread_cond_t*)condition; }

struct Start {
  thrd_start_t function;
  void* argument;
};

static void* Run(void* memory) {
  const struct Start start = *(struct Start*)memory;
  free(memory);
  return (void*)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  struct Start* start = malloc(sizeof(*start));
  if (start == NULL) return thrd_nomem;
  start->function = function;
  start->argument = argument;
  const int error = pthread_create((pthread_t*)thread, NULL, Run, start);
  if (error != 0) free(start);
  return ToThreads(error == EAGAIN ? ENOMEM : error);
}

int thrd_join(thrd_t thread, int* result) {
  void* returned = NULL;
  const int error = pthread_join((pthread_t)thread, &returned);
  if (error == 0 && result != NULL) *result = (int)(intptr_t)returned;
  return ToThreads(error);
}

int thrd_detach(thrd_t thread) { return ToThreads(pthread_detach((pthread_t)thread)); }

void thrd_exit(int result) { pthread_exit((void*)(intptr_t)result); }

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(Mutex(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return ToThreads(error);
}

void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(Mutex(mutex)); }
int mtx_lock(mtx_t* mutex) { return ToThreads(pthread_mutex_lock(Mutex(mutex))); }
int mtx_trylock(mtx_t* mutex) { return ToThreads(pthread_mutex_trylock(Mutex(mutex))); }
int mtx_timedlock(mtx_t* mutex, const struct timespec* deadline) { return ToThreads(pthread_mutex_timedlock(Mutex(mutex), deadline)); }
int mtx_unlock(mtx_t* mutex) { return ToThreads(pthread_mutex_unlock(Mutex(mutex))); }

int cnd_init(cnd_t* condition) { return ToThreads(pthread_cond_init(Condition(condition), NULL)); }
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(Condition(condition)); }
int cnd_signal(cnd_t* condition) { return ToThreads(pthread_cond_signal(Condition(condition))); }
int cnd_broadcast(cnd_t* condition) { return ToThreads(pthread_cond_broadcast(Condition(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return ToThreads(pthread_cond_wait(Condition(condition), Mutex(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const struct timespec* deadline) {
  return ToThreads(pthread_cond_timedwait(Condition(condition), Mutex(mutex), deadline));
}
