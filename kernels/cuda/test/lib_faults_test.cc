// lib_faults_test.cc - messages that go wrong: ranks that disagree, die, stop, leave, abort. Each ends in one clear error on every
// rank, within the time that a message may wait for its peers, and no process is left.
#include "lib_test.h"
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>

enum { STALL_MS = 2000, NO_STALL_MS = 120000, SLACK_S = 60 }; // the machine may be busy

static void expect(int n, const std::vector<int> &codes, const char *what, int but = -1) {
  for (int r = 0; r < n; r++)
    if (r != but) CHECK(codes[r] == 0, "%s: rank %d: %d", what, r, codes[r]);
}

// What a rank sees of a message that cannot be: the error, and how long it took.
static std::string failure(bt_ctx *c, bt_comm *m, const bt_coll &o, bt_status want, uint64_t number = 2) {
  std::string text;
  bt_status s = api()->launch(c, nullptr, &o.h);
  if (s) text = api()->error(c);
  else s = wait_for(c, nullptr, &text, SLACK_S);
  CHECK(s == want, "status %d, want %d: %s", s, want, text.c_str());
  char status[BT_ERRLEN] = "";
  CHECK(api()->comm_status(m, status, sizeof status) == s && text == status, "the communicator says \"%s\"", status);
  const char *of_stream = "";
  uint64_t ticket = 0;
  CHECK(api()->stream_error(c, nullptr, &of_stream, &ticket) == s && text == of_stream && ticket == number,
        "the stream says \"%s\" at %llu", of_stream, (unsigned long long)ticket);
  bt_coll later = o;
  CHECK(api()->launch(c, nullptr, &later.h) == s); // it stays
  return text;
}

// Two ranks of three that mean different things by their second message.
static void disagreement(const char *what, std::function<std::vector<bt_part>(int rank, bt_ptr)> parts,
                         std::vector<std::string> words) {
  expect(3,
         ranks(3,
               [=](int rank, place *p) {
                 context c(options(NO_STALL_MS));
                 bt_comm *m = join(c, share_uid(c, rank, p), 3, rank, "tp");
                 buffer<float> x(c, 4096);
                 bt_coll first = message(m, "good", 3, {part(BT_ALLREDUCE, BT_F32, 10, x.p)}),
                         second = message(m, "layer 7", 3, parts(rank, x.p));
                 CHECK(!api()->launch(c, nullptr, &first.h), "%s", c.error());
                 sync(c);
                 std::string text = failure(c, m, second, BT_ECOMM);
                 WORDS(text, "rank " + std::to_string(rank) + " of tp", "#2 layer 7: ", "disagree", "rank 0 is at #2", "is at #2");
                 for (const std::string &w : words) WORDS(text, w);
               }),
         what);
}

static void disagreements() {
  disagreement("count", [](int r, bt_ptr p) { return std::vector<bt_part>{part(BT_ALLREDUCE, BT_F32, r == 1 ? 65 : 64, p)}; },
               {"rank 0 is at #2: all-reduce of 64 fp32", "rank 1 is at #2: all-reduce of 65 fp32"});
  disagreement("type", [](int r, bt_ptr p) { return std::vector<bt_part>{part(BT_ALLREDUCE, r == 2 ? BT_BF16 : BT_F32, 64, p)}; },
               {"of 64 fp32", "rank 2 is at #2: all-reduce of 64 bf16"});
  disagreement(
      "operation",
      [](int r, bt_ptr p) { return std::vector<bt_part>{part(BT_ALLREDUCE, BT_F32, 64, p, 0, 0, r == 1 ? BT_MAX : BT_SUM)}; },
      {"all-reduce of 64", "rank 1 is at #2: all-reduce max of 64"});
  disagreement("kind", [](int r, bt_ptr p) { return std::vector<bt_part>{part(r == 1 ? BT_BCAST : BT_ALLREDUCE, BT_F32, 64, p)}; },
               {"all-reduce of 64", "rank 1 is at #2: broadcast of 64 fp32 at 0"});
  disagreement("root", [](int r, bt_ptr p) { return std::vector<bt_part>{part(BT_BCAST, BT_F32, 64, p, 0, r == 1)}; },
               {"at 0", "at 1"});
  disagreement("parts",
               [](int r, bt_ptr p) {
                 std::vector<bt_part> v = {part(BT_ALLREDUCE, BT_F32, 64, p)};
                 if (r == 1) v.push_back(part(BT_ALLREDUCE, BT_F32, 8, p + 1024));
                 return v;
               },
               {"rank 1 is at #2: all-reduce of 64 fp32, all-reduce of 8 fp32"});
  disagreement("order",
               [](int r, bt_ptr p) { // what one does first the other does second: the first of the two meets it
                 return std::vector<bt_part>{part(BT_ALLREDUCE, BT_F32, r == 1 ? 32 : 16, p)};
               },
               {"of 16 fp32", "of 32 fp32"});
}

static void transfers() {
  expect(2,
         ranks(2,
               [](int rank, place *p) {
                 context c(options(NO_STALL_MS));
                 bt_comm *m = join(c, share_uid(c, rank, p), 2, rank, "pp");
                 buffer<float> x(c, 100);
                 std::string text = failure(
                     c, m, message(m, "stages", 2, {part(rank ? BT_RECV : BT_SEND, BT_F32, rank ? 50 : 60, x.p, x.p, 1 - rank)}),
                     BT_ECOMM, 1);
                 WORDS(text, "of pp", "disagree", "send of 60 fp32", "receive of 50 fp32", "stages");
               }),
         "transfer");
}

// Rank 1 of two is killed, or stopped, when rank 0 is in the message.
static void lost(int sig, int stall_ms, std::vector<std::string> words) {
  auto codes = ranks(2, [=](int rank, place *p) {
    context c(options(NO_STALL_MS));
    bt_comm *m = join(c, share_uid(c, rank, p), 2, rank, "dp");
    buffer<float> x(c, 100);
    bt_coll o = message(m, "gradients", 2, {part(BT_ALLREDUCE, BT_F32, 100, x.p)});
    CHECK(!api()->launch(c, nullptr, &o.h));
    sync(c);
    if (rank == 1) {
      p->go = 1;
      for (;;) pause();
    }
    while (!p->go) usleep(500);
    CHECK(!kill(p->pid[1], sig));
    c.c->opt.stall_ms = stall_ms; // from here on: what went before had to come on a busy machine, too
    int64_t begun = bt_monotonic();
    std::string text = failure(c, m, o, BT_ECOMM);
    CHECK(bt_monotonic() - begun < (int64_t)SLACK_S * 1000000000);
    WORDS(text, "rank 0 of dp", "#2 gradients: all-reduce of 100 fp32");
    for (const std::string &w : words) WORDS(text, w);
    kill(p->pid[1], SIGKILL);
  });
  expect(2, codes, "a lost rank", 1);
  CHECK(codes[1] == -SIGKILL, "%d", codes[1]);
}

// One of n ranks waits in vain for a message that some of the others have come to: the error names the rest.
static void absent(const char *group, int n, int waiter, std::vector<int> come, const std::function<bt_part(int rank, bt_ptr)> &f,
                   std::vector<std::string> words) {
  auto codes = ranks(n, [=](int rank, place *p) {
    context c(options(NO_STALL_MS));
    bt_comm *m = join(c, share_uid(c, rank, p), n, rank, group);
    buffer<float> x(c, 100);
    bt_coll o = message(m, "late", n, {f(rank, x.p)});
    if (rank == waiter) {
      while (p->go < (int)come.size()) usleep(500);
      c.c->opt.stall_ms = STALL_MS;
      std::string text = failure(c, m, o, BT_ECOMM, 1);
      WORDS(text, "rank " + std::to_string(rank) + " of " + group + ": its peers have not come for 2.0 s: ",
            "; this rank is at #1 late: ");
      for (const std::string &w : words) WORDS(text, w);
      p->made |= 1 << 8;
      return;
    }
    if (std::find(come.begin(), come.end(), rank) != come.end()) {
      CHECK(!api()->launch(c, nullptr, &o.h));
      for (int i = 0; i < 200; i++) CHECK(api()->stream_query(c, nullptr, 100) == BT_ENOTREADY); // lazy ones come late
      __atomic_fetch_add(const_cast<int *>(&p->go), 1, __ATOMIC_SEQ_CST);
    }
    while (!(p->made & 1 << 8)) usleep(500);
  });
  expect(n, codes, group);
}

static void absentees() {
  auto reduce = [](int, bt_ptr p) { return part(BT_ALLREDUCE, BT_F32, 64, p); };
  absent("tp", 3, 0, {2}, reduce, {"2.0 s: rank 1 of tp has not posted its part of it; "});
  absent("tp", 7, 1, {6}, reduce, {"2.0 s: ranks 0, 2, 3, 4 and 1 more of tp have not posted their part of it; "});
  // Transfers travel on communicators of two, and are told in numbers of the group.
  auto transfer = [](int kind, int peer) {
    return [=](int, bt_ptr p) { return part(kind, BT_F32, 50, p, p, peer); };
  };
  absent("pp", 3, 1, {}, transfer(BT_RECV, 2), {": rank 2 of pp has not posted its part of it; ", "receive of 50 fp32 from 2"});
  absent("pp", 3, 2, {}, transfer(BT_SEND, 1), {": rank 1 of pp has not posted its part of it; ", "send of 50 fp32 to 1"});
}

// A rank that leaves, or aborts, while the other waits for it.
static void left(bool abort) {
  expect(2,
         ranks(2,
               [=](int rank, place *p) {
                 context c(options(NO_STALL_MS));
                 bt_comm *m = join(c, share_uid(c, rank, p), 2, rank, "tp");
                 buffer<float> x(c, 100);
                 if (rank == 1) {
                   while (!p->go) usleep(500); // the other has joined, too
                   CHECK(!api()->comm_end(m, abort ? BT_END_ABORT : BT_END_FINALIZE));
                   char text[BT_ERRLEN];
                   CHECK(api()->comm_status(m, text, sizeof text) == (abort ? BT_EABORTED : BT_OK));
                   return;
                 }
                 p->go = 1;
                 std::string text = failure(c, m, message(m, "alone", 2, {part(BT_ALLREDUCE, BT_F32, 100, x.p)}),
                                            abort ? BT_EABORTED : BT_ECOMM, 1);
                 WORDS(text, abort ? "aborted by rank 1" : "rank 1 has left", "alone");
               }),
         abort ? "abort" : "left");
}

// A thread aborts what another waits in.
static void aborted_by_thread() {
  expect(2,
         ranks(2,
               [](int rank, place *p) {
                 context c(options(0));
                 bt_comm *m = join(c, share_uid(c, rank, p), 2, rank, "tp");
                 buffer<float> x(c, 100);
                 if (rank == 1) {
                   while (!p->go) usleep(500);
                   return;
                 }
                 bt_coll o = message(m, "endless", 2, {part(BT_ALLREDUCE, BT_F32, 100, x.p)});
                 CHECK(!api()->launch(c, nullptr, &o.h));
                 std::atomic<bool> waiting{false};
                 std::thread t([&] {
                   while (!waiting) usleep(100);
                   char text[BT_ERRLEN];
                   for (int i = 0; i < 20; i++) CHECK(!api()->comm_status(m, text, sizeof text));
                   CHECK(!api()->comm_end(m, BT_END_ABORT));
                 });
                 CHECK(api()->stream_query(c, nullptr, 1000) == BT_ENOTREADY);
                 waiting = true;
                 std::string text;
                 CHECK(wait_for(c, nullptr, &text, SLACK_S) == BT_EABORTED, "%s", text.c_str());
                 WORDS(text, "rank 0 of tp", "aborted by this rank", "#1 endless: all-reduce of 100 fp32");
                 t.join();
                 p->go = 1;
               }),
         "abort by a thread");
}

// Joining: a rank that never comes, and one that dies before all have come.
static void joining() {
  expect(2,
         ranks(2,
               [](int rank, place *p) {
                 context c(options(NO_STALL_MS));
                 bt_uid uid = share_uid(c, rank, p);
                 bt_comm *m = nullptr;
                 if (rank == 1) {
                   CHECK(!api()->comm_join(c, &uid, 3, 1, "tp", &m));
                   p->go = 1;
                   _exit(0);
                 }
                 while (!p->go) usleep(500);
                 CHECK(!api()->comm_join(c, &uid, 3, 0, "tp", &m));
                 bt_status s = BT_ENOTREADY;
                 for (int64_t end = bt_monotonic() + (int64_t)SLACK_S * 1000000000; s == BT_ENOTREADY && bt_monotonic() < end;)
                   s = api()->comm_ready(m, 5000);
                 CHECK(s == BT_ECOMM, "%d", s);
                 WORDS(c.error(), "rank 0 of tp", "joining", "rank 1", "has died");
               }),
         "joining");
  context c;
  bt_uid uid;
  bt_comm *m = nullptr;
  CHECK(!api()->comm_uid(c, &uid) && !api()->comm_join(c, &uid, 2, 0, "tp", &m));
  CHECK(api()->comm_ready(m, 20000) == BT_ENOTREADY && !api()->comm_end(m, BT_END_ABORT) && api()->comm_ready(m, 0) == BT_EABORTED);
}

// A failure of one stream is that of those that wait for its events, and of no others.
static void spreads() {
  expect(2,
         ranks(2,
               [](int rank, place *p) {
                 context c(options(NO_STALL_MS, "lazy")); // so that nothing is known before all is issued
                 bt_comm *m = join(c, share_uid(c, rank, p), 2, rank, "tp");
                 bt_stream *s = nullptr, *other = nullptr;
                 bt_event *e = nullptr;
                 CHECK(!api()->stream_new(c, &s) && !api()->stream_new(c, &other) && !api()->event_new(c, &e));
                 buffer<float> x(c, 100);
                 bt_coll o = message(m, "uneven", 2, {part(BT_ALLREDUCE, BT_F32, rank ? 10 : 20, x.p)});
                 CHECK(!api()->launch(c, s, &o.h) && !api()->event_record(c, e, s) && !api()->stream_wait(c, nullptr, e));
                 std::string text;
                 CHECK(wait_for(c, nullptr, &text, SLACK_S) == BT_ECOMM);
                 WORDS(text, "waits for a stream that failed", "disagree", "uneven");
                 bt_time t;
                 CHECK(api()->event_time(c, e, 1000, &t) == BT_ECOMM);
                 const char *why = nullptr;
                 uint64_t ticket = 0;
                 CHECK(api()->stream_error(c, s, &why, &ticket) == BT_ECOMM && ticket == 1);
                 CHECK(!api()->stream_error(c, nullptr, &why, &ticket));
                 CHECK(!wait_for(c, other, &text), "%s", text.c_str());
               }),
         "spreads");
}

// What a rank whose device stands still says of its messages: that it has come to one, or not, and that none is left.
static void under_way() {
  expect(2,
         ranks(2,
               [](int rank, place *p) {
                 context c(options(NO_STALL_MS));
                 bt_comm *m = join(c, share_uid(c, rank, p, 0), 2, rank, "tp"), *d = join(c, share_uid(c, rank, p, 1), 2, rank, "dp");
                 bt_stream *s = nullptr;
                 bt_event *e = nullptr;
                 CHECK(!api()->stream_new(c, &s) && !api()->event_new(c, &e));
                 buffer<float> x(c, 100), y(c, 100);
                 bt_coll first = message(m, "first", 2, {part(BT_ALLREDUCE, BT_F32, 100, x.p)}),
                         second = message(d, "second", 2, {part(BT_ALLREDUCE, BT_F32, 100, y.p)});
                 bt_under_way u = {};
                 CHECK(api()->comm_oldest(m, &u) == BT_ENOTREADY);
                 if (rank == 1)
                   while (!p->go) usleep(500);
                 // The second waits for the first, on another stream; rank 1 comes to neither before rank 0 has looked.
                 CHECK(!api()->launch(c, s, &first.h) && !api()->event_record(c, e, s) && !api()->stream_wait(c, nullptr, e) &&
                       !api()->launch(c, nullptr, &second.h));
                 if (rank == 0) {
                   bt_status r = BT_ENOTREADY; // the stream comes to it when it likes
                   for (int64_t end = bt_monotonic() + (int64_t)SLACK_S * 1000000000; bt_monotonic() < end && (r || !u.begun_ns);) {
                     api()->stream_query(c, nullptr, 100);
                     r = api()->comm_oldest(m, &u);
                   }
                   CHECK(!r && u.on == s && u.ticket == 1 && u.begun_ns, "%d, ticket %llu", r, (unsigned long long)u.ticket);
                   CHECK(!api()->comm_oldest(d, &u) && !u.on && u.ticket == 2 && !u.begun_ns, "ticket %llu", (unsigned long long)u.ticket);
                   p->go = 1;
                 }
                 sync(c), sync(c, s);
                 CHECK(api()->comm_oldest(m, &u) == BT_ENOTREADY && api()->comm_oldest(d, &u) == BT_ENOTREADY);
               }),
         "under way");
}

void test_faults() {
  under_way();
  disagreements();
  transfers();
  lost(SIGKILL, NO_STALL_MS, {"rank 1 (process ", "has died"});
  lost(SIGSTOP, STALL_MS, {"its peers have not come for 2.0 s: rank 1 of dp has not posted its part of it; this rank is at #2"});
  absentees();
  left(false);
  left(true);
  aborted_by_thread();
  joining();
  spreads();
}
