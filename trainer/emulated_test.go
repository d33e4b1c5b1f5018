package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/kernels/cuda"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/devices"
)

// compiled makes the emulated device before ranks want it, as an agent does.
func compiled(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector does not see into the library")
	}
	if _, err := cuda.Compile(context.Background(), t.Logf); errors.Is(err, cuda.ErrNoCompiler) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// Ranks on the emulated device, processes each, train what those on the processor do, in bf16 nearly so; and measure their steps.
func TestEmulatedRanksTrain(t *testing.T) {
	compiled(t)
	want := losses(t, (&job{cpu: true, e: small(t, nil)}).run(t).ok(t).dir, 0)
	for _, c := range []struct {
		set   map[string]string
		limit float64
	}{
		{map[string]string{"tp": "2"}, 5e-5},
		{map[string]string{"pp": "2", "accumulate": "2", "micro-batch": "1"}, 5e-5},
		{map[string]string{"tp": "2", "dtype": "bf16"}, 2e-2},
		{map[string]string{"dp": "2", "zero": "1", "micro-batch": "1", "dtype": "bf16"}, 2e-2},
	} {
		t.Run(fmt.Sprint(c.set), func(t *testing.T) {
			p := start(t, small(t, with(c.set, "device", "emulated")))
			for rank := range p.cmds {
				if code := p.code(t, rank, time.Minute); code != 0 {
					t.Fatalf("rank %d exits %d", rank, code)
				}
			}
			if d := apart(want, losses(t, p.dir, 0)); d > c.limit || math.IsNaN(d) {
				t.Errorf("%g away from the processor: %v and %v", d, losses(t, p.dir, 0), want)
			}
			for _, l := range lines(t, p.dir, 1) {
				if l.WallNanos <= 0 || l.WallNanos != l.ComputeNanos+l.ExposedNanos+l.MemNanos+l.IdleNanos || l.ComputeNanos <= 0 || l.CommNanos <= 0 ||
					l.ForwardNanos <= 0 || l.BackwardNanos <= 0 || l.OptimizerNanos <= 0 {
					t.Errorf("the times of step %d: %+v", l.Step, l)
				}
			}
			tl, err := record.OpenTimeline(record.TimelinePath(p.dir, 0))
			if err != nil {
				t.Fatal(err)
			}
			defer tl.Close()
			if b, err := tl.Next(); err != nil || len(b.Spans) < 50 {
				t.Errorf("a sampled step has %d spans, %v", len(b.Spans), err)
			}
		})
	}
}

// A rank that is killed in the middle of its work is named by the other, which leaves messages that nobody will complete.
func TestEmulatedRankKilled(t *testing.T) {
	compiled(t)
	for victim := range 2 {
		t.Run(fmt.Sprint(victim), func(t *testing.T) {
			p := start(t, small(t, map[string]string{"tp": "2", "steps": "1000000", "device": "emulated"}))
			other := 1 - victim
			p.reach(t, other, 3)
			_ = p.cmds[victim].Process.Kill()
			if c := p.code(t, other, 10*time.Second); c != protocol.CodeSecondary {
				t.Errorf("rank %d exits %d", other, c)
			}
			if e := p.exit(t, other); !e.Secondary || !strings.Contains(e.Cause, fmt.Sprintf("rank %d failed", victim)) || e.Step < 3 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A rank that is stopped is waited for as long as is configured; then the message that it did not come to is named.
func TestEmulatedRankStopped(t *testing.T) {
	compiled(t)
	t.Setenv(devices.EnvStall, "2s")
	p := start(t, small(t, map[string]string{"tp": "2", "steps": "1000000", "device": "emulated"}))
	p.reach(t, 0, 3)
	_ = p.cmds[1].Process.Signal(syscall.SIGSTOP)
	if c := p.code(t, 0, 20*time.Second); c == 0 {
		t.Error("rank 0 exits 0")
	}
	e := p.exit(t, 0)
	if !strings.Contains(e.Cause, "emulated: ") || !strings.Contains(e.Cause, "tp") || e.Operation == "" || e.Step < 3 {
		t.Errorf("%+v", e)
	}
	t.Log(e.Cause)
	_ = p.cmds[1].Process.Signal(syscall.SIGCONT)
	if c := p.code(t, 1, 20*time.Second); c == 0 {
		t.Error("rank 1 exits 0")
	}
}

// Numbers that break down end a run with the first operation that gave one, on a device that is ahead of its host too.
func TestEmulatedNonFinite(t *testing.T) {
	compiled(t)
	p := start(t, small(t, map[string]string{"tp": "2", "lr": "1e30", "warmup": "0", "clip": "0", "device": "emulated"}))
	for rank := range 2 {
		if c := p.code(t, rank, time.Minute); c == 0 {
			t.Errorf("rank %d exits 0", rank)
		}
	}
	e := p.exit(t, 0)
	if !strings.Contains(e.Cause, "the first operation that gives such a value") {
		t.Errorf("%+v", e)
	}
}
