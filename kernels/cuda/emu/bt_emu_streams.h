// bt_emu_streams.h - what the two files of the emulated runtime share: streams, events, the lock.
#pragma once
#include "bt_emu.h"
#include <deque>
#include <mutex>

namespace emu {
struct Work {
  std::function<bool()> run; // false: not yet
  bool pollable;             // waits for what is outside of this process' streams
};
struct Stream {
  std::deque<Work> queue;
  int device = 0;
  bool destroyed = false; // goes when its work is done
};
struct Event : std::enable_shared_from_this<Event> {
  uint64_t recorded = 0, done = 0; // the latest record, and the latest that its stream has reached
  double at = 0;                   // seconds of the monotonic clock when that was
  bool timing = true;
};
typedef std::unique_lock<std::recursive_mutex> Guard;
std::recursive_mutex &lock(); // of everything: streams, memory, the machine
Stream *stream_of(Stream *);  // the current device's own for a null one
int current_device();
double now();
void drain(const std::function<bool()> &until); // runs work until then, waiting for what is outside
void run_ready();                               // runs what does not have to wait
bool idle(int device);                          // whether all its streams are empty
cudaError_t status();                           // of the device: a kernel's mistake stays
Stream *new_stream();
void destroy_stream(Stream *);
} // namespace emu
