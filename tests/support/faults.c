/* Preloaded into relayc: file operations that fail, and memory that the system refuses (tests/suite/faults.rs, hardened.rs).
 *
 * FAULT="CALL K ERROR STAYS": the K-th CALL fails with this errno, or with error 0 reads and writes half of what it was asked; with STAYS
 * 1 all later ones fail, too. FAULT_COUNTS names the file that gets the number of calls of each kind at the end. FORBID=execute: memory
 * never becomes executable; FORBID=both: what is made writable and executable at once ends the process; FORBID=threads: none is made. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, CREATE, READ, WRITE, FSYNC, RENAME, KINDS };
static const char *const names[KINDS] = {"open", "create", "read", "write", "fsync", "rename"};
static atomic_ulong counts[KINDS];
static int failing = -1, error, stays;
static unsigned long at;
static const char *counts_file;
static int no_threads;

enum { FINE, FAILS, SHORT };

static int next(int kind) {
  unsigned long n = atomic_fetch_add(&counts[kind], 1) + 1;
  if (kind != failing || (n != at && !(stays && n > at))) return FINE;
  errno = error;
  return error ? FAILS : SHORT;
}

static size_t half(size_t n) { return n > 1 ? n / 2 : n; }

static int opened(int folder, const char *path, int flags, mode_t mode) {
  if (next(flags & O_CREAT ? CREATE : OPEN) == FAILS) return -1;
  return syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE(flags) \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list more; \
    va_start(more, flags); \
    mode = va_arg(more, mode_t); \
    va_end(more); \
  }

int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }

ssize_t read(int file, void *to, size_t n) {
  int how = next(READ);
  return how == FAILS ? -1 : syscall(SYS_read, file, to, how == SHORT ? half(n) : n);
}

ssize_t pread64(int file, void *to, size_t n, off64_t from) {
  int how = next(READ);
  return how == FAILS ? -1 : syscall(SYS_pread64, file, to, how == SHORT ? half(n) : n, from);
}

/* Messages are left alone, so that they can be read. */
static int written(int file) { return file == STDERR_FILENO ? FINE : next(WRITE); }

ssize_t write(int file, const void *from, size_t n) {
  int how = written(file);
  return how == FAILS ? -1 : syscall(SYS_write, file, from, how == SHORT ? half(n) : n);
}

ssize_t writev(int file, const struct iovec *from, int n) {
  int how = written(file);
  if (how == SHORT && n > 0) return syscall(SYS_write, file, from[0].iov_base, half(from[0].iov_len));
  return how == FAILS ? -1 : syscall(SYS_writev, file, from, n);
}

int fsync(int file) { return next(FSYNC) == FAILS ? -1 : syscall(SYS_fsync, file); }
int rename(const char *from, const char *to) { return next(RENAME) == FAILS ? -1 : syscall(SYS_rename, from, to); }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *with) {
  if (no_threads) return EAGAIN;
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, run, with);
}

/* What `mprotect` and `mmap` are asked for is their third argument. */
static void forbid(unsigned access, unsigned answer) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pkey_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, access),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, access, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, answer),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(99);
}

__attribute__((constructor)) static void start(void) {
  char name[16];
  const char *fault = getenv("FAULT"), *what = getenv("FORBID");
  counts_file = getenv("FAULT_COUNTS");
  if (fault && sscanf(fault, "%15s %lu %d %d", name, &at, &error, &stays) == 4)
    for (int kind = 0; kind < KINDS; kind++)
      if (!strcmp(names[kind], name)) failing = kind;
  if (what && !strcmp(what, "execute")) forbid(PROT_EXEC, SECCOMP_RET_ERRNO | EACCES);
  no_threads = what && !strcmp(what, "threads");
  if (what && !strcmp(what, "both")) forbid(PROT_WRITE | PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
  /* Commands that relayc starts are left alone. */
  unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void) {
  if (!counts_file) return;
  FILE *out = fopen(counts_file, "w");
  for (int kind = 0; out && kind < KINDS; kind++) fprintf(out, "%s %lu\n", names[kind], atomic_load(&counts[kind]));
  if (out) fclose(out);
}
