/* segment.h - the layout of the memory that ranks of one host share: a memfd of a header and what ranks allocate of it.
 * Everything in the header starts as zeros. */
#ifndef BT_SEGMENT_H
#define BT_SEGMENT_H
#include "internal.h"

enum { BT_SEG_ALLOCS = 4096, BT_SEG_COMMS = 64, BT_SEG_RANKS = 64, BT_SEG_MAILS = 1024 };
#define BT_SEG_MAGIC 0x32676573626d7473u

/* What a rank is about to do; peers compare it with their own before they touch each other's memory. Places, not addresses. */
typedef struct {
  int32_t kind, reduce, root, pad;
  uint64_t n;
  bt_place src, dst;
} bt_seg_part;
typedef struct {
  uint64_t seq;
  int32_t parts, pad;
  char label[BT_LABEL];
  bt_seg_part part[BT_MAX_PARTS];
} bt_seg_call;

typedef struct {
  _Alignas(64) _Atomic uint64_t arrived; /* barriers that this rank has come to */
  _Alignas(64) _Atomic uint32_t present; /* 3 joining: what follows is being written, 1 joined, 2 left */
  int32_t pid, world_rank;
  uint64_t started; /* of the process, in clock ticks: a pid may be taken anew */
  bt_seg_call call;
} bt_seg_member;

/* Where transfers of one communicator in one direction between two ranks are laid out, one at a time. */
typedef struct {
  _Atomic uint32_t taken;
  _Alignas(64) _Atomic uint64_t posted, copied; /* transfers laid out by the sender; taken by the receiver */
  int64_t came_ns;                              /* when the receiver came to the latest, by the monotonic clock */
  bt_seg_call call;
} bt_seg_mail;

/* A communicator. It is taken by whoever makes the UID, and free again when its last member has left. */
typedef struct {
  _Atomic uint32_t taken;
  _Atomic uint32_t n, joined, left;
  uint64_t nonce;
  _Atomic uint32_t failed; /* 0 sound, 1 the reason is being written, else 16 + bt_status */
  char why[BT_ERRLEN], name[32];
  _Alignas(64) _Atomic uint32_t bell, sleepers;
  _Atomic uint16_t mail[BT_SEG_RANKS][BT_SEG_RANKS]; /* 1 + the number of the mail from one member to another; 0: none yet */
  bt_seg_member member[BT_SEG_RANKS];
} bt_seg_comm;

typedef struct {
  uint64_t offset; /* in the file */
  _Atomic uint64_t bytes; /* 0: none, or freed */
} bt_seg_alloc;

typedef struct {
  uint64_t magic, id;
  _Atomic uint64_t end; /* of what is taken of the file */
  _Atomic uint32_t world;
  bt_seg_alloc alloc[BT_SEG_RANKS][BT_SEG_ALLOCS];
  bt_seg_mail mail[BT_SEG_MAILS];
  bt_seg_comm comm[BT_SEG_COMMS];
} bt_seg_header;

typedef struct bt_seg_map {
  struct bt_seg_map *next;
  char *base;
  uint64_t bytes, length, offset;
  uint32_t alloc;
} bt_seg_map;
struct bt_segment {
  int fd, world, rank;
  bt_seg_header *header;
  uint32_t allocs;
  pthread_mutex_t lock; /* the lists below: streams look places up beside the thread that allocates */
  bt_seg_map *maps;     /* own memory */
  bt_seg_map *far;      /* peers' memory that was touched */
  _Atomic(char *) *at;  /* all of it, by rank and allocation */
};

/* The address of a place in a rank's memory, of which so many bytes are wanted; NULL with the reason in err. */
char *bt_segment_at(bt_segment *, int rank, bt_place, uint64_t bytes, char *err);
size_t bt_seg_header_bytes(void);
#endif
