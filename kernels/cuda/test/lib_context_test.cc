// lib_context_test.cc - opening, memory, streams and events; machines and libraries that are unfit.
#include "lib_test.h"
#include <algorithm>
#include <cmath>
#include <dirent.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

static double unix_now() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void test_context() {
  CHECK(!bt_backend(BT_ABI + 1, sizeof(bt_api)) && !bt_backend(BT_ABI, sizeof(bt_api) + 8));
  WORDS(open_error(options(0, "fast")), "mode \"fast\"", "random");
  WORDS(open_error(options(0, "cc=7.0")), "too old", "compute capability 7.0", "8.0");
  WORDS(open_error(options(0, "driver=none")), "no NVIDIA driver", "libcuda.so.1");
  WORDS(open_error(options(0, "driver=12.4")), "CUDA 12.4, too old", "13.0");
  bt_options old = options();
  old.size = 32;
  WORDS(open_error(old), "options of 32 bytes");
  bt_options far = options();
  bt_status s = BT_OK;
  for (int number : {1000, -5}) {
    far.device = number;
    WORDS(open_error(far, &s), "there is no device " + std::to_string(number) + ": they are numbered from 0 to 63");
    CHECK(s == BT_EINVAL);
  }

  // Those variables name the libraries of the cuda device.
  for (const char *v : {"BOOST_CUBLASLT", "BOOST_NCCL"})
    for (const char *value : {"", "/nonexistent/lib.so"}) {
      setenv(v, value, 1);
      context named;
      bt_uid uid;
      CHECK(!api()->comm_uid(named, &uid), "%s", named.error());
      unsetenv(v);
    }
  context c;
  bt_info info = {};
  CHECK(!api()->info(c, &info), "%s", c.error());
  WORDS(info.text, "compute capability\t9.0\n", "cuBLASLt\t13.0.2, emulated\n", "NCCL\t2.18.0, emulated\n", "driver\t");
  CHECK(info.memory_total > 0 && info.multiprocessors > 0 && *info.name);
  CHECK(!strcmp(api()->isa(c), "sm_90"));
  bt_probe probe = {};
  bt_options o = options(0, "cc=7.5");
  CHECK(!api()->probe(&o, &probe));
  WORDS(probe.text, "compute capability 7.5", "too old", "NCCL\t2.18.0, emulated\tok\n");
  o = options(0, "driver=none");
  CHECK(!api()->probe(&o, &probe) && probe.devices == 0);
  WORDS(probe.text, "no NVIDIA driver", "devices\t0\t");

  buffer<float> zero(c, 1000);
  zero.v.assign(1000, 1);
  zero.down();
  CHECK(std::all_of(zero.v.begin(), zero.v.end(), [](float f) { return f == 0; }), "memory of the device is not zero at first");
  CHECK(zero.p % 256 == 0);
  bt_ptr p = 0;
  CHECK(api()->alloc(c, (uint64_t)1 << 45, 0, &p) == BT_ENOMEM);
  WORDS(c.error(), "no memory for 35184372088832 bytes");
  CHECK(api()->alloc(c, UINT64_MAX, 0, &p) == BT_ENOMEM);
  CHECK(api()->free(c, zero.p + 4) == BT_EINVAL);
  WORDS(c.error(), "did not allocate");
  void *h = nullptr;
  CHECK(!api()->host_alloc(c, 100, &h) && static_cast<char *>(h)[99] == 0);
  CHECK(!api()->host_free(c, h) && api()->host_free(c, h) == BT_EINVAL);
  bt_op op = {};
  op.h = {sizeof op, BT_KINDS + 3};
  CHECK(api()->launch(c, nullptr, &op.h) == BT_EUNSUPPORTED);
  op.h.kind = BT_CALL;
  CHECK(api()->launch(c, nullptr, &op.h) == BT_EUNSUPPORTED);
  api()->range(c, "a range");
  api()->range(c, nullptr);
}

static bt_op fill(bt_ptr p, int64_t n, double value) {
  bt_op o = {};
  o.h = {sizeof o, BT_FILL};
  o.rows = 1, o.cols = n, o.f[0] = value;
  o.m[0] = {p, n};
  return o;
}
static bt_op copy(bt_ptr from, bt_ptr to, int64_t n) {
  bt_op o = {};
  o.h = {sizeof o, BT_COPY};
  o.rows = 1, o.cols = n, o.i[0] = 4;
  o.m[0] = {from, n}, o.m[1] = {to, n};
  return o;
}

// A product that streams write and read, with the waits for events or without the one that matters.
static double handed_over(const char *mode, bool wait) {
  context c(options(20000, mode));
  buffer<float> x(c, 256), y(c, 256), z(c, 256);
  bt_stream *s = nullptr;
  bt_event *e = nullptr, *f = nullptr;
  CHECK(!api()->stream_new(c, &s) && !api()->event_new(c, &e) && !api()->event_new(c, &f));
  bt_op a = fill(x.p, 256, 3), b = copy(x.p, y.p, 256), d = copy(y.p, z.p, 256);
  CHECK(!api()->launch(c, nullptr, &a.h) && !api()->event_record(c, e, nullptr));
  if (wait) CHECK(!api()->stream_wait(c, s, e));
  CHECK(!api()->launch(c, s, &b.h) && !api()->event_record(c, f, s) && !api()->stream_wait(c, nullptr, f) &&
        !api()->launch(c, nullptr, &d.h));
  sync(c);
  z.down();
  return z.v[255];
}

void test_streams() {
  bt_status s = BT_OK;
  {
    context c;
    bt_stream *q = nullptr;
    bt_event *e = nullptr, *g = nullptr;
    CHECK(!api()->stream_new(c, &q) && !api()->event_new(c, &e) && !api()->event_new(c, &g));
    CHECK(api()->stream_wait(c, q, e) == BT_EINVAL);
    WORDS(c.error(), "never recorded");
    bt_time t = {}, u = {};
    CHECK(api()->event_time(c, e, 0, &t) == BT_EINVAL);
    CHECK(api()->stream_issued(q) == 0);
    buffer<float> x(c, 64);
    double before = unix_now();
    bt_op o = fill(x.p, 64, 1);
    CHECK(!api()->event_record(c, e, q) && !api()->launch(c, q, &o.h) && !api()->event_record(c, g, q));
    CHECK(api()->stream_issued(q) == 3);
    sync(c, q);
    CHECK(!api()->event_time(c, e, 1000000, &t) && !api()->event_time(c, g, 1000000, &u));
    double after = unix_now();
    CHECK(u.at_ns >= t.at_ns && (double)t.at_ns / 1e9 > before - 2e-3 && (double)u.at_ns / 1e9 < after + 2e-3,
          "%.6f %.6f in %.6f %.6f", (double)t.at_ns / 1e9, (double)u.at_ns / 1e9, before, after);
    CHECK(t.wait_ns == 0 && u.wait_ns == 0);
    const char *text = nullptr;
    uint64_t ticket = 0;
    CHECK(!(s = api()->stream_error(c, q, &text, &ticket)));
    // Two streams that wait for each other's events.
    for (int i = 0; i < 3; i++)
      CHECK(!api()->stream_wait(c, nullptr, g) && !api()->event_record(c, e, nullptr) && !api()->stream_wait(c, q, e) &&
            !api()->event_record(c, g, q));
    sync(c, q);
  }
  for (const char *mode : {"order", "lazy", "lazy random=3"}) CHECK(handed_over(mode, true) == 3);
  // In lazy mode a wait that was forgotten shows, on some of the orders.
  int shown = 0;
  for (int seed = 1; seed <= 20; seed++) shown += handed_over(("lazy random=" + std::to_string(seed)).c_str(), false) != 3;
  CHECK(shown > 0, "a forgotten wait for an event gave the right result in 20 orders");
}

// ---- libraries that are missing, too old, or lack a function
static std::string folder;
static std::string build(const std::string &name, const std::string &text) {
  std::string dir = folder + "/" + name.substr(0, name.rfind('/') == std::string::npos ? 0 : name.rfind('/')),
              so = folder + "/" + name, c = so + ".c";
  CHECK(!system(("mkdir -p '" + dir + "'").c_str()));
  std::ofstream(c) << text;
  CHECK(!system(("cc -shared -fPIC -o '" + so + "' '" + c + "'").c_str()), "cc");
  return so;
}

static bt_options with(const std::string &lt, const std::string &nccl) {
  bt_options o = options();
  snprintf(o.cublaslt, sizeof o.cublaslt, "%s", lt.c_str());
  snprintf(o.nccl, sizeof o.nccl, "%s", nccl.c_str());
  return o;
}
static std::string nccl_error(const std::string &path) {
  context c(with("", path)); // one rank does without it
  bt_uid uid;
  bt_status s = api()->comm_uid(c, &uid);
  CHECK(s == BT_EUNSUPPORTED, "status %d", s);
  return c.error();
}

static bt_wanted wanted(const char *name) {
  return {"Thing",
          {name, nullptr, nullptr},
          "BOOST_THING",
          {"CUDA_HOME", nullptr},
          {"thing", nullptr, nullptr},
          "Install it by pip install thing"};
}

// The places where libraries are looked for.
static void searches() {
  bt_library l;
  bt_wanted w = wanted("libbt_thing.so.1");
  for (const char *v : {"VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "CUDA_HOME", "BOOST_THING"}) unsetenv(v);
  CHECK(!bt_library_search(&w, "", &l) && !l.found());
  WORDS(l.why, "libbt_thing.so.1 was not found", "looked in /", "pip install thing", "$BOOST_THING");
  auto finds = [&](const char *variable, const std::string &value, const std::string &where) {
    setenv(variable, value.c_str(), 1);
    CHECK(bt_library_search(&w, "", &l) && l.found(), "%s=%s: %s", variable, value.c_str(), l.why.c_str());
    CHECK(l.path.find(where) != std::string::npos, "%s", l.path.c_str());
  };
  // From the last place to the first: each is preferred to those before.
  build("home/lib64/libbt_thing.so.1", "int thing;");
  finds("CUDA_HOME", folder + "/home", "/home/lib64/");
  build("ld/libbt_thing.so.1", "int thing;");
  finds("LD_LIBRARY_PATH", "relative::" + folder + "/none:" + folder + "/ld", "/ld/");
  build("venv/lib/python3.11/site-packages/nvidia/thing/lib/libbt_thing.so.1", "int thing;");
  finds("VIRTUAL_ENV", folder + "/venv", "/venv/lib/python3.11/");
  std::string named = build("elsewhere.so", "int thing;");
  finds("BOOST_THING", named, "/elsewhere.so");
  auto refuses = [&](const std::string &path, const std::string &why) {
    setenv("BOOST_THING", path.c_str(), 1);
    CHECK(!bt_library_search(&w, "", &l), "%s", path.c_str());
    WORDS(l.why, "$BOOST_THING: ", why, "unset it");
    CHECK(l.why.find('\n') == std::string::npos && l.why.find('\033') == std::string::npos, "%s", l.why.c_str());
    unsetenv("BOOST_THING");
    if (*path.c_str() != '/') return;
    CHECK(!bt_library_search(&w, path.c_str(), &l), "%s", path.c_str());
    WORDS(l.why, why);
  };
  refuses("thing.so", "thing.so: it is not an absolute path");
  refuses(folder, "is not a file");
  refuses(folder + "/none\n\033[31m.so", "none??[31m.so: No such file");
  // Nor what others may write, or a link to it, or what lies where others may write, though somebody has named it.
  std::string shared = build("shared/thing.so", "int thing;"), link = folder + "/link.so";
  CHECK(!symlink(shared.c_str(), link.c_str()) && !chmod(shared.c_str(), 0666));
  for (const std::string &path : {shared, link}) refuses(path, shared + " may be written by others (mode 0666)");
  CHECK(!chmod(shared.c_str(), 0644) && !chmod((folder + "/shared").c_str(), 01777));
  for (const std::string &path : {shared, link}) refuses(path, folder + "/shared may be written by others (mode 1777)");
  CHECK(!mkfifo((folder + "/fifo.so").c_str(), 0600));
  refuses(folder + "/fifo.so", "is not a file");
  // What others may write is passed over.
  std::string open = folder + "/venv/lib/python3.11/site-packages/nvidia/thing/lib";
  CHECK(!chmod(open.c_str(), 0777));
  finds("CUDA_HOME", folder + "/home", "/ld/");
  unsetenv("LD_LIBRARY_PATH");
  unsetenv("CUDA_HOME");
  CHECK(!bt_library_search(&w, "", &l));
  WORDS(l.why, "may be written by others", open);
  unsetenv("VIRTUAL_ENV");
  const char *symbols[] = {"thing", "nothing"};
  void *table[2];
  CHECK(bt_library_search(&w, named.c_str(), &l) && !bt_library_symbols(&l, &w, symbols, table, 2));
  WORDS(l.why, named, "no function nothing");
}

void test_libraries() {
  char made[] = "/tmp/bt-lib-XXXXXX";
  umask(022);
  CHECK(mkdtemp(made) != nullptr);
  folder = made;
  searches();
  WORDS(open_error(with("/nonexistent/libcublasLt.so", "")), "cuBLASLt", "/nonexistent/libcublasLt.so", "No such file");
  WORDS(open_error(with("libcublasLt.so", "")), "not an absolute path");
  std::string empty = build("empty.so", "int nothing;");
  WORDS(open_error(with(empty, "")), "cuBLASLt", empty, "no function cublasLtGetVersion", "pip install nvidia-cublas");
  std::string text = "#include <stddef.h>\nsize_t cublasLtGetVersion(void) { return 111103; }\n";
#define X(member, symbol, result, args)                                                                                            \
  if (strcmp(#symbol, "cublasLtGetVersion")) text += "int " #symbol "(void) { return 0; }\n";
  LT_FUNCTIONS(X)
#undef X
  std::string old = build("oldlt.so", text);
  WORDS(open_error(with(old, "")), old, "version 11.11.3, too old", "12.0.0");
  // The version is told before what such a library lacks, and one that no cuBLASLt has is told as it is.
  std::string older = build("olderlt.so", "unsigned long cublasLtGetVersion(void) { return 101000; }");
  WORDS(open_error(with(older, "")), "cuBLASLt: " + older + " is version 10.10.0, too old; 12.0.0 or later is needed. Install it");
  for (const char *odd : {"-5", "0", "123456789012"})
    WORDS(open_error(with(build(std::string("odd") + odd + ".so", std::string("long cublasLtGetVersion(void) { return ") + odd + "; }"), "")),
          "says that its version is ", "so that it is not cuBLASLt");
  WORDS(nccl_error(build("oddnccl.so", "int ncclGetVersion(int *v) { *v = -5; return 0; }")), "says that its version is 0");
  WORDS(nccl_error(build("dumbnccl.so", "int ncclGetVersion(int *v) { return 1; }")), "says that its version is 0");
  WORDS(nccl_error("/nonexistent/libnccl.so.2"), "NCCL", "/nonexistent/libnccl.so.2");
  WORDS(nccl_error(build("old.so", "int ncclGetVersion(int *v) { *v = 2703; return 0; }")), "version 2.7.3, too old", "2.18.0",
        "pip install nvidia-nccl-cu13");
  WORDS(nccl_error(build("lacks.so", "int ncclGetVersion(int *v) { *v = 22703; return 0; }")), "no function ncclGetErrorString");
  WORDS(nccl_error(build("broken.so", "int missing(void); int ncclGetVersion(int *v) { return missing(); }")), "broken.so",
        "missing");
  bt_probe probe = {};
  bt_options o = with(old, "/nonexistent/libnccl.so.2");
  CHECK(!api()->probe(&o, &probe));
  WORDS(probe.text, "cuBLASLt\t11.11.3", "too old", "NCCL\t\t/nonexistent/libnccl.so.2: No such file", "for more than one rank");
  o = with(build("odd\n\tline.so", text), "");
  CHECK(!api()->probe(&o, &probe));
  WORDS(probe.text, "cuBLASLt\t11.11.3, " + folder + "/odd??line.so\t" + folder + "/odd??line.so is version");
  CHECK(!system(("rm -r '" + folder + "'").c_str()));
}
