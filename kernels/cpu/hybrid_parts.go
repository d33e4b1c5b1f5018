package cpu

/*
#include "api.h"
*/
import "C"

import (
	"unsafe"

	"boost-tui/kernels"
	"boost-tui/kernels/wire"
)

// part is one collective of a group call, as a member in a ring does it.
type part struct {
	*across
	p      *C.bt_part
	number int
	reduce kernels.Reduction
}

func (p *part) run() error {
	switch p.p.kind {
	case C.BT_ALLREDUCE:
		return p.allReduce()
	case C.BT_ALLGATHER:
		return p.allGather()
	case C.BT_REDUCESCATTER:
		return p.reduceScatter()
	default:
		return p.broadcast()
	}
}

// src and dst are the operands of a member of this host.
func (p *part) src(member int) ([]float32, error) {
	return p.operand(member, 0, p.p.src, uint64(p.p.n))
}

func (p *part) dst(member int) ([]float32, error) {
	n := uint64(p.p.n) * uint64(p.Size())
	if p.p.kind == C.BT_REDUCESCATTER {
		n = uint64(p.p.n) / uint64(p.Size())
	}
	return p.operand(member, 1, p.p.dst, n)
}

func (p *part) operand(member int, dst C.int, own C.bt_ptr, n uint64) ([]float32, error) {
	at := unsafe.Pointer(C.t_at(own))
	if member != p.index {
		var text [C.BT_ERRLEN]C.char
		at = C.bt_comm_peer(p.shm, C.int(p.number), dst, C.int(member), C.uint64_t(4*n), &text[0])
		if at == nil {
			return nil, hereFailed(C.BT_ECOMM, &text)
		}
	}
	return unsafe.Slice((*float32)(at), n), nil
}

// members is how many there are on this host.
func (a *across) members() int { return len(a.hosts[a.own]) }

// slice is this channel's part of count elements, cut at a cache line.
func (a *across) slice(count int) (lo, hi int) {
	n := a.channels()
	at := func(i int) int {
		if i == n {
			return count
		}
		return int(int64(count)*int64(i)/int64(n)) &^ 15
	}
	return at(a.index), at(a.index + 1)
}

// served is the ranks of a host whose data goes through this channel.
func (a *across) served(host int) (ranks []int) {
	for i, r := range a.hosts[host] {
		if i%a.channels() == a.index {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// each calls f for every other member of this host.
func (a *across) each(f func(member int) error) error {
	for m := range a.members() {
		if m == a.index {
			continue
		}
		if err := f(m); err != nil {
			return err
		}
	}
	return nil
}

// combineTwo is wire.Combine.
func (a *across) combineTwo(dst, src []float32, how kernels.Reduction) {
	if len(dst) > 0 {
		C.bt_combine_two(a.dev.context(), (*C.float)(&dst[0]), (*C.float)(&src[0]), C.uint64_t(len(dst)), C.int(how))
	}
}

// combineHere makes dst the reduction of a range of what all members of this host have, in their order.
func (p *part) combineHere(dst []float32, lo, hi int) error {
	if lo == hi {
		return nil
	}
	from := make([]*C.float, p.members())
	for m := range from {
		x, err := p.src(m)
		if err != nil {
			return err
		}
		from[m] = (*C.float)(&x[lo])
	}
	C.bt_combine(p.dev.context(), (*C.float)(&dst[0]), &from[0], C.int(len(from)), C.uint64_t(hi-lo), C.int(p.reduce))
	return nil
}

func (p *part) allReduce() error {
	own, err := p.src(p.index)
	if err != nil {
		return err
	}
	lo, hi := p.slice(len(own))
	if p.members() > 1 {
		err = p.combineHere(own[lo:hi:hi], lo, hi)
	}
	if err == nil {
		err = p.ring.AllReduce(own[lo:hi], p.reduce)
	}
	if err != nil {
		return err
	}
	return p.hand(own, lo, hi, -1)
}

// hand copies a range of this member's elements to the other members of this host, but to one.
func (p *part) hand(own []float32, lo, hi, but int) error {
	return p.each(func(m int) error {
		if m == but {
			return nil
		}
		x, err := p.src(m)
		if err == nil {
			copy(x[lo:hi], own[lo:hi])
		}
		return err
	})
}

func (p *part) allGather() error {
	own, err := p.dst(p.index)
	if err != nil {
		return err
	}
	n := int(p.p.n)
	for i, r := range p.hosts[p.own] {
		if i%p.channels() != p.index {
			continue
		}
		x, err := p.src(i)
		if err != nil {
			return err
		}
		copy(own[r*n:(r+1)*n], x) // a member's part may lie in its result
	}
	blocks := make([]wire.Block, len(p.hosts))
	for h := range blocks {
		for _, r := range p.served(h) {
			blocks[h] = append(blocks[h], own[r*n:(r+1)*n])
		}
	}
	if err := p.ring.AllGather(blocks); err != nil {
		return err
	}
	return p.each(func(m int) error {
		x, err := p.dst(m)
		if err != nil {
			return err
		}
		for h := range p.hosts {
			for _, r := range p.served(h) {
				copy(x[r*n:(r+1)*n], own[r*n:(r+1)*n])
			}
		}
		return nil
	})
}

func (p *part) reduceScatter() error {
	n := int(p.p.n) / p.Size()
	blocks := make([]wire.Block, len(p.hosts))
	at := 0
	for h := range blocks {
		for range p.served(h) {
			at += n
		}
	}
	space := p.room(at)
	for h := range blocks {
		for _, r := range p.served(h) {
			x := space[:n:n]
			if space = space[n:]; n > 0 {
				if err := p.combineHere(x, r*n, (r+1)*n); err != nil {
					return err
				}
			}
			blocks[h] = append(blocks[h], x)
		}
	}
	if err := p.ring.ReduceScatter(blocks, p.reduce); err != nil {
		return err
	}
	done := blocks[p.own]
	for i := range p.hosts[p.own] {
		if i%p.channels() != p.index {
			continue
		}
		x, err := p.dst(i)
		if err != nil {
			return err
		}
		copy(x, done[0])
		done = done[1:]
	}
	return nil
}

func (p *part) broadcast() error {
	own, err := p.src(p.index)
	if err != nil {
		return err
	}
	root, at := 0, 0
	for h, ranks := range p.hosts {
		for i, r := range ranks {
			if r == int(p.p.root) {
				root, at = h, i
			}
		}
	}
	lo, hi := p.slice(len(own))
	if root == p.own && at != p.index {
		x, err := p.src(at)
		if err != nil {
			return err
		}
		copy(own[lo:hi], x[lo:hi])
	}
	if err := p.ring.Broadcast(own[lo:hi], root); err != nil {
		return err
	}
	if root != p.own {
		at = -1
	}
	return p.hand(own, lo, hi, at)
}

// room is memory for a while.
func (a *across) room(n int) []float32 {
	if len(a.space) < n {
		a.space = make([]float32, n)
	}
	return a.space[:n]
}
