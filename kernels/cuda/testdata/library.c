/* library.c - the least that answers the table, with faults for the tests of loading: -DNO_SYMBOL, -DOLD, -DREFUSE=pointer, -DLACKS, -DSMALL,
 * -DUNRESOLVED. With -DAT_ONCE=x x is done when it is opened, with -DAT_PROBE=x and -DAT_OPEN=x later; -DDEVICES=n says how many. */
#define _GNU_SOURCE
#include "boost_backend.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bt_ctx {
  char err[BT_ERRLEN];
};

#ifndef AT_ONCE
#define AT_ONCE
#endif
#ifndef AT_PROBE
#define AT_PROBE
#endif
#ifndef AT_OPEN
#define AT_OPEN
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
__attribute__((constructor)) static void at_once(void) { AT_ONCE; }

static bt_status open_one(const bt_options *o, bt_ctx **out, char *err, size_t n) {
  AT_OPEN;
  if (o->device > 0) {
    snprintf(err, n, "this machine has 1 GPU and device %d was asked for", o->device);
    return BT_EINVAL;
  }
  *out = calloc(1, sizeof **out);
  return *out ? BT_OK : BT_ENOMEM;
}
static void close_one(bt_ctx *c) { free(c); }
static const char *error(bt_ctx *c) { return c->err; }
static const char *isa(bt_ctx *c) { return (void)c, "test"; }
static bt_status fails(bt_ctx *c) {
  snprintf(c->err, sizeof c->err, "the test library does nothing");
  return BT_EUNSUPPORTED;
}
static bt_status alloc(bt_ctx *c, uint64_t n, uint32_t f, bt_ptr *p) { return (void)n, (void)f, (void)p, fails(c); }
static bt_status release(bt_ctx *c, bt_ptr p) { return (void)p, fails(c); }
static bt_status host_alloc(bt_ctx *c, uint64_t n, void **p) { return (void)n, (void)p, fails(c); }
static bt_status host_free(bt_ctx *c, void *p) { return (void)p, fails(c); }
static bt_status stream_new(bt_ctx *c, bt_stream **s) { return (void)s, fails(c); }
static uint64_t stream_issued(bt_stream *s) { return (void)s, 0; }
static bt_status stream_wait(bt_ctx *c, bt_stream *s, bt_event *e) { return (void)s, (void)e, fails(c); }
static bt_status stream_query(bt_ctx *c, bt_stream *s, int32_t us) { return (void)s, (void)us, fails(c); }
static bt_status stream_error(bt_ctx *c, bt_stream *s, const char **t, uint64_t *k) { return (void)c, (void)s, (void)t, (void)k, BT_OK; }
static bt_status event_new(bt_ctx *c, bt_event **e) { return (void)e, fails(c); }
static bt_status event_record(bt_ctx *c, bt_event *e, bt_stream *s) { return (void)e, (void)s, fails(c); }
static bt_status event_time(bt_ctx *c, bt_event *e, int32_t us, bt_time *t) { return (void)e, (void)us, (void)t, fails(c); }
static bt_status launch(bt_ctx *c, bt_stream *s, const bt_head *h) { return (void)s, (void)h, fails(c); }
static bt_status comm_uid(bt_ctx *c, bt_uid *u) { return (void)u, fails(c); }
static bt_status comm_join(bt_ctx *c, const bt_uid *u, int32_t n, int32_t r, const char *name, bt_comm **m) {
  return (void)u, (void)n, (void)r, (void)name, (void)m, fails(c);
}
static bt_status comm_ready(bt_comm *m, int32_t us) { return (void)m, (void)us, BT_OK; }
static bt_status comm_status(bt_comm *m, char *t, size_t n) { return (void)m, (void)t, (void)n, BT_OK; }
static bt_status comm_end(bt_comm *m, int32_t how) { return (void)m, (void)how, BT_OK; }
static bt_status probe(const bt_options *o, bt_probe *p) {
  (void)o;
  AT_PROBE;
  p->devices = DEVICES;
  snprintf(p->text, sizeof p->text, "driver\t13.0 (/lib/libcuda.so.1)\tok\nNCCL\t\tlibnccl.so.2 was not found; runs of more than one rank need it\n");
  return BT_OK;
}

#ifdef UNRESOLVED
extern void not_there_at_all(void);
void needs(void) { not_there_at_all(); }
#endif

#ifndef NO_SYMBOL
const bt_api *bt_backend(uint32_t abi, uint32_t size) {
  static const bt_api api = {
#ifdef OLD
      BT_ABI - 1,
#else
      BT_ABI,
#endif
#ifdef SMALL
      16,
#else
      sizeof(bt_api),
#endif
      "test", open_one, close_one, error, isa, alloc, release, host_alloc, host_free, stream_new, stream_issued,
      stream_wait, stream_query, stream_error, event_new, event_record, event_time,
#ifdef LACKS
      NULL,
#else
      launch,
#endif
      comm_uid, comm_join, comm_ready, comm_status, comm_end, NULL, probe, NULL};
#ifdef REFUSE
  return (const bt_api *)REFUSE;
#endif
  return (void)abi, (void)size, &api;
}
#endif
