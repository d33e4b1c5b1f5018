/* futex.c - threads, sleeping, waking, clocks and error texts. */
#include "internal.h"
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void bt_futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t ns, bool shared) {
  struct timespec t = {ns / 1000000000, ns % 1000000000};
  syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
}

void bt_futex_wake(_Atomic uint32_t *word, int n, bool shared) {
  syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

int64_t bt_monotonic(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bt_status bt_fail(char *err, bt_status status, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(err, BT_ERRLEN, format, ap);
  va_end(ap);
  return status;
}

int bt_thread(pthread_t *t, void *(*run)(void *), void *arg) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int e = pthread_create(t, NULL, run, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return e;
}
