package cpu

/*
#include "api.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"boost-tui/kernels/wire"
)

// Transfers between members on different hosts: each direction between two has a lane of its own, made when it is first
// used. Sends are over when the system has taken the bytes.

func (a *across) send(o *C.bt_coll) error {
	to := int(o.part[0].root)
	a.mu.Lock()
	l := a.outs[to]
	a.mu.Unlock()
	if l == nil {
		out, err := a.group.To(context.Background(), to, transferLane)
		if err != nil {
			return err
		}
		l = &lane[*wire.Out]{end: out}
		a.mu.Lock()
		a.outs[to] = l
		a.mu.Unlock()
	}
	begun := time.Now()
	l.seq++
	if err := l.end.Send(describe(o, l.seq), views(o, func(p *C.bt_part) C.bt_ptr { return p.src })); err != nil {
		return err
	}
	return a.sleep(begun, o)
}

func (a *across) receive(o *C.bt_coll) (wait time.Duration, err error) {
	from, began := int(o.part[0].root), time.Now()
	a.mu.Lock()
	l := a.ins[from]
	a.mu.Unlock()
	if l == nil {
		in, err := a.group.From(context.Background(), from, transferLane) // a failure of the group ends it
		if err != nil {
			return time.Since(began), err
		}
		l = &lane[*wire.In]{end: in}
		a.mu.Lock()
		a.ins[from] = l
		a.mu.Unlock()
	}
	l.seq++
	call, err := l.end.Announced()
	begun := time.Now()
	if wait = begun.Sub(began); err != nil {
		return wait, err
	}
	own := describe(o, l.seq)
	sent, ok := sizes(call)
	if expected, _ := sizes(own); !ok || !slices.Equal(sent, expected) {
		return wait, fmt.Errorf("rank %d of %s is at %s, rank %d at %s", from, a.Name(), words(call), a.Rank(), words(own))
	}
	if err := l.end.Take(views(o, func(p *C.bt_part) C.bt_ptr { return p.dst })); err != nil {
		return wait, err
	}
	return wait, a.sleep(begun, o)
}

// views are the operands of a transfer.
func views(o *C.bt_coll, at func(*C.bt_part) C.bt_ptr) (b wire.Block) {
	for i := range int(o.parts) {
		p := &o.part[i]
		b = append(b, unsafe.Slice((*float32)(C.t_at(at(p))), p.n))
	}
	return b
}
