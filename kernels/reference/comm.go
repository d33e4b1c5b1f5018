package reference

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"boost-tui/kernels"
)

// group is the meeting point of the members of a communicator.
type group struct {
	n      int
	coarse bool // World.Coarse

	mu      sync.Mutex
	cond    *sync.Cond
	joined  int
	arrived int
	turn    int // collectives finished
	slots   [][]operands
	mail    map[ends][][]matrix // what was sent and not yet taken, by sender and receiver
	err     error
}

// ends of a transfer.
type ends struct{ from, to int }

// operands are one member's part of a collective.
type operands struct {
	kind       kernels.CollectiveKind
	reduce     kernels.Reduction
	root       int
	send, recv matrix // one row each
}

type comm struct {
	group *group
	name  string
	rank  int
}

// Join implements kernels.Device.
func (d *Device) Join(ctx context.Context, id kernels.UID, n, rank int, name string) (kernels.Comm, error) {
	if n < 1 || rank < 0 || rank >= n {
		return nil, d.fail("join", kernels.Label{}, kernels.ErrInvalid, fmt.Sprintf("rank %d of %d", rank, n))
	}
	g, err := d.world.group(id, n)
	if err != nil {
		return nil, d.fail("join", kernels.Label{}, kernels.ErrComm, err.Error())
	}
	stop := context.AfterFunc(ctx, g.wake)
	defer stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.joined++
	g.cond.Broadcast()
	for g.joined < n && g.err == nil {
		if err := ctx.Err(); err != nil {
			g.joined--
			return nil, fmt.Errorf("reference: join %s as rank %d of %d: %w", name, rank, n, err)
		}
		g.cond.Wait()
	}
	if g.err != nil {
		return nil, g.err
	}
	return &comm{group: g, name: name, rank: rank}, nil
}

func (w *World) group(id kernels.UID, n int) (*group, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.groups[id]; g != nil {
		if g.n != n {
			return nil, fmt.Errorf("communicator of %d ranks joined as one of %d", g.n, n)
		}
		return g, nil
	}
	g := &group{n: n, coarse: w.Coarse, slots: make([][]operands, n), mail: map[ends][][]matrix{}}
	g.cond = sync.NewCond(&g.mu)
	if w.groups == nil {
		w.groups = map[kernels.UID]*group{}
	}
	w.groups[id] = g
	return g, nil
}

func (g *group) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cond.Broadcast()
}

func (c *comm) Name() string { return c.name }
func (c *comm) Rank() int    { return c.rank }
func (c *comm) Size() int    { return c.group.n }
func (c *comm) Close() error { return nil }

func (c *comm) Status() error {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	return c.group.err
}

func (c *comm) Abort() error {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	if c.group.err == nil {
		c.group.err = fmt.Errorf("communicator %s: %w", c.name, kernels.ErrAborted)
	}
	c.group.cond.Broadcast()
	return nil
}

func (d *Device) collective(op *kernels.Collective) error {
	c, ok := op.Comm.(*comm)
	if !ok {
		return fmt.Errorf("communicator of another device: %w", kernels.ErrInvalid)
	}
	parts := make([]operands, len(op.Parts))
	for i, p := range op.Parts {
		parts[i] = operands{kind: p.Kind, reduce: p.Reduce, root: p.Root, send: d.flat(p.Send)}
		if !p.Recv.IsZero() {
			parts[i].recv = d.flat(p.Recv)
		}
	}
	if err := d.hand(); err != nil {
		return err
	}
	return c.group.meet(c.rank, parts)
}

// meet waits for every member; the last one to come does the work for all.
func (g *group) meet(rank int, parts []operands) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	g.slots[rank] = parts
	g.arrived++
	if g.arrived == g.n {
		g.arrived = 0
		g.turn++
		g.err = g.work()
		g.cond.Broadcast()
		return g.err
	}
	for turn := g.turn; g.turn == turn && g.err == nil; {
		g.cond.Wait()
	}
	return g.err
}

func (g *group) work() error {
	first := g.slots[0]
	for r, s := range g.slots {
		if len(s) != len(first) {
			return fmt.Errorf("rank %d brings %d parts, rank 0 %d: %w", r, len(s), len(first), kernels.ErrComm)
		}
		for i, p := range s {
			q := first[i]
			if p.kind != q.kind || p.reduce != q.reduce || p.root != q.root || p.send.cols != q.send.cols || p.send.half != q.send.half {
				return fmt.Errorf("part %d of rank %d is %s of %s elements, of rank 0 %s of %s: %w", i, r, p.kind, p.send.count(), q.kind, q.send.count(), kernels.ErrComm)
			}
		}
	}
	for i := range first {
		g.part(i)
	}
	return nil
}

func (g *group) part(i int) {
	p := g.slots[0][i]
	n := p.send.cols
	switch p.kind {
	case kernels.AllReduce:
		sum := g.combine(i)
		for _, s := range g.slots {
			s[i].send.take(sum)
		}
	case kernels.ReduceScatter:
		sum := g.combine(i)
		for r, s := range g.slots {
			s[i].recv.take(sum.span(r*n/g.n, (r+1)*n/g.n))
		}
	case kernels.AllGather:
		for _, to := range g.slots {
			for r, from := range g.slots {
				to[i].recv.span(r*n, (r+1)*n).take(from[i].send)
			}
		}
	case kernels.Broadcast:
		for _, s := range g.slots {
			s[i].send.take(g.slots[p.root][i].send)
		}
	}
}

// combine reduces part i over the ranks, in rank order. Sums of BF16 are rounded after every addition, as NCCL's are, which has an
// order of its own; a coarse world begins with the last rank.
func (g *group) combine(i int) matrix {
	slots := slices.Clone(g.slots)
	if g.coarse {
		slices.Reverse(slots)
	}
	out := slots[0][i].send.clone()
	for e := range out.cols {
		v := out.at(0, e)
		for _, s := range slots[1:] {
			w := s[i].send.at(0, e)
			if s[i].reduce == kernels.Max {
				v = math.Max(v, w)
			} else {
				v += w
			}
			if out.half {
				v = float64(kernels.FromBF16(kernels.ToBF16(float32(v))))
			}
		}
		out.set(0, e, v)
	}
	return out
}
