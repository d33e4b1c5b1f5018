package cuda

/*
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>

typedef int (*get_int)(int *);
typedef int (*init)(unsigned);

// What NVIDIA's driver says: its version as 13000, how many cards are visible. 0, or what is wrong: 1 there is none, 2 it does not start (code).
static int driver(const char *name, int *version, int *devices, int *code, char *path, size_t n) {
  void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL);
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

static void open_foreign(const char *path) { dlopen(path, RTLD_NOW | RTLD_LOCAL); }

// Signals of a crash end the process, as in a program without Go, whose runtime would print all its stacks.
static void plain_signals(void) {
  static const int all[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) signal(all[i], SIG_DFL);
}
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"boost-tui/internal/loader"
)

// Driver is what NVIDIA's driver says of this machine.
type Driver struct {
	Version string // of CUDA that it is for
	Path    string
	Cards   int // that are visible
}

// driverName is the driver's library.
const driverName = "libcuda.so.1"

// ErrNoDriver is wrapped when there is no NVIDIA driver.
var ErrNoDriver = errors.New("no NVIDIA driver (" + driverName + " cannot be opened)")

// noDevice is CUDA_ERROR_NO_DEVICE.
const noDevice = 100

// FindDriver asks the driver, in a process of its own. A machine without cards, or whose cards are hidden, has a driver with none.
func FindDriver() (Driver, error) {
	if NoDriver() {
		return Driver{}, ErrNoDriver
	}
	a := Examine(context.Background(), Question{Driver: true})
	return a.Driver, a.NoDriver
}

// NoDriver reports, in no time, that there is no driver. Where it cannot tell, it reports false: the driver must be asked.
func NoDriver() bool { return loader.Absent(driverName) }

// askDriver opens the driver's library in this process.
func askDriver() (Driver, error) {
	name := C.CString(driverName)
	defer C.free(unsafe.Pointer(name))
	var version, devices, code C.int
	var path [1024]C.char
	switch C.driver(name, &version, &devices, &code, &path[0], C.size_t(len(path))) {
	case 1:
		return Driver{}, ErrNoDriver
	case 2:
		if code != noDevice {
			return Driver{}, fmt.Errorf("the NVIDIA driver does not start (code %d): its kernel module may be missing or of another version; nvidia-smi says more", int(code))
		}
	}
	if devices < 0 || devices > mostCards {
		return Driver{}, fmt.Errorf("%s says that there are %d GPUs: it is not NVIDIA's driver", Shown(C.GoString(&path[0])), int(devices))
	}
	return Driver{Version: fmt.Sprintf("%d.%d", int(version)/1000, int(version)%1000/10), Path: Shown(C.GoString(&path[0])), Cards: int(devices)}, nil
}

// mostCards is more than a machine has.
const mostCards = 4096

// openForeign opens a library to see whether that can be survived.
func openForeign(path string) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	C.open_foreign(text)
}

func plainSignals() { C.plain_signals() }

// String is the version and the path.
func (d Driver) String() string { return fmt.Sprintf("for CUDA %s (%s)", d.Version, d.Path) }

// Hidden says how cards are hidden from this process; empty: they are not.
func Hidden() string {
	if v, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return "CUDA_VISIBLE_DEVICES=" + Shown(v)
	}
	return ""
}
