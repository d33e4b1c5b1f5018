package profiler

import (
	"context"
	"errors"
	"testing"

	"boost-tui/kernels"
)

// fake is a device with a clock of its own: operations take what their view's rows say, in
// nanoseconds. The compute stream is eager, the others are queues.
type fake struct {
	kernels.Device // nil: what is not implemented is not called
	now            int64
	streams        []int64 // end of each stream's work
	events         []kernels.EventTime
	records        int
	wait           int64 // of the next collective
	waited         []int64
	fail           error
}

func newFake() *fake {
	return &fake{now: 1764430000000000000, streams: make([]int64, 1), waited: make([]int64, 1)}
}

func (f *fake) NewEvent() (kernels.Event, error) {
	f.events = append(f.events, kernels.EventTime{})
	return kernels.Event(len(f.events) - 1), nil
}

func (f *fake) NewStream(string) (kernels.Stream, error) {
	f.streams, f.waited = append(f.streams, 0), append(f.waited, 0)
	return kernels.Stream(len(f.streams) - 1), nil
}

func (f *fake) at(s kernels.Stream) *int64 {
	if s == kernels.ComputeStream {
		f.streams[0] = f.now
	}
	f.streams[s] = max(f.streams[s], f.now)
	return &f.streams[s]
}

func (f *fake) Record(e kernels.Event, s kernels.Stream) error {
	f.records++
	f.events[e] = kernels.EventTime{AtNanos: *f.at(s), WaitNanos: f.waited[s]}
	f.waited[s] = 0
	return nil
}

func (f *fake) Wait(s kernels.Stream, e kernels.Event) error {
	p := f.at(s)
	*p = max(*p, f.events[e].AtNanos)
	if s == kernels.ComputeStream {
		f.now = *p
	}
	return nil
}

func (f *fake) Do(c kernels.Call, op kernels.Op) error {
	if f.fail != nil {
		return f.fail
	}
	var cost int64
	switch o := op.(type) {
	case *kernels.Gemm:
		cost = int64(o.D.Rows)
	case *kernels.Fill:
		cost = int64(o.X.Rows)
	case *kernels.Collective:
		cost = int64(o.Parts[0].Send.Rows)
		f.waited[c.Stream] = f.wait
	}
	*f.at(c.Stream) += cost
	if c.Stream == kernels.ComputeStream {
		f.now = f.streams[0]
	}
	return nil
}

func (f *fake) EventTime(e kernels.Event) (kernels.EventTime, error) { return f.events[e], nil }

func (f *fake) Sync(context.Context, kernels.Stream) error { return nil }

type fakeComm struct {
	kernels.Comm
	name string
}

func (c *fakeComm) Name() string { return c.name }
func (c *fakeComm) Size() int    { return 2 }
func (c *fakeComm) Rank() int    { return 0 }

func rows(n int64) kernels.View {
	return kernels.View{Buf: &kernels.Buffer{}, Rows: int(n), Cols: 1, LD: 1}
}

func gemm(n int64) kernels.Op { return &kernels.Gemm{A: rows(n), B: rows(1), D: rows(n)} }

func fill(n int64) kernels.Op { return &kernels.Fill{X: rows(n)} }

var tp = &fakeComm{name: "tp"}

func reduce(n int64) kernels.Op {
	return &kernels.Collective{Comm: tp, Parts: []kernels.Part{{Kind: kernels.AllReduce, Send: rows(n)}}}
}

// run is a driver of the wrapped device that fails the test on an error.
type run struct {
	t    testing.TB
	f    *fake
	d    *Device
	side kernels.Stream
	ev   kernels.Event
}

func newRun(t testing.TB) *run {
	f := newFake()
	d, err := Wrap(f, Options{Events: 4})
	r := &run{t: t, f: f, d: d}
	r.ok(err)
	r.side, err = d.NewStream("tp")
	r.ok(err)
	r.ev, err = d.NewEvent()
	r.ok(err)
	return r
}

func (r *run) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) do(s kernels.Stream, p kernels.Phase, chunk, name string, op kernels.Op) {
	r.t.Helper()
	r.ok(r.d.Do(kernels.Call{Stream: s, Label: kernels.Label{Phase: p, Chunk: chunk, Op: name}}, op))
}

// start issues a collective after the compute so far; wait makes compute wait for it.
func (r *run) start(p kernels.Phase, name string, nanos, wait int64) {
	r.t.Helper()
	r.ok(r.d.Record(r.ev, kernels.ComputeStream))
	r.ok(r.d.Wait(r.side, r.ev))
	r.f.wait = wait
	r.do(r.side, p, "c", name, reduce(nanos))
	r.ok(r.d.Record(r.ev, r.side))
}

func (r *run) join() {
	r.t.Helper()
	r.ok(r.d.Wait(kernels.ComputeStream, r.ev))
}

func (r *run) host(nanos int64) { r.f.now += nanos }

var errFake = errors.New("the device is gone")
