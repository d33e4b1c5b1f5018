// Package cpu is the device that computes on the processor: C compiled into the binary, matrix products by a CBLAS library
// opened at run time (gonum's where there is none), collectives over memory that the ranks of a host share.
//
// The compute stream is eager: Do returns when the operation is done. Every other stream is a queue with an
// operating-system thread of its own. Results are the same bits from run to run; with another number of threads only
// products may differ, by rounding. A reduction between ranks gives the same bits on all of them.
//
// Start reading at Open. Package kernels/backend turns operations into what boost_backend.h describes; behind that header api.c
// is the way in. across.go is what groups on several hosts add.
package cpu

/*
#cgo CFLAGS: -O3 -std=gnu11 -D_GNU_SOURCE -I${SRCDIR}/../backend
#cgo LDFLAGS: -lm -ldl -lpthread
#include "api.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
	"boost-tui/kernels/wire"
)

// Options say how a device is opened. The zero value is a device by itself on one thread.
type Options struct {
	// Segment is the shared memory of the ranks of this host, from NewSegment. The device duplicates the descriptor.
	// nil: a private one, which no other rank can join.
	Segment *os.File
	// World is the number of ranks that share the segment (0 counts as 1), Rank this device's place among them.
	World, Rank int
	// Threads is how many threads compute, the caller's included; 0 counts as 1.
	Threads int
	// BLAS is "gonum", the absolute path of a CBLAS library, or "": $BOOST_BLAS, else the first of the usual libraries, else gonum.
	BLAS string
	// Network lets communicators have members on other hosts. nil: only ranks of the segment can be members.
	Network *wire.Options
	// Link is an interconnect to imitate: every message takes at least as long as a ring over it would need from the
	// moment when all its ranks have come. The stream sleeps meanwhile.
	Link kernels.Link
	// ISA forces an instruction set: base, avx2, avx512. "": the best that the processor has.
	ISA string
}

// spinPauses is how long a thread that waits for another spins before it sleeps: about 20 µs.
// Where there are fewer cores than threads it must not spin at all.
const spinPauses = 2000

// Device is the cpu device of one rank: the device of the table, products in Go where there is no library, and groups on several
// hosts. It implements kernels.Device.
type Device struct {
	*backend.Device
	blas    blas
	threads int
	groups  []*across
	node    *wire.Node // nil: no network
	calls   calls
}

var _ kernels.Device = (*Device)(nil)

// NewSegment makes the memory that the ranks of a host share. It holds nothing but a header until devices allocate.
// Ranks in other processes inherit the descriptor; the memory goes when the last of them has gone.
func NewSegment() (*os.File, error) {
	fd := C.bt_segment_new()
	if fd < 0 {
		return nil, fmt.Errorf("make the segment that ranks share: %w", os.NewSyscallError("memfd_create", syscall.Errno(-fd)))
	}
	return os.NewFile(uintptr(fd), "boost-tui segment"), nil
}

// Open makes a device. Close releases everything that was allocated on it.
func Open(o Options) (*Device, error) {
	o.World, o.Threads = max(o.World, 1), max(o.Threads, 1)
	library, err := openBLAS(o.BLAS)
	if err != nil {
		return nil, openError(err, kernels.ErrUnsupported)
	}
	if o.Segment == nil {
		if o.Segment, err = NewSegment(); err != nil {
			return nil, openError(err, kernels.ErrNoMemory)
		}
		defer o.Segment.Close()
	}
	with := backend.Options{Name: backendName, Threads: o.Threads, Segment: o.Segment, World: o.World, Rank: o.Rank, ISA: o.ISA, Link: o.Link,
		Eager: true, Mapped: true, SinglePrecision: true}
	// Beside an imitated link compute goes on while messages are under way: whoever spins takes a core from it.
	if o.World*o.Threads <= runtime.NumCPU() && o.Link.IsZero() {
		with.Spin = spinPauses
	}
	d := &Device{blas: library, threads: o.Threads}
	if d.Device, err = backend.Open(unsafe.Pointer(C.bt_cpu_backend()), with); err != nil {
		return nil, err
	}
	if o.Network == nil {
		return d, nil
	}
	if d.node, err = wire.Listen(*o.Network); err != nil {
		return nil, errors.Join(openError(err, kernels.ErrComm), d.Close())
	}
	return d, nil
}

// backendName is the device's in errors and Info.
const backendName = "cpu"

func openError(err, sentinel error) error {
	return &kernels.Error{Backend: backendName, Op: "open", Msg: err.Error(), Err: sentinel}
}

// Do implements kernels.Device: what is not done here, the table does.
func (d *Device) Do(c kernels.Call, op kernels.Op) error {
	switch e := op.(type) {
	case *kernels.Gemm:
		if d.blas.gonum && c.Stream == kernels.ComputeStream && e.D.DType == kernels.F32 && e.A.DType == kernels.F32 {
			if err := d.Ready(c, op); err != nil {
				return err
			}
			gonumGemm(e)
			return nil
		}
	case kernels.Message:
		if a, ok := e.Group().(*across); ok && a.dev == d {
			return d.across(c, a, e)
		}
	}
	return d.Device.Do(c, op)
}

// context is the table's, for the functions beside it.
func (d *Device) context() *C.bt_ctx { return (*C.bt_ctx)(d.Context()) }

// Info implements kernels.Device.
func (d *Device) Info() kernels.Info {
	i := kernels.Info{Backend: backendName, Name: processorName(), Threads: d.threads, Libraries: d.blas.describe()}
	if isa := d.ISA(); isa != "" {
		i.Name += " (" + isa + ")"
	}
	i.MemTotal, i.MemFree = hostMemory()
	return i
}

// Close implements kernels.Device.
func (d *Device) Close() error {
	if d.Context() == nil {
		return nil
	}
	for _, a := range d.groups {
		a.Close()
	}
	var err error
	if d.node != nil {
		err = d.node.Close()
	}
	err = errors.Join(err, d.Device.Close())
	d.calls.forget()
	return err
}

func processorName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// hostMemory is the machine's memory in bytes, all and available; 0 where it is unknown.
func hostMemory() (total, free int64) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(data)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			total = kib << 10
		} else if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			free = kib << 10
		}
	}
	return total, free
}
