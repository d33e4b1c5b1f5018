// lib_comm_test.cc - communicators over 1, 2 and 4 processes: every kind of message in every type, transfers in both directions at once,
// the same bits on all ranks.
#include "lib_test.h"
#include <cmath>
#include <thread>

// What rank r holds at i: small integers, so that sums are exact in any type and order.
static double held(int r, size_t i) { return (double)((r + 1) * (int)(i % 5) - 2); }

template <class T> static T as(double v);
template <> float as<float>(double v) { return (float)v; }
template <> uint16_t as<uint16_t>(double v) { return to_bf16((float)v); }
template <> int32_t as<int32_t>(double v) { return (int32_t)v; }
static double number(float v) { return v; }
static double number(uint16_t v) { return from_bf16(v); }
static double number(int32_t v) { return v; }

template <class T> static void give(buffer<T> *b, int rank) {
  for (size_t i = 0; i < b->v.size(); i++) b->v[i] = as<T>(held(rank, i));
  b->up();
}
template <class T>
static void launch(bt_ctx *c, bt_comm *m, bt_stream *s, int n, const std::vector<bt_part> &parts, const char *label = "a message") {
  bt_coll o = message(m, label, n, parts);
  CHECK(!api()->launch(c, s, &o.h), "%s", api()->error(c));
}

template <class T> static void kinds(bt_ctx *c, bt_comm *m, bt_stream *s, int type, int rank, int n, size_t count) {
  buffer<T> a(c, count), g(c, count * n), w(c, count * n), q(c, count), b(c, count), x(c, count);
  give(&a, rank), give(&b, rank), give(&x, rank), give(&w, rank);
  launch<T>(c, m, s, n, {part(BT_ALLREDUCE, type, count, a.p), part(BT_ALLREDUCE, type, count, x.p, 0, 0, BT_MAX)}, "sum and max");
  launch<T>(c, m, s, n, {part(BT_ALLGATHER, type, count, a.p, g.p)});
  launch<T>(c, m, s, n, {part(BT_REDUCESCATTER, type, count * n, w.p, q.p)});
  launch<T>(c, m, s, n, {part(BT_BCAST, type, count, b.p, 0, n - 1)});
  // In place: a rank's own piece of what is gathered, of what is scattered.
  launch<T>(c, m, s, n,
            {part(BT_REDUCESCATTER, type, count * n, w.p, w.p + rank * count * sizeof(T)),
             part(BT_ALLGATHER, type, count, g.p + rank * count * sizeof(T), g.p)});
  sync(c, s);
  for (auto *p : {&a, &b, &x, &q}) p->down();
  g.down(), w.down();
  double ranks_sum = n * (n + 1) / 2.0;
  for (size_t i = 0; i < count; i++) {
    double unit = (double)(i % 5), sum = unit * ranks_sum - 2 * n;
    CHECK(number(a.v[i]) == sum, "all-reduce of type %d at %zu: %g, want %g", type, i, number(a.v[i]), sum);
    CHECK(number(x.v[i]) == held(n - 1, i) || unit == 0, "max at %zu: %g", i, number(x.v[i]));
    CHECK(number(b.v[i]) == held(n - 1, i), "broadcast at %zu: %g", i, number(b.v[i]));
    for (int r = 0; r < n; r++)
      CHECK(number(g.v[r * count + i]) == sum, "gathered from %d at %zu: %g", r, i, number(g.v[r * count + i]));
    double scattered = (double)((rank * count + i) % 5) * ranks_sum - 2 * n;
    CHECK(number(q.v[i]) == scattered, "scattered at %zu: %g, want %g", i, number(q.v[i]), scattered);
    CHECK(number(w.v[rank * count + i]) == scattered, "scattered in place at %zu: %g", i, number(w.v[rank * count + i]));
    if (failures) return;
  }
}

// Payload and statistic of different types in one group call.
static void mixed(bt_ctx *c, bt_comm *m, int rank, int n) {
  buffer<uint16_t> payload(c, 1000);
  buffer<float> stat(c, 10);
  for (auto &v : payload.v) v = to_bf16(0.1f * (float)(rank + 1));
  for (auto &v : stat.v) v = 0.1f * (float)(rank + 1);
  payload.up(), stat.up();
  launch<float>(c, m, nullptr, n, {part(BT_ALLREDUCE, BT_BF16, 1000, payload.p), part(BT_ALLREDUCE, BT_F32, 10, stat.p)},
                "payload and statistic");
  sync(c);
  payload.down(), stat.down();
  float p = from_bf16(to_bf16(0.1f)), s = 0.1f; // in the order of ranks, bf16 rounded after each
  for (int r = 1; r < n; r++) p = from_bf16(to_bf16(p + from_bf16(to_bf16(0.1f * (float)(r + 1))))), s += 0.1f * (float)(r + 1);
  CHECK(payload.v[999] == to_bf16(p) && stat.v[9] == s, "%g %g, want %g %g", from_bf16(payload.v[999]), stat.v[9], p, s);
}

// Every rank sends to its neighbours before it receives from them, on a stream for each direction.
static void pipeline(bt_ctx *c, bt_comm *m, int rank, int n, size_t count) {
  bt_stream *s[4];
  for (auto &x : s) CHECK(!api()->stream_new(c, &x));
  buffer<float> out(c, count), up(c, count), down(c, count), up2(c, count);
  give(&out, rank);
  for (int round = 0; round < 3; round++) {
    if (rank + 1 < n) launch<float>(c, m, s[0], n, {part(BT_SEND, BT_F32, count, out.p, 0, rank + 1)});
    if (rank > 0)
      launch<float>(c, m, s[1], n,
                    {part(BT_SEND, BT_F32, count / 2, out.p, 0, rank - 1),
                     part(BT_SEND, BT_F32, count - count / 2, out.p + count / 2 * 4, 0, rank - 1)});
    if (rank > 0) launch<float>(c, m, s[2], n, {part(BT_RECV, BT_F32, count, 0, up.p, rank - 1)});
    if (rank + 1 < n)
      launch<float>(c, m, s[3], n,
                    {part(BT_RECV, BT_F32, count / 2, 0, down.p, rank + 1),
                     part(BT_RECV, BT_F32, count - count / 2, 0, down.p + count / 2 * 4, rank + 1)});
  }
  for (auto x : s) sync(c, x);
  up.down(), down.down();
  for (size_t i = 0; i < count; i++) {
    if (rank > 0) CHECK(up.v[i] == held(rank - 1, i), "from below at %zu: %g", i, up.v[i]);
    if (rank + 1 < n) CHECK(down.v[i] == held(rank + 1, i), "from above at %zu: %g", i, down.v[i]);
    if (failures) return;
  }
}

static void all(int n, const char *mode) {
  auto codes = ranks(n, [=](int rank, place *p) {
    context c(options(120000, mode));
    bt_stream *s = nullptr;
    CHECK(!api()->stream_new(c, &s));
    bt_comm *tp = join(c, share_uid(c, rank, p, 0), n, rank, "tp"), *pp = join(c, share_uid(c, rank, p, 1), n, rank, "pp");
    if (!tp || !pp) return;
    for (size_t count : {(size_t)1, (size_t)7, (size_t)5000}) {
      kinds<float>(c, tp, nullptr, BT_F32, rank, n, count);
      kinds<uint16_t>(c, tp, s, BT_BF16, rank, n, count);
      kinds<int32_t>(c, tp, s, BT_I32, rank, n, count);
    }
    mixed(c, tp, rank, n);
    if (n > 1) pipeline(c, pp, rank, n, 3000);
    char text[BT_ERRLEN] = "";
    CHECK(!api()->comm_status(tp, text, sizeof text) && !api()->comm_status(pp, text, sizeof text), "%s", text);
    CHECK(!api()->comm_end(tp, BT_END_FINALIZE) && !api()->comm_end(tp, BT_END_FINALIZE));
    bt_coll o = message(tp, "late", n, {part(BT_ALLREDUCE, BT_F32, 1, 0)});
    CHECK(api()->launch(c, s, &o.h) != BT_OK);
  });
  for (int r = 0; r < n; r++) CHECK(codes[r] == 0, "rank %d of %d (%s): %d", r, n, mode, codes[r]);
}

// Ranks that are threads of one process, as tests of a whole step have them: contexts of one emulator, opened and closed at any time.
static void threads(int n, const char *mode) {
  place p = {};
  std::vector<std::thread> all;
  for (int rank = 0; rank < n; rank++)
    all.emplace_back([&, rank] {
      context c(options(120000, mode));
      bt_comm *tp = join(c, share_uid(c, rank, &p, 0), n, rank, "tp"), *pp = join(c, share_uid(c, rank, &p, 1), n, rank, "pp");
      if (!tp || !pp) return;
      kinds<float>(c, tp, nullptr, BT_F32, rank, n, 300);
      pipeline(c, pp, rank, n, 100);
      CHECK(!api()->comm_end(pp, BT_END_FINALIZE));
      mixed(c, tp, rank, n);
    });
  for (std::thread &t : all) t.join();
}

// How long a message waits for peers, and that an imitated link holds a stream up.
static void waits() {
  auto codes = ranks(2, [](int rank, place *p) {
    context c;
    bt_comm *m = join(c, share_uid(c, rank, p), 2, rank, "tp");
    bt_event *e = nullptr, *f = nullptr;
    CHECK(!api()->event_new(c, &e) && !api()->event_new(c, &f));
    buffer<float> x(c, 10);
    for (int round = 0; round < 2; round++) {
      CHECK(!api()->event_record(c, e, nullptr));
      if (rank == 1) {
        timespec t = {0, 100000000};
        nanosleep(&t, nullptr); // only how long the other waits depends on it
      }
      bt_coll o = message(m, "awaited", 2, {part(BT_ALLREDUCE, BT_F32, 10, x.p)});
      o.least_ns = round ? 60000000 : 0;
      CHECK(!api()->launch(c, nullptr, &o.h) && !api()->event_record(c, f, nullptr));
      sync(c);
      bt_time a = {}, b = {};
      CHECK(!api()->event_time(c, e, 1000000, &a) && !api()->event_time(c, f, 1000000, &b));
      if (rank == 0)
        CHECK(b.wait_ns > 50000000 && b.wait_ns <= b.at_ns - a.at_ns + 1000000, "waited %lld of %lld", (long long)b.wait_ns,
              (long long)(b.at_ns - a.at_ns));
      if (round)
        CHECK(b.at_ns - a.at_ns - (b.wait_ns > 0 ? b.wait_ns : 0) >= 59000000, "held for %lld",
              (long long)(b.at_ns - a.at_ns - b.wait_ns));
    }
  });
  for (int r = 0; r < 2; r++) CHECK(codes[r] == 0, "rank %d: %d", r, codes[r]);
}

static void refusals() {
  context c;
  bt_uid uid, none = {};
  bt_comm *m = nullptr;
  CHECK(api()->comm_join(c, &none, 1, 0, "none", &m) != BT_OK);
  WORDS(c.error(), "none", "not one of ncclGetUniqueId");
  CHECK(!api()->comm_uid(c, &uid) && api()->comm_join(c, &uid, 2, 2, "outside", &m) == BT_EINVAL);
  CHECK(!api()->comm_join(c, &uid, 1, 0, "one", &m));
  buffer<float> x(c, 8);
  bt_coll early = message(m, "early", 1, {part(BT_ALLREDUCE, BT_F32, 8, x.p)});
  CHECK(api()->launch(c, nullptr, &early.h) == BT_ECOMM);
  WORDS(c.error(), "not all have joined");
  while (api()->comm_ready(m, 1000) == BT_ENOTREADY) {}
  auto text = [&](const std::vector<bt_part> &parts) {
    bt_coll o = message(m, "refused", 1, parts);
    bt_status s = api()->launch(c, nullptr, &o.h);
    return s == BT_EINVAL ? std::string(c.error()) : "status " + std::to_string(s);
  };
  WORDS(text({}), "0 parts");
  WORDS(text({part(9, BT_F32, 8, x.p)}), "kind 9");
  WORDS(text({part(BT_ALLREDUCE, BT_F16, 8, x.p)}), "type 2");
  WORDS(text({part(BT_ALLREDUCE, BT_F32, 8, x.p, 0, 0, 5)}), "reduces by 5");
  WORDS(text({part(BT_BCAST, BT_F32, 8, x.p, 0, 1)}), "rank 1 of 1");
  WORDS(text({part(BT_SEND, BT_F32, 8, x.p, 0, 0)}), "not this rank 0");
  WORDS(text({part(BT_ALLREDUCE, BT_F32, 8, 0)}), "no memory");
  bt_coll lost = message(m, "lost", 1, {part(BT_ALLREDUCE, BT_F32, 8, x.p)});
  lost.comm++;
  CHECK(api()->launch(c, nullptr, &lost.h) == BT_EINVAL);
  CHECK(text({part(BT_ALLREDUCE, BT_F32, 8, x.p)}) == "status 0"); // none of that has spoilt the communicator
  sync(c);
}

void test_collectives() {
  refusals();
  for (int n : {1, 2, 4})
    for (const char *mode : {"order", "lazy random=5"}) all(n, mode);
  waits();
  for (const char *mode : {"order", "lazy random=7"}) threads(4, mode);
}
