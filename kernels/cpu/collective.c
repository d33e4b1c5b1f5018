/* collective.c - collectives in place over symmetric memory: rank r does the r-th part of the work in every peer's buffer, in
 * the order of ranks, so that all ranks end with the same bits. Two barriers serve a whole group call. */
#include "comm.h"
#include <stdio.h>

static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast"};

static void describe(const bt_seg_call *c, char *out, size_t len) {
  int n = snprintf(out, len, "#%llu %.*s:", (unsigned long long)c->seq, BT_LABEL - 1, c->label);
  for (int i = 0; i < c->parts && i < 4 && n > 0 && (size_t)n < len; i++) {
    const bt_seg_part *p = &c->part[i];
    n += snprintf(out + n, len - n, " %s%s of %llu at %llu", p->kind >= 0 && p->kind < 4 ? kinds[p->kind] : "?",
                  p->reduce == BT_MAX ? " max" : "", (unsigned long long)p->n, (unsigned long long)p->src);
  }
  if (c->parts > 4 && n > 0 && (size_t)n < len) snprintf(out + n, len - n, " and %d more", c->parts - 4);
}

/* Fills in what this rank is about to do, and how far apart peers' buffers lie. */
static bt_status publish(bt_comm *c, const bt_coll *o, int64_t (*strides)[2], char *err) {
  bt_seg_call *call = &c->slot->member[c->rank].call;
  call->seq = ++c->calls;
  call->parts = o->parts;
  memcpy(call->label, o->label, sizeof call->label);
  for (int i = 0; i < o->parts; i++) {
    const bt_part *p = &o->part[i];
    uint64_t bytes = p->n * sizeof(float), wide = p->kind == BT_ALLGATHER       ? bytes * c->n
                                                  : p->kind == BT_REDUCESCATTER ? bytes / c->n
                                                                                : 0;
    bt_place src = {0}, dst = {0};
    if (bytes &&
        (!bt_segment_find(c->ctx->segment, p->src, bytes, &src) || (wide && !bt_segment_find(c->ctx->segment, p->dst, wide, &dst))))
      return bt_fail(err, BT_EINVAL, "part %d is not in symmetric memory of this device", i);
    strides[i][0] = src.stride;
    strides[i][1] = dst.stride;
    call->part[i] = (bt_seg_part){p->kind, p->reduce, p->root, 0, p->n, src.offset, dst.offset};
  }
  return BT_OK;
}

static bool same(const bt_seg_call *a, const bt_seg_call *b) {
  return a->seq == b->seq && a->parts == b->parts && !memcmp(a->part, b->part, a->parts * sizeof *a->part);
}

/* Every rank compares itself with every other, so all see a disagreement and none goes on to touch memory. */
static bt_status agree(bt_comm *c, char *err) {
  const bt_seg_call *own = &c->slot->member[c->rank].call;
  for (int r = 0; r < c->n; r++) {
    const bt_seg_call *other = &c->slot->member[r].call;
    if (r == c->rank || same(own, other)) continue;
    char a[180], b[180];
    int lo = r < c->rank ? r : c->rank, hi = r < c->rank ? c->rank : r;
    describe(lo == r ? other : own, a, sizeof a);
    describe(lo == r ? own : other, b, sizeof b);
    bt_comm_fail(c->slot, BT_ECOMM, "ranks of %.31s disagree: rank %d is at %s, rank %d at %s", c->slot->name, lo, a, hi, b);
    return bt_comm_check(c, err);
  }
  return BT_OK;
}

static float *peer(const bt_comm *c, bt_ptr own, int64_t stride, int r) {
  return (float *)((char *)(uintptr_t)own + stride * (c->world[r] - bt_segment_rank(c->ctx->segment)));
}

/* The r-th of n slices of count elements, cut at cache lines. */
static size_t slice(size_t count, int r, int n) {
  return r == n ? count : (size_t)((unsigned __int128)count * r / n) & ~(size_t)15;
}

static void work(bt_comm *c, const bt_part *p, const int64_t *stride) {
  const bt_isa *isa = c->ctx->isa;
  float *src[BT_SEG_RANKS];
  for (int r = 0; r < c->n; r++) src[r] = peer(c, p->src, stride[0], r);
  float *own = src[c->rank], *dst = (float *)(uintptr_t)p->dst;
  switch (p->kind) {
  case BT_ALLREDUCE: isa->combine(src, c->n, slice(p->n, c->rank, c->n), slice(p->n, c->rank + 1, c->n), p->reduce); break;
  case BT_ALLGATHER:
    for (int r = 0; r < c->n; r++)
      if (dst + r * p->n != src[r]) memmove(dst + r * p->n, src[r], p->n * sizeof *dst);
    break;
  case BT_REDUCESCATTER:
    for (int r = 0; r < c->n; r++) src[r] += p->n / c->n * c->rank;
    isa->combine_into(dst, src, c->n, p->n / c->n, p->reduce);
    break;
  case BT_BCAST:
    if (p->root != c->rank) memcpy(own, src[p->root], p->n * sizeof *own);
    break;
  }
}

bt_status bt_collective(bt_lane *l, const bt_coll *o, uint64_t *wait_ns, char *err) {
  bt_comm *c = (bt_comm *)(uintptr_t)o->comm;
  int64_t strides[BT_MAX_PARTS][2];
  (void)l;
  bt_status status = publish(c, o, strides, err);
  if (status) {
    bt_comm_fail(c->slot, status, "rank %d of %.31s: %.400s", c->rank, c->slot->name, err);
    return status;
  }
  int64_t came = bt_monotonic();
  status = bt_comm_barrier(c, err);
  *wait_ns += bt_monotonic() - came;
  if (status || (status = agree(c, err))) return status;
  for (int i = 0; i < o->parts; i++) work(c, &o->part[i], strides[i]);
  return bt_comm_barrier(c, err);
}
