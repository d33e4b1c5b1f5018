/* stream.c - streams and events. The compute stream is eager; every other stream is a queue with a thread of its own.
 * An event is a position in a stream (as in CUDA): waiting for it is waiting until the stream has come so far. */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { WORK, RECORD, WAIT };
typedef struct node {
  struct node *next;
  int what;
  uint64_t ticket;
  bt_event *event; /* RECORD */
  bt_stream *on;
  uint64_t until; /* WAIT */
  bt_head head[]; /* WORK: a copy of the operation */
} node;

struct bt_stream {
  bt_ctx *ctx;
  bt_lane own, *lane;
  bool eager, started;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t more;
  node *first, *last;
  _Atomic bool quit;
  uint64_t issued;
  _Atomic uint64_t done;
  _Atomic uint32_t bell, waiters;
  uint64_t wait_ns;   /* waited for peers since the previous event */
  _Atomic int failed; /* a bt_status; error and failed_ticket are written before it */
  uint64_t failed_ticket;
  char error[BT_ERRLEN];
};

static void finish(bt_stream *s, uint64_t ticket) {
  atomic_store(&s->done, ticket);
  atomic_fetch_add(&s->bell, 1);
  if (atomic_load(&s->waiters)) bt_futex_wake(&s->bell, 1 << 30, false);
}

/* Waits at most ns (negative: until it comes); true when the stream has come to the ticket. */
static bool wait_for(bt_stream *s, uint64_t ticket, int64_t ns, _Atomic bool *quit) {
  int64_t end = ns < 0 ? INT64_MAX : bt_monotonic() + ns;
  for (int i = 0; i < s->ctx->opt.spin; i++) {
    if (atomic_load_explicit(&s->done, memory_order_acquire) >= ticket) return true;
    bt_pause();
  }
  while (atomic_load(&s->done) < ticket) {
    int64_t left = end - bt_monotonic();
    if (left <= 0 || (quit && atomic_load(quit))) return false;
    atomic_fetch_add(&s->waiters, 1);
    uint32_t seen = atomic_load(&s->bell);
    if (atomic_load(&s->done) < ticket) bt_futex_wait(&s->bell, seen, left < 50000000 ? left : 50000000, false);
    atomic_fetch_sub(&s->waiters, 1);
  }
  return true;
}

static void fail(bt_stream *s, uint64_t ticket, bt_status status) {
  s->failed_ticket = ticket;
  atomic_store(&s->failed, status);
}

static bt_status execute(bt_stream *s, const bt_head *h, char *err) {
  if (h->kind == BT_COLLECTIVE) return bt_collective((const bt_coll *)h, &s->wait_ns, err);
  if (h->kind == BT_CALL) return ((const bt_call *)h)->run(((const bt_call *)h)->handle, &s->wait_ns, err);
  return bt_run(s->lane, (const bt_op *)h, err);
}

static void mark(bt_stream *s, bt_event *e, uint64_t ticket) {
  if (atomic_load(&e->ticket) != ticket || atomic_load(&e->stream) != s) {
    s->wait_ns = 0;
    return;
  } /* recorded anew meanwhile */
  atomic_store(&e->wait_ns, (int64_t)s->wait_ns);
  atomic_store(&e->at_ns, bt_monotonic() + s->ctx->clock_offset);
  s->wait_ns = 0;
}

static void step(bt_stream *s, node *n) {
  if (atomic_load(&s->failed)) return;
  if (n->what == RECORD) {
    mark(s, n->event, n->ticket);
    return;
  }
  bt_status status;
  if (n->what == WORK) status = execute(s, n->head, s->error);
  else {
    if (!wait_for(n->on, n->until, -1, &s->quit)) return;
    if ((status = atomic_load(&n->on->failed)))
      snprintf(s->error, sizeof s->error, "waits for a stream that failed: %.400s", n->on->error);
  }
  if (status) fail(s, n->ticket, status);
}

static void *run(void *arg) {
  bt_stream *s = arg;
  prctl(PR_SET_TIMERSLACK, 1UL); /* an imitated link sleeps for microseconds; the default adds up to 50 */
  for (;;) {
    pthread_mutex_lock(&s->lock);
    while (!s->first && !atomic_load(&s->quit)) pthread_cond_wait(&s->more, &s->lock);
    node *n = s->first;
    if (n && !(s->first = n->next)) s->last = NULL;
    pthread_mutex_unlock(&s->lock);
    if (!n) return NULL;
    if (!atomic_load(&s->quit)) step(s, n);
    uint64_t ticket = n->ticket;
    free(n);
    finish(s, ticket);
  }
}

bt_status bt_stream_create(bt_ctx *c, bt_lane *lane, bt_stream **out) {
  bt_stream *s = calloc(1, sizeof *s);
  if (!s) return bt_fail(c->err, BT_ENOMEM, "no memory for a stream");
  s->ctx = c;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->more, NULL);
  *out = s;
  if (lane) {
    s->eager = true;
    s->lane = lane;
    return BT_OK;
  }
  s->lane = &s->own;
  if (!bt_lane_init(&s->own, c, 1, 0)) {
    free(s);
    return bt_fail(c->err, BT_ENOMEM, "no memory for a stream");
  }
  int e = bt_thread(&s->thread, run, s);
  if (e) {
    bt_lane_free(&s->own);
    free(s);
    return bt_fail(c->err, BT_EDEVICE, "no thread for a stream: %s", strerror(e));
  }
  s->started = true;
  return BT_OK;
}

void bt_stream_quit(bt_stream *s) {
  if (s->started) {
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->quit, true);
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    bt_lane_free(&s->own);
  }
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->more);
  free(s);
}

uint64_t bt_stream_issued(bt_stream *s) { return s->issued; }

static void push(bt_stream *s, node *n) {
  n->next = NULL;
  n->ticket = ++s->issued;
  pthread_mutex_lock(&s->lock);
  if (s->last) s->last->next = n;
  else s->first = n;
  s->last = n;
  pthread_cond_signal(&s->more);
  pthread_mutex_unlock(&s->lock);
}

bt_status bt_stream_error(bt_ctx *c, bt_stream *s, const char **text, uint64_t *ticket) {
  if (!s) s = c->compute;
  bt_status status = atomic_load(&s->failed);
  if (status) {
    *text = s->error;
    *ticket = s->failed_ticket;
  }
  return status;
}

/* The failure of a stream as the failure of a call that meets it; the Go side looks the label up by stream_error. */
static bt_status sticky(bt_ctx *c, bt_stream *s) {
  bt_status status = atomic_load(&s->failed);
  return status ? bt_fail(c->err, status, "%.500s", s->error) : BT_OK;
}

bt_status bt_launch(bt_ctx *c, bt_stream *s, const bt_head *h) {
  if (!s) s = c->compute;
  if (h->kind == BT_NOP || h->kind >= BT_KINDS) return bt_fail(c->err, BT_EUNSUPPORTED, "operation %u is unknown here", h->kind);
  if (s->eager) {
    s->issued++;
    return execute(s, h, c->err);
  }
  bt_status status = sticky(c, s);
  if (status) return status;
  node *n = malloc(sizeof *n + h->size);
  if (!n) return bt_fail(c->err, BT_ENOMEM, "no memory to queue an operation");
  n->what = WORK;
  memcpy(n->head, h, h->size);
  push(s, n);
  return BT_OK;
}

static bt_status queue_record(bt_ctx *c, bt_stream *s, bt_event *e) {
  node *n = malloc(sizeof *n);
  if (!n) return bt_fail(c->err, BT_ENOMEM, "no memory to queue an event");
  n->what = RECORD;
  n->event = e;
  atomic_store(&e->stream, s);
  atomic_store(&e->ticket, s->issued + 1);
  push(s, n);
  return BT_OK;
}

static bt_status queue_wait(bt_ctx *c, bt_stream *s, bt_stream *on, uint64_t until) {
  node *n = malloc(sizeof *n);
  if (!n) return bt_fail(c->err, BT_ENOMEM, "no memory to queue a wait");
  n->what = WAIT;
  n->on = on;
  n->until = until;
  push(s, n);
  return BT_OK;
}

bt_status bt_stream_wait(bt_ctx *c, bt_stream *s, bt_event *e) {
  if (!s) s = c->compute;
  bt_stream *on = atomic_load(&e->stream);
  uint64_t ticket = atomic_load(&e->ticket);
  if (!on) return bt_fail(c->err, BT_EINVAL, "waits for an event that was never recorded");
  if (s->eager) {
    if (!on->eager) wait_for(on, ticket, -1, NULL);
    return sticky(c, on);
  }
  bt_status status = sticky(c, s);
  if (status || on == s || on->eager) return status;
  return queue_wait(c, s, on, ticket);
}

bt_status bt_stream_query(bt_ctx *c, bt_stream *s, int32_t wait_us) {
  if (!s) s = c->compute;
  if (!s->eager && !wait_for(s, s->issued, (int64_t)wait_us * 1000, NULL)) return BT_ENOTREADY;
  return sticky(c, s);
}

bt_status bt_event_record(bt_ctx *c, bt_event *e, bt_stream *s) {
  if (!s) s = c->compute;
  bt_status status = sticky(c, s);
  if (status) return status;
  if (!s->eager) return queue_record(c, s, e);
  atomic_store(&e->stream, s);
  atomic_store(&e->ticket, ++s->issued);
  mark(s, e, s->issued);
  return BT_OK;
}

bt_status bt_event_time(bt_ctx *c, bt_event *e, int32_t wait_us, bt_time *out) {
  bt_stream *on = atomic_load(&e->stream);
  if (!on) return bt_fail(c->err, BT_EINVAL, "the event was never recorded");
  uint64_t ticket = atomic_load(&e->ticket);
  if (!on->eager && !wait_for(on, ticket, (int64_t)wait_us * 1000, NULL)) return BT_ENOTREADY;
  /* A failure before the record means that the event never came to pass. */
  bt_status status = sticky(c, on);
  if (status && on->failed_ticket <= ticket) return status;
  *out = (bt_time){atomic_load(&e->at_ns), atomic_load(&e->wait_ns)};
  return BT_OK;
}
