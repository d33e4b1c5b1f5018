// bt_emu_race.h - shared memory that knows who touched each element last, and between which barriers. An access that no barrier
// orders after another thread's is reported whatever the order in which the fibers happened to run.
#pragma once

namespace emu {
// What is known of one element: the latest write and the latest read, each by thread, barrier epoch and warp epoch.
struct Shadow {
  uint32_t write_epoch = 0, read_epoch = 0, write_warp_epoch = 0, read_warp_epoch = 0;
  int16_t writer = -1, reader = -1;
  bool written = false;
};
void race(const char *kind, const Slot *array, size_t i, int other);

template <class T> struct Ref {
  T *p;
  Shadow *s;
  const Slot *array;
  size_t i;
  // Whether a barrier, or an operation of the warp that both belong to, lies between an access and now.
  static bool ordered(uint32_t epoch, uint32_t warp_epoch, int thread) {
    if (epoch != M.epoch || thread == (int)M.cur->lin) return true;
    return thread >> 5 == (int)(M.cur->lin >> 5) && warp_epoch != M.cur->warp_epoch;
  }
  void read() const {
    if (!s->written) race("uninitialised read", array, i, -1);
    else if (!ordered(s->write_epoch, s->write_warp_epoch, s->writer)) race("read-after-write", array, i, s->writer);
    s->read_epoch = M.epoch;
    s->reader = M.cur->lin;
    s->read_warp_epoch = M.cur->warp_epoch;
  }
  void write() const {
    if (s->written && !ordered(s->write_epoch, s->write_warp_epoch, s->writer)) race("write-after-write", array, i, s->writer);
    if (s->reader >= 0 && !ordered(s->read_epoch, s->read_warp_epoch, s->reader)) race("write-after-read", array, i, s->reader);
    s->written = true;
    s->write_epoch = M.epoch;
    s->writer = M.cur->lin;
    s->write_warp_epoch = M.cur->warp_epoch;
  }
  operator T() const {
    read();
    return *p;
  }
  const Ref &operator=(const T &v) const {
    write();
    *p = v;
    return *this;
  }
  const Ref &operator=(const Ref &o) const { return *this = (T)o; }
  const Ref &operator+=(const T &v) const { return *this = (T)(*this) + v; }
  const Ref &operator-=(const T &v) const { return *this = (T)(*this) - v; }
  const Ref &operator*=(const T &v) const { return *this = (T)(*this) * v; }
};

template <class T> struct Pointer {
  T *p = nullptr;
  Shadow *s = nullptr;
  size_t n = 0;
  int64_t off = 0;
  const Slot *array = nullptr;
  Ref<T> operator[](int64_t i) const {
    i += off;
    if (i < 0 || i >= (int64_t)n) {
      report("shared array %s (line %d): index %lld of %zu", array->name, array->line, (long long)i, n);
      i = 0;
    }
    return {p + i, s + i, array, (size_t)i};
  }
  Ref<T> operator*() const { return (*this)[0]; }
  Pointer operator+(int64_t k) const {
    Pointer r = *this;
    r.off += k;
    return r;
  }
  Pointer &operator+=(int64_t k) {
    off += k;
    return *this;
  }
};
template <class T> Pointer<T> smem(Slot &s, size_t n) {
  Pointer<T> r;
  r.p = (T *)smem_alloc(s, n * sizeof(T), n);
  r.s = (Shadow *)s.shadow;
  r.n = n;
  r.array = &s;
  return r;
}
// The plain address of n elements, which count as read or written now.
template <class T> T *touch(const Pointer<T> &p, size_t n, bool write) {
  for (size_t i = 0; i < n; i++) write ? p[i].write() : p[i].read();
  return &p.p[0] + p.off;
}
} // namespace emu
#define BT_SPTR(T) emu::Pointer<T>
