package trainer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/checkpoint"
)

func TestSchemesAgree(t *testing.T) {
	t.Run("reference", func(t *testing.T) { schemesAgree(t, false) })
	t.Run("cpu", func(t *testing.T) { schemesAgree(t, true) })
}

func schemesAgree(t *testing.T, cpu bool) {
	one := (&job{cpu: cpu, e: small(t, map[string]string{"scheme": "btp", "tp": "1"})}).run(t).ok(t)
	want := losses(t, one.dir, 0)
	if len(want) != 10 || want[9] >= want[0] {
		t.Fatalf("losses %v", want)
	}
	for _, set := range []map[string]string{
		{"scheme": "vanilla", "tp": "2"}, {"scheme": "btp", "tp": "2"}, {"scheme": "btp", "tp": "4"},
		{"scheme": "btp", "tp": "2", "norm": "sync", "grouping": "off"},
	} {
		j := (&job{cpu: cpu, e: small(t, set)}).run(t).ok(t)
		for rank := range j.errs {
			if d := apart(want, losses(t, j.dir, rank)); d > 5e-5 {
				t.Errorf("%v: rank %d is %g away from one rank", set, rank, d)
			}
		}
		if a, b := losses(t, j.dir, 0), losses(t, j.dir, 1); apart(a, b) != 0 {
			t.Errorf("%v: ranks report different losses", set)
		}
	}
}

func TestSameSeedSameBits(t *testing.T) {
	for _, cpu := range []bool{false, true} {
		sameSeedSameBits(t, cpu)
	}
}

func sameSeedSameBits(t *testing.T, cpu bool) {
	t.Helper()
	set := map[string]string{"scheme": "btp", "tp": "2", "accumulate": "2"}
	a := (&job{cpu: cpu, e: small(t, set)}).run(t).ok(t)
	b := (&job{cpu: cpu, e: small(t, set)}).run(t).ok(t)
	if d := apart(losses(t, a.dir, 0), losses(t, b.dir, 0)); d != 0 {
		t.Errorf("two runs of one experiment are %g apart", d)
	}
	set["seed"] = "2"
	c := (&job{cpu: cpu, e: small(t, set)}).run(t).ok(t)
	if d := apart(losses(t, a.dir, 0), losses(t, c.dir, 0)); d == 0 {
		t.Error("the seed changes nothing")
	}
}

func TestWhatARunLeaves(t *testing.T) {
	j := (&job{e: small(t, map[string]string{"scheme": "btp", "tp": "2", "stop-after": "9"})}).run(t).ok(t)
	for rank := range 2 {
		got := lines(t, j.dir, rank)
		if len(got) != 9 {
			t.Fatalf("%d step lines", len(got))
		}
		for i, l := range got {
			deep := i+1 >= 6 && i+1 <= 8
			switch {
			case l.Step != int64(i+1) || l.Tokens != 24 || l.LR != Rate(j.e.Train, i+1):
				t.Errorf("line %+v", l)
			case l.WallNanos <= 0 || l.WallNanos != l.ComputeNanos+l.ExposedNanos+l.MemNanos+l.IdleNanos:
				t.Errorf("the parts of step %d do not sum up: %+v", i+1, l)
			case l.CommBytes <= 0 || l.Collectives <= 0 || l.MemAllocBytes <= 0 || l.GradNorm <= 0 || l.DataNanos <= 0:
				t.Errorf("step %d: %+v", i+1, l)
			case l.Flags&record.Deep != 0 != deep || l.Flags&record.Warmup != 0 != (i < 3):
				t.Errorf("step %d has flags %v", i+1, l.Flags)
			}
		}
		tl, err := record.OpenTimeline(record.TimelinePath(j.dir, rank))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{6, 7, 8} {
			b, err := tl.Next()
			if err != nil || b.Step != want || len(b.Spans) < 50 {
				t.Errorf("timeline of rank %d: step %d with %d spans, %v; want step %d", rank, b.Step, len(b.Spans), err, want)
			}
		}
		if _, err := tl.Next(); err != io.EOF {
			t.Errorf("more in the timeline: %v", err)
		}
		tl.Close()
		if _, err := protocol.ReadExit(j.dir, rank); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an exit record of a finished rank: %v", err)
		}
	}
	log := j.logs[0].String()
	for _, want := range []string{"step 9/9  loss ", "  grad norm ", " tok/s", "data: the embedded documentation"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log of rank 0 lacks %q:\n%s", want, log)
		}
	}
}

// hook is a device that does something at an operation of a step.
type hook struct {
	kernels.Device
	op func(l kernels.Label, op kernels.Op) error
}

func (h *hook) Do(c kernels.Call, op kernels.Op) error {
	if err := h.op(c.Label, op); err != nil {
		return err
	}
	return h.Device.Do(c, op)
}

// at calls f at the given time that rank's optimizer runs.
func at(rank, step int, f func() error) func(int, kernels.Device) kernels.Device {
	return func(r int, d kernels.Device) kernels.Device {
		if r != rank {
			return d
		}
		return &hook{Device: d, op: func(_ kernels.Label, op kernels.Op) error {
			if a, ok := op.(*kernels.AdamW); ok && a.Step == step {
				return f()
			}
			return nil
		}}
	}
}

func TestAllRecordsNameTheCulprit(t *testing.T) {
	j := &job{cpu: true, e: small(t, map[string]string{"tp": "4"}), wrap: at(2, 4, func() error {
		return &kernels.Error{Backend: "test", Op: "adamw", Msg: "broke", Err: kernels.ErrDevice,
			Label: kernels.Label{Phase: kernels.Optimizer, Layer: -1, Chunk: "optimizer", Op: "adamw"}}
	})}
	started := time.Now()
	j.run(t)
	if d := time.Since(started); d > 5*time.Second {
		t.Errorf("it took %v to end", d)
	}
	for rank, err := range j.errs {
		if err == nil {
			t.Fatalf("rank %d finished", rank)
		}
		rec, e := protocol.ReadExit(j.dir, rank)
		if e != nil {
			t.Fatal(e)
		}
		if code := map[bool]int{true: ExitFailed, false: protocol.CodeSecondary}[rank == 2]; rec.Code != code || rec.Secondary != (rank != 2) || !strings.Contains(rec.Cause, "broke") {
			t.Errorf("rank %d: %+v", rank, rec)
		}
		if rank == 2 && (rec.Step != 4 || rec.Operation != "optimizer.optimizer/adamw") {
			t.Errorf("the culprit: %+v", rec)
		}
		if rank != 2 && !strings.HasPrefix(rec.Cause, "rank 2 failed at step 4") {
			t.Errorf("rank %d blames %q", rank, rec.Cause)
		}
		if n := len(lines(t, j.dir, rank)); n < 3 || n > 4 {
			t.Errorf("rank %d has %d step lines", rank, n)
		}
	}
}

func TestBadDataFailsBeforeTheFirstStep(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	j := (&job{e: small(t, map[string]string{"tp": "2", "data": empty})}).run(t)
	for rank, err := range j.errs {
		rec, e := protocol.ReadExit(j.dir, rank)
		if err == nil || e != nil || !strings.Contains(rec.Cause, "empty.txt is empty") || rec.Step != 0 {
			t.Errorf("rank %d: %v, %+v", rank, err, rec)
		}
	}
}

func TestNotFiniteEndsTheRun(t *testing.T) {
	// A learning rate that no model survives.
	j := (&job{e: small(t, map[string]string{"lr": "1e30", "warmup": "0", "clip": "0"})}).run(t)
	rec, err := protocol.ReadExit(j.dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(j.errs[0], kernels.ErrNotFinite) || !strings.Contains(rec.Cause, "of step") || rec.Step < 2 ||
		!strings.Contains(rec.Cause, "the first operation that gives such a value") || !strings.Contains(rec.Operation, "/") {
		t.Fatalf("%v\n%+v", j.errs[0], rec)
	}
	if steps, err := checkpoint.Steps(checkpoint.Folder(j.dir)); err != nil || len(steps) != 1 || steps[0] != rec.Step-1 {
		t.Errorf("checkpoints of %v, %v", steps, err)
	}
	got := lines(t, j.dir, 0)
	last := got[len(got)-1]
	if last.Flags&record.NonFinite == 0 || last.Step != int64(rec.Step) || !(math.IsNaN(last.Loss) || math.IsNaN(last.GradNorm)) {
		t.Errorf("last line %+v", last)
	}
}

func TestCheckFindsTheOperation(t *testing.T) {
	t.Setenv(EnvCheck, "1")
	(&job{cpu: true, e: small(t, map[string]string{"tp": "2", "steps": "2"})}).run(t).ok(t)
	j := (&job{e: small(t, map[string]string{"lr": "1e30", "warmup": "0", "clip": "0"})}).run(t)
	rec, err := protocol.ReadExit(j.dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(j.errs[0], kernels.ErrNotFinite) || rec.Operation == "" {
		t.Errorf("%v\n%+v", j.errs[0], rec)
	}
}

func TestCancelFinishesTheStep(t *testing.T) {
	for name, told := range map[string]func(rank int) bool{
		"all ranks": func(int) bool { return true },
		"one rank":  func(rank int) bool { return rank == 1 },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			j := &job{e: small(t, map[string]string{"tp": "2", "steps": "100000"}),
				wrap: at(0, 3, func() error { cancel(); return nil }),
				ctx: func(rank int) context.Context {
					if told(rank) {
						return ctx
					}
					return context.Background()
				}}
			j.run(t)
			var counts []int
			for rank, err := range j.errs {
				rec, e := protocol.ReadExit(j.dir, rank)
				if !errors.Is(err, ErrCancelled) || e != nil || rec.Code != protocol.CodeCancelled ||
					rec.Secondary == told(rank) || told(rank) && rec.Cause != "was told to stop by its caller" {
					t.Errorf("rank %d: %v, %+v, %v\n%s", rank, err, rec, e, j.logs[rank].String())
				}
				counts = append(counts, len(lines(t, j.dir, rank)))
			}
			if counts[0] < 3 || counts[0] > 1000 || counts[0] != counts[1] {
				t.Errorf("step lines: %v", counts)
			}
		})
	}
}

func TestCancelBeforeTheLoop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	j := &job{e: small(t, map[string]string{"tp": "2"}), ctx: func(rank int) context.Context {
		if rank == 0 {
			return ctx
		}
		return context.Background()
	}}
	started := time.Now()
	j.run(t)
	if !errors.Is(j.errs[0], ErrCancelled) || time.Since(started) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(started), j.errs)
	}
}

// A rank that does not come back from an operation is ended when the agent dies.
func TestLifelineEnds(t *testing.T) {
	release := make(chan struct{})
	r, w := io.Pipe()
	j := &job{e: small(t, map[string]string{"tp": "1"}), lifeline: func(int) io.Reader { return r },
		wrap: at(0, 3, func() error {
			w.Close() // the agent dies while this rank is deep in something
			<-release
			return nil
		})}
	go func() {
		time.Sleep(orphanLimit + 300*time.Millisecond)
		close(release)
	}()
	j.run(t)
	rec, err := protocol.ReadExit(j.dir, 0)
	if err != nil || !rec.Secondary || rec.Step != 3 || !strings.Contains(rec.Cause, "agent died") {
		t.Errorf("%+v, %v", rec, err)
	}
	if j.exits[0].Load() != 1 {
		t.Errorf("the process of a stuck rank was ended %d times", j.exits[0].Load())
	}
	if j.errs[0] == nil || !strings.Contains(j.errs[0].Error(), "agent died") {
		t.Errorf("%v", j.errs[0])
	}
}

func TestPanicIsAnError(t *testing.T) {
	j := (&job{e: small(t, map[string]string{"tp": "2"}), wrap: at(1, 2, func() error { panic("unheard of") })}).run(t)
	for rank := range 2 {
		rec, err := protocol.ReadExit(j.dir, rank)
		if err != nil || !strings.Contains(rec.Cause, "panic: unheard of") || rec.Secondary != (rank == 0) {
			t.Errorf("rank %d: %+v, %v", rank, rec, err)
		}
	}
	if !strings.Contains(j.logs[1].String(), "goroutine ") {
		t.Errorf("no stack in the log: %s", j.logs[1].String())
	}
}

func TestRefusedSpecs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*protocol.RankSpec)
		want   string
	}{
		"world":  {func(s *protocol.RankSpec) { s.Experiment.Parallel.TP = 2 }, "make 2 ranks, and 1 were started"},
		"stages": {func(s *protocol.RankSpec) { s.Experiment.Parallel.PP = 2 }, "make 2 ranks, and 1 were started"},
		"secret": {func(s *protocol.RankSpec) { s.Secret = "short" }, "secret"},
		"socket": {func(s *protocol.RankSpec) { s.ListenerFD = protocol.NoFD }, "no socket"},
	} {
		s := specs(t, t.TempDir(), small(t, nil))[0]
		c.change(&s)
		err := run(context.Background(), s, nil, world{out: io.Discard, exit: func(int) {}, open: openDevice})
		rec, e := protocol.ReadExit(s.RunDir, 0)
		if err == nil || e != nil || !strings.Contains(rec.Cause, c.want) {
			t.Errorf("%s: %v, %+v, %v", name, err, rec, e)
		}
	}
}
