/* comm.h - one rank's end of a communicator. */
#ifndef BT_COMM_H
#define BT_COMM_H
#include "segment.h"
struct bt_comm {
  bt_ctx *ctx;
  bt_seg_comm *slot;
  int n, rank;
  uint64_t barriers, calls;
  uint64_t sent[BT_SEG_RANKS], received[BT_SEG_RANKS]; /* transfers to and from each member */
  _Atomic bool ended;
  int world[BT_SEG_RANKS]; /* members' ranks in the segment, by rank in the communicator; known once all have joined */
};
/* What a rank waits for, and whom: a member, or with peer -1 every one that has not come to the barrier of the count. */
typedef struct bt_need {
  bool (*met)(const bt_comm *, const struct bt_need *);
  int peer;
  uint64_t count;
} bt_need;
/* Waits until the need is met, the communicator fails, or whom it waits for has died. */
bt_status bt_comm_wait(bt_comm *, const bt_need *, char *err);
/* Wakes those who wait, after something has changed that they wait for. */
void bt_comm_ring(bt_seg_comm *);
/* Sleeps until a time of the monotonic clock, or the communicator fails. */
bt_status bt_comm_sleep(bt_comm *, int64_t until_ns, char *err);
/* Fills in what this rank is about to do, as places in its memory. */
bt_status bt_comm_publish(bt_comm *, const bt_coll *, bt_seg_call *, char *err);
/* "#3 label: all-reduce of 64 at 0" */
void bt_comm_describe(const bt_seg_call *, char *out, size_t len);
bt_status bt_transfer(bt_comm *, const bt_coll *, uint64_t *wait_ns, char *err);
/* Makes the communicator fail for every member; the first reason stays. */
void bt_comm_fail(bt_seg_comm *, bt_status, const char *format, ...) __attribute__((format(printf, 3, 4)));
bt_status bt_comm_check(bt_comm *, char *err);
#endif
