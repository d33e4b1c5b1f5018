package export

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"boost-tui/kernels"
	"boost-tui/profiler"
	"boost-tui/profiler/record"
)

// maxTraced is how many sampled steps, from the last, a trace holds: more than that no viewer opens.
const maxTraced = 50

// hostThread is the row of a rank's host calls. The rows of streams are theirs by use: 0 compute,
// 1 tensor, 2 data, 3 pipeline parallelism; each direction of its transfers has one more.
const hostThread = 9

var groupThreads = map[string]int{"tp": 1, "dp": 2, "pp": 3}

// Rows of a rank's transfers: to and from the ranks after it and before it.
const (
	sendForward = iota + 4
	receiveForward
	sendBackward
	receiveBackward
)

// rowOf is the row of a message's flow as one of its ranks sees it.
func rowOf(f record.Flow, receives bool) (row int, known bool) {
	if !f.Transfer() {
		row, known = groupThreads[f.Axis]
		return row, known
	}
	row = sendForward
	if f.From > f.To {
		row = sendBackward
	}
	if receives {
		row++
	}
	return row, true
}

// event is one of the Chrome trace format. Times are microseconds since the trace's base.
type event struct {
	Phase string         `json:"ph"`
	Cat   string         `json:"cat,omitempty"`
	Name  string         `json:"name"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	TS    micro          `json:"ts"`
	Dur   *micro         `json:"dur,omitempty"`
	ID    int            `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// micro is nanoseconds, written as microseconds with three decimals.
type micro int64

// MarshalJSON implements json.Marshaler.
func (m micro) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m)/1e3, 'f', 3, 64), nil
}

// tracer writes events as they come.
type tracer struct {
	w           *bufio.Writer
	pid         int // of rank 0 of the run
	base        int64
	first       bool
	correlation int
	flow        int
	named       map[[2]int]bool
	end         int64
	link        string // that the present run's messages were slowed down to
	emulated    string // the device, where its times are not a machine's
}

// writeTrace is trace.json: the last sampled steps of the runs, one process per rank, one row per
// stream, arrows between the ranks of a collective, memory and power as counters. Names and arguments
// are those by which HolisticTraceAnalysis sorts what it reads.
func writeTrace(ctx context.Context, w io.Writer, runs []*run) error {
	t := &tracer{w: bufio.NewWriter(w), first: true, named: map[[2]int]bool{}}
	world := 0
	for _, r := range runs {
		world = max(world, len(r.ranks))
	}
	head, err := json.Marshal(map[string]any{"backend": backends(runs), "rank": 0, "world_size": max(1, world)})
	if err != nil {
		return err
	}
	fmt.Fprintf(t.w, `{"schemaVersion":1,"displayTimeUnit":"ms","distributedInfo":%s,"traceEvents":[`, head)
	for _, r := range runs {
		if err := t.run(ctx, r); err != nil {
			return err
		}
		// Further runs follow under process ids of their own.
		t.pid += max(world, 1)
	}
	fmt.Fprintf(t.w, "\n],\"baseTimeNanoseconds\":%d}\n", t.base)
	return t.w.Flush()
}

func (t *tracer) run(ctx context.Context, r *run) error {
	begin := int64(0)
	t.link, t.emulated = r.Plan.Link, r.emulatedDevice()
	err := lastSampled(ctx, r.Dir, maxTraced, func(step int, ranks []profiler.RankSpans) error {
		for _, rs := range ranks {
			if len(rs.Spans) > 0 && (begin == 0 || rs.Spans[0].StartNanos < begin) {
				begin = rs.Spans[0].StartNanos
			}
			if t.base == 0 {
				t.base = begin
			}
			if err := t.rank(r, step, rs); err != nil {
				return err
			}
		}
		return t.arrows(profiler.Match(ranks))
	})
	if err != nil || begin == 0 {
		return err
	}
	return t.counters(ctx, r, begin)
}

func (t *tracer) rank(r *run, step int, rs profiler.RankSpans) error {
	if len(rs.Spans) == 0 {
		return nil
	}
	pid := t.pid + rs.Rank
	if err := t.name(pid, -1, "process_name", fmt.Sprintf("rank %d of %s%s", rs.Rank, r.ID, r.linkMark())); err != nil {
		return err
	}
	lo, hi := rs.Spans[0].StartNanos, rs.Spans[0].EndNanos()
	for i := range rs.Spans {
		lo, hi = min(lo, rs.Spans[i].StartNanos), max(hi, rs.Spans[i].EndNanos())
	}
	lo, hi = lo+rs.ClockOffset, hi+rs.ClockOffset
	t.end = max(t.end, hi)
	dur := micro(hi - lo)
	// One nanosecond early, so that the first launch lies inside.
	if err := t.put(event{Phase: "X", Cat: "user_annotation", Name: fmt.Sprintf("ProfilerStep#%d", step), PID: pid, TID: hostThread,
		TS: t.at(lo) - 1, Dur: &dur, Args: t.marked(nil)}); err != nil {
		return err
	}
	for i := range rs.Spans {
		if err := t.span(pid, step, &rs.Spans[i], rs.ClockOffset); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracer) at(nanos int64) micro { return micro(nanos - t.base) }

// span is an event of the device, and the host call that it belongs to.
func (t *tracer) span(pid, step int, s *record.Span, offset int64) error {
	t.correlation++
	tid := threadOf(s)
	if err := t.name(pid, tid, "thread_name", threadName(s)); err != nil {
		return err
	}
	dur, zero := micro(s.DurNanos), micro(0)
	args := map[string]any{"step": step, "layer": s.Label.Layer, "phase": s.Label.Phase.String(), "op": s.Op, "stream": tid, "device": pid,
		"correlation": t.correlation}
	switch s.Class {
	case kernels.Communication:
		args["bytes"], args["seq"] = s.Bytes, s.Seq
		args["Collective name"], args["Process Group Name"] = s.Op, s.Group
		t.marked(args)
		if s.WaitNanos >= 0 {
			args["wait_us"] = float64(s.WaitNanos) / 1e3
		}
	case kernels.Memory:
		args["bytes"] = s.Bytes
	default:
		args["flops"] = s.FLOPs
	}
	cat, name := categoryOf(s)
	if err := t.put(event{Phase: "X", Cat: cat, Name: name, PID: pid, TID: tid, TS: t.at(s.StartNanos + offset), Dur: &dur, Args: args}); err != nil {
		return err
	}
	return t.put(event{Phase: "X", Cat: "cuda_runtime", Name: "launch", PID: pid, TID: hostThread, TS: t.at(s.StartNanos + offset), Dur: &zero,
		Args: map[string]any{"correlation": t.correlation}})
}

// categoryOf gives the names by which HolisticTraceAnalysis tells communication and memory from compute.
func categoryOf(s *record.Span) (cat, name string) {
	name = s.Op + " " + s.Label.String()
	switch s.Class {
	case kernels.Communication:
		return "kernel", "nccl:" + name
	case kernels.Memory:
		if s.Op == "fill" {
			return "gpu_memset", "Memset " + name
		}
		return "gpu_memcpy", "Memcpy " + name
	}
	return "kernel", name
}

func threadOf(s *record.Span) int {
	if s.Stream == kernels.ComputeStream {
		return 0
	}
	if n, ok := rowOf(record.FlowOf(s.Group), s.Op == kernels.RecvName); ok {
		return n
	}
	return hostThread + int(s.Stream)
}

func threadName(s *record.Span) string {
	if s.Stream == kernels.ComputeStream {
		return "compute"
	}
	switch f := record.FlowOf(s.Group); {
	case f.Transfer():
		return f.Axis + " " + s.Op
	case s.Group != "":
		return s.Group + " communication"
	}
	return "stream " + strconv.Itoa(int(s.Stream))
}

// arrows join a collective's first rank with the others, and a transfer's sender with its receiver.
func (t *tracer) arrows(list []profiler.Collective) error {
	for i := range list {
		c := &list[i]
		flow := record.FlowOf(c.Group)
		first, _ := rowOf(flow, false)
		others, _ := rowOf(flow, true)
		begin := c.Sender()
		for j := range c.Ranks {
			if j == begin {
				continue
			}
			t.flow++
			from := event{Phase: "s", Cat: "collective", Name: c.Op, PID: t.pid + c.Ranks[begin], TID: first, TS: t.at(c.StartNanos[begin]), ID: t.flow}
			to := event{Phase: "f", Bind: "e", Cat: "collective", Name: c.Op, PID: t.pid + c.Ranks[j], TID: others,
				TS: t.at(c.StartNanos[j] + c.DurNanos[j]), ID: t.flow}
			for _, e := range []event{from, to} {
				if err := t.put(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// counters are memory and power over the time that the trace covers.
func (t *tracer) counters(ctx context.Context, r *run, begin int64) error {
	return eachHealth(ctx, r, func(_ string, l *record.HealthLine) error {
		if l.Rank < 0 || l.TSNanos < begin || l.TSNanos > t.end {
			return nil
		}
		bytes := max(l.RSSBytes, l.MemUsedBytes)
		if bytes >= 0 {
			e := event{Phase: "C", Name: "memory MiB", PID: t.pid + int(l.Rank), TS: t.at(l.TSNanos), Args: map[string]any{"used": float64(bytes) / (1 << 20)}}
			if err := t.put(e); err != nil {
				return err
			}
		}
		if l.PowerMilliW < 0 {
			return nil
		}
		return t.put(event{Phase: "C", Name: "power W", PID: t.pid + int(l.Rank), TS: t.at(l.TSNanos), Args: map[string]any{"draw": float64(l.PowerMilliW) / 1000}})
	})
}

// name labels a process (thread −1) or one of its rows, once.
func (t *tracer) name(pid, tid int, what, name string) error {
	if t.named[[2]int{pid, tid}] {
		return nil
	}
	t.named[[2]int{pid, tid}] = true
	return t.put(event{Phase: "M", Name: what, PID: pid, TID: max(tid, 0), Args: map[string]any{"name": name}})
}

func (t *tracer) put(e event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Name, err)
	}
	sep := ",\n"
	if t.first {
		sep, t.first = "\n", false
	}
	_, err = t.w.WriteString(sep)
	if err == nil {
		_, err = t.w.Write(data)
	}
	return err
}
