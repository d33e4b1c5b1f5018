package backend

/*
#cgo noescape t_comm_oldest
#cgo nocallback t_comm_oldest
#include "table.h"
*/
import "C"

import "boost-tui/kernels"

// lookEvery is in how many polls of a call that waits the messages are looked at: about once a second, so that what waits a
// moment costs nothing.
const lookEvery = 1000000 / pollMicros

// Heed implements kernels.Heeder.
func (d *Device) Heed(f func(kernels.UnderWay)) { d.heed = f }

// watch tells, while a call of the device waits, which message it waits for. Its device is set; the rest begins as zero.
type watch struct {
	d     *Device
	polls int
	said  bool
	at    uint64 // ticket of what was said
	on    *C.bt_stream
	state kernels.MessageState
}

// look is called at every poll that found the call not done.
func (w *watch) look() {
	if w.polls++; w.d.heed == nil || w.polls%lookEvery != 0 {
		return
	}
	m, state, found := w.oldest()
	if !found || w.said && m.ticket == C.uint64_t(w.at) && m.on == w.on && state == w.state {
		return
	}
	w.said, w.at, w.on, w.state = true, uint64(m.ticket), m.on, state
	w.d.heed(kernels.UnderWay{Label: w.d.labelAt(m.on, w.at), State: state})
}

// over is called when the call is done.
func (w *watch) over() {
	if w.said {
		w.d.heed(kernels.UnderWay{State: kernels.MessageOver})
	}
}

// oldest is the message, of all communicators, at which a stream has stood the longest; if none stands at one, the first that was issued.
func (w *watch) oldest() (m C.bt_under_way, state kernels.MessageState, found bool) {
	for _, c := range w.d.comms {
		var one C.bt_under_way
		c.mu.Lock()
		s := C.bt_status(C.BT_ENOTREADY)
		if c.c != nil {
			s = C.t_comm_oldest(w.d.api, c.c, &one)
		}
		c.mu.Unlock()
		if s != C.BT_OK {
			continue
		}
		earlier := one.begun_ns != 0 && (m.begun_ns == 0 || one.begun_ns < m.begun_ns)
		if !found || earlier {
			m, found = one, true
		}
	}
	if m.begun_ns != 0 {
		return m, kernels.MessageBegun, found
	}
	return m, kernels.MessageAhead, found
}

// labelAt is the label of what was issued to a stream; empty when it is not remembered any more.
func (d *Device) labelAt(on *C.bt_stream, ticket uint64) kernels.Label {
	for _, st := range d.streams {
		if l := &st.labels[ticket%labelRing]; st.c == on && l.ticket == ticket {
			return l.label
		}
	}
	return kernels.Label{Layer: -1, Chunk: "comm", Op: "message"}
}
