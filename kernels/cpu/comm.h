/* comm.h - one rank's end of a communicator. */
#ifndef BT_COMM_H
#define BT_COMM_H
#include "segment.h"
struct bt_comm {
  bt_ctx *ctx;
  bt_seg_comm *slot;
  int n, rank;
  uint64_t barriers, calls;
  _Atomic bool ended;
  int world[BT_SEG_RANKS]; /* members' ranks in the segment, by rank in the communicator; known once all have joined */
};
/* Waits until every member has come. On failure err says why. */
bt_status bt_comm_barrier(bt_comm *, char *err);
/* Makes the communicator fail for every member; the first reason stays. */
void bt_comm_fail(bt_seg_comm *, bt_status, const char *format, ...) __attribute__((format(printf, 3, 4)));
bt_status bt_comm_check(bt_comm *, char *err);
#endif
