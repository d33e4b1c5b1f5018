// search.cu - where libraries lie: in the wheels of a Python environment, on LD_LIBRARY_PATH, in a CUDA installation. A library
// is opened only by a path whose file and folders belong to the user or to root and that nobody else can write to.
#include "library.h"
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

static void split(const char *list, std::vector<std::string> *out) {
  for (const char *p = list ? list : ""; *p;) {
    size_t n = strcspn(p, ":");
    if (n && *p == '/') out->push_back(std::string(p, n));
    p += n + (p[n] == ':');
  }
}

// The folders of wheels below a Python environment.
static void wheels(const std::string &root, const bt_wanted *w, std::vector<std::string> *out) {
  for (const char *wheel : w->wheels) {
    if (!wheel) continue;
    glob_t g = {};
    if (!glob((root + "/lib/python3*/site-packages/nvidia/" + wheel + "/lib").c_str(), 0, nullptr, &g))
      for (size_t i = 0; i < g.gl_pathc; i++) out->push_back(g.gl_pathv[i]);
    globfree(&g);
  }
}

static std::string own_folder() {
  Dl_info info;
  char real[PATH_MAX];
  if (!dladdr(reinterpret_cast<void *>(bt_library_search), &info) || !info.dli_fname || !realpath(info.dli_fname, real)) return "";
  std::string path = real;
  return path.substr(0, path.rfind('/'));
}

static std::vector<std::string> folders(const bt_wanted *w) {
  std::vector<std::string> out;
  std::string own = own_folder();
  if (!own.empty()) {
    out.push_back(own);
    for (const char *venv : {"/venv", "/cuda", "/../.venv", "/../venv"}) wheels(own + venv, w, &out);
    // The library itself may lie in an environment: …/lib/python3.x/site-packages/…
    size_t at = own.find("/lib/python3");
    if (at != std::string::npos) wheels(own.substr(0, at), w, &out);
  }
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char *root = getenv(name)) {
      if (*root != '/') continue;
      wheels(root, w, &out);
      if (!strcmp(name, "CONDA_PREFIX")) out.push_back(std::string(root) + "/lib");
    }
  split(getenv("LD_LIBRARY_PATH"), &out);
  for (const char *name : w->home)
    if (const char *root = name ? getenv(name) : nullptr)
      if (*root == '/')
        for (const char *lib : {"/lib64", "/lib"}) out.push_back(std::string(root) + lib);
  for (const char *place : {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"})
    out.push_back(place);
  return out;
}

// Why a file and the folders above it are not to be trusted; "" when they are. The same rule as backend.Trusted: in a folder
// like /tmp everybody may write and nobody may touch what is another's, but not beside the library itself.
static std::string distrust(const std::string &path) {
  std::string folder = path.substr(0, path.rfind('/'));
  for (std::string at = path;; at = at.substr(0, at.rfind('/'))) {
    struct stat st;
    const char *name = at.empty() ? "/" : at.c_str();
    if (stat(name, &st)) return std::string(name) + ": " + strerror(errno);
    if (st.st_uid != 0 && st.st_uid != getuid()) return std::string(name) + " belongs to another user";
    bool sticky = st.st_mode & S_ISVTX && at != path && at != folder;
    bool group = st.st_mode & S_IWGRP && st.st_gid != 0 && st.st_gid != getgid();
    if ((st.st_mode & S_IWOTH || group) && !sticky) return std::string(name) + " may be written by others";
    if (at.empty()) return "";
  }
}

static void *open_at(const std::string &path, bt_library *out) {
  void *h = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *e = h ? nullptr : dlerror();
  if (h) out->path = path;
  out->why = h ? "" : e ? e : path + " cannot be opened";
  return h;
}

void *bt_library_search(const bt_wanted *w, const char *path, bt_library *out) {
  *out = {};
  const char *named = path && *path ? path : getenv(w->variable);
  if (named && *named) {
    // Whoever names a path answers for it; that it is absolute keeps the loader from looking elsewhere.
    if (*named != '/') out->why = std::string(named) + " is not an absolute path";
    else out->handle = open_at(named, out);
    if (!out->handle) out->why = std::string(w->what) + ": " + out->why;
    return out->handle;
  }
  std::string bad, seen;
  std::vector<std::string> places = folders(w);
  for (const std::string &dir : places)
    for (const char *name : w->names) {
      char real[PATH_MAX];
      if (!name || !realpath((dir + "/" + name).c_str(), real)) continue;
      std::string why = distrust(real);
      if (why.empty() && (out->handle = open_at(dir + "/" + name, out))) return out->handle;
      if (bad.empty()) bad = why.empty() ? out->why : why;
    }
  for (const std::string &dir : places)
    if (seen.size() + dir.size() < 170) seen += (seen.empty() ? "" : ", ") + dir;
  out->why = std::string(w->what) + " (" + w->names[0] + ") was not found";
  if (!bad.empty()) out->why = std::string(w->what) + " cannot be opened: " + bad.substr(0, 160);
  out->why += "; looked in " + seen + ". " + w->install + ", or name its path in " + w->variable;
  return nullptr;
}

bool bt_library_symbols(bt_library *l, const bt_wanted *w, const char *const *symbols, void **table, size_t n) {
  for (size_t i = 0; i < n; i++) {
    table[i] = dlsym(l->handle, symbols[i]);
    if (table[i]) continue;
    l->why = std::string(w->what) + ": " + l->path + " has no function " + symbols[i] + "; it is too old or something else. " +
             w->install;
    return false;
  }
  return true;
}
