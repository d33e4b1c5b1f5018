package backend

/*
#cgo CFLAGS: -O3 -std=gnu11 -D_GNU_SOURCE
#cgo noescape t_open
#cgo nocallback t_open
#cgo noescape t_info
#cgo nocallback t_info
#cgo nocallback t_isa
#include "table.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"boost-tui/kernels"
)

// Options say what a table's open is told, and how its device behaves.
type Options struct {
	// Name is what errors and Info call the device: cpu, cuda, emulated.
	Name string
	// Device is the number of the card, Threads how many threads compute (0 counts as 1).
	Device, Threads int
	// Segment is memory that the ranks of this host share, nil where the device needs none; World and Rank are of it.
	Segment     *os.File
	World, Rank int
	// Spin is how often a thread that waits looks before it sleeps.
	Spin int
	// ISA is an instruction set, Mode what the emulator is asked for.
	ISA, Mode string
	// CUBLASLt and NCCL are paths of libraries; empty: the usual places.
	CUBLASLt, NCCL string
	// Stall is for how long a message waits for peers before it fails; 0: for good.
	Stall time.Duration
	// Link is an interconnect to imitate: every message takes at least as long as a ring over it.
	Link kernels.Link

	// Eager: the compute stream runs an operation before Do returns, so that an error is the operation's own.
	Eager bool
	// Mapped: device memory is memory of this process.
	Mapped bool
	// SinglePrecision: operations compute in fp32 and nothing else.
	SinglePrecision bool
}

// Device is a device over a table. It implements kernels.Device.
type Device struct {
	o       Options
	api     *C.bt_api
	ctx     *C.bt_ctx
	streams []*stream
	events  []*C.bt_event
	host    map[unsafe.Pointer]int64
	comms   []*Comm
	staging *kernels.Host // of copies that name memory which is not from Host; nil until there is one
	op      C.bt_op       // the operation being encoded; one goroutine at a time
	narrow  bool          // an operand of it has a type of 16 bits
	coll    C.bt_coll     // likewise
	heed    func(kernels.UnderWay)
}

var _ kernels.Device = (*Device)(nil)

// Open opens a device of a table, a const bt_api *. Close releases everything that was allocated on it.
func Open(table unsafe.Pointer, o Options) (*Device, error) {
	o.Threads = max(o.Threads, 1)
	opt := C.bt_options{device: C.int32_t(o.Device), threads: C.int32_t(o.Threads), segment_fd: -1,
		world: C.int32_t(o.World), rank: C.int32_t(o.Rank), spin: C.int32_t(o.Spin), stall_ms: C.int32_t(o.Stall.Milliseconds())}
	opt.size = C.uint32_t(unsafe.Sizeof(opt))
	if o.Segment != nil {
		opt.segment_fd = C.int32_t(o.Segment.Fd())
	}
	for _, f := range []struct {
		what, value string
		to          []C.char
	}{{"instruction set", o.ISA, opt.isa[:]}, {"mode", o.Mode, opt.mode[:]},
		{"path of cuBLASLt", o.CUBLASLt, opt.cublaslt[:]}, {"path of NCCL", o.NCCL, opt.nccl[:]}} {
		if len(f.value) >= len(f.to) {
			return nil, &kernels.Error{Backend: o.Name, Op: "open", Msg: fmt.Sprintf("%s %s: longer than %d bytes", f.what, f.value, len(f.to)-1), Err: kernels.ErrInvalid}
		}
		setText(f.to, f.value)
	}
	d := &Device{o: o, api: (*C.bt_api)(table), host: map[unsafe.Pointer]int64{}}
	var text [C.BT_ERRLEN]C.char
	if s := C.t_open(d.api, &opt, &d.ctx, &text[0], C.size_t(len(text))); s != 0 {
		return nil, &kernels.Error{Backend: o.Name, Op: "open", Msg: C.GoString(&text[0]), Err: sentinel(s)}
	}
	runtime.KeepAlive(o.Segment)
	d.streams = []*stream{{name: "compute", eager: o.Eager}}
	return d, nil
}

// Context is the device's bt_ctx, for a package that has functions of its own beside the table; nil after Close.
func (d *Device) Context() unsafe.Pointer { return unsafe.Pointer(d.ctx) }

// ISA is the instruction set in use, as the table names it.
func (d *Device) ISA() string {
	if d.ctx == nil {
		return ""
	}
	return C.GoString(C.t_isa(d.api, d.ctx))
}

// Info implements kernels.Device.
func (d *Device) Info() kernels.Info {
	i := kernels.Info{Backend: d.o.Name, Threads: d.o.Threads}
	if d.ctx == nil {
		return i
	}
	var c C.bt_info
	c.size = C.uint32_t(unsafe.Sizeof(c))
	if C.t_info(d.api, d.ctx, &c) != C.BT_OK {
		return i
	}
	i.Name, i.MemTotal, i.MemFree = C.GoString(&c.name[0]), int64(c.memory_total), int64(c.memory_free)
	for line := range strings.Lines(C.GoString(&c.text[0])) {
		what, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		i.Libraries = append(i.Libraries, strings.TrimSpace(what+" "+value))
	}
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
	C.t_close(d.api, d.ctx)
	d.ctx = nil
	return nil
}

// setText fills a zeroed C array, which stays terminated.
func setText(dst []C.char, s string) {
	for i := range min(len(s), len(dst)-1) {
		dst[i] = C.char(s[i])
	}
}
