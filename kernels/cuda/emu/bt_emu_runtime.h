// bt_emu_runtime.h - the part of the CUDA runtime that the library calls, over the emulator. Streams are queues. As a rule what
// comes to an empty stream runs at once, on the thread that brought it; in lazy mode everything waits until somebody asks for it, and
// then a random stream goes first: a missing wait for an event shows. All calls may come from any thread; one kernel runs at a time.
#pragma once
#include <memory>

#include "bt_runtime_api.h"

namespace emu {
// What is asked again and again, in the stream's turn, until it answers true: how the fakes of libraries wait for other ranks.
// poll is called by whatever thread looks after streams, under the runtime's lock: it must not call the runtime.
void push_pollable(Stream *, std::function<bool()> poll);
void push(Stream *, std::function<bool()>);
// Sets the mode from words: "order" (the default), "random", "random=SEED", "lazy". nullptr, or what is wrong with the words.
const char *set_mode(const char *words);
// The text of the first mistake that a kernel of this process made; "": none. clear forgets it.
std::string fault();
void clear_fault();
cudaError_t launch_error(cudaError_t); // remembers it for cudaGetLastError
} // namespace emu

namespace bt {
template <class... KA, class... A>
inline cudaError_t launch(const char *name, void (*k)(KA...), dim3 g, dim3 b, size_t dyn_bytes, cudaStream_t s, A... a) {
  unsigned long long threads = (unsigned long long)b.x * b.y * b.z;
  if (!g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535 || threads == 0 || threads > 1024 ||
      threads % 32 != 0 || dyn_bytes > emu::M.opt.max_shared)
    return emu::launch_error(cudaErrorInvalidConfiguration);
  const char *types = __PRETTY_FUNCTION__;
  emu::push(s, [=] {
    std::function<void()> body = [&] { k(static_cast<KA>(a)...); };
    emu::run_grid(name, types, g, b, dyn_bytes, body);
    return true;
  });
  return cudaSuccess;
}
} // namespace bt
#define BT_LAUNCH(k, g, b, dyn_bytes, s, ...) bt::launch(#k, k, g, b, dyn_bytes, s, __VA_ARGS__)
