package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"boost-tui/internal/handshake"
	"boost-tui/kernels"
)

const (
	// segment is how many elements are read, combined and sent on at a time: the next ones are on their way meanwhile.
	segment = 1 << 15
	// inline is up to how many bytes a message is written by whoever reads too: so much always fits into the buffers of
	// the system, so that all ranks of a ring can write before any of them reads.
	inline = 16 << 10
	// direct is up to how many bytes every rank gets everybody's elements and reduces them itself: half the steps.
	direct = 4 << 10

	maxCall = 4 << 10
)

// Combine makes dst the reduction of dst and src.
type Combine func(dst, src []float32, how kernels.Reduction)

// Block is elements in several places.
type Block [][]float32

func (b Block) bytes() int {
	n := 0
	for _, x := range b {
		n += 4 * len(x)
	}
	return n
}

// segments calls f for all of the block, piece by piece.
func (b Block) segments(f func(x []float32) error) error {
	for _, x := range b {
		for len(x) > 0 {
			n := min(len(x), segment)
			if err := f(x[:n]); err != nil {
				return err
			}
			x = x[n:]
		}
	}
	return nil
}

// Ring is one member's place in a ring of some members of a group. Every element is reduced along one path, so that
// all members end with the same bits. It is used by one goroutine, and all members make the same calls.
type Ring struct {
	g        *Group
	out      *Out
	in       *In
	index, n int
	combine  Combine
	scratch  []float32
}

// Ring makes a ring of the members listed, in their order; this one is among them.
func (g *Group) Ring(ctx context.Context, members []int, lane uint16, combine Combine) (*Ring, error) {
	r := &Ring{g: g, n: len(members), index: -1, combine: combine}
	for i, m := range members {
		if m == g.rank {
			r.index = i
		}
	}
	if r.index < 0 {
		return nil, fmt.Errorf("rank %d of %s is not in the ring of ranks %v", g.rank, g.name, members)
	}
	if r.n == 1 {
		return r, nil
	}
	var err error
	if r.out, err = g.To(ctx, members[r.mod(r.index+1)], lane); err == nil {
		r.in, err = g.From(ctx, members[r.mod(r.index-1)], lane)
	}
	return r, err
}

func (r *Ring) mod(i int) int { return ((i % r.n) + r.n) % r.n }

// Agree tells the next member what this one is about to do, and compares it with what the one before is. It gives
// what that one said, and whether they are the same, and how long this one waited for it.
func (r *Ring) Agree(call []byte) (other []byte, same bool, wait time.Duration, err error) {
	if r.n == 1 {
		return call, true, 0, nil
	}
	if len(call) > maxCall {
		return nil, false, 0, fmt.Errorf("a call described by %d bytes: %w", len(call), handshake.ErrOversize)
	}
	began := time.Now()
	if err = r.out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(call))), call); err != nil {
		return nil, false, 0, err
	}
	if other, err = r.in.readSized(maxCall); err != nil {
		return nil, false, 0, err
	}
	return other, bytes.Equal(call, other), time.Since(began), nil
}

// readSized reads bytes behind their number.
func (i *In) readSized(limit int) ([]byte, error) {
	var head [4]byte
	if err := i.Read(head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(limit) {
		err := fmt.Errorf("rank %d of %s announces %d bytes, at most %d: %w", i.from, i.g.name, n, limit, handshake.ErrOversize)
		i.g.Fail(err)
		return nil, err
	}
	b := make([]byte, n)
	return b, i.Read(b)
}

// AllReduce makes x the reduction of all members' x.
func (r *Ring) AllReduce(x []float32, how kernels.Reduction) error {
	if r.n == 1 || len(x) == 0 {
		return nil
	}
	if 4*len(x) <= direct {
		return r.reduceDirectly(x, how)
	}
	blocks := make([]Block, r.n)
	for i := range blocks {
		blocks[i] = Block{x[cut(len(x), i, r.n):cut(len(x), i+1, r.n)]}
	}
	began := r.out.count()
	if err := r.reduce(blocks, how, true); err != nil {
		return err
	}
	return r.gather(blocks, began)
}

// cut is where the i-th of n slices begins, at a cache line.
func cut(count, i, n int) int {
	if i == n {
		return count
	}
	return int(int64(count)*int64(i)/int64(n)) &^ 15
}

// reduceDirectly reduces in the order of the ring, on every member alike.
func (r *Ring) reduceDirectly(x []float32, how kernels.Reduction) error {
	all := r.space(r.n * len(x))
	blocks := make([]Block, r.n)
	for i := range blocks {
		blocks[i] = Block{all[i*len(x) : (i+1)*len(x)]}
	}
	copy(blocks[r.index][0], x)
	if err := r.gather(blocks, unsent); err != nil {
		return err
	}
	copy(x, blocks[0][0])
	for _, b := range blocks[1:] {
		r.combine(x, b[0], how)
	}
	return nil
}

// ReduceScatter makes this member's own block the reduction of all members'. The other blocks are left in any state.
func (r *Ring) ReduceScatter(blocks []Block, how kernels.Reduction) error {
	return r.reduce(blocks, how, false)
}

// AllGather fills every block from the member whose it is.
func (r *Ring) AllGather(blocks []Block) error { return r.gather(blocks, unsent) }

// reduce is ReduceScatter; with on it sends the member's own block on, as gather wants it.
func (r *Ring) reduce(blocks []Block, how kernels.Reduction, on bool) error {
	if r.n == 1 {
		return nil
	}
	send := r.sender(blocks)
	if err := blocks[r.mod(r.index-1)].segments(send); err != nil {
		return err
	}
	for s := range r.n - 1 {
		err := blocks[r.mod(r.index-2-s)].segments(func(x []float32) error {
			t := r.space(segment)[:len(x)]
			if err := r.in.Read(raw(t)); err != nil {
				return err
			}
			r.combine(x, t, how)
			if s == r.n-2 && !on {
				return nil
			}
			return send(x)
		})
		if err != nil {
			return err
		}
	}
	if on { // what is under way fits into no buffer: whoever waits for it now keeps the next member from reading
		return nil
	}
	return r.out.Flush()
}

// unsent says that no block is under way.
const unsent = -1

// gather is AllGather. With put, the own block is under way already, and so was the reduction of each block that comes
// now, in the same order, from that many on: what comes into its place was caused by its receipt.
func (r *Ring) gather(blocks []Block, put int) error {
	if r.n == 1 {
		return nil
	}
	send, queued := r.sender(blocks), put != unsent && !small(blocks)
	if put == unsent {
		if err := blocks[r.index].segments(send); err != nil {
			return err
		}
	}
	for s := range r.n - 1 {
		err := blocks[r.mod(r.index-1-s)].segments(func(x []float32) error {
			if queued {
				put++
				r.out.await(put)
			}
			if err := r.in.Read(raw(x)); err != nil || s == r.n-2 {
				return err
			}
			return send(x)
		})
		if err != nil {
			return err
		}
	}
	return r.out.Flush()
}

// Broadcast makes x what it is on the member at a place of the ring.
func (r *Ring) Broadcast(x []float32, root int) error {
	if r.n == 1 {
		return nil
	}
	place := r.mod(r.index - root)
	send := r.sender([]Block{{x}})
	err := Block{x}.segments(func(x []float32) error {
		if place > 0 {
			if err := r.in.Read(raw(x)); err != nil {
				return err
			}
		}
		if place == r.n-1 {
			return nil
		}
		return send(x)
	})
	if err != nil {
		return err
	}
	return r.out.Flush()
}

// sender is how the segments of a message are sent: at once where they fit into buffers, else beside what is read.
func (r *Ring) sender(blocks []Block) func(x []float32) error {
	if small(blocks) {
		return func(x []float32) error { return r.out.Write(raw(x)) }
	}
	return func(x []float32) error {
		r.out.Put(raw(x))
		return nil
	}
}

// small reports whether a message fits into the buffers of the system.
func small(blocks []Block) bool {
	total := 0
	for _, b := range blocks {
		total += b.bytes()
	}
	return total <= inline
}

// space is memory for a while.
func (r *Ring) space(n int) []float32 {
	if len(r.scratch) < n {
		r.scratch = make([]float32, max(n, segment))
	}
	return r.scratch[:n]
}

// raw is elements as bytes. Both ends of a lane are little-endian: they run one binary.
func raw(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// Send hands blocks to another member over a lane, behind a description of what they are.
func (o *Out) Send(call []byte, b Block) error {
	if len(call) > maxCall {
		return fmt.Errorf("a call described by %d bytes: %w", len(call), handshake.ErrOversize)
	}
	list := [][]byte{binary.BigEndian.AppendUint32(nil, uint32(len(call))), call}
	for _, x := range b {
		list = append(list, raw(x))
	}
	return o.Write(list...)
}

// Announced reads what the next message of a lane is.
func (i *In) Announced() ([]byte, error) { return i.readSized(maxCall) }

// Take reads the blocks of the message that was announced.
func (i *In) Take(b Block) error {
	for _, x := range b {
		if err := i.Read(raw(x)); err != nil {
			return err
		}
	}
	return nil
}
