package testkit

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// RunDir describes a run directory that a test makes up. Times are in seconds.
type RunDir struct {
	ID         string
	Experiment experiment.Experiment
	State      runner.State
	Cause      string
	Ranks      int
	Steps      int
	Wall       float64 // of a step; 0: 0.2
	Exposed    float64 // share of the step; 0: 0.2
	Overlap    float64 // share of the step that hides communication
	Slow       int     // rank that waits least, when Ranks > 1
	NaN        int     // step from which on the loss is no number; 0: none
	Log        []string
	NoHealth   bool
	Hosts      []string  // that its ranks are on, dealt out evenly; nil: login03
	SlowHost   int       // with several hosts, one whose ranks wait least; −1: none
	Lost       []string  // hosts that the result calls lost
	Evals      []float64 // losses of evaluations, after every tenth step
	Rollup     bool
	End        time.Time // of the last step; zero: Start
}

// Write makes the directory under root and describes it as the store would.
func (r RunDir) Write(t testing.TB, root string) runner.Info {
	t.Helper()
	if r.Wall == 0 {
		r.Wall = 0.2
	}
	if r.Exposed == 0 {
		r.Exposed = 0.2
	}
	if r.End.IsZero() {
		r.End = Start
	}
	in := Info(r.ID, r.Experiment, r.State)
	in.Dir, in.Cause = filepath.Join(root, r.ID), r.Cause
	in.Run.Cores, in.Run.CPU = 2*r.Ranks, "Test CPU"
	if len(r.Hosts) > 0 {
		in.Run.Hosts = r.Hosts
	}
	in.Run.Created = r.End.Add(-time.Duration(float64(r.Steps)*r.Wall*1e9) - time.Second)
	e := r.Experiment
	shape := record.ModelShape{D: e.Model.D, FF: e.Model.FF, Layers: e.Model.Layers, Heads: e.Model.Heads, Vocab: e.Model.Vocab, RankAttn: e.Model.RankAttn, RankMLP: e.Model.RankMLP}
	in.Run.Model = shape
	in.Run.Plan = record.PlanFields{Scheme: string(e.Parallel.Scheme), Variant: string(e.Model.Variant), Norm: e.Step.Norm, Grouped: e.Step.Grouping, Ckpt: e.Step.Recompute,
		TP: e.Parallel.TP, PP: e.Parallel.PP, DP: e.Parallel.DP, Link: e.Parallel.Link, MBS: e.Step.MicroBatch, Acc: e.Step.Accumulate, Seq: e.Step.Seq, DType: e.Step.DType, Device: e.Step.Device}
	must(t, os.MkdirAll(in.Dir, 0o755))
	if r.State.Over() {
		in.Ended = r.End
		in.Result = &runner.Result{Schema: runner.Schema, State: r.State, Cause: r.Cause, Started: in.Run.Created.Add(time.Microsecond), Ended: r.End, Lost: r.Lost}
		for i := range r.Ranks {
			exit := runner.RankExit{Rank: i}
			if r.State == runner.Failed && i == r.Slow {
				exit = runner.RankExit{Rank: i, Code: -1, Signal: "SIGKILL"}
			}
			in.Result.Ranks = append(in.Result.Ranks, exit)
		}
		writeJSON(t, filepath.Join(in.Dir, protocol.ResultFile), in.Result)
	}
	writeJSON(t, filepath.Join(in.Dir, protocol.RunFile), in.Run)
	r.writeSteps(t, in.Dir)
	r.writeEvals(t, in.Dir)
	if !r.NoHealth {
		r.writeHealth(t, in.Dir)
	}
	must(t, os.MkdirAll(filepath.Dir(record.LogPath(in.Dir, 0)), 0o755))
	for i := range r.Ranks {
		var text []byte
		for _, line := range r.Log {
			text = append(append(text, line...), '\n')
		}
		must(t, os.WriteFile(record.LogPath(in.Dir, i), text, 0o644))
	}
	return in
}

// Line is a rank's step line of the run.
func (r RunDir) Line(rank, step int) record.StepLine {
	l := record.NewStepLine(step)
	wall := int64(r.Wall * 1e9 * (1 + 0.02*math.Sin(float64(step)) + 0.5*math.Exp(-float64(step)/5)))
	part := func(share float64) int64 { return int64(share * float64(wall)) }
	l.WallNanos = wall
	l.TSNanos = r.End.Add(-time.Duration(float64(r.Steps-step) * r.Wall * 1e9)).UnixNano()
	l.ExposedNanos, l.OverlapNanos = part(r.Exposed), part(r.Overlap)
	l.WaitNanos = part(r.Exposed / 2)
	if n := len(r.Hosts); n > 1 && r.SlowHost >= 0 && rank*n/r.Ranks == r.SlowHost || n <= 1 && r.Ranks > 1 && rank == r.Slow {
		l.ExposedNanos, l.WaitNanos = part(r.Exposed/2), 0
	}
	l.MemNanos, l.IdleNanos = part(0.01), part(0.05)
	l.CommNanos = l.ExposedNanos + l.OverlapNanos
	l.ComputeNanos = wall - l.ExposedNanos - l.MemNanos - l.IdleNanos
	l.Collectives, l.CommBytes, l.Tokens = 42, 3<<20, 1024
	l.MemAllocBytes = int64(120+rank) << 20
	l.LR, l.GradNorm = 3e-3, 1
	l.Loss = 2.4 + 3.2*math.Exp(-float64(step)/40)
	if r.NaN > 0 && step >= r.NaN {
		l.Loss, l.GradNorm, l.Flags = math.NaN(), math.NaN(), record.NonFinite
	}
	return l
}

func (r RunDir) writeSteps(t testing.TB, dir string) {
	t.Helper()
	var ranks []int
	for rank := range r.Ranks {
		ranks = append(ranks, rank)
		path := record.StepsPath(dir, rank)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		f, err := os.Create(path)
		must(t, err)
		var buf []byte
		for step := 1; step <= r.Steps; step++ {
			l := r.Line(rank, step)
			buf = append(l.Append(buf), '\n')
			if len(buf) > 1<<20 || step == r.Steps {
				_, err := f.Write(buf)
				must(t, err)
				buf = buf[:0]
			}
		}
		must(t, f.Close())
	}
	if !r.Rollup {
		return
	}
	w, err := record.OpenRollupWriter(dir, ranks)
	must(t, err)
	_, err = w.Poll(context.Background())
	must(t, err)
	must(t, w.Close())
}

func (r RunDir) writeHealth(t testing.TB, dir string) {
	t.Helper()
	hosts := r.Hosts
	if len(hosts) == 0 {
		hosts = []string{"login03"}
	}
	for i, host := range hosts {
		r.writeHost(t, dir, host, i*r.Ranks/len(hosts), (i+1)*r.Ranks/len(hosts))
	}
}

// writeHost writes the samples of a host and of its ranks, from first up to end.
func (r RunDir) writeHost(t testing.TB, dir, host string, first, end int) {
	t.Helper()
	w, err := record.OpenWriter(record.HealthPath(dir, host))
	must(t, err)
	for _, second := range []time.Duration{-time.Second, 0} {
		at := r.End.Add(second).UnixNano()
		h := record.NewHealthLine(record.KindHost, at)
		h.CPUPercent, h.MemUsedBytes = 64, 3<<30
		h.NetTxBytes, h.NetRxBytes = int64(second)/1000+1<<30, 1<<20
		must(t, w.Health(&h))
		for rank := first; rank < end; rank++ {
			l := record.NewHealthLine(record.KindCPU, at)
			l.Rank, l.PID, l.CPUPercent, l.RSSBytes = int64(rank), int64(1000+rank), 196, int64(150+rank)<<20
			must(t, w.Health(&l))
		}
	}
	must(t, w.Close())
}

func (r RunDir) writeEvals(t testing.TB, dir string) {
	t.Helper()
	if len(r.Evals) == 0 {
		return
	}
	w, err := record.OpenWriter(record.EventsPath(dir))
	must(t, err)
	for i, loss := range r.Evals {
		v := record.Evaluation{Step: 10 * (i + 1), Loss: loss, Tokens: 4096, Seconds: 0.1}
		must(t, w.Event(v.Event(r.End)))
	}
	must(t, w.Close())
}

func writeJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	must(t, os.WriteFile(path, data, 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
