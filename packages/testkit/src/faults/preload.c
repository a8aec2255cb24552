/*
 * Faults that a process sees in its system calls, switched by another process through a shared file (FAULT_SWITCHES):
 * bytes 0-7 are added to the wall clock (nanoseconds, signed), bytes 8-11 are what fsync and fdatasync fail with
 * (an errno, 0: they work). Monotonic clocks are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct switches {
  int64_t clock_offset_ns;
  int32_t sync_errno;
  int32_t reserved;
};

static volatile const struct switches *switches;

__attribute__((constructor)) static void open_switches(void) {
  const char *path = getenv("FAULT_SWITCHES");
  if (path == NULL) return;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(struct switches), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) switches = mapped;
}

static int64_t offset_ns(void) { return switches == NULL ? 0 : switches->clock_offset_ns; }

static void shift(struct timespec *at) {
  int64_t ns = (int64_t)at->tv_nsec + offset_ns() % 1000000000;
  at->tv_sec += offset_ns() / 1000000000;
  if (ns < 0) {
    ns += 1000000000;
    at->tv_sec -= 1;
  } else if (ns >= 1000000000) {
    ns -= 1000000000;
    at->tv_sec += 1;
  }
  at->tv_nsec = ns;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(at);
  return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}

static int is_sync_failing(void) {
  if (switches == NULL || switches->sync_errno == 0) return 0;
  errno = switches->sync_errno;
  return 1;
}

int fsync(int file) {
  static int (*real)(int);
  if (is_sync_failing()) return -1;
  if (real == NULL) real = dlsym(RTLD_NEXT, "fsync");
  return real(file);
}

int fdatasync(int file) {
  static int (*real)(int);
  if (is_sync_failing()) return -1;
  if (real == NULL) real = dlsym(RTLD_NEXT, "fdatasync");
  return real(file);
}
