// fake_nccl.cc - the functions of the library. They refuse what NCCL refuses, and what it takes and then hangs or computes nonsense
// from: ranks that disagree, memory that overlaps, a call before the last one is over, groups of several communicators or streams.
#include "bt_emu.h"
#include "fake_nccl.h"
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

namespace fake {
static std::recursive_mutex &lock() { // never held while work is queued: a queue's work may run at once, under the emulator's lock
  static auto *m = new std::recursive_mutex;
  return *m;
}
static std::map<nccl_comm, Comm> &comms() {
  static auto *m = new std::map<nccl_comm, Comm>;
  return *m;
}
// Descriptors of identities that this process has made, by nonce: closed when all have joined.
static std::map<uint64_t, int> &files() {
  static auto *m = new std::map<uint64_t, int>;
  return *m;
}
static void close_file(uint64_t nonce) {
  std::lock_guard<std::recursive_mutex> g(lock());
  auto at = files().find(nonce);
  if (at == files().end()) return;
  close(at->second);
  files().erase(at);
}
static thread_local char last[512];

int32_t refuse(nccl_comm_t *c, int32_t result, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(last, sizeof last, format, args);
  va_end(args);
  if (c) memcpy(c->text, last, sizeof last);
  return result;
}

Comm find(nccl_comm h) {
  std::lock_guard<std::recursive_mutex> g(lock());
  auto at = comms().find(h);
  return at == comms().end() ? nullptr : at->second;
}

static int32_t check_config(const nccl_config *k) {
  if (!k) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "no configuration: a communicator would be blocking");
  if (k->size != sizeof *k || k->magic != (uint32_t)NCCL_MAGIC_WORD || k->version != NCCL_CONFIG_VERSION)
    return refuse(nullptr, NCCL_INVALID_ARGUMENT, "ncclConfig_t of %zu bytes, magic %x, version %u", k->size, k->magic, k->version);
  if (k->blocking != 0) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "a blocking communicator cannot be aborted safely");
  return NCCL_SUCCESS;
}

// Takes a seat; the result is the handle, or nullptr with the text.
static Comm seat(std::shared_ptr<Shared> s, int n, int rank) {
  Header *h = s->header;
  uint32_t size = 0, absent = ABSENT;
  if (!h->n.compare_exchange_strong(size, (uint32_t)n) && size != (uint32_t)n) {
    refuse(nullptr, 0, "rank %d says that there are %d ranks, another said %u", rank, n, size);
    return nullptr;
  }
  Member &m = h->member[rank];
  if (!m.present.compare_exchange_strong(absent, SEATED)) {
    refuse(nullptr, 0, "rank %d has joined already", rank);
    return nullptr;
  }
  m.pid = getpid();
  m.started = start_of_process(m.pid);
  m.present = PRESENT;
  h->joined++;
  auto c = std::make_shared<nccl_comm_t>();
  c->shared = std::move(s), c->n = n, c->rank = rank;
  std::lock_guard<std::recursive_mutex> g(lock());
  comms()[c.get()] = c;
  return c;
}

static int32_t version(int *v) {
  *v = 21800; // the oldest that will do: what it lacks is not used
  return NCCL_SUCCESS;
}

static const char *error_string(int32_t r) {
  static const char *const text[] = {"no error",
                                     "unhandled cuda error",
                                     "unhandled system error",
                                     "internal error",
                                     "invalid argument",
                                     "invalid usage",
                                     "remote process exited or there was a network error",
                                     "NCCL operation in progress"};
  return r >= 0 && r < 8 ? text[r] : "unknown result code";
}

static const char *last_error(nccl_comm h) {
  Comm c = h ? find(h) : nullptr;
  if (!c) return last;
  char text[400];
  if (!*c->text && failure(c->shared->header, text, sizeof text)) refuse(c.get(), 0, "%s", text);
  return c->text;
}

static int32_t unique_id(nccl_id *out) {
  Id id;
  if (!out) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "ncclGetUniqueId: no place for the identity");
  int fd = make_file(&id);
  if (fd < 0) return refuse(nullptr, NCCL_SYSTEM_ERROR, "make the file that ranks share: %s", strerror(-fd));
  memset(out, 0, sizeof *out);
  memcpy(out->b, &id, sizeof id);
  std::lock_guard<std::recursive_mutex> g(lock());
  files()[id.nonce] = fd;
  return NCCL_SUCCESS;
}

static int32_t init(nccl_comm *out, int n, nccl_id raw, int rank, nccl_config *k) {
  if (int32_t bad = check_config(k)) return bad;
  if (!out || n < 1 || n > RANKS || rank < 0 || rank >= n)
    return refuse(nullptr, NCCL_INVALID_ARGUMENT, "rank %d of %d; there can be %d", rank, n, RANKS);
  *out = nullptr;
  Id id;
  memcpy(&id, raw.b, sizeof id);
  std::string why;
  auto s = open_file(id, &why);
  if (!s) return refuse(nullptr, NCCL_SYSTEM_ERROR, "%s", why.c_str());
  Comm c = seat(s, n, rank);
  if (!c) return NCCL_INVALID_ARGUMENT;
  c->nonce = id.nonce;
  *out = c.get();
  return NCCL_IN_PROGRESS;
}

// ---- splitting: all say their color; then the first of each color makes the file, and the others open it.
static int32_t split(nccl_comm h, int color, int key, nccl_comm *out, nccl_config *k) {
  Comm c = find(h);
  if (!c || !out) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "ncclCommSplit: not a communicator");
  if (int32_t bad = check_config(k)) return bad;
  if (c->state != nccl_comm_t::READY) return refuse(c.get(), NCCL_INVALID_ARGUMENT, "ncclCommSplit before the last call is over");
  Member &m = c->shared->header->member[c->rank];
  *out = nullptr;
  c->child = out;
  c->state = nccl_comm_t::SPLITTING;
  Member::Split &mine = m.split[++c->splits & 1];
  mine.color = color, mine.key = key;
  m.splits = c->splits;
  return NCCL_IN_PROGRESS;
}

// True when it is over, or has failed.
static bool split_ready(nccl_comm_t *c) {
  Header *h = c->shared->header;
  auto said = [&](int r) -> Member::Split & { return h->member[r].split[c->splits & 1]; };
  Member::Split &own = said(c->rank);
  for (int r = 0; r < c->n; r++)
    if (h->member[r].splits < c->splits) return look_for_the_dead(c, r), false;
  if (own.color == NCCL_NO_COLOR) return true;
  int n = 0, place = 0, first = -1;
  for (int r = 0; r < c->n; r++) {
    if (said(r).color != own.color) continue;
    n++;
    if (said(r).key < own.key || (said(r).key == own.key && r < c->rank)) place++;
    if (first < 0 || said(r).key < said(first).key) first = r;
  }
  Id id = {};
  if (first == c->rank) {
    nccl_id raw;
    if (unique_id(&raw)) return fail(h, NCCL_SYSTEM_ERROR, "rank %d, splitting: %s", c->rank, last), true;
    memcpy(&id, raw.b, sizeof id);
    own.fd = id.fd, own.nonce = id.nonce;
    own.made = c->splits;
  } else {
    if (said(first).made < c->splits) return look_for_the_dead(c, first), false;
    id = {{'b', 't', 'f', 'a', 'k', 'e', '0', '1'}, h->member[first].pid, said(first).fd, said(first).nonce};
  }
  std::string why;
  auto s = open_file(id, &why);
  if (!s || !(c->made = seat(s, n, place)))
    return fail(h, NCCL_SYSTEM_ERROR, "rank %d, splitting: %s", c->rank, s ? last : why.c_str()), true;
  c->made->nonce = id.nonce;
  return true;
}

static void progress(const Comm &c) {
  Header *h = c->shared->header;
  switch (c->state) {
  case nccl_comm_t::JOINING:
    if (h->joined < (uint32_t)c->n) {
      look_for_the_dead(c.get(), -1);
      return;
    }
    close_file(c->nonce);
    c->state = nccl_comm_t::READY;
    return;
  case nccl_comm_t::SPLITTING:
    if (!split_ready(c.get())) return;
    *c->child = c->made.get();
    c->made = nullptr;
    c->state = nccl_comm_t::READY;
    return;
  case nccl_comm_t::LAUNCHING:
    if (--c->polls > 0) return;
    c->state = nccl_comm_t::READY;
    c->launch();
    c->launch = nullptr;
    return;
  case nccl_comm_t::FINALIZING:
    if (c->turn < c->issued) return;
    h->member[c->rank].present = LEFT;
    c->state = nccl_comm_t::FINALIZED;
    return;
  default: return;
  }
}

static int32_t async_error(nccl_comm h, int32_t *out) {
  Comm c = find(h);
  if (!c || !out) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "ncclCommGetAsyncError: not a communicator");
  char text[400];
  if (c->state != nccl_comm_t::FINALIZED && !failure(c->shared->header, text, sizeof text)) progress(c);
  *out = failure(c->shared->header, text, sizeof text);
  if (c->state == nccl_comm_t::FINALIZED) *out = NCCL_SUCCESS; // what befalls the others is not this rank's affair
  if (*out) refuse(c.get(), 0, "%s", text);
  else if (c->state != nccl_comm_t::READY && c->state != nccl_comm_t::FINALIZED) *out = NCCL_IN_PROGRESS;
  return NCCL_SUCCESS;
}

static int32_t finalize(nccl_comm h) {
  Comm c = find(h);
  if (!c) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "ncclCommFinalize: not a communicator");
  if (c->state != nccl_comm_t::READY)
    return refuse(c.get(), NCCL_INVALID_ARGUMENT, "ncclCommFinalize before the last call is over, or twice");
  c->state = nccl_comm_t::FINALIZING;
  return NCCL_IN_PROGRESS;
}

static void forget(const Comm &c) {
  c->shared->header->member[c->rank].present = LEFT;
  close_file(c->nonce);
  std::lock_guard<std::recursive_mutex> g(lock());
  comms().erase(c.get());
}

static int32_t destroy(nccl_comm h) {
  Comm c = find(h);
  if (!c) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "ncclCommDestroy: not a communicator, or destroyed already");
  if (c->state != nccl_comm_t::FINALIZED)
    return refuse(c.get(), NCCL_INVALID_USAGE, "ncclCommDestroy before ncclCommFinalize is over would block");
  forget(c);
  return NCCL_SUCCESS;
}

static int32_t abort_comm(nccl_comm h) {
  Comm c = find(h);
  if (!c) return refuse(nullptr, NCCL_INVALID_ARGUMENT, "ncclCommAbort: not a communicator, or aborted already");
  fail(c->shared->header, NCCL_REMOTE_ERROR, "aborted by rank %d", c->rank);
  c->aborted = true;
  c->launch = nullptr;
  forget(c);
  return NCCL_SUCCESS;
}
} // namespace fake

const nccl_api *bt_fake_nccl(void) {
  using namespace fake;
  static const nccl_api api = {version,     error_string, last_error,     unique_id,  init,        split,
                               async_error, finalize,     destroy,        abort_comm, group_start, group_end,
                               all_reduce,  all_gather,   reduce_scatter, broadcast,  send,        recv};
  return &api;
}
