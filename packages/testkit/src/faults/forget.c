/*
 * A disk that forgets what was not synced, for processes of which the power can be cut. Before a write to a file whose
 * path contains FORGET_PATHS, what it replaces is kept in FORGET_JOURNALS/<device>-<inode>; fsync and fdatasync of the
 * file, through whatever descriptor and by whatever process, empty that journal (and are not passed on: what ends the
 * processes is a signal, not a power cut). forgetful-disks.ts undoes what the journals hold, which takes these for lost:
 *
 * - bytes of write, pwrite, writev, pwritev (and their 64-bit names), in pages of 4 KiB, since the last sync;
 * - the growth of a file by them.
 *
 * It takes these for durable at once: names (creating, renaming, linking and removing files, so that syncing a folder
 * has no effect), truncate and ftruncate (the file is then durable as it is), writes of stdio and through mmap, and
 * writes through a descriptor with O_SYNC or O_DSYNC. It does not notice fallocate, nor open with O_TRUNC: what they did
 * after a first unsynced write is undone with it. sync_file_range is no sync.
 *
 * A journal is a line `<path>\n<size before>\n`, and then records: the page's number, the number of bytes it had (-1: it
 * has been written durably since; what was kept of it before does not count), both as int64, and 4,096 bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096

static const char *journals, *paths;
static pthread_mutex_t inside = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
  if (getenv("FORGET_JOURNALS") == NULL || getenv("FORGET_PATHS") == NULL) return;
  // Postgres writes its title over its environment.
  journals = strdup(getenv("FORGET_JOURNALS"));
  paths = strdup(getenv("FORGET_PATHS"));
}

static ssize_t real_pwrite(int file, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  return real(file, bytes, count, at);
}

/* What cannot be kept cannot be forgotten: a test that goes on would prove nothing. */
static void must(int is_done, const char *what) {
  if (is_done) return;
  perror(what);
  abort();
}
#define MUST(condition) must(condition, "forget.c: " #condition)

static int is_ours(int file, struct stat *about, char *path) {
  if (journals == NULL || paths == NULL || fstat(file, about) != 0 || !S_ISREG(about->st_mode)) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strstr(path, paths) != NULL;
}

/* Opens and locks the journal of a file, for all processes; -1: there is none, and none is asked for. */
static int take(const struct stat *about, int is_made) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%s/%lu-%lu", journals, (unsigned long)about->st_dev, (unsigned long)about->st_ino);
  pthread_mutex_lock(&inside);
  int journal = open(name, O_RDWR | O_CLOEXEC | (is_made ? O_CREAT : 0), 0666);
  if (journal < 0) {
    MUST(!is_made && errno == ENOENT);
    pthread_mutex_unlock(&inside);
    return -1;
  }
  if (is_made) fchmod(journal, 0666);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  while (fcntl(journal, F_SETLKW, &lock) != 0) MUST(errno == EINTR);
  return journal;
}

static void give_back(int journal) {
  close(journal);
  pthread_mutex_unlock(&inside);
}

static void append(int journal, const void *bytes, size_t count, off_t *end) {
  MUST(real_pwrite(journal, bytes, count, *end) == (ssize_t)count);
  *end += count;
}

/* Returns a locked journal that has what the write will replace; -1: the write needs none. */
static int before_write(int file, size_t count, off_t at) {
  struct stat about, kept;
  char path[PATH_MAX];
  if (count == 0 || !is_ours(file, &about, path)) return -1;
  int flags = fcntl(file, F_GETFL);
  int is_durable = (flags & O_DSYNC) != 0;
  if (flags & O_APPEND) at = about.st_size;
  if (at < 0) at = lseek(file, 0, SEEK_CUR);
  int journal = take(&about, !is_durable);
  if (journal < 0) return -1;
  MUST(fstat(journal, &kept) == 0);
  off_t end = kept.st_size;
  if (end == 0 && is_durable) return journal;
  if (end == 0) {
    char head[PATH_MAX + 32];
    append(journal, head, snprintf(head, sizeof head, "%s\n%lld\n", path, (long long)about.st_size), &end);
  }
  char own[64];
  snprintf(own, sizeof own, "/proc/self/fd/%d", file);
  int reader = is_durable ? -1 : open(own, O_RDONLY | O_CLOEXEC);
  MUST(is_durable || reader >= 0);
  for (int64_t page = at / PAGE; page * PAGE < at + (off_t)count; page++) {
    struct { int64_t page, bytes; char was[PAGE]; } record = {.page = page, .bytes = -1};
    if (!is_durable) record.bytes = pread(reader, record.was, PAGE, page * PAGE);
    append(journal, &record, sizeof record, &end);
  }
  if (reader >= 0) close(reader);
  return journal;
}

static void after_write(int journal) {
  int error = errno;
  if (journal >= 0) give_back(journal);
  errno = error;
}

static size_t sum(const struct iovec *parts, int count) {
  size_t bytes = 0;
  for (int at = 0; at < count; at++) bytes += parts[at].iov_len;
  return bytes;
}

#define WRITES(name, declared, bytes, at, given) \
  ssize_t name declared { \
    REAL(name); \
    int journal = before_write(file, bytes, at); \
    ssize_t result = real given; \
    after_write(journal); \
    return result; \
  }

WRITES(write, (int file, const void *from, size_t count), count, -1, (file, from, count))
WRITES(pwrite, (int file, const void *from, size_t count, off_t at), count, at, (file, from, count, at))
WRITES(pwrite64, (int file, const void *from, size_t count, off64_t at), count, at, (file, from, count, at))
WRITES(writev, (int file, const struct iovec *parts, int count), sum(parts, count), -1, (file, parts, count))
WRITES(pwritev, (int file, const struct iovec *parts, int count, off_t at), sum(parts, count), at,
       (file, parts, count, at))
WRITES(pwritev64, (int file, const struct iovec *parts, int count, off64_t at), sum(parts, count), at,
       (file, parts, count, at))

/* From now on the file is durable as it is. */
static int is_synced(int file) {
  struct stat about;
  char path[PATH_MAX];
  if (!is_ours(file, &about, path)) return 0;
  int journal = take(&about, 0);
  if (journal < 0) return 1;
  MUST(ftruncate(journal, 0) == 0);
  give_back(journal);
  return 1;
}

int fsync(int file) {
  REAL(fsync);
  return is_synced(file) ? 0 : real(file);
}

int fdatasync(int file) {
  REAL(fdatasync);
  return is_synced(file) ? 0 : real(file);
}

static void forget_name(const char *path) {
  struct stat about;
  char journal[PATH_MAX];
  if (journals == NULL || stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink > 1) return;
  snprintf(journal, sizeof journal, "%s/%lu-%lu", journals, (unsigned long)about.st_dev, (unsigned long)about.st_ino);
  REAL(unlink);
  real(journal);
}

int unlink(const char *path) {
  REAL(unlink);
  forget_name(path);
  return real(path);
}

int rename(const char *from, const char *to) {
  REAL(rename);
  forget_name(to);
  return real(from, to);
}

static void truncated(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  is_synced(file);
  close(file);
}

int ftruncate(int file, off_t size) {
  REAL(ftruncate);
  int result = real(file, size);
  if (journals != NULL) is_synced(file);
  return result;
}

int ftruncate64(int file, off64_t size) {
  REAL(ftruncate64);
  int result = real(file, size);
  if (journals != NULL) is_synced(file);
  return result;
}

int truncate(const char *path, off_t size) {
  REAL(truncate);
  int result = real(path, size);
  if (journals != NULL) truncated(path);
  return result;
}

int truncate64(const char *path, off64_t size) {
  REAL(truncate64);
  int result = real(path, size);
  if (journals != NULL) truncated(path);
  return result;
}
