// comm.cu - communicators: joining, leaving, aborting. They are NCCL's non-blocking ones: a call returns at once and is polled, so
// that no rank hangs inside the library when another has died. message.cu issues what they carry.
#include "comm.h"
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>

enum : int64_t { ABORT_WAIT_NS = 1000000000, LEAVE_NS = 5000000000 };

static const nccl_api *nccl(bt_comm *m) { return &m->ctx->lib->nccl; }

static void pause_us(int us) {
  timespec t = {0, us * 1000};
  nanosleep(&t, nullptr);
}

bool bt_comm_aborted(const char *text) { return text && !strncmp(text, "aborted by", 10); }

// What NCCL says of an error: its code, and the last error's text where it has one.
bt_status bt_comm_explain(bt_comm *m, nccl_comm comm, int32_t r, const char *what) {
  const char *last = nccl(m)->last_error(comm);
  bool aborted = bt_comm_aborted(last); // another rank ended it on purpose
  bt_comm_fail(m,
               aborted                      ? BT_EABORTED
               : r == NCCL_INVALID_ARGUMENT ? BT_EINVAL
                                            : BT_ECOMM,
               "%s%s%s%s%.300s", what, *what ? ": " : "", aborted ? "" : nccl(m)->error_string(r),
               last && *last && !aborted ? ": " : "", last ? last : "");
  return m->failed;
}

static void abort_all(bt_comm *m) {
  for (nccl_comm *c : {&m->split[0], &m->split[1], &m->split[2], &m->split[3], &m->main}) {
    if (*c) nccl(m)->abort(*c);
    *c = nullptr;
  }
  m->flows.clear();
}

void bt_comm_fail(bt_comm *m, bt_status status, const char *format, ...) {
  if (m->failed) return;
  int n = snprintf(m->why, sizeof m->why, "rank %d of %s: ", m->rank, m->name);
  va_list args;
  va_start(args, format);
  n += vsnprintf(m->why + n, sizeof m->why - n, format, args);
  va_end(args);
  if (!m->flights.empty() && n > 0 && (size_t)n < sizeof m->why) {
    const bt_flight &f = m->flights.front();
    snprintf(m->why + n, sizeof m->why - n, "; this rank is at #%llu %s: %s", (unsigned long long)f.seq, f.label, f.what);
  }
  m->failed = status;
  abort_all(m);
}

bt_status bt_comm_settle(bt_comm *m, nccl_comm comm, const char *what, int64_t most) {
  int64_t begun = bt_monotonic();
  for (int round = 0;; round++) {
    int32_t state = NCCL_SUCCESS, r = nccl(m)->async_error(comm, &state);
    if (r || (state && state != NCCL_IN_PROGRESS)) return bt_comm_explain(m, comm, r ? r : state, what);
    if (!state) return BT_OK;
    if (m->aborting) bt_comm_fail(m, BT_EABORTED, "aborted while %s", what);
    else if (most && bt_monotonic() - begun > most)
      bt_comm_fail(m, BT_ECOMM, "%s: the other ranks have not come for %.1f s", what, (double)most / 1e9);
    if (m->failed) return m->failed;
    if (round > 200) pause_us(round < 1000 ? 10 : 100);
  }
}

static bt_status no_nccl(bt_ctx *c) { return bt_fail(c, BT_EUNSUPPORTED, "NCCL: %s", c->lib->nccl_file.why.c_str()); }

bt_status bt_comm_uid(bt_ctx *c, bt_uid *out) {
  bt_status status = bt_current(c);
  if (status) return status;
  if (!c->lib->nccl_file.found()) return no_nccl(c);
  nccl_id id;
  int32_t r = c->lib->nccl.unique_id(&id);
  if (r)
    return bt_fail(c, BT_ECOMM, "NCCL: make an identity: %s: %.200s", c->lib->nccl.error_string(r),
                   c->lib->nccl.last_error(nullptr));
  memcpy(out->b, id.b, sizeof out->b);
  return BT_OK;
}

static nccl_config config_of(void) {
  nccl_config k = {
      sizeof k,      (uint32_t)NCCL_MAGIC_WORD, NCCL_CONFIG_VERSION, 0, NCCL_UNDEFINED, NCCL_UNDEFINED, NCCL_UNDEFINED, nullptr,
      NCCL_UNDEFINED};
  return k;
}

bt_status bt_comm_join(bt_ctx *c, const bt_uid *uid, int32_t n, int32_t rank, const char *name, bt_comm **out) {
  bt_status status = bt_current(c);
  if (status) return status;
  if (!c->lib->nccl_file.found()) return no_nccl(c);
  if (n < 1 || rank < 0 || rank >= n) return bt_fail(c, BT_EINVAL, "rank %d of %d in %.31s", rank, n, name);
  bt_comm *m = new bt_comm;
  m->ctx = c, m->n = n, m->rank = rank;
  snprintf(m->name, sizeof m->name, "%.31s", name);
  nccl_id id;
  memcpy(id.b, uid->b, sizeof id.b);
  nccl_config k = config_of();
  int32_t r = c->lib->nccl.init(&m->main, n, id, rank, &k);
  if (r && r != NCCL_IN_PROGRESS) {
    status = bt_fail(c, r == NCCL_INVALID_ARGUMENT ? BT_EINVAL : BT_ECOMM, "NCCL: join %s as rank %d of %d: %s: %.300s", m->name,
                     rank, n, c->lib->nccl.error_string(r), c->lib->nccl.last_error(m->main));
    if (m->main) c->lib->nccl.abort(m->main);
    delete m;
    return status;
  }
  c->comms.push_back(m);
  *out = m;
  return BT_OK;
}

// The i-th split makes pairs of neighbours: even ones with the next or odd ones with the next, for one direction.
static int partner(const bt_comm *m, int i) {
  int with = (m->rank + i / 2) % 2 == 0 ? m->rank + 1 : m->rank - 1;
  return with >= 0 && with < m->n ? with : -1;
}
// Groups of a pipeline transfer; the others only reduce.
static int splits_of(const bt_comm *m) { return strncmp(m->name, "pp", 2) || m->n < 2 ? 0 : m->n == 2 ? 2 : BT_SPLITS; }

static void begin_split(bt_comm *m) {
  int i = m->splits++, with = partner(m, i), low = with < m->rank ? with : m->rank;
  nccl_config k = config_of();
  int32_t r = nccl(m)->split(m->main, with < 0 ? NCCL_NO_COLOR : low, m->rank, &m->split[i], &k);
  if (r && r != NCCL_IN_PROGRESS) bt_comm_explain(m, m->main, r, "splitting");
}

static void end_split(bt_comm *m) {
  int i = m->splits - 1, with = partner(m, i);
  if (with < 0) return;
  int low = with < m->rank ? with : m->rank, high = low + 1;
  m->flows.push_back(i % 2 ? bt_flow{high, low, m->split[i]} : bt_flow{low, high, m->split[i]});
}

nccl_comm bt_comm_of_flow(bt_comm *m, int from, int to) {
  for (const bt_flow &f : m->flows)
    if (f.from == from && f.to == to) return f.comm;
  return m->main;
}

// One look at a communicator that is being made: true when the next thing can be done.
static bool done(bt_comm *m, nccl_comm comm) {
  int32_t state = NCCL_SUCCESS, r = nccl(m)->async_error(comm, &state);
  if (r || (state && state != NCCL_IN_PROGRESS)) bt_comm_explain(m, comm, r ? r : state, "joining");
  return !m->failed && !state;
}

static void advance(bt_comm *m) {
  if (m->aborting) bt_comm_fail(m, BT_EABORTED, "aborted while joining");
  while (!m->failed && !m->ready) {
    // A split is over when both its parent and what it made say so; what it made is there only once the parent does.
    if (!done(m, m->main)) return;
    nccl_comm made = m->splits ? m->split[m->splits - 1] : nullptr;
    if (made && !done(m, made)) return;
    if (m->splits) end_split(m);
    if (m->splits < splits_of(m)) begin_split(m);
    else m->ready = true;
  }
}

bt_status bt_comm_ready(bt_comm *m, int32_t wait_us) {
  bt_status status = bt_current(m->ctx);
  if (status) return status;
  for (int64_t end = bt_monotonic() + (int64_t)wait_us * 1000;;) {
    {
      std::lock_guard<std::mutex> g(m->lock);
      advance(m);
      if (m->failed) return bt_fail(m->ctx, m->failed, "%s", m->why);
      if (m->ready) return BT_OK;
    }
    if (bt_monotonic() >= end) return BT_ENOTREADY;
    pause_us(100);
  }
}

bt_status bt_comm_status(bt_comm *m, char *text, size_t len) {
  if (!m->failed && m->lock.try_lock()) { // else whoever holds it looks by itself
    if (m->ready && !m->ended && bt_use_device(m->ctx->device) == cudaSuccess) bt_comm_look(m);
    m->lock.unlock();
  }
  if (m->failed) snprintf(text, len, "%s", m->why);
  return m->failed;
}

// Whoever is inside NCCL with it leaves as soon as it sees that it is aborting; NCCL wants nobody to be inside meanwhile.
static void abort_now(bt_comm *m) {
  m->aborting = true;
  bool locked = false;
  for (int64_t end = bt_monotonic() + ABORT_WAIT_NS; !(locked = m->lock.try_lock()) && bt_monotonic() < end;) pause_us(50);
  if (!m->ended) bt_comm_fail(m, BT_EABORTED, "aborted by this rank");
  if (locked) m->lock.unlock();
}

static void leave(bt_comm *m) {
  std::lock_guard<std::mutex> g(m->lock);
  if (m->ended) return;
  // Messages that are under way end first; those that cannot are ended.
  int64_t most = m->ctx->opt.stall_ms > 0 ? (int64_t)m->ctx->opt.stall_ms * 1000000 : LEAVE_NS, end = bt_monotonic() + most;
  while (!m->failed && !m->flights.empty() && bt_monotonic() < end && !m->aborting) {
    bt_comm_look(m);
    if (!m->flights.empty()) pause_us(50);
  }
  bool clean = !m->failed && m->flights.empty() && m->ready && !m->aborting;
  for (nccl_comm *c : {&m->split[0], &m->split[1], &m->split[2], &m->split[3], &m->main}) {
    if (!*c || !clean) continue;
    int32_t r = nccl(m)->finalize(*c);
    if ((r && r != NCCL_IN_PROGRESS) || bt_comm_settle(m, *c, "leaving", most)) clean = false; // a failure has aborted all of them
    else if (!nccl(m)->destroy(*c)) *c = nullptr;
  }
  abort_all(m);
  m->ended = true;
}

bt_status bt_comm_end(bt_comm *m, int32_t how) {
  if (how != BT_END_ABORT) bt_use_device(m->ctx->device);
  how == BT_END_ABORT ? abort_now(m) : leave(m);
  return BT_OK;
}

void bt_comms_close(bt_ctx *c) {
  for (bt_comm *m : c->comms) leave(m);
  for (bt_comm *m : c->comms) {
    for (const bt_flight &f : m->flights) m->events.insert(m->events.end(), {f.start, f.end});
    for (cudaEvent_t e : m->events) cudaEventDestroy(e);
    delete m;
  }
  c->comms.clear();
}
