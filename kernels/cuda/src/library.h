// library.h - the libraries that are opened at run time: cuBLASLt, NCCL, the driver.
#pragma once
#include "internal.h"
#include "lt_api.h"
#include "nccl_api.h"
#include "places.h"

// One library: where it was found and what it says of itself, or in why what is missing, where it was looked for, what to do.
struct bt_library {
  std::string path, version, why;
  int number = 0; // the version as the library numbers it
  void *handle = nullptr;
  bool found() const { return why.empty(); }
};

struct bt_libraries {
  bt_library lt_file, nccl_file, driver;
  lt_api lt = {};
  nccl_api nccl = {};
};

// Opens what can be had; what is missing is told by found and why of each. paths: of bt_options, "": the usual places.
void bt_libraries_open(bt_libraries *, const char *cublaslt, const char *nccl);
void bt_libraries_close(bt_libraries *);
// Only the driver: found, its version as 13000 means 13.0.
bt_library bt_driver_find(void);

std::string bt_driver_too_old(const std::string &version); // what to say of it

// search.cu: opens the library at path, or "": the first that will do where places.h looks. why does not say what is looked for.
void *bt_library_search(const bt_wanted *, const char *path, bt_library *out);
// The functions of a library, as a table of pointers; false with why when one is missing.
bool bt_library_symbols(bt_library *, const bt_wanted *, const char *const *symbols, void **table, size_t n);

#ifdef BT_EMU
// emu/fake_lt.cc, emu/fake_nccl.cc: what stands for the libraries under the emulator, unless a path is given.
const lt_api *bt_fake_lt(void);
const nccl_api *bt_fake_nccl(void);
// emu/fake_machine.cc: takes the words of a mode; nullptr, or what is wrong with them.
const char *bt_fake_mode(const char *words);
void bt_fake_capability(int *major, int *minor);
#endif
