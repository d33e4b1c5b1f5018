/* table.h - one trampoline per entry of a backend's table: cgo cannot call a function pointer. */
#ifndef BT_TABLE_H
#define BT_TABLE_H
#include "boost_backend.h"

static inline bt_status t_open(const bt_api *a, const bt_options *o, bt_ctx **c, char *err, size_t n) {
  return a->open(o, c, err, n);
}
static inline void t_close(const bt_api *a, bt_ctx *c) { a->close(c); }
static inline const char *t_error(const bt_api *a, bt_ctx *c) { return a->error(c); }
static inline const char *t_isa(const bt_api *a, bt_ctx *c) { return a->isa(c); }
static inline bt_status t_alloc(const bt_api *a, bt_ctx *c, uint64_t n, uint32_t flags, bt_ptr *p) {
  return a->alloc(c, n, flags, p);
}
static inline bt_status t_free(const bt_api *a, bt_ctx *c, bt_ptr p) { return a->free(c, p); }
static inline bt_status t_host_alloc(const bt_api *a, bt_ctx *c, uint64_t n, void **p) { return a->host_alloc(c, n, p); }
static inline bt_status t_stream_new(const bt_api *a, bt_ctx *c, bt_stream **s) { return a->stream_new(c, s); }
static inline uint64_t t_stream_issued(const bt_api *a, bt_stream *s) { return a->stream_issued(s); }
static inline bt_status t_stream_wait(const bt_api *a, bt_ctx *c, bt_stream *s, bt_event *e) { return a->stream_wait(c, s, e); }
static inline bt_status t_stream_query(const bt_api *a, bt_ctx *c, bt_stream *s, int32_t us) { return a->stream_query(c, s, us); }
static inline bt_status t_stream_error(const bt_api *a, bt_ctx *c, bt_stream *s, const char **text, uint64_t *ticket) {
  return a->stream_error(c, s, text, ticket);
}
static inline bt_status t_event_new(const bt_api *a, bt_ctx *c, bt_event **e) { return a->event_new(c, e); }
static inline bt_status t_event_record(const bt_api *a, bt_ctx *c, bt_event *e, bt_stream *s) { return a->event_record(c, e, s); }
static inline bt_status t_event_time(const bt_api *a, bt_ctx *c, bt_event *e, int32_t us, bt_time *t) {
  return a->event_time(c, e, us, t);
}
static inline bt_status t_launch(const bt_api *a, bt_ctx *c, bt_stream *s, const bt_head *h) { return a->launch(c, s, h); }
/* launch may run things outside, in Go, on an eager stream: this one is told to cgo, t_launch promises that it calls nobody. */
static inline bt_status t_launch_op(const bt_api *a, bt_ctx *c, bt_stream *s, const bt_op *o) { return a->launch(c, s, &o->h); }
static inline bt_status t_comm_uid(const bt_api *a, bt_ctx *c, bt_uid *u) { return a->comm_uid(c, u); }
static inline bt_status t_comm_join(const bt_api *a, bt_ctx *c, const bt_uid *u, int32_t n, int32_t rank, const char *name,
                                    bt_comm **out) {
  return a->comm_join(c, u, n, rank, name, out);
}
static inline bt_status t_comm_ready(const bt_api *a, bt_comm *m, int32_t us) { return a->comm_ready(m, us); }
static inline bt_status t_comm_status(const bt_api *a, bt_comm *m, char *text, size_t n) { return a->comm_status(m, text, n); }
static inline bt_status t_comm_end(const bt_api *a, bt_comm *m, int32_t how) { return a->comm_end(m, how); }
/* What may be absent. */
static inline bt_status t_info(const bt_api *a, bt_ctx *c, bt_info *i) { return a->info ? a->info(c, i) : BT_EUNSUPPORTED; }
static inline bt_status t_probe(const bt_api *a, const bt_options *o, bt_probe *p) {
  return a->probe ? a->probe(o, p) : BT_EUNSUPPORTED;
}
static inline void t_range(const bt_api *a, bt_ctx *c, const char *name) {
  if (a->range) a->range(c, name);
}
static inline bt_status t_algorithm(const bt_api *a, bt_ctx *c, const bt_op *o, int32_t which, int32_t *count) {
  return a->algorithm ? a->algorithm(c, o, which, count) : BT_EUNSUPPORTED;
}
static inline bt_status t_comm_oldest(const bt_api *a, bt_comm *m, bt_under_way *out) {
  return a->comm_oldest ? a->comm_oldest(m, out) : BT_ENOTREADY;
}
/* Device memory where it is ordinary memory: its address as a pointer. */
static inline void *t_at(bt_ptr p) { return (void *)(uintptr_t)p; }
#endif
