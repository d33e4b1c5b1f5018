package kernels

import "time"

// Link is an interconnect that a device imitates by letting messages take longer than they would. The zero value
// imitates nothing. Messages of different communicators do not slow each other: each has the link to itself.
type Link struct {
	BytesPerSecond float64 // in each direction; 0: as many as there can be
	Latency        time.Duration
}

// IsZero reports whether nothing is imitated.
func (l Link) IsZero() bool { return l == Link{} }

// Time is what a ring over the link needs for a message from the moment at which all its ranks have come: the bytes
// that a rank sends, and the latency of the steps that follow one another.
func (l Link) Time(m Message) time.Duration {
	t := time.Duration(m.RingSteps()) * l.Latency
	wire := m.WireBytes()
	if m.Name() == RecvName {
		wire = m.Moved()
	}
	if l.BytesPerSecond > 0 {
		t += time.Duration(float64(wire) / l.BytesPerSecond * float64(time.Second))
	}
	return t
}
