// range.cu - ranges of NVTX. Its headers find a profiler by themselves and cost a branch where there is none; where they are not
// installed when this is built, the older library is looked for, which profilers also preload.
#include "range.h"
#if !defined(BT_EMU) && defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define BT_NVTX 1
#endif
#endif

#if defined(BT_NVTX)
void bt_range(bt_ctx *, const char *name) {
  if (name) nvtxRangePushA(name);
  else nvtxRangePop();
}
#else
#include <dlfcn.h>
namespace {
struct nvtx {
  int (*push)(const char *) = nullptr;
  int (*pop)() = nullptr;
  nvtx() {
    void *h = dlopen("libnvToolsExt.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); // only where a profiler has put it
    if (!h) return;
    push = reinterpret_cast<int (*)(const char *)>(dlsym(h, "nvtxRangePushA"));
    pop = reinterpret_cast<int (*)()>(dlsym(h, "nvtxRangePop"));
  }
};
} // namespace
void bt_range(bt_ctx *, const char *name) {
  static const nvtx n;
  if (name && n.push) n.push(name);
  if (!name && n.pop) n.pop();
}
#endif
