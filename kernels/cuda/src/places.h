/* places.h - where cuBLASLt and NCCL lie: at the path that a variable names, in the wheels of a Python environment, on
 * LD_LIBRARY_PATH, in a CUDA installation, in the system's folders. Only a file will do that nobody but the user and root can
 * change or replace, wherever it was found: the rule of backend.Trusted.
 *
 * Plain C: the library looks by it for what it then opens (search.cu), and so does the program where there is no library yet
 * (kernels/cuda/libraries.go). Start reading at bt_seek. */
#ifndef BT_PLACES_H
#define BT_PLACES_H
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A library that is looked for. */
typedef struct {
  const char *what;      /* "NCCL" */
  const char *names[3];  /* file names, the best first */
  const char *variable;  /* of the environment, that can hold a path */
  const char *home[2];   /* variables that hold a folder with lib and lib64 */
  const char *wheels[3]; /* folders below site-packages/nvidia */
  const char *install;   /* what to do where there is none */
} bt_wanted;

static inline const bt_wanted *bt_wanted_lt(void) {
  static const bt_wanted w = {"cuBLASLt",
                              {"libcublasLt.so.13", "libcublasLt.so.12", NULL},
                              "BOOST_CUBLASLT",
                              {"CUDA_HOME", "CUDA_PATH"},
                              {"cu13", "cublas", NULL},
                              "Install it by pip install nvidia-cublas, or scripts/cuda.sh libraries"};
  return &w;
}
static inline const bt_wanted *bt_wanted_nccl(void) {
  static const bt_wanted w = {"NCCL",
                              {"libnccl.so.2", NULL, NULL},
                              "BOOST_NCCL",
                              {"NCCL_HOME", "CUDA_HOME"},
                              {"nccl", "cu13", NULL},
                              "Install it by pip install nvidia-nccl-cu13, or scripts/cuda.sh libraries"};
  return &w;
}

/* What came of a search. */
typedef struct {
  char path[PATH_MAX]; /* links resolved; empty: there is none that will do */
  char why[640];       /* there is none: what is wrong, and what to do; one line. Whoever shows it says what library it is about */
} bt_sought;

/* Opens a file that may be trusted; false with why: the search goes on. */
typedef bool (*bt_take)(void *arg, const char *path, char *why, size_t n);

typedef struct {
  const bt_wanted *w;
  bt_take take;
  void *arg;
  bt_sought *out;
  int more;                 /* folders that are not in seen */
  char bad[200], seen[200]; /* why the first file that is there will not do; the folders */
} bt_search;

/* False when it does not fit. */
static inline bool bt_text(char *to, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline bool bt_text(char *to, size_t n, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int k = vsnprintf(to, n, format, args);
  va_end(args);
  return k >= 0 && (size_t)k < n;
}

/* Paths come from the environment, and texts are shown in lines. */
static inline void bt_one_line(char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < ' ' || *text == 127) *text = '?';
}

/* Whether nobody but the user and root may write to a file and to the folders above it; its path has no links. In a folder like
 * /tmp everybody may write and nobody may touch what is another's, but beside the library itself they could put what it loads. */
static inline bool bt_trusted(const char *path, char *why, size_t n) {
  char at[PATH_MAX];
  if (!bt_text(at, sizeof at, "%s", path)) return bt_text(why, n, "%s: the path is too long", path), false;
  for (int above = 0;; above++) {
    struct stat st;
    if (stat(at, &st)) return bt_text(why, n, "%s: %s", at, strerror(errno)), false;
    if (st.st_uid != 0 && st.st_uid != getuid()) return bt_text(why, n, "%s belongs to somebody else", at), false;
    bool sticky = st.st_mode & S_ISVTX && above > 1;
    bool group = st.st_mode & S_IWGRP && st.st_gid != 0 && st.st_gid != getgid();
    if ((st.st_mode & S_IWOTH || group) && !sticky)
      return bt_text(why, n, "%s may be written by others (mode %04o)", at, (unsigned)st.st_mode & 07777), false;
    char *name = strrchr(at, '/');
    if (!at[1]) return true;
    name[name == at] = 0;
  }
}

/* Whether a file that is there will do. */
static inline bool bt_file(bt_search *s, const char *path, char *why, size_t n) {
  char real[PATH_MAX];
  struct stat st;
  if (!realpath(path, real) || stat(real, &st)) return bt_text(why, n, "%s: %s", path, strerror(errno)), false;
  if (!S_ISREG(st.st_mode)) return bt_text(why, n, "%s is not a file", path), false;
  if (!bt_trusted(real, why, n) || (s->take && !s->take(s->arg, real, why, n))) return false;
  return bt_text(s->out->path, sizeof s->out->path, "%s", real);
}

/* Looks into a folder. */
static inline bool bt_folder(bt_search *s, const char *dir) {
  char path[PATH_MAX], why[sizeof s->bad];
  size_t at = strlen(s->seen);
  if (at + strlen(dir) + 3 > sizeof s->seen) s->more++;
  else bt_text(s->seen + at, sizeof s->seen - at, "%s%s", at ? ", " : "", dir);
  for (const char *const *name = s->w->names; *name; name++) {
    if (!bt_text(path, sizeof path, "%s/%s", dir, *name) || access(path, F_OK)) continue;
    if (bt_file(s, path, why, sizeof why)) return true;
    if (!*s->bad) memcpy(s->bad, why, sizeof why);
  }
  return false;
}

static inline int bt_python(const struct dirent *e) { return !strncmp(e->d_name, "python3", 7); }

/* Looks into the wheels below a Python environment. */
static inline bool bt_wheels(bt_search *s, const char *root) {
  char lib[PATH_MAX], dir[PATH_MAX];
  struct dirent **python = NULL;
  struct stat st;
  bool found = false;
  int n = bt_text(lib, sizeof lib, "%s/lib", root) ? scandir(lib, &python, bt_python, alphasort) : 0;
  for (const char *const *wheel = s->w->wheels; *wheel; wheel++)
    for (int i = 0; i < n && !found; i++)
      found = bt_text(dir, sizeof dir, "%s/%s/site-packages/nvidia/%s/lib", lib, python[i]->d_name, *wheel) && !stat(dir, &st) &&
              bt_folder(s, dir);
  for (int i = 0; i < n; i++) free(python[i]);
  free(python);
  return found;
}

/* Looks beside libboost_cuda.so, into environments there, and into the one that it is in: …/lib/python3.x/site-packages/… */
static inline bool bt_beside(bt_search *s, const char *own) {
  static const char *const environments[] = {"/venv", "/cuda", "/../.venv", "/../venv"};
  char root[PATH_MAX];
  if (bt_folder(s, own)) return true;
  for (size_t i = 0; i < sizeof environments / sizeof *environments; i++)
    if (bt_text(root, sizeof root, "%s%s", own, environments[i]) && bt_wheels(s, root)) return true;
  const char *in = strstr(own, "/lib/python3");
  return in && bt_text(root, sizeof root, "%.*s", (int)(in - own), own) && bt_wheels(s, root);
}

/* Looks into the folders that the environment names; relative ones are nobody's. */
static inline bool bt_environment(bt_search *s) {
  char dir[PATH_MAX];
  const char *root = getenv("VIRTUAL_ENV");
  if (root && *root == '/' && bt_wheels(s, root)) return true;
  root = getenv("CONDA_PREFIX");
  if (root && *root == '/' && (bt_wheels(s, root) || (bt_text(dir, sizeof dir, "%s/lib", root) && bt_folder(s, dir)))) return true;
  const char *list = getenv("LD_LIBRARY_PATH");
  for (size_t n; list && *list; list += n + (list[n] == ':')) {
    n = strcspn(list, ":");
    if (n && *list == '/' && bt_text(dir, sizeof dir, "%.*s", (int)n, list) && bt_folder(s, dir)) return true;
  }
  for (int i = 0; i < 2; i++) {
    root = s->w->home[i] ? getenv(s->w->home[i]) : NULL;
    if (!root || *root != '/') continue;
    if (bt_text(dir, sizeof dir, "%s/lib64", root) && bt_folder(s, dir)) return true;
    if (bt_text(dir, sizeof dir, "%s/lib", root) && bt_folder(s, dir)) return true;
  }
  return false;
}

static inline bool bt_system(bt_search *s) {
  static const char *const places[] = {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                       "/usr/lib64"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (bt_folder(s, places[i])) return true;
  return false;
}

/* The one at a path that somebody named, and no other. */
static inline bool bt_named(bt_search *s, const char *path, bool by_variable) {
  char why[400] = "it is not an absolute path"; /* which keeps the loader from looking elsewhere */
  if (*path == '/' && bt_file(s, path, why, sizeof why)) return true;
  const char *before = *path == '/' ? "" : path, *colon = *path == '/' ? "" : ": ";
  if (by_variable)
    bt_text(s->out->why, sizeof s->out->why, "$%s: %.200s%s%s. Correct it, or unset it for the usual places", s->w->variable,
            before, colon, why);
  else bt_text(s->out->why, sizeof s->out->why, "%.200s%s%s", before, colon, why);
  return false;
}

/* Looks for a library: at path where that is given, else where its variable names, else in the usual places, of which those
 * beside libboost_cuda.so, in the folders own (the last is NULL), are the first. take opens what may be trusted; NULL: that it
 * lies there is enough. False: out says why. */
static inline bool bt_seek(const bt_wanted *w, const char *path, const char *const *own, bt_take take, void *arg, bt_sought *out) {
  bt_search s = {w, take, arg, out, 0, "", ""};
  char more[32] = "";
  bool by_variable = !path || !*path;
  *out->path = *out->why = 0;
  if (by_variable) path = getenv(w->variable);
  bool named = path && *path, found = named && bt_named(&s, path, by_variable);
  for (; !named && !found && *own; own++) found = bt_beside(&s, *own);
  if (found || (!named && (bt_environment(&s) || bt_system(&s)))) return true;
  if (s.more) bt_text(more, sizeof more, " and %d more", s.more);
  if (!named)
    bt_text(out->why, sizeof out->why, "%s %s%s; looked in %s%s. %s, or name its path in $%s", w->names[0],
            *s.bad ? "is not used: " : "was not found", s.bad, s.seen, more, w->install, w->variable);
  bt_one_line(out->why);
  return false;
}
#endif
