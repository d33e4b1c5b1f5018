/* boost_backend.h - the one boundary between Go and device code.
 *
 * A backend is a function table. The cpu backend is compiled into the Go binary by cgo; the CUDA backend, and the same
 * sources in the emulator, are libraries opened at run time and asked for the same table. No CUDA, BLAS or NCCL type is visible here.
 *
 * Conventions
 *  - Every call returns bt_status; 0 is success. The text of the last failure of a context is read with
 *    error(ctx), of a stream with stream_error, of a communicator with comm_status: it lives in the object,
 *    never in the thread, because a goroutine may move to another OS thread between two calls.
 *  - Calls on one context are made by one goroutine at a time; comm_status and comm_end(BT_END_ABORT) are the
 *    exceptions and may come from a watchdog.
 *  - Device memory is a bt_ptr (an integer). Host memory that an asynchronous copy touches must come from
 *    host_alloc: C never keeps a Go pointer after it returned.
 *  - Work is ordered within a stream; across streams only by events. launch copies the operation.
 *  - All matrices are row-major; leading dimensions and strides are in elements.
 *  - Structs begin with their size, so that fields can be added at the end without a new ABI.
 */
#ifndef BOOST_BACKEND_H
#define BOOST_BACKEND_H
#include <stddef.h>
#include <stdint.h>

#define BT_ABI 4
#define BT_ERRLEN 512 /* of the texts of errors */
typedef int32_t bt_status;
enum {
  BT_OK = 0,
  BT_EINVAL = 1,
  BT_ENOMEM = 2,
  BT_EDEVICE = 3,
  BT_ECOMM = 4,
  BT_EABORTED = 5,
  BT_ENOTREADY = 6,
  BT_EUNSUPPORTED = 7
};
/* Element types, as kernels.DType. */
enum { BT_F32 = 0, BT_BF16 = 1, BT_F16 = 2, BT_I32 = 3, BT_U8 = 4 };
typedef uint64_t bt_ptr;
typedef struct bt_ctx bt_ctx;
typedef struct bt_stream bt_stream;
typedef struct bt_event bt_event;
typedef struct bt_comm bt_comm;

/* Operations. The list after each kind names the matrices m[0], m[1], … in order, then integers i[] and numbers f[].
 * They are the fields of the Go structs of package kernels, which hold the formulas. An absent matrix has p = 0. */
enum {
  BT_NOP = 0,
  BT_GEMM,            /* A B C D; rows m, cols n; i: k batch transA transB strideA strideB strideC strideD; f: alpha beta */
  BT_AXPBY,           /* X Y Out; f: a b */
  BT_COPY,            /* Src Dst; i: bytes per element */
  BT_FILL,            /* X; f: value */
  BT_MEMCPY,          /* Src Dst (one of them host memory); i: bytes */
  BT_NORM_STATS,      /* X Stat */
  BT_NORM_RSTD,       /* Stat RStd; i: width; f: eps */
  BT_NORM_APPLY,      /* X W RStd Y */
  BT_NORM_BWD_STATS,  /* X W RStd DY Dot */
  BT_NORM_BWD_APPLY,  /* X W RStd DY Dot Base DX DW; i: width */
  BT_LATENT,          /* P RStd U H; i: silu */
  BT_LATENT_BWD,      /* DH U DU Dot; i: silu */
  BT_SWIGLU,          /* G U Y; i: silu */
  BT_SWIGLU_BWD,      /* G U DY DG DU; i: silu */
  BT_ROPE,            /* X; i: seq headDim inverse; f: theta */
  BT_ATTENTION,       /* Q K V O LSE; i: seq headDim; f: scale */
  BT_ATTENTION_BWD,   /* Q K V O LSE DO DQ DK DV Work; i: seq headDim; f: scale */
  BT_EMBED,           /* IDs Table Out; i: first, rows of the table */
  BT_EMBED_BWD,       /* IDs DOut DTable; i: first, rows of the table */
  BT_XENT_MAX,        /* Logits Max */
  BT_XENT_SUM,        /* Logits Targets Max Sum Target; i: first */
  BT_XENT_LOSS,       /* Logits Targets Max Sum Target Loss DLogits; i: first; f: scale */
  BT_SUMSQ,           /* X Out; rows 1, cols the length */
  BT_CLIP_SCALE,      /* SumSq Norm Scale; f: maxNorm */
  BT_ADAMW,           /* Param M V Grad Scale; rows 1, cols the length; i: step; f: lr beta1 beta2 eps weightDecay */
  BT_FIND_NON_FINITE, /* X At */
  BT_COLLECTIVE,      /* a bt_coll */
  BT_CALL,            /* a bt_call */
  BT_CROSS,           /* U Prev Gate H; i: silu */
  BT_CROSS_BWD,       /* DH Carry Prev Gate DGate; i: silu fresh */
  BT_SCATTER,         /* Values Index Out; rows 1, cols the number of values; i: elements of Out */
  BT_PICK,            /* X Index Out; rows 1, cols the number of values; i: elements of X; f: beta */
  BT_DRAW,            /* X; i: key row col width; f: bound */
  BT_ADAM,            /* Param M V Grad Scale Out; rows 1, cols the length; f: rate decay beta1 beta2 eps */
  BT_CONVERT,         /* X Out: of another type each */
  BT_KINDS
};

typedef struct {
  bt_ptr p;
  int64_t ld;
} bt_mat;
typedef struct {
  uint32_t size, kind;
} bt_head;
typedef struct {
  bt_head h;
  int64_t rows, cols, i[8];
  double f[6];
  bt_mat m[10];
  uint8_t t[10]; /* the type of each matrix's elements */
} bt_op;

/* A message: a group call of parts that travel together, or a transfer, all of whose parts are sends to one member (src)
 * or receives from one (dst), named by root. Counts are in elements of src, of a receive of dst. */
enum { BT_ALLREDUCE = 0, BT_ALLGATHER = 1, BT_REDUCESCATTER = 2, BT_BCAST = 3, BT_SEND = 4, BT_RECV = 5 };
enum { BT_SUM = 0, BT_MAX = 1 };
enum { BT_MAX_PARTS = 32, BT_LABEL = 64 };
typedef struct {
  int32_t kind, reduce, root, type;
  uint64_t n;
  bt_ptr src, dst;
} bt_part;
typedef struct {
  bt_head h;
  uint64_t comm; /* the address of a bt_comm */
  char label[BT_LABEL];
  int32_t parts;
  int32_t ranks;    /* of the whole group, which may be on several hosts */
  int64_t least_ns; /* that it takes at least, from the moment when all its ranks have come */
  bt_part part[BT_MAX_PARTS];
} bt_coll;

/* Something that is done outside in the stream's turn, on its thread. On failure err says why. */
typedef bt_status (*bt_outside)(uint64_t handle, uint64_t *wait_ns, char *err);
typedef struct {
  bt_head h;
  bt_outside run;
  uint64_t handle;
} bt_call;

typedef struct {
  uint8_t b[128];
} bt_uid;
typedef struct {
  int64_t at_ns, wait_ns;
} bt_time; /* Unix time; waiting for peers since the stream's previous event, -1 unknown */
enum { BT_END_FINALIZE = 0, BT_END_ABORT = 1 };
enum { BT_ALLOC_SYMMETRIC = 1 };

/* What open needs. A device that has no use for a field ignores it. */
typedef struct {
  uint32_t size;
  int32_t device, threads;
  int32_t segment_fd;  /* shared by the ranks of this host; the context duplicates it */
  int32_t world, rank; /* of the segment */
  int32_t spin;        /* pauses before a waiting thread sleeps */
  char isa[16];        /* "" the best one, "base", "avx2", "avx512" */
  int32_t stall_ms;    /* a message whose peers have not come for so long fails; 0: never */
  char mode[64];       /* of the emulator: "", or words like "random=7 lazy" */
  char cublaslt[1024], nccl[1024]; /* paths of libraries; "": the usual places */
} bt_options;

/* What a device is, after open. text holds lines "what<TAB>value": libraries with version and path, driver, compute capability. */
typedef struct {
  uint32_t size;
  int32_t multiprocessors;
  uint64_t memory_total, memory_free;
  char name[128];
  char text[4096];
} bt_info;
/* What there is on this machine, without opening anything for long. text holds lines "what<TAB>value<TAB>state", state being
 * "ok" or what is missing and for what. */
typedef struct {
  uint32_t size;
  int32_t devices;
  char text[8192];
} bt_probe;

/* A message that was issued and is not over. */
typedef struct {
  bt_stream *on;    /* NULL: the compute stream */
  uint64_t ticket;  /* of the stream */
  int64_t begun_ns; /* since when its stream stands at it, of a monotonic clock; 0: it has not come to it yet */
} bt_under_way;

typedef struct bt_api {
  uint32_t abi, size;
  const char *name;
  bt_status (*open)(const bt_options *, bt_ctx **out, char *err, size_t errlen);
  void (*close)(bt_ctx *);
  const char *(*error)(bt_ctx *);
  const char *(*isa)(bt_ctx *);
  /* memory */
  bt_status (*alloc)(bt_ctx *, uint64_t bytes, uint32_t flags, bt_ptr *out);
  bt_status (*free)(bt_ctx *, bt_ptr);
  bt_status (*host_alloc)(bt_ctx *, uint64_t bytes, void **out);
  bt_status (*host_free)(bt_ctx *, void *);
  /* streams and events; a NULL stream is the compute stream */
  bt_status (*stream_new)(bt_ctx *, bt_stream **out);
  uint64_t (*stream_issued)(bt_stream *); /* the ticket of the latest launch, record or wait */
  bt_status (*stream_wait)(bt_ctx *, bt_stream *, bt_event *);
  bt_status (*stream_query)(bt_ctx *, bt_stream *, int32_t wait_us); /* BT_ENOTREADY after at most wait_us */
  bt_status (*stream_error)(bt_ctx *, bt_stream *, const char **text,
                            uint64_t *ticket); /* BT_OK while it is sound; ticket counts launches, records and waits from 1 */
  bt_status (*event_new)(bt_ctx *, bt_event **out);
  bt_status (*event_record)(bt_ctx *, bt_event *, bt_stream *);
  bt_status (*event_time)(bt_ctx *, bt_event *, int32_t wait_us, bt_time *out);
  /* arithmetic and collectives: a bt_op or a bt_coll */
  bt_status (*launch)(bt_ctx *, bt_stream *, const bt_head *);
  /* communication */
  bt_status (*comm_uid)(bt_ctx *, bt_uid *out);
  bt_status (*comm_join)(bt_ctx *, const bt_uid *, int32_t n, int32_t rank, const char *name,
                         bt_comm **out);                       /* registers; does not block */
  bt_status (*comm_ready)(bt_comm *, int32_t wait_us);         /* BT_ENOTREADY until all have joined */
  bt_status (*comm_status)(bt_comm *, char *text, size_t len); /* asynchronous failure; any thread */
  bt_status (*comm_end)(bt_comm *, int32_t how);               /* finalize, or abort from any thread */
  /* what follows may be absent (NULL) */
  bt_status (*info)(bt_ctx *, bt_info *);
  bt_status (*probe)(const bt_options *, bt_probe *);
  void (*range)(bt_ctx *, const char *name); /* a named range of a profiler begins; NULL: the latest ends */
  /* Of a BT_GEMM: from now on such products are made by algorithm which of count, 0 being the usual one. For measurements. */
  bt_status (*algorithm)(bt_ctx *, const bt_op *, int32_t which, int32_t *count);
  /* The oldest message of a communicator that is not over; BT_ENOTREADY: there is none, or another thread is at it. */
  bt_status (*comm_oldest)(bt_comm *, bt_under_way *out);
} bt_api;

/* The only symbol that a backend library exports. */
typedef const bt_api *(*bt_backend_fn)(uint32_t abi, uint32_t size_of_api);
#endif
