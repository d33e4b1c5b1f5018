// fake_nccl_run.cc - messages in their streams' turn. A rank lays its data out in the shared file, says what it is about to do, and
// waits until the others have said the same; then each computes the result by itself, in the order of ranks: the same bits
// everywhere. All of it is asked and asked again by the emulator, nothing blocks.
#include "bt_emu.h"
#include "fake_nccl.h"
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

namespace fake {
// Of each stream: how long its messages have waited for peers since the last look, and when all had come to its latest one.
struct Waits {
  int64_t waited_ns, came_ns;
};
static std::mutex &waits_lock() {
  static auto *m = new std::mutex;
  return *m;
}
static std::map<cudaStream_t, Waits> &waits() {
  static auto *w = new std::map<cudaStream_t, Waits>;
  return *w;
}
static void waited(cudaStream_t s, int64_t from, int64_t to) {
  std::lock_guard<std::mutex> g(waits_lock());
  Waits &w = waits()[s];
  w.waited_ns += to > from ? to - from : 0;
  w.came_ns = to > from ? to : from;
}

bool look_for_the_dead(nccl_comm_t *c, int only) {
  int64_t now = now_ns();
  if (now - c->looked_ns < 40000000) return false;
  c->looked_ns = now;
  Header *h = c->shared->header;
  for (int r = 0; r < c->n; r++) {
    Member &m = h->member[r];
    uint32_t present = m.present;
    if (r == c->rank || present < PRESENT || (only >= 0 && only != r)) continue;
    if (only < 0 && c->calls && m.posted >= c->calls) continue;
    if (present == LEFT) fail(h, NCCL_REMOTE_ERROR, "rank %d has left", r);
    else if (!alive(m)) fail(h, NCCL_REMOTE_ERROR, "rank %d (process %d) has died", r, m.pid);
    else continue;
    return true;
  }
  return false;
}

static float number(const void *p, uint64_t i, int32_t type) {
  return type == NCCL_FLOAT32 ? ((const float *)p)[i] : __bfloat162float(((const __nv_bfloat16 *)p)[i]);
}
static void put(void *p, uint64_t i, int32_t type, float v) {
  if (type == NCCL_FLOAT32) ((float *)p)[i] = v;
  else ((__nv_bfloat16 *)p)[i] = __float2bfloat16(v);
}
// Sums of bf16 are rounded after every addition, as NCCL's are: whoever tolerates that tolerates any order.
static void add(void *to, const void *from, uint64_t n, int32_t type, int32_t op) {
  bool max = op == NCCL_MAX;
  if (type == NCCL_INT32)
    for (uint64_t i = 0; i < n; i++) {
      int32_t &a = ((int32_t *)to)[i], b = ((const int32_t *)from)[i];
      a = max ? (b > a ? b : a) : (int32_t)((uint32_t)a + (uint32_t)b);
    }
  else if (type == NCCL_UINT8)
    for (uint64_t i = 0; i < n; i++) {
      uint8_t &a = ((uint8_t *)to)[i], b = ((const uint8_t *)from)[i];
      a = max ? (b > a ? b : a) : (uint8_t)(a + b);
    }
  else
    for (uint64_t i = 0; i < n; i++) {
      float a = number(to, i, type), b = number(from, i, type);
      put(to, i, type, max ? fmaxf(a, b) : a + b);
    }
}

// How much of a rank's memory a part reads.
static uint64_t given(const nccl_comm_t *c, const Part &p) {
  uint64_t bytes = p.count * type_bytes(p.type);
  if (p.kind == REDUCE_SCATTER) return bytes * c->n;
  return (p.kind == BROADCAST && p.root != c->rank) || p.kind == RECV ? 0 : bytes;
}

// Lays out the data of all parts and fills in the call; false when there is no memory.
static bool lay_out(nccl_comm_t *c, Room *room, Call *call, const std::vector<Operation> &ops) {
  uint64_t all = 0, at = 0;
  for (const Operation &o : ops) all += (given(c, o.part) + 63) / 64 * 64;
  char *to = c->shared->room(room, all ? all : 1);
  if (!to) return false;
  call->parts = (int32_t)ops.size();
  for (size_t i = 0; i < ops.size(); i++) {
    uint64_t n = given(c, ops[i].part);
    call->part[i] = ops[i].part;
    call->at[i] = room->at + at;
    if (n) memcpy(to + at, ops[i].src, n);
    at += (n + 63) / 64 * 64;
  }
  return true;
}

static bool same(const Call &a, const Call &b) {
  if (a.seq != b.seq || a.parts != b.parts) return false;
  for (int i = 0; i < a.parts; i++) {
    const Part &p = a.part[i], &q = b.part[i];
    if (p.kind != q.kind || p.op != q.op || p.root != q.root || p.type != q.type || p.count != q.count) return false;
  }
  return true;
}

static void compute(nccl_comm_t *c, uint64_t seq, const std::vector<Operation> &ops) {
  const char *base = c->shared->base;
  for (size_t i = 0; i < ops.size(); i++) {
    const Part &p = ops[i].part;
    uint64_t bytes = p.count * type_bytes(p.type);
    auto theirs = [&](int r) { return base + c->shared->header->member[r].call[seq & 1].at[i]; };
    char *dst = (char *)ops[i].dst;
    if (p.kind == ALL_GATHER)
      for (int r = 0; r < c->n; r++) memcpy(dst + r * bytes, theirs(r), bytes);
    else if (p.kind == BROADCAST) memcpy(dst, theirs(p.root), bytes);
    else {
      uint64_t skip = p.kind == REDUCE_SCATTER ? bytes * c->rank : 0;
      memcpy(dst, theirs(0) + skip, bytes);
      for (int r = 1; r < c->n; r++) add(dst, theirs(r) + skip, p.count, p.type, p.op);
    }
  }
}

// A message that is under way.
struct Flight {
  Comm comm;
  cudaStream_t stream;
  std::vector<Operation> ops;
  uint64_t turn;
  bool begun = false;
  uint64_t seq = 0;
  int64_t came = 0;
};

static bool collective(Flight *f) {
  nccl_comm_t *c = f->comm.get();
  Header *h = c->shared->header;
  Member &own = h->member[c->rank];
  if (!f->begun) {
    f->begun = true;
    f->came = now_ns();
    f->seq = ++c->calls;
    Call &call = own.call[f->seq & 1];
    call.seq = f->seq;
    if (!lay_out(c, &c->half[f->seq & 1], &call, f->ops)) {
      fail(h, NCCL_SYSTEM_ERROR, "rank %d has no shared memory for its message #%llu", c->rank, (unsigned long long)f->seq);
      return false;
    }
    own.posted = f->seq;
  }
  for (int r = 0; r < c->n; r++)
    if (h->member[r].posted < f->seq) return look_for_the_dead(c, -1), false;
  // Every rank compares all with the first, and so all see the same disagreement, or none.
  for (int r = 1; r < c->n; r++) {
    const Call &a = h->member[0].call[f->seq & 1], &b = h->member[r].call[f->seq & 1];
    if (same(a, b)) continue;
    fail(h, NCCL_INVALID_USAGE, "ranks disagree: rank 0 is at %s, rank %d is at %s", describe(a).c_str(), r, describe(b).c_str());
    return false;
  }
  waited(f->stream, f->came, now_ns());
  compute(c, f->seq, f->ops);
  return true;
}

static bool transfer_sent(Flight *f, int to) {
  nccl_comm_t *c = f->comm.get();
  Header *h = c->shared->header;
  Mail &m = h->mail[c->rank][to];
  if (!f->begun) {
    f->begun = true;
    f->came = now_ns();
    m.call.seq = f->seq = ++c->sent[to];
    if (!lay_out(c, &c->mail[to], &m.call, f->ops)) {
      fail(h, NCCL_SYSTEM_ERROR, "rank %d has no shared memory for its transfer #%llu", c->rank, (unsigned long long)f->seq);
      return false;
    }
    m.posted = f->seq;
  }
  // As a large message of NCCL's: it is over when the other end has taken it.
  if (m.copied < f->seq) return look_for_the_dead(c, to), false;
  waited(f->stream, f->came, m.came_ns);
  return true;
}

static bool transfer_received(Flight *f, int from) {
  nccl_comm_t *c = f->comm.get();
  Header *h = c->shared->header;
  Mail &m = h->mail[from][c->rank];
  if (!f->begun) {
    f->begun = true;
    f->came = now_ns();
    f->seq = ++c->received[from];
  }
  if (m.posted < f->seq) return look_for_the_dead(c, from), false;
  Call own = {};
  own.seq = f->seq;
  own.parts = (int32_t)f->ops.size();
  bool agree = own.parts == m.call.parts;
  for (int i = 0; i < own.parts; i++) {
    own.part[i] = f->ops[i].part;
    agree = agree && own.part[i].count == m.call.part[i].count && own.part[i].type == m.call.part[i].type;
  }
  if (!agree) {
    fail(h, NCCL_INVALID_USAGE, "ranks disagree: rank %d is at %s, rank %d is at %s", from, describe(m.call).c_str(), c->rank,
         describe(own).c_str());
    return false;
  }
  for (int i = 0; i < own.parts; i++)
    memcpy(f->ops[i].dst, c->shared->base + m.call.at[i], own.part[i].count * type_bytes(own.part[i].type));
  waited(f->stream, f->came, now_ns());
  m.came_ns = f->came;
  m.copied = f->seq;
  return true;
}

static bool poll(Flight *f) {
  nccl_comm_t *c = f->comm.get();
  if (c->turn < f->turn) return false;
  // As with the real one, a message that cannot be hangs until its communicator is aborted: what is over is done.
  bool over = c->aborted;
  if (!over && !c->shared->header->failed) {
    const Part &p = f->ops[0].part;
    over = p.kind == SEND ? transfer_sent(f, p.root) : p.kind == RECV ? transfer_received(f, p.root) : collective(f);
  }
  {
    std::lock_guard<std::mutex> g(waits_lock());
    c->wait = {f->stream, f->begun && !over, f->ops[0].part.kind, f->ops[0].part.root, f->seq};
  }
  if (over) c->turn++;
  return over;
}

// The ranks that have not said what the message wants of them.
static uint64_t absent(const nccl_comm_t *c, const Wait &w) {
  const Header *h = c->shared->header;
  uint64_t peer = (uint64_t)1 << w.peer, ranks = 0;
  if (w.kind == SEND) return h->mail[c->rank][w.peer].copied < w.seq ? peer : 0;
  if (w.kind == RECV) return h->mail[w.peer][c->rank].posted < w.seq ? peer : 0;
  for (int r = 0; r < c->n; r++) ranks |= (uint64_t)(h->member[r].posted < w.seq) << r;
  return ranks;
}

void run(const Comm &c, cudaStream_t s, std::vector<Operation> ops) {
  auto f = std::make_shared<Flight>();
  f->comm = c, f->stream = s, f->ops = std::move(ops), f->turn = c->issued++;
  emu::push_pollable(s, [f] { return poll(f.get()); });
}
} // namespace fake

void bt_fake_waited(cudaStream_t s, std::atomic<int64_t> *out) {
  emu::push(s, [=] {
    std::lock_guard<std::mutex> g(fake::waits_lock());
    fake::Waits &w = fake::waits()[s];
    *out = w.waited_ns;
    w.waited_ns = 0;
    return true;
  });
}

uint64_t bt_fake_absent(nccl_comm h, cudaStream_t s) {
  fake::Comm c = fake::find(h);
  std::lock_guard<std::mutex> g(fake::waits_lock());
  return c && c->wait.begun && c->wait.stream == s ? fake::absent(c.get(), c->wait) : 0;
}

void bt_fake_hold(cudaStream_t s, int64_t ns) {
  emu::push_pollable(s, [=] {
    std::lock_guard<std::mutex> g(fake::waits_lock());
    return fake::now_ns() >= fake::waits()[s].came_ns + ns;
  });
}
