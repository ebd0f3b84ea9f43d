/* Preloaded: counts lock operations, allocations and clock reads of whoever is between count_begin and count_end. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))

static _Thread_local int counting;
static _Thread_local struct { long locks, allocs, clocks; } seen;

API void count_begin(void);
API void count_end(long *locks, long *allocs, long *clocks);

API void count_begin(void) {
  memset(&seen, 0, sizeof seen);
  counting = 1;
}

API void count_end(long *locks, long *allocs, long *clocks) {
  counting = 0;
  *locks = seen.locks;
  *allocs = seen.allocs;
  *clocks = seen.clocks;
}

#define NEXT(name, type)                                        \
  static type next;                                             \
  if (!next) { void *s_ = dlsym(RTLD_NEXT, name); memcpy(&next, &s_, sizeof next); }

#define LOCK(fn, lock_t)                       \
  API int fn(lock_t *l) {                      \
    typedef int (*fn_t)(lock_t *);             \
    NEXT(#fn, fn_t)                            \
    if (counting) seen.locks++;                \
    return next(l);                            \
  }
LOCK(pthread_mutex_lock, pthread_mutex_t)
LOCK(pthread_mutex_unlock, pthread_mutex_t)
LOCK(pthread_mutex_trylock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
LOCK(pthread_rwlock_unlock, pthread_rwlock_t)
LOCK(pthread_rwlock_destroy, pthread_rwlock_t)

API int clock_gettime(clockid_t id, struct timespec *t) {
  typedef int (*fn_t)(clockid_t, struct timespec *);
  NEXT("clock_gettime", fn_t)
  if (counting) seen.clocks++;
  return next(id, t);
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

API void *malloc(size_t n) {
  if (counting) seen.allocs++;
  return __libc_malloc(n);
}

API void *calloc(size_t n, size_t m) {
  if (counting) seen.allocs++;
  return __libc_calloc(n, m);
}

API void *realloc(void *p, size_t n) {
  if (counting) seen.allocs++;
  return __libc_realloc(p, n);
}
