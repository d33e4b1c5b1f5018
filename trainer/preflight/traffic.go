package preflight

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/runner/protocol"
)

const (
	windows     = 5
	windowNanos = 80 * time.Millisecond
	// perSize is how long messages of one size may take.
	perSize   = 400 * time.Millisecond
	mostTimes = 40
	fewTimes  = 3
)

// sideOf is the side of the matrices whose product is timed: on a GPU a small one would time how fast it is asked, on an emulated one
// a large one takes seconds.
func sideOf(device string) int {
	switch device {
	case experiment.DeviceCUDA:
		return 4096
	case experiment.DeviceEmu:
		return 96
	}
	return 512
}

// sizes of the vectors of an all-reduce: what a small, a usual and a large message of a step are.
var sizes = []int64{64 << 10, 1 << 20, 16 << 20}

// open opens the device that the rank would train on.
func (p *probe) open(context.Context) (err error) {
	if p.dev, err = p.Open(p.Spec); err != nil {
		p.dev = nil
		return err
	}
	info := p.dev.Info()
	p.found.Node.CPU = info.Name
	if p.Spec.Experiment.Step.Device == experiment.DeviceCUDA {
		p.found.GPU = info.MemTotal
	}
	for i, l := range info.Libraries {
		if i == 0 || strings.Contains(l, "cuBLAS") { // a device names others beside it
			p.found.Node.BLAS = l
		}
	}
	return nil
}

// errNoDevice is of what needs a device where none was opened.
var errNoDevice = errors.New("the device did not open")

func (p *probe) do(name string, op kernels.Op) error {
	return p.dev.Do(kernels.Call{Stream: p.dev.Compute(), Label: kernels.Label{Layer: -1, Chunk: "preflight", Op: name}}, op)
}

// within times messages among the ranks of this host, on all hosts at once.
func (p *probe) within(ctx context.Context) error {
	h := p.here()
	if h.Ranks == 1 {
		return nil
	}
	links, err := p.reduce(ctx, fmt.Sprintf("preflight.within.%d", p.own), span(h.First, h.Ranks))
	p.found.Node.Within = links
	return err
}

func span(first, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = first + i
	}
	return out
}

// between times messages between neighbours in the ring of hosts, pairs that have no host in common at once: so that a
// slow path has two names.
func (p *probe) between(ctx context.Context) error {
	if len(p.hosts) == 1 || !p.leads() {
		return nil
	}
	var errs []error
	for round, pairs := range rounds(len(p.hosts)) {
		for _, x := range pairs {
			if p.own != x[0] && p.own != x[1] {
				continue
			}
			name := fmt.Sprintf("preflight.path.%d.%d.%d", round, x[0], x[1])
			links, err := p.reduce(ctx, name, []int{p.hosts[x[0]].First, p.hosts[x[1]].First})
			if p.own == x[0] {
				path := protocol.Path{A: x[0], B: x[1], Links: links}
				if err != nil {
					path.Text = cut(err.Error())
				}
				p.found.Path = append(p.found.Path, path)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("messages between %s and %s: %w", p.hosts[x[0]].Name, p.hosts[x[1]].Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// rounds are the paths of a ring of n hosts, in rounds in which no host stands twice.
func rounds(n int) [][][2]int {
	if n < 2 {
		return nil
	}
	out := make([][][2]int, 2, 3)
	for i := range n - 1 {
		out[i%2] = append(out[i%2], [2]int{i, i + 1})
	}
	switch {
	case n == 2:
		out = out[:1]
	case n%2 == 0:
		out[1] = append(out[1], [2]int{n - 1, 0})
	default:
		out = append(out, [][2]int{{n - 1, 0}})
	}
	return out
}

// together times messages over all ranks.
func (p *probe) together(ctx context.Context) error {
	if len(p.hosts) == 1 || p.Spec.World == len(p.hosts) && len(p.hosts) == 2 { // measured already
		return nil
	}
	links, err := p.reduce(ctx, "preflight.all", span(0, p.Spec.World))
	if p.Spec.Rank == 0 {
		p.found.All = links
	}
	return err
}

// reduce times all-reduces over some ranks. How often, and up to which size, all of them agree on by the slowest.
func (p *probe) reduce(ctx context.Context, name string, members []int) (links []protocol.Link, err error) {
	if p.dev == nil {
		return nil, errNoDevice
	}
	rank := -1
	for i, m := range members {
		if m == p.Spec.Rank {
			rank = i
		}
	}
	id, err := p.Identify(ctx, p.dev, name, members)
	if err != nil {
		return nil, err
	}
	comm, err := p.dev.Join(ctx, id, len(members), rank, name)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = comm.Abort() }) // who waits in it comes back
	defer func() {
		stop()
		if e := comm.Close(); err == nil {
			err = e
		}
		if ctx.Err() != nil && err != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}()
	largest := sizes[len(sizes)-1]
	buf, err := p.dev.Alloc(name, largest+64, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.dev.Free(buf)) }()
	host, err := p.dev.Host(4)
	if err != nil {
		return nil, err
	}
	r := &reduction{p: p, ctx: ctx, comm: comm, agree: kernels.Matrix(buf, largest, 1, 16, kernels.F32), host: host}
	for _, bytes := range sizes {
		l, again, err := r.size(kernels.Matrix(buf, 0, 1, int(bytes/4), kernels.F32))
		if err != nil {
			return links, err
		}
		links = append(links, l)
		if !again {
			break
		}
	}
	return links, nil
}

// reduction is a communicator under measurement.
type reduction struct {
	p     *probe
	ctx   context.Context
	comm  kernels.Comm
	agree kernels.View
	host  *kernels.Host
}

// size times all-reduces of a vector. again says whether a larger one would be done in time.
func (r *reduction) size(v kernels.View) (l protocol.Link, again bool, err error) {
	l = protocol.Link{Ranks: r.comm.Size(), Bytes: v.Bytes()}
	if _, err = r.once(v); err != nil { // pages, lanes
		return l, false, err
	}
	first, err := r.once(v)
	if err != nil {
		return l, false, err
	}
	if first, err = r.slowest(first); err != nil {
		return l, false, err
	}
	best := first
	for range min(mostTimes, max(fewTimes, int(perSize.Seconds()/first))) {
		if first > perSize.Seconds()*2 { // a link so slow is known well enough
			break
		}
		t, err := r.once(v)
		if err != nil {
			return l, false, err
		}
		best = min(best, t)
	}
	if l.Seconds, err = r.slowest(best); err != nil {
		return l, false, err
	}
	return l, l.Seconds < perSize.Seconds()/2, nil
}

func (r *reduction) once(v kernels.View) (float64, error) {
	began := time.Now()
	err := r.p.do("all-reduce", &kernels.Collective{Comm: r.comm, Parts: []kernels.Part{{Kind: kernels.AllReduce, Reduce: kernels.Max, Send: v}}})
	if err == nil {
		err = r.p.dev.Sync(r.ctx, r.p.dev.Compute())
	}
	return time.Since(began).Seconds(), err
}

// slowest is the largest of what the members say: the same on all.
func (r *reduction) slowest(seconds float64) (float64, error) {
	if err := r.p.do("fill", &kernels.Fill{X: r.agree, Value: float32(seconds)}); err != nil {
		return 0, err
	}
	if _, err := r.once(r.agree); err != nil {
		return 0, err
	}
	if err := r.p.do("download", &kernels.Download{Src: r.agree.ColRange(0, 1), Dst: r.host}); err != nil {
		return 0, err
	}
	if err := r.p.dev.Sync(r.ctx, r.p.dev.Compute()); err != nil {
		return 0, err
	}
	return max(1e-9, float64(math.Float32frombits(binary.LittleEndian.Uint32(r.host.Bytes)))), nil
}
