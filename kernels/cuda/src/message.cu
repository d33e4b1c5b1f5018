// message.cu - what communicators carry: a group call of all parts of a message, the record of it, and the watch over it.
#include "comm.h"
#include <algorithm>
#include <cstdio>

static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "send", "receive"};
enum { KINDS = sizeof kinds / sizeof *kinds };
static const struct {
  int32_t type, nccl;
  uint64_t bytes;
  const char *name;
} types[] = {{BT_F32, NCCL_FLOAT32, 4, "fp32"},
             {BT_BF16, NCCL_BFLOAT16, 2, "bf16"},
             {BT_I32, NCCL_INT32, 4, "i32"},
             {BT_U8, NCCL_UINT8, 1, "u8"}};
static int type_of(const bt_part *p) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].type == p->type) return (int)i;
  return -1;
}

// "all-reduce of 4096 bf16, all-reduce max of 64 fp32"
static void describe(const bt_coll *o, bt_flight *f) {
  size_t n = 0;
  for (int i = 0; i < o->parts && n < sizeof f->what; i++) {
    const bt_part *p = &o->part[i];
    f->bytes += p->n * types[type_of(p)].bytes;
    if (i == 3 && o->parts > 4) {
      n += snprintf(f->what + n, sizeof f->what - n, " and %d more", o->parts - 3);
      break;
    }
    n += snprintf(f->what + n, sizeof f->what - n, "%s%s%s of %llu %s", i ? ", " : "", kinds[p->kind],
                  p->reduce == BT_MAX ? " max" : "", (unsigned long long)p->n, types[type_of(p)].name);
    if (p->kind >= BT_BCAST && n < sizeof f->what)
      n += snprintf(f->what + n, sizeof f->what - n,
                    p->kind == BT_RECV   ? " from %d"
                    : p->kind == BT_SEND ? " to %d"
                                         : " at %d",
                    p->root);
  }
}

static bt_status verify(bt_ctx *c, const bt_comm *m, const bt_coll *o) {
  if (o->parts < 1 || o->parts > BT_MAX_PARTS)
    return bt_fail(c, BT_EINVAL, "a message of %d parts; it has 1 to %d", o->parts, BT_MAX_PARTS);
  for (int i = 0; i < o->parts; i++) {
    const bt_part *p = &o->part[i];
    bool transfer = p->kind >= BT_SEND, wide = p->kind == BT_ALLGATHER || p->kind == BT_REDUCESCATTER;
    if (p->kind < 0 || p->kind >= KINDS) return bt_fail(c, BT_EINVAL, "part %d of a message is of kind %d", i, p->kind);
    if (type_of(p) < 0) return bt_fail(c, BT_EINVAL, "part %d (%s) has elements of type %d", i, kinds[p->kind], p->type);
    if (p->reduce != BT_SUM && p->reduce != BT_MAX)
      return bt_fail(c, BT_EINVAL, "part %d (%s) reduces by %d", i, kinds[p->kind], p->reduce);
    if (p->root < 0 || p->root >= m->n)
      return bt_fail(c, BT_EINVAL, "part %d (%s): rank %d of %d", i, kinds[p->kind], p->root, m->n);
    if (transfer && (p->root == m->rank || p->root != o->part[0].root || p->kind != o->part[0].kind))
      return bt_fail(c, BT_EINVAL, "part %d: a transfer has one direction and one other end, which is not this rank %d", i,
                     m->rank);
    if (!transfer && o->part[0].kind >= BT_SEND)
      return bt_fail(c, BT_EINVAL, "part %d: a transfer and a %s in one message", i, kinds[p->kind]);
    if (p->kind == BT_REDUCESCATTER && p->n % m->n)
      return bt_fail(c, BT_EINVAL, "part %d scatters %llu elements to %d ranks", i, (unsigned long long)p->n, m->n);
    bool src = p->kind != BT_RECV, dst = wide || p->kind == BT_RECV;
    if (p->n && ((src && !p->src) || (dst && !p->dst)))
      return bt_fail(c, BT_EINVAL, "part %d (%s) has no memory", i, kinds[p->kind]);
  }
  return BT_OK;
}

static int32_t issue(const nccl_api *nccl, const bt_comm *m, nccl_comm comm, const bt_part *p, int peer, cudaStream_t s) {
  void *src = bt_at<void>(p->src), *dst = bt_at<void>(p->dst);
  int32_t type = types[type_of(p)].nccl, op = p->reduce == BT_MAX ? NCCL_MAX : NCCL_SUM;
  switch (p->kind) {
  case BT_ALLREDUCE: return nccl->all_reduce(src, src, p->n, type, op, comm, s);
  case BT_ALLGATHER: return nccl->all_gather(src, dst, p->n, type, comm, s);
  case BT_REDUCESCATTER: return nccl->reduce_scatter(src, dst, p->n / m->n, type, op, comm, s);
  case BT_BCAST: return nccl->broadcast(src, src, p->n, type, p->root, comm, s);
  case BT_SEND: return nccl->send(src, p->n, type, peer, comm, s);
  default: return nccl->recv(dst, p->n, type, peer, comm, s);
  }
}

// Puts a message in front, so that a failure names it.
static void blame(bt_comm *m, uint64_t seq) {
  auto at = std::find_if(m->flights.begin(), m->flights.end(), [=](const bt_flight &f) { return f.seq == seq; });
  bt_flight f = *at;
  m->flights.erase(at);
  m->flights.push_front(f);
}

// One group call, so that the parts travel in one launch. A part that fails spoils the group, which must be ended all the same.
static bt_status group(bt_comm *m, const bt_coll *o, cudaStream_t s) {
  const nccl_api *nccl = &m->ctx->lib->nccl;
  nccl_comm comm = m->main;
  int peer = o->part[0].root;
  if (o->part[0].kind >= BT_SEND) {
    bool send = o->part[0].kind == BT_SEND;
    comm = bt_comm_of_flow(m, send ? m->rank : peer, send ? peer : m->rank);
    if (comm != m->main) peer = peer > m->rank; // of the pair: 0 the lower rank, 1 the higher
    m->flights.back().peer = o->part[0].root;
  }
  m->flights.back().comm = comm;
  int32_t r = nccl->group_start(), bad = r;
  for (int i = 0; i < o->parts && !bad; i++)
    if (o->part[i].n) bad = issue(nccl, m, comm, &o->part[i], peer, s);
  if (bad == NCCL_IN_PROGRESS) bad = NCCL_SUCCESS;
  if (!r) r = nccl->group_end();
  if (!bad && r != NCCL_IN_PROGRESS) bad = r;
  if (bad) {
    blame(m, m->seq);
    bt_comm_fail(m, bad == NCCL_INVALID_ARGUMENT || bad == NCCL_INVALID_USAGE ? BT_EINVAL : BT_ECOMM,
                 "NCCL refuses a message: %s: %.200s", nccl->error_string(bad), nccl->last_error(comm));
    return m->failed;
  }
  // The kernel is launched by a thread of NCCL's; what is recorded on the stream before that would be ahead of it.
  return bt_comm_settle(m, comm, "issuing a message", (int64_t)m->ctx->opt.stall_ms * 1000000);
}

static cudaEvent_t take_event(bt_comm *m) {
  cudaEvent_t e = nullptr;
  if (m->events.empty()) return cudaEventCreateWithFlags(&e, cudaEventDisableTiming) == cudaSuccess ? e : nullptr;
  e = m->events.back();
  m->events.pop_back();
  return e;
}

#ifdef BT_EMU
// fake_nccl_run.cc: the stream does not go on before so long after all ranks had come to its latest message.
void bt_fake_hold(cudaStream_t, int64_t ns);
static bt_status hold(bt_ctx *, cudaStream_t s, int64_t ns) {
  if (ns > 0) bt_fake_hold(s, ns);
  return BT_OK;
}
#else
static bt_status hold(bt_ctx *c, cudaStream_t, int64_t ns) {
  return ns > 0 ? bt_fail(c, BT_EUNSUPPORTED,
                          "a GPU's links cannot be made slower: an imitated link is for devices that run on the processor")
                : BT_OK;
}
#endif

static bt_status fly(bt_ctx *c, bt_comm *m, bt_stream *s, const bt_coll *o) {
  bt_flight f = {};
  f.peer = -1;
  f.seq = ++m->seq;
  snprintf(f.label, sizeof f.label, "%.*s", BT_LABEL - 1, o->label);
  describe(o, &f);
  f.on = s;
  f.ticket = s->issued;
  f.start = take_event(m);
  f.end = take_event(m);
  if (!f.start || !f.end) return bt_check(c, "make an event", cudaErrorMemoryAllocation);
  bt_status status = bt_check(c, "record an event", cudaEventRecord(f.start, s->s));
  if (status) return status;
  m->flights.push_back(f); // so that a failure names it
  if ((status = group(m, o, s->s))) return bt_fail(c, status, "%s", m->why);
  s->messages = true;
  if ((status = hold(c, s->s, o->least_ns))) return status;
  return bt_check(c, "record an event", cudaEventRecord(f.end, s->s));
}

bt_status bt_message(bt_ctx *c, bt_stream *s, const bt_coll *o) {
  bt_comm *m = reinterpret_cast<bt_comm *>(static_cast<uintptr_t>(o->comm));
  if (std::find(c->comms.begin(), c->comms.end(), m) == c->comms.end())
    return bt_fail(c, BT_EINVAL, "the communicator is not one of this context");
  bt_status status = verify(c, m, o);
  if (status) return status;
  std::lock_guard<std::mutex> g(m->lock);
  if (m->failed) return bt_fail(c, m->failed, "%s", m->why);
  if (m->ended || !m->ready) return bt_fail(c, BT_ECOMM, "%s was closed, or not all have joined it", m->name);
  status = fly(c, m, s, o);
  // The stream may hold half of the message: nothing after it can be right.
  if (status) bt_stream_fail(s, status, s->issued, c->err);
  return status;
}

#ifdef BT_EMU
// fake_nccl_run.cc: the ranks of the communicator that its message on the stream waits for, a bit each; 0: it is not its turn.
uint64_t bt_fake_absent(nccl_comm, cudaStream_t);

// ": ranks 1, 3 of tp have not posted their part of it"
static std::string who(const bt_comm *m, const bt_flight &f) {
  enum { NAMED = 4 };
  uint64_t absent = bt_fake_absent(f.comm, f.on->s);
  std::string ranks;
  int n = 0;
  for (int r = 0; r < m->n; r++) {
    // Transfers may be on a communicator of two, where ranks have other numbers.
    if (!(f.peer < 0 ? absent >> r & 1 : absent && r == f.peer)) continue;
    if (++n <= NAMED) ranks += (n > 1 ? ", " : "") + std::to_string(r);
  }
  if (!n) return "";
  if (n > NAMED) ranks += " and " + std::to_string(n - NAMED) + " more";
  return (n > 1 ? ": ranks " : ": rank ") + ranks + " of " + m->name + (n > 1 ? " have not posted their" : " has not posted its") +
         " part of it";
}
#else
static std::string who(const bt_comm *, const bt_flight &) { return ""; } // NCCL does not tell
#endif

static bool over(cudaEvent_t e) { return cudaEventQuery(e) == cudaSuccess; }

// What NCCL says of its own accord: sockets that were closed; of the fake one disagreements and deaths, too. Of several communicators
// that have failed the one that was aborted comes last: another rank aborts all of its own when one of them fails.
static void ask_nccl(bt_comm *m) {
  const nccl_api *nccl = &m->ctx->lib->nccl;
  nccl_comm bad = nullptr;
  int32_t why = 0;
  for (nccl_comm c : {m->main, m->split[0], m->split[1], m->split[2], m->split[3]}) {
    int32_t state = NCCL_SUCCESS, r = c ? nccl->async_error(c, &state) : 0;
    if (!r && (!state || state == NCCL_IN_PROGRESS)) continue;
    if (!bad || bt_comm_aborted(nccl->last_error(bad))) bad = c, why = r ? r : state;
  }
  if (bad) bt_comm_explain(m, bad, why, "");
}

void bt_comm_look(bt_comm *m) {
  if (m->failed || !m->main) return;
  while (!m->flights.empty() && over(m->flights.front().end)) {
    m->events.insert(m->events.end(), {m->flights.front().start, m->flights.front().end});
    m->flights.pop_front();
  }
  ask_nccl(m);
  if (m->failed) return;
  // The watch begins when a stream has come to its message: what waits for its turn does not wait for peers.
  int64_t now = bt_monotonic(), most = (int64_t)m->ctx->opt.stall_ms * 1000000;
  for (bt_flight &f : m->flights) {
    if (!f.started_ns && over(f.start)) f.started_ns = now;
    if (!most || !f.started_ns || now - f.started_ns <= most || over(f.end)) continue;
    std::string absent = who(m, f);
    blame(m, f.seq);
    bt_comm_fail(m, BT_ECOMM, "its peers have not come for %.1f s%s", (double)most / 1e9, absent.c_str());
    return;
  }
}

bt_status bt_comm_oldest(bt_comm *m, bt_under_way *out) {
  std::unique_lock<std::mutex> g(m->lock, std::try_to_lock);
  if (!g.owns_lock() || !m->ready || m->ended) return BT_ENOTREADY;
  bt_comm_look(m);
  if (m->failed || m->flights.empty()) return BT_ENOTREADY;
  const bt_flight &f = m->flights.front();
  *out = {f.on == bt_compute(m->ctx, nullptr) ? nullptr : f.on, f.ticket, f.started_ns};
  return BT_OK;
}

void bt_comms_watch(bt_ctx *c, bool certain) {
  for (bt_comm *m : c->comms) {
    // A watchdog that has the lock may be ending a message just now: whoever takes a stream's end for success waits for it.
    std::unique_lock<std::mutex> g(m->lock, std::defer_lock);
    if (certain) g.lock();
    else if (!g.try_lock()) continue;
    if (m->ready && !m->ended) bt_comm_look(m);
    if (!m->failed || m->told) continue;
    // The oldest message of a stream is the one that it has failed at.
    for (const bt_flight &f : m->flights) bt_stream_fail(f.on, m->failed, f.ticket, m->why);
    m->told = true;
  }
}
