package cpu

/*
#include "api.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
	"boost-tui/kernels/wire"
)

// across is a communicator whose members are on several hosts. Those of one host share memory and split every message
// among them, in as many channels as the host with the fewest members has members: the i-th member of every host is in
// the ring of channel i.
type across struct {
	dev   *Device
	group *wire.Group
	hosts [][]int       // ranks by host, hosts in the order of their first members
	own   int           // this host's place among them
	local *backend.Comm // the members of this host; nil: this one is alone
	shm   *C.bt_comm    // of local, whatever becomes of it
	index int           // this member's place among those
	ring  *wire.Ring
	seq   uint64 // collectives so far
	space []float32

	mu   sync.Mutex // guards the lanes, which streams of both directions make
	outs map[int]*lane[*wire.Out]
	ins  map[int]*lane[*wire.In]
	over chan struct{}
	wg   sync.WaitGroup
}

// lane is one direction of transfers to or from a member on another host.
type lane[T any] struct {
	end T
	seq uint64
}

// transferLane tells lanes of transfers from those of rings, which have the numbers of their channels.
const transferLane = 0x8000

// joinAcross makes a communicator over the network. Where it turns out that all members share this device's segment,
// the network is needed no more.
func (d *Device) joinAcross(ctx context.Context, v wire.Invitation, n, rank int, name string) (_ kernels.Comm, err error) {
	wrong := func(err error) error {
		return &kernels.Error{Backend: backendName, Op: "join", Msg: err.Error(), Err: kernels.ErrComm}
	}
	if d.node == nil {
		return nil, &kernels.Error{Backend: backendName, Op: "join", Err: kernels.ErrInvalid,
			Msg: fmt.Sprintf("ranks of %s are on several hosts, and this device was opened without a network", name)}
	}
	group, err := d.node.Join(ctx, v, n, rank, name)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, wrong(err)
	}
	a := &across{dev: d, group: group, outs: map[int]*lane[*wire.Out]{}, ins: map[int]*lane[*wire.In]{}, over: make(chan struct{})}
	if err := a.meet(ctx); err != nil {
		group.Fail(fmt.Errorf("rank %d of %s could not join: %w", rank, name, err))
		a.Close()
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, wrong(err)
	}
	if len(a.hosts) == 1 {
		return a.local, group.Close()
	}
	a.wg.Go(a.watch)
	d.groups = append(d.groups, a)
	return a, nil
}

// meet finds out who shares memory with whom, and connects.
func (a *across) meet(ctx context.Context) error {
	said, err := a.group.Exchange(ctx, binary.LittleEndian.AppendUint64(nil, uint64(C.bt_host_identity(a.dev.context()))))
	if err != nil {
		return err
	}
	a.place(said)
	if err := a.meetHere(ctx); err != nil {
		return err
	}
	if channel := a.index; len(a.hosts) > 1 && channel < a.channels() {
		members := make([]int, len(a.hosts))
		for h := range members {
			members[h] = a.hosts[h][channel]
		}
		if a.ring, err = a.group.Ring(ctx, members, uint16(channel), a.combineTwo); err != nil {
			return err
		}
	}
	_, err = a.group.Exchange(ctx, nil) // nobody begins before all are ready
	return err
}

// place sorts the members by host.
func (a *across) place(identity [][]byte) {
	number := map[string]int{}
	for r, id := range identity {
		h, ok := number[string(id)]
		if !ok {
			h = len(a.hosts)
			number[string(id)] = h
			a.hosts = append(a.hosts, nil)
		}
		if r == a.group.Rank() {
			a.own, a.index = h, len(a.hosts[h])
		}
		a.hosts[h] = append(a.hosts[h], r)
	}
}

// meetHere joins the members of this host. The first of them makes the identity.
func (a *across) meetHere(ctx context.Context) error {
	here := a.hosts[a.own]
	var say []byte
	if shared := len(here) > 1 || len(a.hosts) == 1; shared && a.index == 0 {
		id, err := a.dev.Device.UID()
		if err != nil {
			return err
		}
		say = id[:]
	}
	said, err := a.group.Exchange(ctx, say)
	if err != nil {
		return err
	}
	if len(here) == 1 && len(a.hosts) > 1 {
		return nil
	}
	var id kernels.UID
	copy(id[:], said[here[0]])
	if a.local, err = a.dev.JoinComm(ctx, id, len(here), a.index, a.group.Name()); err == nil {
		a.shm = (*C.bt_comm)(a.local.Handle())
	}
	return err
}

// channels is in how many parts messages are split.
func (a *across) channels() int {
	n := len(a.hosts[0])
	for _, h := range a.hosts {
		n = min(n, len(h))
	}
	return n
}

// watch hands a failure on to the members of this host that wait for each other.
func (a *across) watch() {
	select {
	case <-a.group.Failed():
		a.breakHere(a.group.Err())
	case <-a.over:
	}
}

// breakHere makes what is pending among the members of this host fail.
func (a *across) breakHere(err error) {
	if a.local == nil {
		return
	}
	status := C.bt_status(C.BT_ECOMM)
	if errors.Is(err, kernels.ErrAborted) {
		status = C.BT_EABORTED
	}
	text := C.CString(err.Error())
	defer C.free(unsafe.Pointer(text))
	a.local.With(func(shm unsafe.Pointer) { C.bt_comm_break((*C.bt_comm)(shm), status, text) })
}

// Name implements kernels.Comm.
func (a *across) Name() string { return a.group.Name() }

// Rank implements kernels.Comm.
func (a *across) Rank() int { return a.group.Rank() }

// Size implements kernels.Comm.
func (a *across) Size() int { return a.group.Size() }

// Status implements kernels.Comm.
func (a *across) Status() error {
	if err := a.group.Err(); err != nil {
		sentinel := kernels.ErrComm
		if errors.Is(err, kernels.ErrAborted) {
			sentinel = kernels.ErrAborted
		}
		return &kernels.Error{Backend: backendName, Op: "communicator " + a.Name(), Msg: err.Error(), Err: sentinel}
	}
	if a.local != nil {
		return a.local.Status()
	}
	return nil
}

// Abort implements kernels.Comm.
func (a *across) Abort() error {
	f := &wire.Failure{Text: fmt.Sprintf("aborted by rank %d of %s", a.Rank(), a.Name()), Aborted: true}
	a.group.Fail(f)
	a.breakHere(f)
	return nil
}

// Close leaves the communicator. Messages of others that are still to come fail.
func (a *across) Close() error {
	a.mu.Lock()
	select {
	case <-a.over:
	default:
		close(a.over)
	}
	a.mu.Unlock()
	err := a.group.Close()
	if a.local != nil {
		err = errors.Join(err, a.local.Close())
	}
	a.wg.Wait()
	return err
}

// here is the communicator of this host, for a transfer between two of its members, which is then told in their numbers.
func (a *across) here(o *C.bt_coll) (c *backend.Comm, ok bool) {
	if o.part[0].kind < C.BT_SEND || a.local == nil {
		return nil, false
	}
	for i, r := range a.hosts[a.own] {
		if r == int(o.part[0].root) {
			o.part[0].root, o.ranks = C.int32_t(i), C.int32_t(a.local.Size())
			return a.local, true
		}
	}
	return nil, false
}
