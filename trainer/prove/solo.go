package prove

import (
	"context"
	"sync/atomic"

	"boost-tui/kernels"
)

// solo lets one rank of a group compute without the others: a message moves what the rank has of it to where the rank wants it, and
// is counted. Numbers are wrong then, shapes and times of what computes are right. It also adds up memory.
type solo struct {
	kernels.Device
	held, peak int64
	sent       map[string]*Messages // nil: nothing is counted
}

// Messages are the messages of one kind in one step of a rank.
type Messages struct {
	Op        string `json:"op"`
	Count     int    `json:"count"`
	Bytes     int64  `json:"bytes"`      // payload
	WireBytes int64  `json:"wire_bytes"` // that a ring sends from one rank
}

// alone is a group whose other members are not there.
type alone struct {
	name       string
	rank, size int
	aborted    atomic.Bool
}

// Name implements kernels.Comm.
func (c *alone) Name() string { return c.name }

// Rank implements kernels.Comm.
func (c *alone) Rank() int { return c.rank }

// Size implements kernels.Comm.
func (c *alone) Size() int { return c.size }

// Status implements kernels.Comm.
func (c *alone) Status() error {
	if c.aborted.Load() {
		return kernels.ErrAborted
	}
	return nil
}

// Abort implements kernels.Comm.
func (c *alone) Abort() error {
	c.aborted.Store(true)
	return nil
}

// Close implements kernels.Comm.
func (c *alone) Close() error { return nil }

// Join implements kernels.Device.
func (s *solo) Join(_ context.Context, _ kernels.UID, n, rank int, name string) (kernels.Comm, error) {
	return &alone{name: name, rank: rank, size: n}, nil
}

// Alloc implements kernels.Device.
func (s *solo) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	b, err := s.Device.Alloc(name, bytes, symmetric)
	if err == nil {
		s.held += b.Bytes
		s.peak = max(s.peak, s.held)
	}
	return b, err
}

// Free implements kernels.Device.
func (s *solo) Free(b *kernels.Buffer) error {
	err := s.Device.Free(b)
	if err == nil {
		s.held -= b.Bytes
	}
	return err
}

// Do implements kernels.Device.
func (s *solo) Do(at kernels.Call, op kernels.Op) error {
	m, ok := op.(kernels.Message)
	if !ok {
		return s.Device.Do(at, op)
	}
	if s.sent != nil {
		e := s.sent[op.Name()]
		if e == nil {
			e = &Messages{Op: op.Name()}
			s.sent[op.Name()] = e
		}
		e.Count++
		e.Bytes += m.Payload()
		e.WireBytes += m.WireBytes()
	}
	c, ok := op.(*kernels.Collective)
	if !ok {
		return nil
	}
	for _, p := range c.Parts {
		rank := c.Comm.Rank()
		if p.Recv.IsZero() || p.InPlace(rank) {
			continue
		}
		from, to := p.Send.Flat(), p.Recv.Flat()
		if n := from.Cols; p.Kind == kernels.AllGather {
			to = to.ColRange(rank*n, (rank+1)*n)
		} else {
			from = from.ColRange(rank*to.Cols, (rank+1)*to.Cols)
		}
		if err := s.Device.Do(at, &kernels.Copy{Src: from, Dst: to}); err != nil {
			return err
		}
	}
	return nil
}
