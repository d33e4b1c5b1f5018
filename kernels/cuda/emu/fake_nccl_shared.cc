// fake_nccl_shared.cc - the file that the ranks of a communicator share.
#include "fake_nccl.h"
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fake {
static const char magic[8] = {'b', 't', 'f', 'a', 'k', 'e', '0', '1'};
static const uint64_t ADDRESSES = (uint64_t)1 << 36, PAGE = 4096;
static uint64_t up(uint64_t n) { return (n + PAGE - 1) / PAGE * PAGE; }

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int make_file(Id *id) {
  int fd = memfd_create("boost-tui-emulated-nccl", MFD_CLOEXEC);
  if (fd < 0) return -errno;
  struct {
    char magic[8];
    uint64_t nonce;
  } head;
  memcpy(head.magic, magic, sizeof magic);
  if (getrandom(&head.nonce, sizeof head.nonce, 0) != sizeof head.nonce) head.nonce = (uint64_t)now_ns();
  if (fchmod(fd, 0600) || ftruncate(fd, (off_t)up(sizeof(Header))) || pwrite(fd, &head, sizeof head, 0) != sizeof head) {
    int e = errno;
    close(fd);
    return -e;
  }
  memset(id, 0, sizeof *id);
  memcpy(id->magic, magic, sizeof magic);
  id->pid = getpid(), id->fd = fd, id->nonce = head.nonce;
  return fd;
}

std::shared_ptr<Shared> open_file(const Id &id, std::string *why) {
  if (memcmp(id.magic, magic, sizeof magic)) {
    *why = "the identity is not one of ncclGetUniqueId";
    return nullptr;
  }
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", id.pid, id.fd);
  auto s = std::make_shared<Shared>();
  s->fd = open(path, O_RDWR | O_CLOEXEC);
  if (s->fd < 0) {
    *why = std::string("process ") + std::to_string(id.pid) + ", which made the identity, cannot be reached (" + strerror(errno) +
           "): it has died, or runs on another host";
    return nullptr;
  }
  void *p = mmap(nullptr, ADDRESSES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
  if (p == MAP_FAILED) {
    *why = std::string("map the file that ranks share: ") + strerror(errno);
    return nullptr;
  }
  s->base = (char *)p;
  s->header = (Header *)p;
  if (lseek(s->fd, 0, SEEK_END) < (off_t)sizeof(Header) || memcmp(s->header->magic, magic, sizeof magic) ||
      s->header->nonce != id.nonce) {
    *why = "the identity is of a communicator that is no more";
    return nullptr;
  }
  uint64_t none = 0;
  s->header->end.compare_exchange_strong(none, up(sizeof(Header)));
  return s;
}

Shared::~Shared() {
  if (base) munmap(base, ADDRESSES);
  if (fd >= 0) close(fd);
}

char *Shared::room(Room *r, uint64_t bytes) {
  if (r->bytes < bytes) {
    uint64_t length = up(bytes + bytes / 2), at = header->end.fetch_add(length);
    if (at + length > ADDRESSES) return nullptr;
    int e;
    do e = fallocate(fd, 0, (off_t)at, (off_t)length) ? errno : 0; // there is memory for it, or there is not
    while (e == EINTR);
    if (e) return nullptr;
    if (r->bytes) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->at, (off_t)r->bytes);
    *r = {at, length};
  }
  return base + r->at;
}

void fail(Header *h, int32_t result, const char *format, ...) {
  uint32_t sound = 0;
  if (!h->failed.compare_exchange_strong(sound, 1)) return;
  va_list args;
  va_start(args, format);
  vsnprintf(h->why, sizeof h->why, format, args);
  va_end(args);
  h->failed.store(16 + (uint32_t)result);
}

int32_t failure(Header *h, char *text, size_t len) {
  uint32_t f = h->failed;
  for (int i = 0; f == 1 && i < 20000; i++) { // whoever writes the reason may lose its core, or die, while it does
    timespec t = {0, 100000};
    nanosleep(&t, nullptr);
    f = h->failed;
  }
  if (!f) return 0;
  snprintf(text, len, "%s", f < 16 ? "the communicator failed" : h->why);
  return f < 16 ? NCCL_REMOTE_ERROR : (int32_t)f - 16;
}

static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "send", "receive"};
static const char *type_name(int32_t t) {
  return t == NCCL_FLOAT32 ? "fp32" : t == NCCL_BFLOAT16 ? "bf16" : t == NCCL_INT32 ? "i32" : t == NCCL_UINT8 ? "u8" : "?";
}
uint64_t type_bytes(int32_t t) {
  return t == NCCL_FLOAT32 || t == NCCL_INT32 ? 4 : t == NCCL_BFLOAT16 ? 2 : t == NCCL_UINT8 ? 1 : 0;
}

std::string describe(const Call &c) {
  char text[160];
  size_t n = snprintf(text, sizeof text, "#%llu:", (unsigned long long)c.seq);
  for (int i = 0; i < c.parts && i < 3 && n < sizeof text; i++) {
    const Part &p = c.part[i];
    n += snprintf(text + n, sizeof text - n, "%s %s%s of %llu %s", i ? "," : "", kinds[p.kind], p.op == NCCL_MAX ? " max" : "",
                  (unsigned long long)p.count, type_name(p.type));
    if (p.kind == BROADCAST && n < sizeof text) n += snprintf(text + n, sizeof text - n, " at %d", p.root);
  }
  if (c.parts > 3 && n < sizeof text) snprintf(text + n, sizeof text - n, " and %d more", c.parts - 3);
  return text;
}

uint64_t start_of_process(int pid) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  const char *after = strrchr(text, ')'); // the name may hold anything
  char state = 'X';
  unsigned long long start = 0;
  if (!after ||
      sscanf(after + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state, &start) != 2)
    return 0;
  return state == 'Z' || state == 'X' ? 0 : start;
}

bool alive(const Member &m) { return m.pid == getpid() || start_of_process(m.pid) == m.started; }
} // namespace fake
