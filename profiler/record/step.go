package record

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// StepLine is one step of one rank: a line of steps/r*.jsonl. Times are in nanoseconds, sizes in
// bytes. Unknown integers are Unknown (−1), unknown floats NaN. Wall = Compute + Exposed + Mem + Idle
// exactly, Comm = Exposed + Overlap (PROFILING.md §5).
type StepLine struct {
	Step             int64
	TSNanos          int64 // Unix time of the step's end
	WallNanos        int64 // end of the optimiser to end of the optimiser
	ComputeNanos     int64 // union of compute over the streams
	CommNanos        int64 // union of communication
	ExposedNanos     int64 // communication with no compute beside it
	OverlapNanos     int64 // communication under compute
	WaitNanos        int64 // part of communication that waited for other ranks
	MemNanos         int64 // copies with neither compute nor communication beside them
	IdleNanos        int64
	BubbleNanos      int64 // part of exposed and wait: a transfer waits for another stage, and nothing else runs
	ForwardNanos     int64
	BackwardNanos    int64
	OptimizerNanos   int64
	DataNanos        int64
	Collectives      int64 // communication group calls
	CommBytes        int64 // payload, all groups
	Tokens           int64 // that this rank's micro-batches held
	Loss             float64
	GradNorm         float64
	LR               float64
	MemAllocBytes    int64
	MemReservedBytes int64
	Flags            Flags
}

// Flags say what is special about a step.
type Flags uint32

// Flags of a step. Steps with any of them but Warmup are left out of statistics.
const (
	Warmup     Flags = 1 << iota // within the learning rate's warm-up
	Deep                         // a timeline was sampled
	Checkpoint                   // a checkpoint was written within it
	Eval                         // an evaluation ran within it
	NonFinite                    // loss or gradient norm was not a number (and so is not written)
)

var flagNames = [...]string{"warmup", "deep", "checkpoint", "eval", "nonfinite"}

// String lists the flags, "warmup,deep".
func (f Flags) String() string {
	var s []string
	for i, n := range flagNames {
		if f&(1<<i) != 0 {
			s = append(s, n)
		}
	}
	return strings.Join(s, ",")
}

// NewStepLine is a line of which only the step is known.
func NewStepLine(step int) StepLine {
	l := StepLine{}
	l.forget()
	l.Step = int64(step)
	return l
}

// Names of the members, in the order in which they are written.
var (
	stepInts = [...]string{"step", "ts_ns", "wall_ns", "compute_ns", "comm_ns", "comm_exposed_ns", "overlap_ns",
		"comm_wait_ns", "mem_ns", "idle_ns", "bubble_ns", "fwd_ns", "bwd_ns", "opt_ns", "data_ns", "ncoll", "comm_bytes", "tokens",
		"mem_alloc_b", "mem_reserved_b"}
	stepFloats = [...]string{"loss", "grad_norm", "lr"}
)

func (l *StepLine) ints() [len(stepInts)]*int64 {
	return [...]*int64{&l.Step, &l.TSNanos, &l.WallNanos, &l.ComputeNanos, &l.CommNanos, &l.ExposedNanos, &l.OverlapNanos,
		&l.WaitNanos, &l.MemNanos, &l.IdleNanos, &l.BubbleNanos, &l.ForwardNanos, &l.BackwardNanos, &l.OptimizerNanos, &l.DataNanos,
		&l.Collectives, &l.CommBytes, &l.Tokens, &l.MemAllocBytes, &l.MemReservedBytes}
}

func (l *StepLine) floats() [len(stepFloats)]*float64 {
	return [...]*float64{&l.Loss, &l.GradNorm, &l.LR}
}

func (l *StepLine) forget() {
	for _, p := range l.ints() {
		*p = Unknown
	}
	for _, p := range l.floats() {
		*p = math.NaN()
	}
	l.Flags = 0
}

// Append appends the line as JSON, without a newline.
func (l *StepLine) Append(b []byte) []byte {
	b = append(b, `{"t":"step"`...)
	for i, p := range l.ints() {
		b = appendInt(b, stepInts[i], *p)
	}
	for i, p := range l.floats() {
		b = appendFloat(b, stepFloats[i], *p)
	}
	if l.Flags != 0 {
		b = append(b, `,"flags":[`...)
		for i, n := range flagNames {
			if l.Flags&(1<<i) != 0 {
				b = append(b, '"')
				b = append(b, n...)
				b = append(b, '"', ',')
			}
		}
		b[len(b)-1] = ']'
	}
	return append(b, '}')
}

// Decode reads a line. A record that is no step line is an error, as is one without a step.
func (l *StepLine) Decode(line []byte) error {
	l.forget()
	ints, floats := l.ints(), l.floats()
	f := fields{b: line}
	if err := f.open(); err != nil {
		return err
	}
	kind, hint := false, 0
	for {
		key, v, err := f.next()
		if err != nil {
			return err
		}
		if key == nil {
			break
		}
		// Lines come from Append as a rule: the next member is mostly the one after the last.
		if hint < len(stepInts) && string(key) == stepInts[hint] {
			*ints[hint] = intValue(v)
			hint++
			continue
		}
		switch string(key) {
		case "t":
			if kind = string(v) == `"step"`; !kind {
				return fmt.Errorf("record is no step line but %q", clip(v))
			}
		case "schema":
			if n := intValue(v); n > Schema {
				return fmt.Errorf("step line of schema %d: %w", n, ErrNewerSchema)
			}
		case "flags":
			l.Flags = flagsValue(v)
		default:
			if i := indexOf(stepFloats[:], key); i >= 0 {
				*floats[i] = floatValue(v)
			} else if i := indexOf(stepInts[:], key); i >= 0 {
				*ints[i] = intValue(v)
				hint = i + 1
			}
		}
	}
	if !kind || l.Step < 0 {
		return fmt.Errorf("record without type or step: not a step line")
	}
	return nil
}

func flagsValue(v []byte) Flags {
	var f Flags
	for i, n := range flagNames {
		if at := bytes.Index(v, []byte(n)); at > 0 && v[at-1] == '"' && at+len(n) < len(v) && v[at+len(n)] == '"' {
			f |= 1 << i
		}
	}
	return f
}

func indexOf(names []string, key []byte) int {
	for i, n := range names {
		if string(key) == n {
			return i
		}
	}
	return -1
}

// clip keeps foreign text in errors short.
func clip(b []byte) []byte { return b[:min(len(b), 40)] }
