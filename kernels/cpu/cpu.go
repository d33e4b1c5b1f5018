// Package cpu is the device that computes on the processor: C compiled into the binary, matrix products by a CBLAS library
// opened at run time (gonum's where there is none), collectives over memory that the ranks of a host share.
//
// The compute stream is eager: Do returns when the operation is done. Every other stream is a queue with an
// operating-system thread of its own. Results are the same bits from run to run; with another number of threads only
// products may differ, by rounding. A reduction between ranks gives the same bits on all of them.
//
// Start reading at Open. encode.go turns operations into what boost_backend.h describes; behind that header api.c is the way in.
package cpu

/*
#cgo CFLAGS: -O3 -std=gnu11 -D_GNU_SOURCE -I${SRCDIR}/../backend
#cgo LDFLAGS: -lm -ldl -lpthread
#cgo noescape t_open
#cgo nocallback t_open
#include "api.h"
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"boost-tui/kernels"
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

// Device is the cpu device of one rank. It implements kernels.Device.
type Device struct {
	api     *C.bt_api
	ctx     *C.bt_ctx
	blas    blas
	threads int
	world   int
	link    kernels.Link
	streams []*stream
	events  []*C.bt_event
	host    map[unsafe.Pointer]int64
	comms   []kernels.Comm
	node    *wire.Node // nil: no network
	calls   calls
	op      C.bt_op   // the operation being encoded; one goroutine at a time
	coll    C.bt_coll // likewise
}

var _ kernels.Device = (*Device)(nil)

// NewSegment makes the memory that the ranks of a host share. It holds nothing but a header until devices allocate.
// Ranks in other processes inherit the descriptor; the memory goes when the last of them has gone.
func NewSegment() (*os.File, error) {
	fd := C.bt_segment_new()
	if fd < 0 {
		return nil, fmt.Errorf("make the segment that ranks share: %w", os.NewSyscallError("memfd_create", syscallErrno(-fd)))
	}
	return os.NewFile(uintptr(fd), "boost-tui segment"), nil
}

// Open makes a device. Close releases everything that was allocated on it.
func Open(o Options) (*Device, error) {
	o.World, o.Threads = max(o.World, 1), max(o.Threads, 1)
	if len(o.ISA) > 15 {
		return nil, &kernels.Error{Backend: "cpu", Op: "open", Msg: "instruction set " + o.ISA, Err: kernels.ErrInvalid}
	}
	library, err := openBLAS(o.BLAS)
	if err != nil {
		return nil, &kernels.Error{Backend: "cpu", Op: "open", Msg: err.Error(), Err: kernels.ErrUnsupported}
	}
	if o.Segment == nil {
		if o.Segment, err = NewSegment(); err != nil {
			return nil, &kernels.Error{Backend: "cpu", Op: "open", Msg: err.Error(), Err: kernels.ErrNoMemory}
		}
		defer o.Segment.Close()
	}
	d := &Device{api: C.bt_cpu_backend(), blas: library, threads: o.Threads, world: o.World, link: o.Link, host: map[unsafe.Pointer]int64{}}
	opt := C.bt_options{threads: C.int32_t(o.Threads), segment_fd: C.int32_t(o.Segment.Fd()),
		world: C.int32_t(o.World), rank: C.int32_t(o.Rank)}
	opt.size = C.uint32_t(unsafe.Sizeof(opt))
	// Beside an imitated link compute goes on while messages are under way: whoever spins takes a core from it.
	if o.World*o.Threads <= runtime.NumCPU() && o.Link.IsZero() {
		opt.spin = spinPauses
	}
	for i := range len(o.ISA) {
		opt.isa[i] = C.char(o.ISA[i])
	}
	var text [512]C.char
	if s := C.t_open(d.api, &opt, &d.ctx, &text[0], C.size_t(len(text))); s != 0 {
		return nil, &kernels.Error{Backend: "cpu", Op: "open", Msg: C.GoString(&text[0]), Err: sentinel(s)}
	}
	runtime.KeepAlive(o.Segment)
	d.streams = []*stream{{}}
	if o.Network == nil {
		return d, nil
	}
	if d.node, err = wire.Listen(*o.Network); err != nil {
		return nil, errors.Join(&kernels.Error{Backend: "cpu", Op: "open", Msg: err.Error(), Err: kernels.ErrComm}, d.Close())
	}
	return d, nil
}

// Info implements kernels.Device.
func (d *Device) Info() kernels.Info {
	i := kernels.Info{Backend: "cpu", Name: processorName(), Threads: d.threads, Libraries: d.blas.describe()}
	if d.ctx != nil {
		i.Name += " (" + C.GoString(C.t_isa(d.api, d.ctx)) + ")"
	}
	i.MemTotal, i.MemFree = hostMemory()
	return i
}

// Close ends streams and communicators and releases all memory of the device. Later calls fail or do nothing.
func (d *Device) Close() error {
	if d.ctx == nil {
		return nil
	}
	for _, c := range d.comms {
		c.Close()
	}
	var err error
	if d.node != nil {
		err = d.node.Close()
	}
	C.t_close(d.api, d.ctx)
	d.ctx = nil
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
