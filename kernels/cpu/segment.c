/* segment.c - memory that peers can reach: every allocation is a range of one file, told in the header. A rank maps its own
 * at once and a peer's when a message first touches it, so that ranks need not allocate alike. */
#include "segment.h"
#include "api.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 2 << 20 };

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
size_t bt_seg_header_bytes(void) { return up(sizeof(bt_seg_header), HUGE); }

int bt_segment_new(void) {
  int fd = memfd_create("boost-tui", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -errno;
  struct {
    uint64_t magic, id, end;
  } head = {BT_SEG_MAGIC, 0, bt_seg_header_bytes()};
  if (getrandom(&head.id, sizeof head.id, 0) != sizeof head.id || ftruncate(fd, bt_seg_header_bytes()) ||
      pwrite(fd, &head, sizeof head, 0) != sizeof head) {
    int e = errno;
    close(fd);
    return -e;
  }
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK); /* a file cut short would kill every rank that touches it */
  return fd;
}

bt_status bt_segment_open(const bt_options *o, bt_segment **out, char *err) {
  if (o->world < 1 || o->world > BT_SEG_RANKS || o->rank < 0 || o->rank >= o->world)
    return bt_fail(err, BT_EINVAL, "rank %d of %d ranks; a host holds 1 to %d", o->rank, o->world, BT_SEG_RANKS);
  bt_segment *s = calloc(1, sizeof *s);
  if (!s) return bt_fail(err, BT_ENOMEM, "no memory for a segment");
  *s = (bt_segment){.fd = fcntl(o->segment_fd, F_DUPFD_CLOEXEC, 3), .world = o->world, .rank = o->rank};
  pthread_mutex_init(&s->lock, NULL);
  s->at = calloc((size_t)o->world * BT_SEG_ALLOCS, sizeof *s->at);
  struct stat st;
  if (!s->at) {
    bt_segment_close(s);
    return bt_fail(err, BT_ENOMEM, "no memory for a segment");
  }
  if (s->fd < 0 || fstat(s->fd, &st) || (size_t)st.st_size < bt_seg_header_bytes()) {
    bt_status status = bt_fail(err, BT_EINVAL, "file descriptor %d is not a segment of ranks", o->segment_fd);
    bt_segment_close(s);
    return status;
  }
  s->header = mmap(NULL, bt_seg_header_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
  if (s->header == MAP_FAILED) {
    s->header = NULL;
    bt_status status = bt_fail(err, BT_ENOMEM, "map the segment: %s", strerror(errno));
    bt_segment_close(s);
    return status;
  }
  uint32_t world = 0;
  if (s->header->magic != BT_SEG_MAGIC) {
    bt_segment_close(s);
    return bt_fail(err, BT_EINVAL, "file descriptor %d is not a segment of ranks", o->segment_fd);
  }
  if (!atomic_compare_exchange_strong(&s->header->world, &world, s->world) && world != (uint32_t)s->world) {
    bt_segment_close(s);
    return bt_fail(err, BT_EINVAL, "this rank says %d ranks, another said %u", o->world, world);
  }
  *out = s;
  return BT_OK;
}

static void unmap(bt_seg_map *m) {
  for (bt_seg_map *n; m; m = n) {
    n = m->next;
    munmap(m->base, m->length);
    free(m);
  }
}

void bt_segment_close(bt_segment *s) {
  unmap(s->maps);
  unmap(s->far);
  free(s->at);
  if (s->header) munmap(s->header, bt_seg_header_bytes());
  if (s->fd >= 0) close(s->fd);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

int bt_segment_rank(bt_segment *s) { return s->rank; }

/* Gives a range of the file real memory, and says so when there is none instead of dying at the first touch. */
static int reserve(int fd, uint64_t offset, uint64_t bytes) {
  int e;
  do { e = fallocate(fd, 0, offset, bytes) ? errno : 0; } while (e == EINTR);
  if (e != EOPNOTSUPP && e != ENOSYS) return e;
  struct stat st;
  if (!fstat(fd, &st) && (uint64_t)st.st_size >= offset + bytes) return 0;
  return pwrite(fd, "", 1, offset + bytes - 1) == 1 ? 0 : errno;
}

/* Takes a range of the file for this rank alone. */
static uint64_t take(bt_segment *s, uint64_t length, uint64_t align) {
  uint64_t seen = atomic_load(&s->header->end), offset;
  do offset = up(seen, align);
  while (!atomic_compare_exchange_weak(&s->header->end, &seen, offset + length));
  return offset;
}

bt_status bt_segment_alloc(bt_segment *s, uint64_t bytes, bt_ptr *out, char *err) {
  if (s->allocs >= BT_SEG_ALLOCS)
    return bt_fail(err, BT_ENOMEM, "%d symmetric allocations were made; no more can be", BT_SEG_ALLOCS);
  bt_seg_map *m = calloc(1, sizeof *m);
  if (!m) return bt_fail(err, BT_ENOMEM, "no memory");
  uint64_t align = bytes >= HUGE ? HUGE : PAGE, length = up(bytes ? bytes : 1, align);
  *m = (bt_seg_map){.bytes = bytes, .length = length, .offset = take(s, length, align), .alloc = s->allocs};
  int e = reserve(s->fd, m->offset, length);
  if (e) {
    free(m);
    return bt_fail(err, BT_ENOMEM, "no shared memory for %llu bytes: %s", (unsigned long long)bytes, strerror(e));
  }
  m->base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, m->offset);
  if (m->base == MAP_FAILED) {
    free(m);
    return bt_fail(err, BT_ENOMEM, "map %llu bytes of shared memory: %s", (unsigned long long)length, strerror(errno));
  }
  if (bytes >= HUGE) madvise(m->base, length, MADV_HUGEPAGE);
  bt_seg_alloc *told = &s->header->alloc[s->rank][s->allocs++];
  told->offset = m->offset;
  atomic_store(&told->bytes, bytes);
  atomic_store(&s->at[s->rank * BT_SEG_ALLOCS + m->alloc], m->base);
  pthread_mutex_lock(&s->lock);
  m->next = s->maps;
  s->maps = m;
  pthread_mutex_unlock(&s->lock);
  *out = (bt_ptr)(uintptr_t)m->base;
  return BT_OK;
}

static bt_seg_map *find(bt_segment *s, bt_ptr p) {
  for (bt_seg_map *m = s->maps; m; m = m->next) {
    bt_ptr own = (bt_ptr)(uintptr_t)m->base;
    if (p >= own && p < own + m->length) return m;
  }
  return NULL;
}

bool bt_segment_owns(bt_segment *s, bt_ptr p) { return find(s, p) != NULL; }

bt_status bt_segment_free(bt_segment *s, bt_ptr p, char *err) {
  pthread_mutex_lock(&s->lock);
  bt_seg_map *m = find(s, p);
  if (m && p == (bt_ptr)(uintptr_t)m->base)
    for (bt_seg_map **at = &s->maps; *at; at = &(*at)->next)
      if (*at == m) {
        *at = m->next;
        break;
      }
  pthread_mutex_unlock(&s->lock);
  if (!m || p != (bt_ptr)(uintptr_t)m->base) return bt_fail(err, BT_EINVAL, "frees the middle of an allocation");
  atomic_store(&s->header->alloc[s->rank][m->alloc].bytes, 0);
  atomic_store(&s->at[s->rank * BT_SEG_ALLOCS + m->alloc], NULL);
  fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, m->offset, m->length);
  munmap(m->base, m->length);
  free(m);
  return BT_OK;
}

bool bt_segment_find(bt_segment *s, bt_ptr p, uint64_t bytes, bt_place *out) {
  pthread_mutex_lock(&s->lock);
  bt_seg_map *m = find(s, p);
  bool inside = false;
  if (m) {
    uint64_t at = p - (bt_ptr)(uintptr_t)m->base;
    inside = at + bytes <= m->bytes;
    *out = (bt_place){.alloc = m->alloc, .offset = at};
  }
  pthread_mutex_unlock(&s->lock);
  return inside;
}

/* Maps a peer's allocation. Called with the lock held. */
static char *reach(bt_segment *s, int rank, uint32_t alloc, uint64_t offset, uint64_t bytes) {
  char *base = atomic_load(&s->at[rank * BT_SEG_ALLOCS + alloc]);
  if (base) return base;
  bt_seg_map *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  *m = (bt_seg_map){.bytes = bytes, .length = up(bytes, bytes >= HUGE ? HUGE : PAGE), .offset = offset, .alloc = alloc, .next = s->far};
  m->base = mmap(NULL, m->length, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, offset);
  if (m->base == MAP_FAILED) {
    free(m);
    return NULL;
  }
  if (bytes >= HUGE) madvise(m->base, m->length, MADV_HUGEPAGE);
  s->far = m;
  atomic_store(&s->at[rank * BT_SEG_ALLOCS + alloc], m->base);
  return m->base;
}

char *bt_segment_at(bt_segment *s, int rank, bt_place at, uint64_t bytes, char *err) {
  bt_seg_alloc *told = at.alloc < BT_SEG_ALLOCS ? &s->header->alloc[rank][at.alloc] : NULL;
  uint64_t size = told ? atomic_load(&told->bytes) : 0;
  if (at.offset + bytes > size) {
    bt_fail(err, BT_EINVAL, "memory of rank %d of this host was freed under a message", rank);
    return NULL;
  }
  char *base = atomic_load_explicit(&s->at[rank * BT_SEG_ALLOCS + at.alloc], memory_order_acquire);
  if (!base) {
    pthread_mutex_lock(&s->lock);
    base = reach(s, rank, at.alloc, told->offset, size);
    pthread_mutex_unlock(&s->lock);
    if (!base) {
      bt_fail(err, BT_ENOMEM, "map %llu bytes of a peer's memory: %s", (unsigned long long)size, strerror(errno));
      return NULL;
    }
  }
  return base + at.offset;
}
