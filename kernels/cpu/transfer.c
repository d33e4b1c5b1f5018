/* transfer.c - from one member of a communicator to another: the sender lays out where its data is, the receiver copies it
 * from there, and then the sender goes on. Each direction between two members has a mail of its own. */
#include "comm.h"
#include <stdio.h>

static bt_seg_mail *mail_of(const bt_comm *c, int from, int to) {
  uint16_t number = atomic_load(&c->slot->mail[from][to]);
  return number ? &c->ctx->segment->header->mail[number - 1] : NULL;
}

/* The mail to a member. Its only sender claims it with its first transfer. */
static bt_seg_mail *claim(bt_comm *c, int to) {
  bt_seg_mail *m = mail_of(c, c->rank, to);
  for (int i = 0; !m && i < BT_SEG_MAILS; i++) {
    uint32_t no = 0;
    bt_seg_mail *free = &c->ctx->segment->header->mail[i];
    if (!atomic_compare_exchange_strong(&free->taken, &no, 1)) continue;
    atomic_store(&free->posted, 0);
    atomic_store(&free->copied, 0);
    atomic_store(&c->slot->mail[c->rank][to], i + 1);
    m = free;
  }
  return m;
}

static bool is_posted(const bt_comm *c, const bt_need *need) {
  bt_seg_mail *m = mail_of(c, need->peer, c->rank);
  return m && atomic_load(&m->posted) >= need->count;
}

static bool is_copied(const bt_comm *c, const bt_need *need) {
  return atomic_load(&mail_of(c, c->rank, need->peer)->copied) >= need->count;
}

static bt_status give(bt_comm *c, const bt_coll *o, uint64_t *wait_ns, char *err) {
  int to = o->part[0].root;
  bt_seg_mail *m = claim(c, to);
  if (!m) return bt_fail(err, BT_ECOMM, "all %d directions of transfers of this host are taken", BT_SEG_MAILS);
  bt_need need = {.met = is_copied, .peer = to, .count = ++c->sent[to]};
  bt_status status = bt_comm_publish(c, o, &m->call, err);
  if (status) return status;
  m->call.seq = need.count;
  int64_t came = bt_monotonic();
  atomic_store(&m->posted, need.count);
  bt_comm_ring(c->slot);
  if ((status = bt_comm_wait(c, &need, err))) return status;
  if (m->came_ns > came) {
    *wait_ns += m->came_ns - came;
    came = m->came_ns;
  }
  return o->least_ns ? bt_comm_sleep(c, came + o->least_ns, err) : BT_OK;
}

/* Both ends know how much travels. */
static bt_status compare(bt_comm *c, const bt_coll *o, const bt_seg_call *sent, int from, char *err) {
  bool same = sent->parts == o->parts;
  for (int i = 0; same && i < o->parts; i++) same = sent->part[i].n == o->part[i].n;
  if (same) return BT_OK;
  bt_seg_call own = {.seq = sent->seq};
  char a[180], b[180];
  bt_comm_publish(c, o, &own, err);
  bt_comm_describe(sent, a, sizeof a);
  bt_comm_describe(&own, b, sizeof b);
  return bt_fail(err, BT_ECOMM, "rank %d is at %s, rank %d at %s", from, a, c->rank, b);
}

static bt_status get(bt_comm *c, const bt_coll *o, uint64_t *wait_ns, char *err) {
  int from = o->part[0].root;
  bt_need need = {.met = is_posted, .peer = from, .count = ++c->received[from]};
  int64_t came = bt_monotonic();
  bt_status status = bt_comm_wait(c, &need, err);
  if (status) return status;
  int64_t begun = bt_monotonic();
  *wait_ns += begun - came;
  bt_seg_mail *m = mail_of(c, from, c->rank);
  m->came_ns = came;
  if ((status = compare(c, o, &m->call, from, err))) return status;
  for (int i = 0; i < o->parts; i++) {
    uint64_t bytes = o->part[i].n * sizeof(float);
    if (!bytes) continue;
    char *src = bt_segment_at(c->ctx->segment, c->world[from], m->call.part[i].src, bytes, err);
    if (!src) return BT_ECOMM;
    memcpy((void *)(uintptr_t)o->part[i].dst, src, bytes);
  }
  atomic_store(&m->copied, need.count);
  bt_comm_ring(c->slot);
  return o->least_ns ? bt_comm_sleep(c, begun + o->least_ns, err) : BT_OK;
}

bt_status bt_transfer(bt_comm *c, const bt_coll *o, uint64_t *wait_ns, char *err) {
  bt_status status = bt_comm_check(c, err);
  if (status) return status;
  return o->part[0].kind == BT_SEND ? give(c, o, wait_ns, err) : get(c, o, wait_ns, err);
}
