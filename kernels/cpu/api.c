/* api.c - the table of the cpu device: contexts and memory. Start here: launch leads to stream.c and ops.c,
 * the arithmetic is in body_*.h (compiled per instruction set by isa_*.c), collectives in comm.c and collective.c. */
#include "internal.h"
#include "api.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static bool push(bt_list **l, void *p) {
  bt_list *n = malloc(sizeof *n);
  if (!n) return false;
  *n = (bt_list){*l, p};
  *l = n;
  return true;
}

static void context_close(bt_ctx *c) {
  for (bt_list *l = c->comms; l; l = l->next) bt_comm_end(l->p, BT_END_FINALIZE); /* pending collectives end */
  for (bt_list *l = c->streams, *n; l; l = n) {
    n = l->next;
    bt_stream_quit(l->p);
    free(l);
  }
  for (bt_list *l = c->events, *n; l; l = n) {
    n = l->next;
    free(l->p);
    free(l);
  }
  bt_comm_free_all(c);
  bt_lane_free(&c->lane);
  for (bt_rope_table *t = c->ropes, *n; t; t = n) {
    n = t->next;
    free(t->cos);
    free(t);
  }
  for (int k = 0; k < 2; k++)
    for (bt_block *b = k ? c->host : c->blocks, *n; b; b = n) {
      n = b->next;
      if (b->mapped) munmap(b->p, b->bytes);
      else free(b->p);
      free(b);
    }
  if (c->segment) bt_segment_close(c->segment);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

static bt_status context_open(const bt_options *o, bt_ctx **out, char *err, size_t errlen) {
  bt_ctx *c = calloc(1, sizeof *c);
  if (!c) {
    snprintf(err, errlen, "no memory for a context");
    return BT_ENOMEM;
  }
  c->opt = *o;
  pthread_mutex_init(&c->lock, NULL);
  struct timespec unix_time;
  int64_t before = bt_monotonic();
  clock_gettime(CLOCK_REALTIME, &unix_time);
  c->clock_offset = (int64_t)unix_time.tv_sec * 1000000000 + unix_time.tv_nsec - (before + bt_monotonic()) / 2;
  bt_status status = BT_OK;
  if (o->device != 0) status = bt_fail(c->err, BT_EINVAL, "the cpu backend has one device, 0; asked for %d", o->device);
  else if (o->threads < 1 || o->threads > BT_MAX_THREADS)
    status = bt_fail(c->err, BT_EINVAL, "%d threads; 1 to %d can be had", o->threads, BT_MAX_THREADS);
  else if (!(c->isa = bt_isa_pick(o->isa)))
    status = bt_fail(c->err, BT_EUNSUPPORTED, "this processor or build has no instruction set %.16s", o->isa);
  else if (!bt_lane_init(&c->lane, c, o->threads, o->spin))
    status = bt_fail(c->err, BT_EDEVICE, "cannot start %d threads", o->threads);
  if (!status) status = bt_segment_open(o, &c->segment, c->err);
  if (!status) status = bt_stream_create(c, &c->lane, &c->compute);
  if (!status && !push(&c->streams, c->compute)) status = bt_fail(c->err, BT_ENOMEM, "no memory for a context");
  if (status) {
    snprintf(err, errlen, "%s", c->err);
    context_close(c);
    return status;
  }
  *out = c;
  return BT_OK;
}

static const char *context_error(bt_ctx *c) { return c->err; }
static const char *context_isa(bt_ctx *c) { return c->isa->name; }

/* From this size on memory is mapped by itself, zeroed by the kernel when first touched, in huge pages where there are any. */
enum { MAP_FROM = 1 << 20, HUGE_FROM = 4 << 20 };

static bt_status block_new(bt_ctx *c, bt_block **list, uint64_t bytes, void **out) {
  bt_block *b = calloc(1, sizeof *b);
  if (!b) return bt_fail(c->err, BT_ENOMEM, "no memory");
  b->bytes = bytes < 64 ? 64 : (bytes + 63) & ~(uint64_t)63;
  if (b->bytes >= MAP_FROM) {
    b->p = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    b->mapped = b->p != MAP_FAILED;
    if (b->mapped && b->bytes >= HUGE_FROM) madvise(b->p, b->bytes, MADV_HUGEPAGE);
  } else if (!posix_memalign(&b->p, 64, b->bytes)) memset(b->p, 0, b->bytes);
  else b->p = MAP_FAILED;
  if (b->p == MAP_FAILED) {
    free(b);
    return bt_fail(c->err, BT_ENOMEM, "this machine has no memory for %llu bytes", (unsigned long long)bytes);
  }
  b->next = *list;
  *list = b;
  *out = b->p;
  return BT_OK;
}

static bt_status block_free(bt_ctx *c, bt_block **list, void *p) {
  for (bt_block **at = list; *at; at = &(*at)->next) {
    bt_block *b = *at;
    if (b->p != p) continue;
    *at = b->next;
    if (b->mapped) munmap(b->p, b->bytes);
    else free(b->p);
    free(b);
    return BT_OK;
  }
  return bt_fail(c->err, BT_EINVAL, "frees memory at %p, which this context did not allocate", p);
}

static bt_status mem_alloc(bt_ctx *c, uint64_t bytes, uint32_t flags, bt_ptr *out) {
  if (bytes > (uint64_t)1 << 46) return bt_fail(c->err, BT_ENOMEM, "%llu bytes", (unsigned long long)bytes);
  if (flags & BT_ALLOC_SYMMETRIC) return bt_segment_alloc(c->segment, bytes, out, c->err);
  void *p = NULL;
  bt_status status = block_new(c, &c->blocks, bytes, &p);
  if (!status) *out = (bt_ptr)(uintptr_t)p;
  return status;
}

static bt_status mem_free(bt_ctx *c, bt_ptr p) {
  if (bt_segment_owns(c->segment, p)) return bt_segment_free(c->segment, p, c->err);
  return block_free(c, &c->blocks, (void *)(uintptr_t)p);
}

static bt_status host_alloc(bt_ctx *c, uint64_t bytes, void **out) { return block_new(c, &c->host, bytes, out); }
static bt_status host_free(bt_ctx *c, void *p) { return block_free(c, &c->host, p); }

static bt_status stream_new(bt_ctx *c, bt_stream **out) {
  bt_status status = bt_stream_create(c, NULL, out);
  if (!status && !push(&c->streams, *out)) {
    bt_stream_quit(*out);
    status = bt_fail(c->err, BT_ENOMEM, "no memory for a stream");
  }
  return status;
}

static bt_status event_new(bt_ctx *c, bt_event **out) {
  *out = calloc(1, sizeof **out);
  if (*out && push(&c->events, *out)) return BT_OK;
  free(*out);
  return bt_fail(c->err, BT_ENOMEM, "no memory for an event");
}

static bt_status comm_join(bt_ctx *c, const bt_uid *id, int32_t n, int32_t rank, const char *name, bt_comm **out) {
  bt_status status = bt_comm_join(c, id, n, rank, name, out);
  if (!status && !push(&c->comms, *out)) {
    bt_comm_end(*out, BT_END_ABORT);
    status = bt_fail(c->err, BT_ENOMEM, "no memory for a communicator");
  }
  return status;
}

const bt_api *bt_cpu_backend(void) {
  static const bt_api api = {
      .abi = BT_ABI,
      .size = sizeof(bt_api),
      .name = "cpu",
      .open = context_open,
      .close = context_close,
      .error = context_error,
      .isa = context_isa,
      .alloc = mem_alloc,
      .free = mem_free,
      .host_alloc = host_alloc,
      .host_free = host_free,
      .stream_new = stream_new,
      .stream_issued = bt_stream_issued,
      .stream_wait = bt_stream_wait,
      .stream_query = bt_stream_query,
      .stream_error = bt_stream_error,
      .event_new = event_new,
      .event_record = bt_event_record,
      .event_time = bt_event_time,
      .launch = bt_launch,
      .comm_uid = bt_comm_uid_new,
      .comm_join = comm_join,
      .comm_ready = bt_comm_ready,
      .comm_status = bt_comm_status,
      .comm_end = bt_comm_end,
  };
  return &api;
}
