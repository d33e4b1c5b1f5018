/* internal.h - what the C files of the cpu device share. Start reading in api.c. */
#ifndef BT_INTERNAL_H
#define BT_INTERNAL_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "boost_backend.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>


#define BT_MAX_THREADS 512

/* pool.c: the threads of a device. */
typedef struct bt_pool bt_pool;
typedef struct {
  void *p;
  size_t n;
} bt_scratch;
/* A lane is where an operation runs: the compute lane has the pool, every stream's own lane has one thread. */
typedef struct bt_lane {
  bt_ctx *ctx;
  bt_pool *pool;
  int workers;
  bt_scratch *scratch; /* workers + 1; the last is for the operation */
} bt_lane;
typedef struct {
  bt_lane *lane;
  int index;
} bt_worker;
typedef void (*bt_body)(void *arg, int64_t lo, int64_t hi, bt_worker w);

bool bt_lane_init(bt_lane *, bt_ctx *, int workers, int spin);
void bt_lane_free(bt_lane *);
/* Runs body over [0, n) in pieces of at most grain; which thread runs which piece is left to chance, so no result may depend on it. */
void bt_parallel(bt_lane *, int64_t n, int64_t grain, bt_body body, void *arg);
/* Memory of at least n bytes, 64-byte aligned, kept for the next call. NULL: out of memory. */
void *bt_scratch_get(bt_lane *, int index, size_t n);

/* isa_*.c: the arithmetic, compiled once per instruction set. */
typedef struct {
  const char *name;
  bt_body body[BT_KINDS]; /* over a bt_op's rows, elements or items */
  void (*combine)(float *const *x, int n, size_t lo, size_t hi,
                  int reduce); /* every x[q][lo, hi) becomes the reduction over q in order */
  void (*combine_into)(float *dst, float *const *x, int n, size_t count, int reduce);
  void (*column_sums)(float *dst, const float *part, int64_t blocks, int64_t cols, int64_t lo,
                      int64_t hi); /* dst += sum over blocks */
  size_t (*attention_bytes)(const bt_op *);
} bt_isa;
const bt_isa *bt_isa_pick(const char *name);
extern const bt_isa bt_isa_base;
#if defined(__x86_64__)
extern const bt_isa bt_isa_avx2, bt_isa_avx512;
#endif

/* ops.c */
bt_status bt_run(bt_lane *, const bt_op *, char *err);
/* Tables of cosines and sines, kept with the context. */
typedef struct bt_rope_table {
  struct bt_rope_table *next;
  int64_t seq, half;
  double theta;
  float *cos, *sin;
} bt_rope_table;
const bt_rope_table *bt_rope_get(bt_ctx *, int64_t seq, int64_t half, double theta);
enum { BT_NORM_BLOCK = 32 };   /* rows per partial sum of the norm's weight gradient: fixed, so that the order of summation is */
enum { BT_FLAT_BLOCK = 8192 }; /* elements per piece of a flat operation */
enum { BT_ATTENTION_CHUNK = 192 }; /* queries per item of attention forward: a multiple of every tile */
static inline int64_t bt_attention_chunks(int64_t seq) { return (seq + BT_ATTENTION_CHUNK - 1) / BT_ATTENTION_CHUNK; }

/* blas.c */
bt_status bt_gemm(bt_lane *, const bt_op *, char *err);

/* segment.c, comm.c, collective.c */
typedef struct bt_segment bt_segment;
bt_status bt_segment_open(const bt_options *, bt_segment **out, char *err);
void bt_segment_close(bt_segment *);
bt_status bt_segment_alloc(bt_segment *, uint64_t bytes, bt_ptr *out, char *err);
bt_status bt_segment_free(bt_segment *, bt_ptr, char *err);
bool bt_segment_owns(bt_segment *, bt_ptr);
/* A place in the memory of a rank: an allocation by its number, and bytes into it. */
typedef struct {
  uint32_t alloc, pad;
  uint64_t offset;
} bt_place;
/* Where a range of this rank's symmetric memory lies; false when it is not symmetric memory. */
bool bt_segment_find(bt_segment *, bt_ptr, uint64_t bytes, bt_place *);
int bt_segment_rank(bt_segment *);

bt_status bt_comm_uid_new(bt_ctx *, bt_uid *);
bt_status bt_comm_join(bt_ctx *, const bt_uid *, int32_t n, int32_t rank, const char *name, bt_comm **);
bt_status bt_comm_ready(bt_comm *, int32_t wait_us);
bt_status bt_comm_status(bt_comm *, char *text, size_t len);
bt_status bt_comm_end(bt_comm *, int32_t how);
void bt_comm_free_all(bt_ctx *);
bt_status bt_collective(const bt_coll *, uint64_t *wait_ns, char *err);

/* stream.c */
struct bt_event {
  _Atomic(bt_stream *) stream;
  _Atomic uint64_t ticket;
  _Atomic int64_t at_ns, wait_ns;
};
bt_status bt_stream_create(bt_ctx *, bt_lane *, bt_stream **);
void bt_stream_quit(bt_stream *);
uint64_t bt_stream_issued(bt_stream *);
bt_status bt_stream_wait(bt_ctx *, bt_stream *, bt_event *);
bt_status bt_stream_query(bt_ctx *, bt_stream *, int32_t wait_us);
bt_status bt_stream_error(bt_ctx *, bt_stream *, const char **, uint64_t *);
bt_status bt_event_record(bt_ctx *, bt_event *, bt_stream *);
bt_status bt_event_time(bt_ctx *, bt_event *, int32_t wait_us, bt_time *);
bt_status bt_launch(bt_ctx *, bt_stream *, const bt_head *);

typedef struct bt_block {
  struct bt_block *next;
  void *p;
  size_t bytes;
  bool mapped;
} bt_block;
typedef struct bt_list {
  struct bt_list *next;
  void *p;
} bt_list;
struct bt_ctx {
  char err[BT_ERRLEN];
  bt_options opt;
  const bt_isa *isa;
  bt_lane lane;
  bt_segment *segment;
  bt_block *blocks, *host;
  bt_list *streams, *events, *comms;
  bt_stream *compute;
  pthread_mutex_t lock; /* rope tables */
  bt_rope_table *ropes;
  int64_t clock_offset; /* Unix time minus the monotonic clock, taken once so that times never jump */
};

int64_t bt_monotonic(void);
bt_status bt_fail(char *err, bt_status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline void bt_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
/* futex.c */
int bt_thread(pthread_t *, void *(*run)(void *), void *arg); /* no signal is delivered to it: they are Go's */
void bt_futex_wait(_Atomic uint32_t *, uint32_t seen, int64_t ns, bool shared);
void bt_futex_wake(_Atomic uint32_t *, int n, bool shared);
#endif
