// lib_support.cc - what the tests of the library share. With names of tests as arguments only these run.
#include "lib_test.h"
#include <cerrno>
#include <csignal>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int failures;
void fail_at(const char *file, int line, const std::string &what) {
  fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  failures++;
}
void check_words(const char *file, int line, const std::string &text, std::vector<std::string> words) {
  for (const std::string &w : words)
    if (text.find(w) == std::string::npos) fail_at(file, line, "\"" + text + "\" does not say \"" + w + "\"");
}

const bt_api *api() { return bt_backend(BT_ABI, sizeof(bt_api)); }

bt_options options(int stall_ms, const char *mode) {
  bt_options o = {};
  o.size = sizeof o;
  o.threads = 1, o.world = 1, o.stall_ms = stall_ms;
  if (!mode) mode = getenv("BOOST_EMU");
  snprintf(o.mode, sizeof o.mode, "%s", mode ? mode : "");
  return o;
}

context::context(const bt_options &o) {
  char err[BT_ERRLEN] = "";
  bt_status s = api()->open(&o, &c, err, sizeof err);
  if (s) {
    fail_at(__FILE__, __LINE__, err);
    exit(1);
  }
}
context::~context() { api()->close(c); }

std::string open_error(const bt_options &o, bt_status *status) {
  char err[BT_ERRLEN] = "";
  bt_ctx *c = nullptr;
  bt_status s = api()->open(&o, &c, err, sizeof err);
  if (status) *status = s;
  if (!s) api()->close(c);
  return s ? err : "it opened";
}

bt_status wait_for(bt_ctx *c, bt_stream *s, std::string *text, int seconds) {
  bt_status r = BT_ENOTREADY;
  for (int64_t end = bt_monotonic() + (int64_t)seconds * 1000000000; r == BT_ENOTREADY && bt_monotonic() < end;)
    r = api()->stream_query(c, s, 5000);
  *text = r == BT_ENOTREADY ? "it never ended" : r ? api()->error(c) : "";
  return r;
}
void sync(bt_ctx *c, bt_stream *s) {
  std::string text;
  CHECK(!wait_for(c, s, &text), "%s", text.c_str());
}

bt_comm *join(bt_ctx *c, const bt_uid &uid, int n, int rank, const char *name) {
  bt_comm *m = nullptr;
  bt_status s = api()->comm_join(c, &uid, n, rank, name, &m);
  for (int64_t end = bt_monotonic() + 120000000000; !s && (s = api()->comm_ready(m, 5000)) == BT_ENOTREADY && bt_monotonic() < end;)
    s = BT_OK;
  CHECK(!s, "join %s: status %d: %s", name, s, api()->error(c));
  return s ? nullptr : m;
}

uint16_t to_bf16(float f) { return __float2bfloat16(f).r; }
float from_bf16(uint16_t u) {
  __nv_bfloat16 h;
  h.r = u;
  return __bfloat162float(h);
}

bt_part part(int kind, int type, uint64_t n, bt_ptr src, bt_ptr dst, int root, int reduce) {
  return {kind, reduce, root, type, n, src, dst};
}
bt_coll message(bt_comm *m, const char *label, int n, const std::vector<bt_part> &parts) {
  bt_coll o = {};
  o.h = {sizeof o, BT_COLLECTIVE};
  o.comm = reinterpret_cast<uintptr_t>(m);
  o.ranks = n, o.parts = (int)parts.size();
  snprintf(o.label, sizeof o.label, "%s", label);
  for (size_t i = 0; i < parts.size(); i++) o.part[i] = parts[i];
  return o;
}

std::vector<int> ranks(int n, const std::function<void(int, place *)> &f, int seconds,
                       const std::function<void(place *)> &meanwhile) {
  auto *p = static_cast<place *>(mmap(nullptr, sizeof(place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  memset(p, 0, sizeof *p);
  fflush(nullptr);
  for (int r = 0; r < n; r++) {
    pid_t pid = fork();
    if (!pid) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      failures = 0;
      f(r, p);
      fflush(nullptr);
      _exit(failures ? 1 : 0);
    }
    p->pid[r] = pid;
  }
  if (meanwhile) meanwhile(p);
  std::vector<int> out(n, -1000);
  int64_t end = bt_monotonic() + (int64_t)seconds * 1000000000;
  for (int r = 0; r < n; r++) {
    int st = 0;
    while (waitpid(p->pid[r], &st, WNOHANG) == 0 && bt_monotonic() < end) usleep(1000);
    if (bt_monotonic() >= end) {
      kill(p->pid[r], SIGKILL);
      waitpid(p->pid[r], &st, 0);
    } else out[r] = WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
  }
  munmap(p, sizeof *p);
  return out;
}

bt_uid share_uid(bt_ctx *c, int rank, place *p, int which) {
  if (rank == 0) {
    CHECK(!api()->comm_uid(c, &p->uid[which]), "%s", api()->error(c));
    __atomic_fetch_or(const_cast<int *>(&p->made), 1 << which, __ATOMIC_SEQ_CST);
  }
  while (!(__atomic_load_n(const_cast<int *>(&p->made), __ATOMIC_SEQ_CST) & 1 << which)) usleep(200);
  return p->uid[which];
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  const struct {
    const char *name;
    void (*run)();
  } tests[] = {{"context", test_context},
               {"libraries", test_libraries},
               {"lt", test_lt},
               {"nccl", test_nccl},
               {"gemm", test_gemm},
               {"streams", test_streams},
               {"collectives", test_collectives},
               {"faults", test_faults},
               {"real", test_real}};
  for (auto &t : tests) {
    bool asked = argc < 2;
    for (int i = 1; i < argc; i++) asked |= !strcmp(argv[i], t.name);
    if (!asked) continue;
    int before = failures;
    int64_t begun = bt_monotonic();
    // Each in a process of its own: a mistake of a kernel stays with the emulator, and ranks are forked from a clean one.
    fflush(nullptr);
    pid_t pid = fork();
    if (!pid) {
      failures = 0;
      t.run();
      fflush(nullptr);
      exit(failures ? 1 : 0);
    }
    int st = 0;
    waitpid(pid, &st, 0);
    failures += !WIFEXITED(st) || WEXITSTATUS(st);
    if (WIFSIGNALED(st)) fprintf(stderr, "%s: signal %d\n", t.name, WTERMSIG(st));
    printf("%-12s %s  %.1f s\n", t.name, failures == before ? "ok" : "FAIL", (double)(bt_monotonic() - begun) / 1e9);
  }
  return failures ? 1 : 0;
}
