package reference

import (
	"fmt"

	"boost-tui/kernels"
)

// send leaves a copy for the peer and goes on.
func (d *Device) send(op *kernels.Send) error {
	c, ok := op.Comm.(*comm)
	if !ok {
		return fmt.Errorf("communicator of another device: %w", kernels.ErrInvalid)
	}
	var copies []matrix
	for _, v := range op.Views {
		copies = append(copies, d.flat(v).clone())
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
		fits = int64(sent[i].cols) == op.Views[i].Len() && sent[i].half == (op.Views[i].DType == kernels.BF16)
	}
	if !fits {
		var wanted []matrix
		for _, v := range op.Views {
			wanted = append(wanted, d.flat(v))
		}
		g.err = fmt.Errorf("rank %d sends %s to rank %d, which takes %s: %w", op.Peer, shapes(sent),
			c.rank, shapes(wanted), kernels.ErrComm)
		g.cond.Broadcast()
		return g.err
	}
	for i, v := range op.Views {
		d.flat(v).take(sent[i])
	}
	return nil
}

// shapes is "views of [3 4 bf16] elements".
func shapes(list []matrix) string {
	var n []string
	for _, m := range list {
		n = append(n, m.count())
	}
	return fmt.Sprintf("views of %v elements", n)
}

// count is a row's number of elements, with the type where that is not the usual one.
func (m matrix) count() string {
	if m.half {
		return fmt.Sprintf("%d bf16", m.cols)
	}
	return fmt.Sprint(m.cols)
}

// clone is a copy of a row.
func (m matrix) clone() matrix {
	out := matrix{w: make([]uint32, m.cols), rows: 1, cols: m.cols, ld: m.cols, half: m.half}
	out.take(m)
	return out
}

// take copies a row of the same type.
func (m matrix) take(from matrix) {
	for i := range m.cols {
		m.setBits(0, i, from.bits(0, i))
	}
}

// span is the elements [lo, hi) of a row.
func (m matrix) span(lo, hi int) matrix {
	m.cols = hi - lo
	if m.half {
		m.first += lo
	} else {
		m.w = m.w[lo:]
	}
	return m
}
