// stream.cu - streams and events. All work is ordered within a stream, across streams by events alone: the streams are
// non-blocking ones, which the legacy default stream does not order.
#include "internal.h"
#include <algorithm>
#include <cstdio>
#include <ctime>

// The device's time and the host's are read together about once a second: an event's time is that of the reading before it
// and the time between, which a float of milliseconds tells to a tenth of a microsecond over a second, but not over an hour.
#ifdef BT_EMU
enum : int64_t { CALIBRATE_NS = 60000000000 }; // its streams run when they are asked: seldom, so that their order stays the seed's
#else
enum : int64_t { CALIBRATE_NS = 1000000000 };
#endif
enum { BASES = 64, CLOSE_NS = 200000 };
struct bt_clock {
  bt_stream stream;
  cudaEvent_t base[BASES] = {};
  int64_t base_ns[BASES] = {};
  int latest = -1;         // grows; its place is latest % BASES
  int64_t unix_offset = 0; // Unix time minus the monotonic clock, taken once so that times never jump
  int64_t tried = 0;
};

int64_t bt_monotonic(void) {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void doze(int round) {
  if (round < 20) return; // some ten microseconds of asking
  timespec t = {0, round < 100 ? 10000 : 50000};
  nanosleep(&t, nullptr);
}

// Reads both clocks. An event on an idle stream comes to pass at once, between the two readings of the host; where they lie too
// far apart the reading is worth nothing, and an older one goes on to serve.
static bool calibrate(bt_ctx *c, int64_t close_ns) {
  bt_clock *k = c->clock;
  int next = (k->latest + 1) % BASES;
  for (int attempt = 0; attempt < 3; attempt++) {
    int64_t before = bt_monotonic(), after = before;
    if (cudaEventRecord(k->base[next], k->stream.s) != cudaSuccess) return false;
    while (cudaEventQuery(k->base[next]) != cudaSuccess && after - before < close_ns) after = bt_monotonic();
    if ((after = bt_monotonic()) - before >= close_ns) continue;
    k->base_ns[next] = before + (after - before) / 2;
    k->latest++;
    return true;
  }
  return false;
}

bt_status bt_clock_open(bt_ctx *c) {
  bt_clock *k = c->clock = new bt_clock;
  k->stream.ctx = c;
  timespec t;
  int64_t before = bt_monotonic();
  clock_gettime(CLOCK_REALTIME, &t);
  k->unix_offset = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (before + bt_monotonic()) / 2;
  bt_status status = bt_check(c, "make a stream", cudaStreamCreateWithFlags(&k->stream.s, cudaStreamNonBlocking));
  for (int i = 0; i < BASES && !status; i++) status = bt_check(c, "make an event", cudaEventCreate(&k->base[i]));
  if (status) return status;
  // The first event of a context takes long; the next ones do not. On a busy machine any reading is better than none.
  calibrate(c, CLOSE_NS);
  if (!calibrate(c, CLOSE_NS) && !calibrate(c, INT64_MAX)) return bt_fail(c, BT_EDEVICE, "the device's clock cannot be read");
  k->tried = bt_monotonic();
  return BT_OK;
}

static bt_status make(bt_ctx *c, bt_stream **out) {
  cudaStream_t s = nullptr;
  bt_status status = bt_check(c, "make a stream", cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  if (status) return status;
  *out = new bt_stream;
  (*out)->ctx = c;
  (*out)->s = s;
  c->streams.push_back(*out);
  return BT_OK;
}

bt_status bt_stream_new(bt_ctx *c, bt_stream **out) {
  bt_status status = bt_current(c);
  return status ? status : make(c, out);
}

bt_stream *bt_compute(bt_ctx *c, bt_stream *s) { return s ? s : c->streams[0]; }
uint64_t bt_stream_issued(bt_stream *s) { return s->issued; }

void bt_stream_fail(bt_stream *s, bt_status status, uint64_t ticket, const char *text) {
  if (s->failed) return;
  s->ctx->failed_streams++;
  s->failed = status;
  s->failed_ticket = ticket;
  snprintf(s->error, sizeof s->error, "%s", text);
}

// Streams wait for each other in circles, so that those that were looked at are remembered.
static bt_stream *failed_before(bt_stream *s, std::vector<bt_stream *> *seen) {
  if (s->failed) return s;
  seen->push_back(s);
  for (bt_stream *a : s->after) {
    if (std::find(seen->begin(), seen->end(), a) != seen->end()) continue;
    if (bt_stream *f = failed_before(a, seen)) return f;
  }
  return nullptr;
}

bt_status bt_sticky(bt_ctx *c, bt_stream *s) {
  if (!c->failed_streams) return BT_OK;
  std::vector<bt_stream *> seen;
  bt_stream *f = failed_before(s, &seen);
  if (!f) return BT_OK;
  return f == s ? bt_fail(c, f->failed, "%s", f->error) : bt_fail(c, f->failed, "waits for a stream that failed: %.460s", f->error);
}

bt_status bt_stream_error(bt_ctx *c, bt_stream *s, const char **text, uint64_t *ticket) {
  s = bt_compute(c, s);
  if (!s->failed) return BT_OK;
  *text = s->error;
  *ticket = s->failed_ticket;
  return s->failed;
}

bt_status bt_stream_wait(bt_ctx *c, bt_stream *s, bt_event *e) {
  s = bt_compute(c, s);
  if (!e->on) return bt_fail(c, BT_EINVAL, "waits for an event that was never recorded");
  bt_status status = bt_current(c);
  if (!status) status = bt_sticky(c, s);
  if (status) return status;
  s->issued++;
  if (e->on == s) return BT_OK;
  if (std::find(s->after.begin(), s->after.end(), e->on) == s->after.end()) s->after.push_back(e->on);
  if ((status = bt_sticky(c, s))) return status;
  return bt_check(c, "wait for an event", cudaStreamWaitEvent(s->s, e->e, 0));
}

// Asks until it is so, the time is over, or a message has failed. what: cudaStreamQuery of s, or of e.
static bt_status ask(bt_ctx *c, bt_stream *s, bt_event *e, int32_t wait_us) {
  int64_t end = bt_monotonic() + (int64_t)wait_us * 1000;
  for (int round = 0;; round++) {
    cudaError_t r = e ? cudaEventQuery(e->e) : cudaStreamQuery(s->s);
    // Watched also when it is so: an aborted message ends as if it had been done.
    if (r == cudaSuccess || round % 64 == 0) bt_comms_watch(c, r == cudaSuccess);
    bt_status status = bt_sticky(c, s);
    if (status) return status;
    if (r == cudaSuccess) return BT_OK;
    if (r != cudaErrorNotReady) {
      bt_check(c, "the device", r); // which operation it was is not known
      bt_stream_fail(s, BT_EDEVICE, 0, c->err);
      return BT_EDEVICE;
    }
    if (bt_monotonic() >= end) return BT_ENOTREADY;
    doze(round);
  }
}

bt_status bt_stream_query(bt_ctx *c, bt_stream *s, int32_t wait_us) {
  bt_status status = bt_current(c);
  return status ? status : ask(c, bt_compute(c, s), nullptr, wait_us);
}

bt_status bt_event_new(bt_ctx *c, bt_event **out) {
  bt_status status = bt_current(c);
  cudaEvent_t e = nullptr;
  if (!status) status = bt_check(c, "make an event", cudaEventCreate(&e));
  if (status) return status;
  *out = new bt_event;
  (*out)->e = e;
  c->events.push_back(*out);
  return BT_OK;
}

#ifdef BT_EMU
// fake_nccl.cc: stores, in the stream's turn, how long messages of the stream have waited for peers since the last call.
void bt_fake_waited(cudaStream_t, std::atomic<int64_t> *);
static void mark_wait(bt_stream *s, bt_event *e) { bt_fake_waited(s->s, &e->wait_ns); }
#else
// NCCL does not tell how long its kernels waited for those of other ranks.
static void mark_wait(bt_stream *s, bt_event *e) { e->wait_ns = s->messages ? -1 : 0; }
#endif

bt_status bt_event_record(bt_ctx *c, bt_event *e, bt_stream *s) {
  s = bt_compute(c, s);
  bt_status status = bt_current(c);
  if (!status) status = bt_sticky(c, s);
  if (status) return status;
  bt_clock *k = c->clock;
  int64_t now = bt_monotonic();
  if (now - k->tried > CALIBRATE_NS) {
    calibrate(c, CLOSE_NS);
    k->tried = now;
  }
  s->issued++;
  e->on = s;
  e->ticket = s->issued;
  e->base = k->latest;
  mark_wait(s, e);
  s->messages = false;
  return bt_check(c, "record an event", cudaEventRecord(e->e, s->s));
}

bt_status bt_event_time(bt_ctx *c, bt_event *e, int32_t wait_us, bt_time *out) {
  if (!e->on) return bt_fail(c, BT_EINVAL, "the event was never recorded");
  bt_status status = bt_current(c);
  if (!status) status = ask(c, e->on, e, wait_us);
  // A failure that came after the record does not undo it.
  if (status && status != BT_ENOTREADY && e->on->failed_ticket > e->ticket && cudaEventQuery(e->e) == cudaSuccess) status = BT_OK;
  if (status) return status;
  bt_clock *k = c->clock;
  // An older reading than those that are kept: the oldest one, which the event precedes.
  int base = (k->latest - e->base < BASES ? e->base : k->latest + 1) % BASES;
  float ms = 0;
  if ((status = bt_check(c, "read an event's time", cudaEventElapsedTime(&ms, k->base[base], e->e)))) return status;
  *out = (bt_time){k->base_ns[base] + (int64_t)((double)ms * 1e6) + k->unix_offset, e->wait_ns.load()};
  return BT_OK;
}

void bt_streams_close(bt_ctx *c) {
  for (bt_event *e : c->events) {
    cudaEventDestroy(e->e);
    delete e;
  }
  for (bt_stream *s : c->streams) {
    cudaStreamDestroy(s->s);
    delete s;
  }
  if (!c->clock) return;
  for (cudaEvent_t e : c->clock->base)
    if (e) cudaEventDestroy(e);
  if (c->clock->stream.s) cudaStreamDestroy(c->clock->stream.s);
  delete c->clock;
}
