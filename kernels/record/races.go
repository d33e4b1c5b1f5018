package record

import (
	"fmt"

	"boost-tui/kernels"
)

// access is an operand of a call.
type access struct {
	view  kernels.View
	write bool
}

// Race is two calls of different streams that touch the same memory, one of them writing, with no
// event that makes the later wait for the earlier.
type Race struct {
	Earlier, Later int // indices into Calls
	Text           string
}

// String says which operations.
func (r Race) String() string { return r.Text }

// Races replays the order of streams and events and finds every pair of calls that race: an operand
// that compute touches while a collective on it is under way, a collective that starts before its operand is computed.
func (d *Device) Races() []Race {
	n := len(d.streams)
	clock := make([][]int, n) // clock[s][t]: how many calls of t have ended before what s does next
	for s := range clock {
		clock[s] = make([]int, n)
	}
	marks := make([][]int, len(d.events))
	issued := make([][]int, n) // calls of each stream
	var out []Race
	for _, e := range d.log {
		switch e.kind {
		case recorded:
			marks[e.event] = append([]int(nil), clock[e.stream]...)
		case waited:
			for t, c := range marks[e.event] {
				clock[e.stream][t] = max(clock[e.stream][t], c)
			}
		case called:
			for t := range issued {
				if t == int(e.stream) {
					continue
				}
				for _, other := range issued[t][clock[e.stream][t]:] {
					if d.conflict(other, e.call) {
						out = append(out, d.race(other, e.call))
					}
				}
			}
			issued[e.stream] = append(issued[e.stream], e.call)
			clock[e.stream][e.stream] = len(issued[e.stream])
		}
	}
	return out
}

func (d *Device) conflict(a, b int) bool {
	ca, cb := &d.calls[a], &d.calls[b]
	for _, r := range d.accesses[ca.first : ca.first+ca.n] {
		for _, s := range d.accesses[cb.first : cb.first+cb.n] {
			if (r.write || s.write) && r.view.Overlaps(s.view) {
				return true
			}
		}
	}
	return false
}

func (d *Device) race(a, b int) Race {
	ca, cb := &d.calls[a], &d.calls[b]
	return Race{a, b, fmt.Sprintf("%s on stream %s touches memory of %s on stream %s without waiting for it",
		cb.Label, d.streams[cb.Stream].name, ca.Label, d.streams[ca.Stream].name)}
}
