/* segment.h - the layout of the memory that ranks of one host share: a memfd of a header and the symmetric allocations.
 * Everything in the header starts as zeros. */
#ifndef BT_SEGMENT_H
#define BT_SEGMENT_H
#include "internal.h"

enum { BT_SEG_ALLOCS = 4096, BT_SEG_COMMS = 64, BT_SEG_RANKS = 64 };
#define BT_SEG_MAGIC 0x31676573626d7473u

/* What a rank is about to do; peers compare it with their own before they touch each other's memory. Places, not addresses. */
typedef struct {
  int32_t kind, reduce, root, pad;
  uint64_t n;
  uint64_t src, dst;
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

/* A communicator. It is taken by whoever makes the UID, and free again when its last member has left. */
typedef struct {
  _Atomic uint32_t taken;
  _Atomic uint32_t n, joined, left;
  uint64_t nonce;
  _Atomic uint32_t failed; /* 0 sound, 1 the reason is being written, else 16 + bt_status */
  char why[BT_ERRLEN], name[32];
  _Alignas(64) _Atomic uint32_t bell, sleepers;
  bt_seg_member member[BT_SEG_RANKS];
} bt_seg_comm;

typedef struct {
  uint64_t magic, id;
  _Atomic uint32_t world;
  _Atomic uint64_t alloc[BT_SEG_ALLOCS]; /* bytes + 1 of the i-th symmetric allocation: the first rank writes, the others compare */
  bt_seg_comm comm[BT_SEG_COMMS];
} bt_seg_header;

typedef struct bt_seg_map {
  struct bt_seg_map *next;
  char *base;
  uint64_t bytes, stride, offset;
} bt_seg_map;
struct bt_segment {
  int fd, world, rank;
  bt_seg_header *header;
  uint64_t end;
  int allocs;
  bt_seg_map *maps;
};

size_t bt_seg_header_bytes(void);
#endif
