package cuda

/*
#include <dlfcn.h>
#include <stdio.h>

typedef int (*get_int)(int *);
typedef int (*init)(unsigned);

// What NVIDIA's driver says: its version as 13000, how many cards are visible. 0, or what is wrong: 1 there is none, 2 it does not start (code).
static int driver(int *version, int *devices, int *code, char *path, size_t n) {
  void *h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!h) return 1;
  init start = (init)dlsym(h, "cuInit");
  get_int of = (get_int)dlsym(h, "cuDriverGetVersion"), count = (get_int)dlsym(h, "cuDeviceGetCount");
  Dl_info info;
  if (!start || !of || !count) return 1;
  if (dladdr((void *)start, &info) && info.dli_fname) snprintf(path, n, "%s", info.dli_fname);
  if (of(version)) *version = 0;
  *code = start(0);
  if (!*code) *code = count(devices);
  return *code ? 2 : 0;
}

*/
import "C"

import (
	"errors"
	"fmt"
	"os"
)

// Driver is what NVIDIA's driver says of this machine.
type Driver struct {
	Version string // of CUDA that it is for
	Path    string
	Cards   int // that are visible
}

// ErrNoDriver is wrapped when there is no NVIDIA driver.
var ErrNoDriver = errors.New("no NVIDIA driver here (libcuda.so.1 cannot be opened)")

// noDevice is CUDA_ERROR_NO_DEVICE.
const noDevice = 100

// FindDriver asks the driver. A machine without cards, or whose cards are hidden, has a driver with none.
func FindDriver() (Driver, error) {
	var version, devices, code C.int
	var path [1024]C.char
	switch C.driver(&version, &devices, &code, &path[0], C.size_t(len(path))) {
	case 1:
		return Driver{}, ErrNoDriver
	case 2:
		if code != noDevice {
			return Driver{}, fmt.Errorf("the NVIDIA driver does not start (code %d): its kernel module may be missing or of another version; nvidia-smi says more", int(code))
		}
	}
	return Driver{Version: fmt.Sprintf("%d.%d", int(version)/1000, int(version)%1000/10), Path: C.GoString(&path[0]), Cards: int(devices)}, nil
}

// String is the version and the path.
func (d Driver) String() string { return fmt.Sprintf("for CUDA %s (%s)", d.Version, d.Path) }

// Hidden says how cards are hidden from this process; empty: they are not.
func Hidden() string {
	if v, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return fmt.Sprintf("CUDA_VISIBLE_DEVICES=%s", v)
	}
	return ""
}
