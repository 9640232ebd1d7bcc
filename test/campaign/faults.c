/*
 * Loaded into a server by LD_PRELOAD. Makes calls on files below FAULTS_FOLDER fail and shifts the clocks, as
 * configured at that moment by the mapped file FAULTS_CONTROL (written by fault-library.ts).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  int32_t error;      /* errno of failing calls; 0: no call fails */
  int32_t per_mille;  /* failing calls per 1,000 matching calls */
  int32_t calls;      /* mask of failing calls: call_write | call_sync | call_name */
  int32_t reserved;
  int64_t clock_ms;   /* milliseconds added to the wall clock */
  uint64_t injected;  /* number of calls failed by this library */
  int64_t passed_ms;  /* milliseconds added to the monotonic clock; only grows */
};

enum { call_write = 1, call_sync = 2, call_name = 4 };

static volatile struct control *control;
static char folder[4096];
static size_t folder_length;

__attribute__((constructor)) static void load(void) {
  const char *path = getenv("FAULTS_CONTROL");
  const char *root = getenv("FAULTS_FOLDER");
  if (path == NULL || root == NULL || strlen(root) >= sizeof folder) return;
  strcpy(folder, root);
  folder_length = strlen(folder);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) control = mapped;
}

/* Separate generator, so that the random numbers of the program do not change. */
static int chance(int per_mille) {
  static _Thread_local uint32_t state;
  if (state == 0) state = (uint32_t)(uintptr_t)&state | 1;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return (int)(state % 1000) < per_mille;
}

static int is_below(const char *path) {
  return path != NULL && strncmp(path, folder, folder_length) == 0;
}

static int is_file_below(int file) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_below(path);
}

static int is_armed(int call) {
  return control != NULL && control->error != 0 && (control->calls & call) != 0;
}

static int inject(void) {
  if (!chance(control->per_mille)) return 0;
  __atomic_add_fetch(&control->injected, 1, __ATOMIC_RELAXED);
  errno = control->error;
  return 1;
}

static int fails_file(int call, int file) {
  return is_armed(call) && is_file_below(file) && inject();
}

static int fails_path(int call, const char *path) {
  return is_armed(call) && is_below(path) && inject();
}

#define REAL(name) static __typeof__(name) *real; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *bytes, size_t length) {
  REAL(write);
  return fails_file(call_write, file) ? -1 : real(file, bytes, length);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(writev);
  return fails_file(call_write, file) ? -1 : real(file, parts, count);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
  REAL(pwrite);
  return fails_file(call_write, file) ? -1 : real(file, bytes, length, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
  REAL(pwrite64);
  return fails_file(call_write, file) ? -1 : real(file, bytes, length, at);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
  REAL(pwritev);
  return fails_file(call_write, file) ? -1 : real(file, parts, count, at);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) {
  REAL(pwritev64);
  return fails_file(call_write, file) ? -1 : real(file, parts, count, at);
}

int fallocate(int file, int mode, off_t at, off_t length) {
  REAL(fallocate);
  return fails_file(call_write, file) ? -1 : real(file, mode, at, length);
}

int ftruncate(int file, off_t length) {
  REAL(ftruncate);
  return fails_file(call_write, file) ? -1 : real(file, length);
}

int fsync(int file) {
  REAL(fsync);
  return fails_file(call_sync, file) ? -1 : real(file);
}

int fdatasync(int file) {
  REAL(fdatasync);
  return fails_file(call_sync, file) ? -1 : real(file);
}

int rename(const char *from, const char *to) {
  REAL(rename);
  return fails_path(call_name, to) ? -1 : real(from, to);
}

int link(const char *from, const char *to) {
  REAL(link);
  return fails_path(call_name, to) ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  return fails_path(call_name, path) ? -1 : real(path, mode);
}

int unlink(const char *path) {
  REAL(unlink);
  /* A full disk permits deletion; a read-only one does not. */
  return is_armed(call_name) && control->error == EROFS && fails_path(call_name, path) ? -1 : real(path);
}

static mode_t mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

static int fails_open(const char *path, int flags) {
  return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0 && fails_path(call_name, path);
}

#define OPEN(name)                                      \
  int name(const char *path, int flags, ...) {          \
    REAL(name);                                         \
    va_list more;                                       \
    va_start(more, flags);                              \
    mode_t mode = mode_of(flags, more);                 \
    va_end(more);                                       \
    return fails_open(path, flags) ? -1 : real(path, flags, mode); \
  }

OPEN(open)
OPEN(open64)

static int64_t offset_ms(clockid_t clock) {
  if (control == NULL) return 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return control->clock_ms;
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ? control->passed_ms : 0;
}

static void shift(struct timespec *time, int64_t ms) {
  time->tv_sec += ms / 1000;
  time->tv_nsec += ms % 1000 * 1000000;
  if (time->tv_nsec < 0) {
    time->tv_nsec += 1000000000;
    time->tv_sec -= 1;
  } else if (time->tv_nsec >= 1000000000) {
    time->tv_nsec -= 1000000000;
    time->tv_sec += 1;
  }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  REAL(clock_gettime);
  int result = real(clock, time);
  if (result == 0) shift(time, offset_ms(clock));
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec time;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}

/*
 * The kernel uses the real clocks, so deadlines on shifted clocks are shifted back. Monotonic times are far smaller
 * than wall-clock times.
 */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
  REAL(pthread_cond_timedwait);
  struct timespec moved = *until;
  shift(&moved, -offset_ms(moved.tv_sec > 500000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC));
  return real(condition, mutex, &moved);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
  REAL(pthread_cond_clockwait);
  struct timespec moved = *until;
  shift(&moved, -offset_ms(clock));
  return real(condition, mutex, clock, &moved);
}
