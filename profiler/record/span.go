package record

import "boost-tui/kernels"

// Span is a stretch of time on a stream: a chunk of compute, one collective, one copy; in
// sampled steps every operation by itself.
type Span struct {
	StartNanos int64 // Unix time
	DurNanos   int64
	Label      kernels.Label
	Op         string // the operation's Name; of a chunk of several, the first's
	Stream     kernels.Stream
	Class      kernels.Class
	Bytes      int64 // communicated (of a transfer at both ends), or copied; 0 for compute
	FLOPs      int64
	Group      string // of a message: what it is numbered along, as FlowOf reads it
	Seq        int    // of a message: its number in the group, from 0, the same on every rank
	WaitNanos  int64  // of a message: waiting for peers, within DurNanos; Unknown where the device cannot tell
}

// EndNanos is when the span ended, Unix time.
func (s *Span) EndNanos() int64 { return s.StartNanos + s.DurNanos }
