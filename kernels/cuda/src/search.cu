// search.cu - opens a library where places.h finds it, and takes its functions.
#include "library.h"
#include <cstring>
#include <dlfcn.h>

static std::string own_folder() {
  Dl_info info;
  char real[PATH_MAX];
  if (!dladdr(reinterpret_cast<void *>(bt_library_search), &info) || !info.dli_fname || !realpath(info.dli_fname, real)) return "";
  std::string path = real;
  return path.substr(0, path.rfind('/'));
}

static bool open_file(void *handle, const char *path, char *why, size_t n) {
  void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *e = h ? nullptr : dlerror();
  if (!h) bt_text(why, n, "%s", e ? e : path);
  *static_cast<void **>(handle) = h;
  return h != nullptr;
}

void *bt_library_search(const bt_wanted *w, const char *path, bt_library *out) {
  *out = {};
  std::string folder = own_folder();
  const char *own[] = {folder.empty() ? nullptr : folder.c_str(), nullptr};
  bt_sought s;
  if (bt_seek(w, path, own, open_file, &out->handle, &s)) out->path = s.path;
  else out->why = s.why;
  return out->handle;
}

bool bt_library_symbols(bt_library *l, const bt_wanted *w, const char *const *symbols, void **table, size_t n) {
  for (size_t i = 0; i < n; i++) {
    table[i] = dlsym(l->handle, symbols[i]);
    if (table[i]) continue;
    l->why = l->path + " has no function " + symbols[i] + ", so that it is not " + w->what + " or too old. " + w->install;
    return false;
  }
  return true;
}
