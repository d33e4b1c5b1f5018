// fake_nccl_messages.cc - group calls: what is verified of them before they are queued (fake_nccl_run.cc).
#include "fake_nccl.h"

namespace fake {
struct Group { // of this thread
  int depth = 0;
  int32_t bad = 0;
  Comm comm;
  cudaStream_t stream = nullptr;
  std::vector<Operation> ops;
};
static thread_local Group group;

int32_t group_start() {
  group.depth++;
  return NCCL_SUCCESS;
}

int32_t group_end() {
  if (!group.depth) return refuse(nullptr, NCCL_INVALID_USAGE, "ncclGroupEnd outside of a group");
  if (--group.depth) return NCCL_SUCCESS;
  Group g;
  std::swap(g, group);
  if (g.bad) return g.bad;
  if (!g.comm) return NCCL_SUCCESS;
  Comm c = g.comm;
  // Over only after some polls, as with the real one, where a thread connects and launches: what a caller puts on the stream
  // before that is ahead of the message.
  c->state = nccl_comm_t::LAUNCHING;
  c->polls = 3;
  std::weak_ptr<nccl_comm_t> weak = c;
  c->launch = [weak, s = g.stream, ops = g.ops] {
    if (Comm c = weak.lock()) run(c, s, ops);
  };
  return NCCL_IN_PROGRESS;
}

static bool overlap(const void *a, uint64_t n, const void *b, uint64_t m) {
  return (const char *)a < (const char *)b + m && (const char *)b < (const char *)a + n;
}

static int32_t check(nccl_comm_t *c, const Operation &o, cudaStream_t s) {
  const Part &p = o.part;
  uint64_t size = type_bytes(p.type), bytes = p.count * size, n = (uint64_t)c->n;
  bool reads = p.kind != RECV && !(p.kind == BROADCAST && p.root != c->rank), writes = p.kind != SEND;
  if (c->state != nccl_comm_t::READY)
    return refuse(c, NCCL_INVALID_ARGUMENT, "Attempt to use communicator before the previous operation returned ncclSuccess");
  if (!size) return refuse(c, NCCL_INVALID_ARGUMENT, "elements of type %d", p.type);
  if (p.op != NCCL_SUM && p.op != NCCL_MAX) return refuse(c, NCCL_INVALID_ARGUMENT, "reduction %d", p.op);
  if (p.root < 0 || p.root >= c->n || (p.kind >= SEND && p.root == c->rank))
    return refuse(c, NCCL_INVALID_ARGUMENT, "rank %d of %d as root or peer of rank %d", p.root, c->n, c->rank);
  if (!p.count) return refuse(c, NCCL_INVALID_ARGUMENT, "nothing to move");
  if (p.count > (uint64_t)1 << 40) return refuse(c, NCCL_INVALID_ARGUMENT, "%llu elements", (unsigned long long)p.count);
  if ((reads && !o.src) || (writes && !o.dst)) return refuse(c, NCCL_INVALID_ARGUMENT, "no memory");
  if ((uintptr_t)o.src % size || (uintptr_t)o.dst % size)
    return refuse(c, NCCL_INVALID_ARGUMENT, "memory at %p and %p is not aligned to its elements of %llu bytes", o.src, o.dst,
                  (unsigned long long)size);
  const char *src = (const char *)o.src, *dst = (const char *)o.dst;
  bool in_place = p.kind == ALL_GATHER       ? src == dst + bytes * c->rank
                  : p.kind == REDUCE_SCATTER ? dst == src + bytes * c->rank
                                             : src == dst;
  if (p.kind < SEND && reads && !in_place &&
      overlap(src, p.kind == REDUCE_SCATTER ? bytes * n : bytes, dst, p.kind == ALL_GATHER ? bytes * n : bytes))
    return refuse(c, NCCL_INVALID_ARGUMENT, "source and result overlap without being in place");
  if (group.comm && group.comm.get() != c) return refuse(c, NCCL_INVALID_USAGE, "a group of two communicators");
  if (group.comm && group.stream != s) return refuse(c, NCCL_INVALID_USAGE, "a group of two streams");
  if (group.ops.size() == PARTS) return refuse(c, NCCL_INVALID_USAGE, "more than %d operations in a group", PARTS);
  if (!group.ops.empty()) {
    const Part &q = group.ops[0].part;
    if ((p.kind >= SEND || q.kind >= SEND) && (p.kind != q.kind || p.root != q.root))
      return refuse(c, NCCL_INVALID_USAGE, "a group of transfers with something else, or with two peers");
  }
  return NCCL_SUCCESS;
}

static int32_t add(nccl_comm h, cudaStream_t s, Operation o) {
  Comm c = find(h);
  if (!c) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "not a communicator, or destroyed already");
  int32_t bad = check(c.get(), o, s);
  if (bad) {
    if (group.depth) group.bad = bad;
    return bad;
  }
  group_start();
  group.comm = c;
  group.stream = s;
  group.ops.push_back(o);
  return group_end();
}

int32_t all_reduce(const void *a, void *b, size_t n, int32_t type, int32_t op, nccl_comm c, cudaStream_t s) {
  return add(c, s, {{ALL_REDUCE, op, 0, type, n}, a, b});
}
int32_t all_gather(const void *a, void *b, size_t n, int32_t type, nccl_comm c, cudaStream_t s) {
  return add(c, s, {{ALL_GATHER, 0, 0, type, n}, a, b});
}
int32_t reduce_scatter(const void *a, void *b, size_t n, int32_t type, int32_t op, nccl_comm c, cudaStream_t s) {
  return add(c, s, {{REDUCE_SCATTER, op, 0, type, n}, a, b});
}
int32_t broadcast(const void *a, void *b, size_t n, int32_t type, int root, nccl_comm c, cudaStream_t s) {
  return add(c, s, {{BROADCAST, 0, root, type, n}, a, b});
}
int32_t send(const void *a, size_t n, int32_t type, int peer, nccl_comm c, cudaStream_t s) {
  return add(c, s, {{SEND, 0, peer, type, n}, a, nullptr});
}
int32_t recv(void *b, size_t n, int32_t type, int peer, nccl_comm c, cudaStream_t s) {
  return add(c, s, {{RECV, 0, peer, type, n}, nullptr, b});
}
} // namespace fake
