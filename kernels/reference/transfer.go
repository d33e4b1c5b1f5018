package reference

import (
	"fmt"
	"slices"

	"boost-tui/kernels"
)

// send leaves a copy for the peer and goes on.
func (d *Device) send(op *kernels.Send) error {
	c, ok := op.Comm.(*comm)
	if !ok {
		return fmt.Errorf("communicator of another device: %w", kernels.ErrInvalid)
	}
	var copies [][]uint32
	for _, v := range op.Views {
		copies = append(copies, slices.Clone(d.words(v)))
	}
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	to := ends{c.rank, op.Peer}
	g.mail[to] = append(g.mail[to], copies)
	g.cond.Broadcast()
	return nil
}

// receive waits for what the peer sends next.
func (d *Device) receive(op *kernels.Recv) error {
	c, ok := op.Comm.(*comm)
	if !ok {
		return fmt.Errorf("communicator of another device: %w", kernels.ErrInvalid)
	}
	if err := d.hand(); err != nil {
		return err
	}
	g, from := c.group, ends{op.Peer, c.rank}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.err == nil && len(g.mail[from]) == 0 {
		g.cond.Wait()
	}
	if g.err != nil {
		return g.err
	}
	sent := g.mail[from][0]
	g.mail[from] = g.mail[from][1:]
	fits := len(sent) == len(op.Views)
	for i := 0; fits && i < len(sent); i++ {
		fits = int64(len(sent[i])) == op.Views[i].Len()
	}
	if !fits {
		g.err = fmt.Errorf("rank %d sends %s to rank %d, which takes %s: %w", op.Peer, lengths(sent, func(w []uint32) int64 { return int64(len(w)) }),
			c.rank, lengths(op.Views, kernels.View.Len), kernels.ErrComm)
		g.cond.Broadcast()
		return g.err
	}
	for i, v := range op.Views {
		copy(d.words(v), sent[i])
	}
	return nil
}

// lengths is "views of [3 4] elements".
func lengths[T any](list []T, length func(T) int64) string {
	var n []int64
	for _, x := range list {
		n = append(n, length(x))
	}
	return fmt.Sprintf("views of %v elements", n)
}
