package cpu

/*
#include "api.h"
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"time"

	"boost-tui/kernels"
	"boost-tui/kernels/wire"
)

// run does a message on its stream's thread: how long it waited for members, and why it failed.
func (a *across) run(o *C.bt_coll) (wait time.Duration, err error) {
	switch {
	case o.part[0].kind == C.BT_SEND:
		err = a.send(o)
	case o.part[0].kind == C.BT_RECV:
		wait, err = a.receive(o)
	default:
		wait, err = a.collective(o)
	}
	if err != nil {
		a.group.Fail(err)
		a.breakHere(err)
		if first := a.group.Err(); first != nil {
			err = first // the same on every member
		}
	}
	return wait, err
}

// collective does the work of this member: in its channel it reduces what the members of this host have, goes round
// the ring of the hosts, and gives every member of this host its result.
func (a *across) collective(o *C.bt_coll) (wait time.Duration, err error) {
	a.seq++
	if a.local != nil {
		if wait, err = a.enter(o); err != nil {
			return wait, err
		}
	}
	if a.ring != nil {
		more, err := a.agree(o)
		if wait += more; err != nil {
			return wait, err
		}
	}
	begun := time.Now()
	for i := range int(o.parts) {
		if a.ring == nil || o.part[i].n == 0 {
			continue
		}
		p := part{across: a, p: &o.part[i], number: i, reduce: kernels.Reduction(o.part[i].reduce)}
		if err := p.run(); err != nil {
			return wait, err
		}
	}
	if a.local != nil {
		if err := a.leave(); err != nil {
			return wait, err
		}
	}
	return wait, a.sleep(begun, o)
}

// sleep is until an imitated link would be through.
func (a *across) sleep(begun time.Time, o *C.bt_coll) error {
	left := time.Duration(o.least_ns) - time.Since(begun)
	if left <= 0 {
		return nil
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-a.group.Failed():
		return a.group.Err()
	case <-a.over:
		return fmt.Errorf("%s was closed", a.Name())
	}
}

// enter waits for the members of this host and tells them what is to be done.
func (a *across) enter(o *C.bt_coll) (time.Duration, error) {
	var text [C.BT_ERRLEN]C.char
	var waited C.uint64_t
	s := C.bt_comm_enter(a.shm, o, &waited, &text[0])
	return time.Duration(waited), hereFailed(s, &text)
}

// leave waits until the members of this host are through.
func (a *across) leave() error {
	var text [C.BT_ERRLEN]C.char
	return hereFailed(C.bt_comm_barrier(a.shm, &text[0]), &text)
}

func hereFailed(s C.bt_status, text *[C.BT_ERRLEN]C.char) error {
	if s == C.BT_OK {
		return nil
	}
	return &wire.Failure{Text: C.GoString(&text[0]), Aborted: s == C.BT_EABORTED}
}

// agree compares what this member is about to do with what the host before it in the ring is.
func (a *across) agree(o *C.bt_coll) (time.Duration, error) {
	call := describe(o, a.seq)
	other, same, wait, err := a.ring.Agree(call)
	if err == nil && !same {
		err = fmt.Errorf("ranks of %s disagree: rank %d is at %s, one of another host at %s", a.Name(), a.Rank(), words(call), words(other))
	}
	return wait, err
}

// describe is a message in bytes that its members compare: the label, the number, the parts.
func describe(o *C.bt_coll, seq uint64) []byte {
	b := make([]byte, 0, C.BT_LABEL+8+24*int(o.parts))
	for _, c := range o.label {
		b = append(b, byte(c))
	}
	b = binary.LittleEndian.AppendUint64(b, seq)
	for i := range int(o.parts) {
		p := &o.part[i]
		b = binary.LittleEndian.AppendUint32(b, uint32(p.kind)|uint32(p.reduce)<<8)
		b = binary.LittleEndian.AppendUint32(b, uint32(p.root))
		b = binary.LittleEndian.AppendUint64(b, uint64(p.n))
	}
	return b
}

// sizes is the parts' numbers of elements in what describe gave; ok is false where it is none.
func sizes(call []byte) (n []uint64, ok bool) {
	if len(call) < C.BT_LABEL+8 || (len(call)-C.BT_LABEL-8)%16 != 0 {
		return nil, false
	}
	for at := C.BT_LABEL + 8; at < len(call); at += 16 {
		n = append(n, binary.LittleEndian.Uint64(call[at+8:]))
	}
	return n, true
}

// words are what describe gave, for people. The bytes may be a stranger's.
func words(call []byte) string {
	n, ok := sizes(call)
	if !ok {
		return fmt.Sprintf("%d bytes that describe nothing", len(call))
	}
	label := call[:C.BT_LABEL]
	for i, c := range label {
		if c == 0 {
			label = label[:i]
			break
		}
	}
	s := fmt.Sprintf("#%d %q:", binary.LittleEndian.Uint64(call[C.BT_LABEL:]), label)
	for i := range min(len(n), 4) {
		kind := call[C.BT_LABEL+8+16*i]
		name := kernels.CollectiveKind(kind).String()
		switch kind {
		case C.BT_SEND:
			name = "send"
		case C.BT_RECV:
			name = "receive"
		}
		s += fmt.Sprintf(" %s of %d", name, n[i])
	}
	if len(n) > 4 {
		s += fmt.Sprintf(" and %d more", len(n)-4)
	}
	return s
}
