package trainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/trainer/checkpoint"
)

// contents are all tensors of a checkpoint, whole, as bytes.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out := map[string]string{}
	for _, x := range c.Manifest.Tensors {
		rows, cols := 1, int(x.Shape[0])
		if len(x.Shape) == 2 {
			rows, cols = int(x.Shape[0]), int(x.Shape[1])
		}
		data := make([]byte, rows*cols*checkpoint.Width(x.DType))
		if err := c.Read(data, x.Name, x.DType, x.Shape, checkpoint.Whole(rows, cols)); err != nil {
			t.Fatal(err)
		}
		out[x.Name] = string(data)
	}
	return out
}

// same compares the contents of two checkpoints bit for bit.
func same(t testing.TB, what string, a, b map[string]string) {
	t.Helper()
	for name, data := range a {
		if b[name] != data {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	if len(a) != len(b) || len(a) == 0 {
		t.Errorf("%s: %d tensors and %d", what, len(a), len(b))
	}
}

func with(set map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for k, v := range set {
		out[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// resumable are variants of which each has something of its own to go on with.
var resumable = map[string]map[string]string{
	"cola":       {"variant": "cola", "accumulate": "2"},
	"full":       {"variant": "full"},
	"svd":        {"variant": "svd", "scheme": "vanilla"},
	"lax dense":  {"variant": "lax", "lax-gate": "dense", "scheme": "vanilla"},
	"lax vector": {"variant": "lax", "lax-gate": "vector"},
	"loro":       {"variant": "loro", "loro-every": "8", "restart-warmup": "3"},
	"relora":     {"variant": "relora", "relora-every": "8", "relora-keep-step": "off", "restart-warmup": "3"},
	"sltrain":    {"variant": "sltrain", "sltrain-delta": "0.2"},
}

// TestResumeIsBitIdentical stops at step 30 and goes on, for every variant, and compares with the run that never stopped: every loss and
// norm, and every bit of weights and moments at the end.
func TestResumeIsBitIdentical(t *testing.T) {
	for name, set := range resumable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := with(set, "tp", "2", "steps", "45")
			whole := (&job{cpu: true, e: small(t, set)}).run(t).ok(t)
			first := (&job{cpu: true, e: small(t, with(set, "stop-after", "30"))}).run(t).ok(t)
			second := (&job{cpu: true, e: small(t, with(set, "resume", checkpoint.Dir(first.dir, 30)))}).run(t).ok(t)
			if d := apart(losses(t, whole.dir, 0)[:30], losses(t, first.dir, 0)); d != 0 {
				t.Errorf("the first 30 losses are %g apart", d)
			}
			a, b := lines(t, whole.dir, 1)[30:], lines(t, second.dir, 1)
			if len(b) != 15 || b[0].Step != 31 {
				t.Fatalf("%d steps from %d on", len(b), b[0].Step)
			}
			for i := range b {
				if a[i].Loss != b[i].Loss || a[i].GradNorm != b[i].GradNorm || a[i].LR != b[i].LR {
					t.Errorf("step %d: %+v and %+v", b[i].Step, a[i], b[i])
				}
			}
			same(t, name, contents(t, checkpoint.Dir(whole.dir, 45)), contents(t, checkpoint.Dir(second.dir, 45)))
			m := manifest(t, checkpoint.Dir(second.dir, 45))
			if m.Tokens != 45*whole.e.TokensPerStep() || m.Resumed != checkpoint.Dir(first.dir, 30) || m.Run != filepath.Base(second.dir) {
				t.Errorf("%d tokens, resumed %q, run %q", m.Tokens, m.Resumed, m.Run)
			}
		})
	}
}

func manifest(t testing.TB, dir string) *checkpoint.Manifest {
	t.Helper()
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Manifest
}

// TestResumeElsewhere goes on under other numbers of tensor-parallel ranks, back and forth.
func TestResumeElsewhere(t *testing.T) {
	for name, set := range resumable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := with(set, "steps", "30")
			want := losses(t, (&job{cpu: true, e: small(t, with(set, "tp", "2"))}).run(t).ok(t).dir, 0)
			resume := ""
			var got []float64
			for i, tp := range []string{"2", "1", "4"} {
				j := (&job{cpu: true, e: small(t, with(set, "tp", tp, "stop-after", fmt.Sprint(10*i+10), "resume", resume))}).run(t).ok(t)
				got = append(got, losses(t, j.dir, 0)...)
				resume = checkpoint.Dir(j.dir, 10*i+10)
			}
			if d := apart(want, got); d > 5e-5 {
				t.Errorf("%g apart: %v, want %v", d, got, want)
			}
		})
	}
}

// TestResumeAcrossTopologies goes on under other numbers of replicas and stages, with and without slices of the optimizer. The batch stays.
func TestResumeAcrossTopologies(t *testing.T) {
	for name, set := range resumable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := with(set, "steps", "40", "accumulate", "2")
			want := losses(t, (&job{cpu: true, e: small(t, set)}).run(t).ok(t).dir, 0)
			resume := ""
			var got []float64
			for i, layout := range []map[string]string{{"tp": "2"}, {"dp": "2", "accumulate": "1", "zero": "1"}, {"pp": "2", "tp": "2"}, {"dp": "2", "accumulate": "1"}} {
				at := fmt.Sprint(10*i + 10)
				now := with(set, "stop-after", at, "resume", resume)
				for k, v := range layout {
					now[k] = v
				}
				j := (&job{cpu: true, e: small(t, now)}).run(t).ok(t)
				got = append(got, losses(t, j.dir, len(j.errs)-1)...)
				resume = checkpoint.Dir(j.dir, 10*i+10)
			}
			if d := apart(want, got); d > 5e-5 {
				t.Errorf("%g apart: %v, want %v", d, got, want)
			}
		})
	}
}

// TestResumeSlicedIsBitIdentical: slices of the optimizer and stages of a pipeline go on bit for bit as well.
func TestResumeSlicedIsBitIdentical(t *testing.T) {
	for name, set := range map[string]map[string]string{
		"zero":     {"dp": "2", "zero": "1", "tp": "2"},
		"pipeline": {"pp": "2", "tp": "2", "accumulate": "2"},
		"sltrain":  {"variant": "sltrain", "sltrain-delta": "0.2", "dp": "2", "zero": "1"},
		"loro":     {"variant": "loro", "loro-every": "8", "restart-warmup": "3", "dp": "2", "zero": "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := with(set, "steps", "20")
			whole := (&job{cpu: true, e: small(t, set)}).run(t).ok(t)
			first := (&job{cpu: true, e: small(t, with(set, "stop-after", "11"))}).run(t).ok(t)
			second := (&job{cpu: true, e: small(t, with(set, "resume", checkpoint.Dir(first.dir, 11)))}).run(t).ok(t)
			same(t, name, contents(t, checkpoint.Dir(whole.dir, 20)), contents(t, checkpoint.Dir(second.dir, 20)))
		})
	}
}

// TestCheckpointsStay: one every so many steps, the last of all, and only as many as wanted.
func TestCheckpointsStay(t *testing.T) {
	for _, c := range []struct {
		every, keep string
		want        []int
	}{{"4", "2", []int{8, 10}}, {"3", "9", []int{3, 6, 9, 10}}, {"5", "1", []int{10}}, {"0", "2", []int{10}}, {"4", "0", nil}} {
		j := (&job{e: small(t, map[string]string{"tp": "2", "checkpoint-every": c.every, "keep-last": c.keep})}).run(t).ok(t)
		steps, err := checkpoint.Steps(checkpoint.Folder(j.dir))
		if err != nil || fmt.Sprint(steps) != fmt.Sprint(c.want) {
			t.Errorf("every %s, keep %s: %v, %v", c.every, c.keep, steps, err)
		}
		if left, err := os.ReadDir(checkpoint.Folder(j.dir)); err == nil && len(left) != len(c.want) {
			t.Errorf("every %s, keep %s: %v is left", c.every, c.keep, left)
		}
	}
}

func TestResumeRefused(t *testing.T) {
	set := map[string]string{"tp": "2", "steps": "4"}
	first := (&job{e: small(t, set)}).run(t).ok(t)
	dir := checkpoint.Dir(first.dir, 4)
	for name, c := range map[string]struct {
		set  map[string]string
		want []string
	}{
		"shape":   {map[string]string{"d": "32", "layers": "3"}, []string{"d is 32, the checkpoint's 16", "layers is 3, the checkpoint's 2", "shape stays"}},
		"variant": {map[string]string{"variant": "svd"}, []string{"variant is svd, the checkpoint's cola"}},
		"rank":    {map[string]string{"rank": "8"}, []string{"rank-attn is 8, the checkpoint's 4"}},
		"seed":    {map[string]string{"seed": "2"}, []string{"seed is 2"}},
		"over":    {map[string]string{"steps": "4"}, []string{"of step 4, and the run would end after step 4"}},
		"nothing": {map[string]string{"resume": t.TempDir()}, []string{"is no checkpoint"}},
	} {
		set := with(set, "steps", "8", "resume", dir)
		for k, v := range c.set {
			set[k] = v
		}
		j := (&job{e: small(t, set)}).run(t)
		for _, want := range c.want {
			if j.errs[0] == nil || !strings.Contains(j.errs[0].Error(), want) {
				t.Errorf("%s: %v, want %q", name, j.errs[0], want)
			}
		}
	}
}

// TestCancelLeavesACheckpoint: the step that was under way is the last of the run and of its checkpoint, on every rank.
func TestCancelLeavesACheckpoint(t *testing.T) {
	for range 5 {
		j := cancelled(t, small(t, map[string]string{"tp": "2", "steps": "100000"}))
		steps, err := checkpoint.Steps(checkpoint.Folder(j.dir))
		if n := len(losses(t, j.dir, 0)); err != nil || len(steps) != 1 || steps[0] != n {
			t.Fatalf("%d steps, checkpoints of %v, %v\n%s\n%s", n, steps, err, j.logs[0].String(), j.logs[1].String())
		}
	}
}

// cancelled runs an experiment that one of its ranks is told to end.
func cancelled(t testing.TB, e experiment.Experiment) *job {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j := &job{e: e, wrap: at(0, 3, func() error { cancel(); return nil }), ctx: func(rank int) context.Context {
		if rank == 1 {
			return ctx
		}
		return context.Background()
	}}
	j.run(t)
	for rank, err := range j.errs {
		if !errors.Is(err, ErrCancelled) {
			t.Fatalf("rank %d: %v\n%s", rank, err, j.logs[rank].String())
		}
	}
	return j
}

// TestTroubleWithFilesIsAnEvent: what is in the way of the second checkpoint ends no run, and the first one stays.
func TestTroubleWithFilesIsAnEvent(t *testing.T) {
	for rank, want := range []string{"", "rank 1: "} {
		j := &job{e: small(t, map[string]string{"tp": "2", "steps": "11", "checkpoint-every": "4"})}
		j.wrap = at(0, 6, func() error {
			dir := filepath.Join(checkpoint.Folder(j.dir), ".step-8")
			// With the folder above it: a writer that is behind has not made that one yet.
			return os.MkdirAll(filepath.Join(dir, fmt.Sprintf("r%05d.safetensors", rank)), 0o700)
		})
		j.run(t).ok(t)
		if steps, err := checkpoint.Steps(checkpoint.Folder(j.dir)); err != nil || fmt.Sprint(steps) != "[4 11]" {
			t.Errorf("%v, %v", steps, err)
		}
		events, err := os.ReadFile(record.EventsPath(j.dir))
		if err != nil || !strings.Contains(string(events), "training goes on, and that of step 4 stays") || !strings.Contains(string(events), want) {
			t.Errorf("%s, %v", events, err)
		}
	}
}
