/* segment.c - symmetric memory: allocation i of every rank lies in one range of the file, rank after rank, and every rank maps
 * the whole range, so that a peer's element is the own address plus a multiple of the stride. */
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
    uint64_t magic, id;
  } head = {BT_SEG_MAGIC, 0};
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
  *s = (bt_segment){
      .fd = fcntl(o->segment_fd, F_DUPFD_CLOEXEC, 3), .world = o->world, .rank = o->rank, .end = bt_seg_header_bytes()};
  struct stat st;
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

void bt_segment_close(bt_segment *s) {
  for (bt_seg_map *m = s->maps, *n; m; m = n) {
    n = m->next;
    munmap(m->base, m->stride * s->world);
    free(m);
  }
  if (s->header) munmap(s->header, bt_seg_header_bytes());
  if (s->fd >= 0) close(s->fd);
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

bt_status bt_segment_alloc(bt_segment *s, uint64_t bytes, bt_ptr *out, char *err) {
  if (s->allocs >= BT_SEG_ALLOCS)
    return bt_fail(err, BT_ENOMEM, "%d symmetric allocations were made; no more can be", BT_SEG_ALLOCS);
  uint64_t seen = 0;
  if (!atomic_compare_exchange_strong(&s->header->alloc[s->allocs], &seen, bytes + 1) && seen != bytes + 1)
    return bt_fail(err, BT_EINVAL,
                   "symmetric allocation %d of rank %d has %llu bytes, another rank's has %llu: every rank must make the same ones "
                   "in the same order",
                   s->allocs, s->rank, (unsigned long long)bytes, (unsigned long long)seen - 1);
  bt_seg_map *m = calloc(1, sizeof *m);
  if (!m) return bt_fail(err, BT_ENOMEM, "no memory");
  uint64_t stride = up(bytes ? bytes : 1, bytes >= HUGE ? HUGE : PAGE);
  *m = (bt_seg_map){.bytes = bytes, .stride = stride, .offset = up(s->end, bytes >= HUGE ? HUGE : PAGE)};
  int e = reserve(s->fd, m->offset + stride * s->rank, stride);
  if (e) {
    free(m);
    return bt_fail(err, BT_ENOMEM, "no shared memory for %llu bytes: %s", (unsigned long long)bytes, strerror(e));
  }
  m->base = mmap(NULL, stride * s->world, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, m->offset);
  if (m->base == MAP_FAILED) {
    free(m);
    return bt_fail(err, BT_ENOMEM, "map %llu bytes of shared memory: %s", (unsigned long long)(stride * s->world), strerror(errno));
  }
  if (bytes >= HUGE) madvise(m->base, stride * s->world, MADV_HUGEPAGE);
  s->allocs++;
  s->end = m->offset + stride * s->world;
  m->next = s->maps;
  s->maps = m;
  *out = (bt_ptr)(uintptr_t)(m->base + stride * s->rank);
  return BT_OK;
}

static bt_seg_map *find(bt_segment *s, bt_ptr p) {
  for (bt_seg_map *m = s->maps; m; m = m->next) {
    bt_ptr own = (bt_ptr)(uintptr_t)(m->base + m->stride * s->rank);
    if (p >= own && p < own + m->stride) return m;
  }
  return NULL;
}

bool bt_segment_owns(bt_segment *s, bt_ptr p) { return find(s, p) != NULL; }

bt_status bt_segment_free(bt_segment *s, bt_ptr p, char *err) {
  bt_seg_map *m = find(s, p);
  if (!m || p != (bt_ptr)(uintptr_t)(m->base + m->stride * s->rank))
    return bt_fail(err, BT_EINVAL, "frees the middle of an allocation");
  for (bt_seg_map **at = &s->maps; *at; at = &(*at)->next)
    if (*at == m) {
      *at = m->next;
      break;
    }
  munmap(m->base, m->stride * s->world);
  fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, m->offset + m->stride * s->rank, m->stride);
  free(m);
  return BT_OK;
}

bool bt_segment_find(bt_segment *s, bt_ptr p, uint64_t bytes, bt_place *out) {
  bt_seg_map *m = find(s, p);
  if (!m) return false;
  uint64_t at = p - (bt_ptr)(uintptr_t)(m->base + m->stride * s->rank);
  if (at + bytes > m->bytes) return false;
  *out = (bt_place){m->offset + at, (int64_t)m->stride};
  return true;
}
