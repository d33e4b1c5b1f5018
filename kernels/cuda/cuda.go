// Package cuda opens the devices whose code is CUDA: libboost_cuda.so, which computes on NVIDIA's GPUs, and the same sources
// compiled for the processor by the emulator, which needs nothing but g++. Both answer the table of kernels/backend, and both
// are libraries that are opened at run time: the program itself knows no CUDA.
//
// Start reading at Find and Load; emulated.go compiles. The sources lie in src (every kernel, one set for nvcc, g++ and clang's
// check) and emu (what stands for CUDA, cuBLASLt and NCCL on the processor).
package cuda

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -I${SRCDIR}/../backend
#cgo LDFLAGS: -ldl
#include "table.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { CANNOT_OPEN = 1, NO_SYMBOL, OTHER_ABI };

// The table of a library, or what is wrong: the text of dlerror belongs to the thread, so that it is read here. What was opened
// stays open: streams and NCCL have threads in it.
static const bt_api *load(const char *path, int *wrong, char *err, size_t n) {
  void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!h) {
    *wrong = CANNOT_OPEN;
    snprintf(err, n, "%s", dlerror());
    return NULL;
  }
  bt_backend_fn f = (bt_backend_fn)dlsym(h, "bt_backend");
  if (!f) {
    *wrong = NO_SYMBOL;
    dlclose(h);
    return NULL;
  }
  const bt_api *a = f(BT_ABI, sizeof(bt_api));
  if (a && a->abi == BT_ABI && a->size >= offsetof(bt_api, info)) return a;
  *wrong = OTHER_ABI;
  if (a && a->abi != BT_ABI) snprintf(err, n, "its ABI is %u, not %d", a->abi, BT_ABI);
  else if (a) snprintf(err, n, "its table has %u bytes, of which version %d of the ABI needs %zu", a->size, BT_ABI, offsetof(bt_api, info));
  else snprintf(err, n, "it has none for version %d of the ABI", BT_ABI);
  dlclose(h);
  return NULL;
}

// The first function of the table that is missing, of those that must be there; NULL: none is.
static const char *lacks(const bt_api *a) {
#define CHECK(f) \
  if (!a->f) return #f
  CHECK(open); CHECK(close); CHECK(error); CHECK(isa); CHECK(alloc); CHECK(free); CHECK(host_alloc); CHECK(host_free);
  CHECK(stream_new); CHECK(stream_issued); CHECK(stream_wait); CHECK(stream_query); CHECK(stream_error);
  CHECK(event_new); CHECK(event_record); CHECK(event_time); CHECK(launch);
  CHECK(comm_uid); CHECK(comm_join); CHECK(comm_ready); CHECK(comm_status); CHECK(comm_end);
#undef CHECK
  return NULL;
}

// A table as this program knows it: of a library that is a little older, what it does not have is absent.
static const bt_api *whole(const bt_api *a) {
  if (a->size >= sizeof *a) return a;
  bt_api *w = calloc(1, sizeof *w);
  if (w) {
    __builtin_memcpy(w, a, a->size);
    w->size = sizeof *w;
  }
  return w;
}
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
)

// Names of the devices, in experiments, errors and Info.
const (
	Name         = "cuda"
	EmulatedName = "emulated"
)

// Library is a library with a table of functions. It stays open until the process ends.
type Library struct {
	Path  string
	name  string // of the device
	table unsafe.Pointer
}

// Load opens the library at an absolute path. A library of CUDA computes on GPUs; name is what its devices are called.
func Load(path, name string) (*Library, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("library %q: give an absolute path", path)
	}
	real, err := backend.Trusted(path)
	if err != nil {
		return nil, fmt.Errorf("%s device: library %s is not used: %w", name, Shown(path), shown{err})
	}
	text := C.CString(real)
	defer C.free(unsafe.Pointer(text))
	var wrong C.int
	var reason [1024]C.char
	a := C.load(text, &wrong, &reason[0], C.size_t(len(reason)))
	if a == nil {
		return nil, fmt.Errorf("%s device: library %s: %s", name, Shown(path), refusal(wrong, C.GoString(&reason[0])))
	}
	if f := C.lacks(a); f != nil {
		return nil, fmt.Errorf("%s device: library %s lacks %s: it was built from other sources than this program; %s", name, Shown(path), C.GoString(f), rebuild)
	}
	if a = C.whole(a); a == nil {
		return nil, fmt.Errorf("%s device: library %s: no memory", name, Shown(path))
	}
	return &Library{Path: real, name: name, table: unsafe.Pointer(a)}, nil
}

// rebuild is what to do about a library of another version.
const rebuild = "make cuda builds it anew"

func refusal(wrong C.int, reason string) string {
	switch wrong {
	case C.NO_SYMBOL:
		return "it has no function bt_backend, so it is not boost-tui's"
	case C.OTHER_ABI:
		return fmt.Sprintf("it is of another version than this program (%s): %s", reason, rebuild)
	}
	return "it cannot be opened: " + Shown(strings.TrimSpace(reason))
}

// Options say how a device is opened.
type Options struct {
	Device int           // number of the card among those that are visible
	Stall  time.Duration // a message whose peers have not come for so long fails; 0: never
	Mode   string        // of the emulator
	// CUBLASLt and NCCL are paths of libraries; empty: the usual places.
	CUBLASLt, NCCL string
	World, Rank    int // of this host
}

// Open opens a device of the library.
func (l *Library) Open(o Options) (*backend.Device, error) {
	return backend.Open(l.table, backend.Options{Name: l.name, Device: o.Device, Stall: o.Stall, Mode: o.Mode,
		CUBLASLt: o.CUBLASLt, NCCL: o.NCCL, World: max(o.World, 1), Rank: o.Rank})
}

var _ kernels.Device = (*backend.Device)(nil)

// Finding is one thing that a library needs, or could use.
type Finding struct {
	What  string `json:"what"`
	Value string `json:"value,omitempty"` // version and path
	Lacks string `json:"lacks,omitempty"` // what is missing, and for what; empty: it is there
}

// Probe is what a library finds on this machine.
type Probe struct {
	Devices  int
	Findings []Finding
}

// Probe looks at what the library needs, without opening a device for long.
func (l *Library) Probe() (Probe, error) {
	var o C.bt_options
	o.size = C.uint32_t(unsafe.Sizeof(o))
	o.segment_fd = -1
	p := (*C.bt_probe)(C.calloc(1, C.sizeof_bt_probe))
	defer C.free(unsafe.Pointer(p))
	p.size = C.sizeof_bt_probe
	if s := C.t_probe((*C.bt_api)(l.table), &o, p); s != C.BT_OK && s != C.BT_EUNSUPPORTED {
		return Probe{}, fmt.Errorf("%s device: library %s cannot say what it needs (status %d)", l.name, Shown(l.Path), int(s))
	}
	if p.devices < 0 || p.devices > mostCards {
		return Probe{}, fmt.Errorf("%s device: library %s says that there are %d GPUs: it is broken; %s", l.name, Shown(l.Path), int(p.devices), rebuild)
	}
	p.text[len(p.text)-1] = 0
	out := Probe{Devices: int(p.devices)}
	for line := range strings.Lines(C.GoString(&p.text[0])) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(f) < 3 {
			continue
		}
		if f[2] == "ok" {
			f[2] = ""
		}
		out.Findings = append(out.Findings, Finding{Shown(f[0]), Shown(f[1]), Shown(f[2])})
		if l.name == Name && f[0] == "driver" && f[1] == EmulatedName {
			return Probe{}, fmt.Errorf("%s device: library %s is the emulated device's, which has no GPU: %s builds the real one", l.name, Shown(l.Path), "make cuda")
		}
	}
	return out, nil
}
