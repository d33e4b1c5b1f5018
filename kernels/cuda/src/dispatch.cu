// dispatch.cu - from an operation to whatever enqueues it.
#include "kernels.h"

static bt_launcher launcher_of(uint32_t kind) {
  switch (kind) {
#define X(kind, name)                                                                                                              \
  case BT_##kind: return btk_##name;
    BT_KERNELS(X)
#undef X
  default: return nullptr;
  }
}

bt_status bt_launch(bt_ctx *c, bt_stream *s, const bt_head *h) {
  s = bt_compute(c, s);
  bt_status status = bt_current(c);
  if (!status) status = bt_sticky(c, s);
  if (status) return status;
  if (h->kind == BT_COLLECTIVE) {
    s->issued++;
    return bt_message(c, s, reinterpret_cast<const bt_coll *>(h));
  }
  bt_launcher run = h->kind == BT_NOP ? nullptr : launcher_of(h->kind);
  if (!run) return bt_fail(c, BT_EUNSUPPORTED, "operation %u is unknown here", h->kind);
  if (h->size < sizeof(bt_op))
    return bt_fail(c, BT_EINVAL, "operation %u of %u bytes; it has %zu", h->kind, h->size, sizeof(bt_op));
  s->issued++;
  return run(c, s->s, reinterpret_cast<const bt_op *>(h));
}
