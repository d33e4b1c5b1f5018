/* api.h - what Go calls: the table of the backend, through one trampoline per entry, and the BLAS that is opened at run time. */
#ifndef BT_API_H
#define BT_API_H
#include "boost_backend.h"

const bt_api *bt_cpu_backend(void);

/* segment.c: a new segment, as a file descriptor; negative errno on failure. */
int bt_segment_new(void);

/* blas.c: opens a CBLAS library; path receives where it was found, version what it says of itself. NULL with the reason in err. */
typedef struct {
  char path[1024], version[256];
} bt_blas_info;
void *bt_blas_open(const char *name, bt_blas_info *info, char *err, size_t errlen);
void bt_blas_close(void *library);
/* Products of every context run on the library from now on. It must have one thread per call: the device splits products itself. */
int bt_blas_use(void *library, char *err, size_t errlen);

/* comm.c, collective.c: of what a group on several hosts is made, on each of them. The members of this host come together
 * and tell what they are about to do; then each can reach the others' operands; in the end they come together again. */
uint64_t bt_host_identity(bt_ctx *);
bt_status bt_comm_enter(bt_comm *, const bt_coll *, uint64_t *wait_ns, char *err);
bt_status bt_comm_barrier(bt_comm *, char *err); /* waits until every member has come */
void *bt_comm_peer(bt_comm *, int part, int dst, int rank, uint64_t bytes, char *err);
void bt_comm_break(bt_comm *, bt_status, const char *text); /* makes it fail for every member */
/* dst becomes the reduction of n arrays, or of itself and another. */
void bt_combine(bt_ctx *, float *dst, float *const *x, int n, uint64_t count, int reduce);
void bt_combine_two(bt_ctx *, float *dst, float *src, uint64_t count, int reduce);

/* One indirect call each; cgo cannot call a function pointer. */
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
static inline bt_status t_launch(const bt_api *a, bt_ctx *c, bt_stream *s, const bt_op *o) { return a->launch(c, s, &o->h); }
static inline bt_status t_launch_coll(const bt_api *a, bt_ctx *c, bt_stream *s, const bt_coll *o) { return a->launch(c, s, &o->h); }
static inline bt_status t_launch_call(const bt_api *a, bt_ctx *c, bt_stream *s, const bt_call *o) { return a->launch(c, s, &o->h); }
static inline bt_status t_comm_uid(const bt_api *a, bt_ctx *c, bt_uid *u) { return a->comm_uid(c, u); }
static inline bt_status t_comm_join(const bt_api *a, bt_ctx *c, const bt_uid *u, int32_t n, int32_t rank, const char *name,
                                    bt_comm **out) {
  return a->comm_join(c, u, n, rank, name, out);
}
static inline bt_status t_comm_ready(const bt_api *a, bt_comm *m, int32_t us) { return a->comm_ready(m, us); }
static inline bt_status t_comm_status(const bt_api *a, bt_comm *m, char *text, size_t n) { return a->comm_status(m, text, n); }
static inline bt_status t_comm_end(const bt_api *a, bt_comm *m, int32_t how) { return a->comm_end(m, how); }
/* Device memory is ordinary memory here: its address as a pointer. */
static inline void *t_at(bt_ptr p) { return (void *)(uintptr_t)p; }
#endif
