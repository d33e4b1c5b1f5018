package trainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/checkpoint"
)

func evaluations(t testing.TB, dir string) []record.Evaluation {
	t.Helper()
	list, err := record.Evaluations(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEvaluation: the same samples and so the same losses under every layout of ranks, at the steps that were said and at the end; and training knows nothing of it.
func TestEvaluation(t *testing.T) {
	set := map[string]string{"eval-every": "4", "eval-batches": "3", "steps": "10", "accumulate": "2"}
	one := (&job{cpu: true, e: small(t, set)}).run(t).ok(t)
	want := evaluations(t, one.dir)
	if len(want) != 3 || want[0].Step != 4 || want[1].Step != 8 || want[2].Step != 10 || want[2].Tokens != 3*2*2*12 || !(want[2].Loss < want[0].Loss) {
		t.Fatalf("%+v", want)
	}
	for _, more := range [][]string{{"tp", "2"}, {"dp", "2", "accumulate", "1"}, {"pp", "2"}} {
		got := evaluations(t, (&job{cpu: true, e: small(t, with(set, more...))}).run(t).ok(t).dir)
		for i := range got {
			if got[i].Step != want[i].Step || got[i].Tokens != want[i].Tokens || math.Abs(got[i].Loss-want[i].Loss) > 5e-5 {
				t.Errorf("%v: %+v, want %+v", more, got[i], want[i])
			}
		}
	}
	rarely := (&job{cpu: true, e: small(t, with(set, "eval-every", "100"))}).run(t).ok(t)
	if d := apart(losses(t, one.dir, 0), losses(t, rarely.dir, 0)); d != 0 {
		t.Errorf("evaluating changes training by %g", d)
	}
	if !strings.Contains(one.logs[0].String(), "perplexity") {
		t.Error("the log of rank 0 does not tell")
	}
}

// poison is a device whose SwiGLU of one block writes what is no number, from a step on.
type poison struct {
	kernels.Device
	step int
}

func (p *poison) Do(c kernels.Call, op kernels.Op) error {
	if a, ok := op.(*kernels.AdamW); ok {
		p.step = a.Step
	}
	err := p.Device.Do(c, op)
	if s, ok := op.(*kernels.SwiGLU); ok && err == nil && p.step >= 4 && c.Label.Layer == 1 {
		nan := &kernels.Fill{X: s.Y.RowRange(0, 1), Value: float32(math.NaN())}
		err = p.Device.Do(kernels.Call{Stream: c.Stream}, nan)
	}
	return err
}

// TestNotFiniteNamesTheOperation: one operation of one rank gives a value that is no number. The step is done again, and every record names it. What the
// step began with is in a checkpoint.
func TestNotFiniteNamesTheOperation(t *testing.T) {
	set := map[string]string{"tp": "2"}
	j := (&job{cpu: true, e: small(t, set), wrap: func(rank int, d kernels.Device) kernels.Device {
		if rank == 1 {
			return &poison{Device: d}
		}
		return d
	}}).run(t)
	for rank, err := range j.errs {
		rec, e := protocol.ReadExit(j.dir, rank)
		if err == nil || e != nil || !strings.Contains(rec.Cause, "loss of step 5 is NaN") || !strings.Contains(rec.Cause, "forward.l1.") ||
			!strings.Contains(rec.Cause, "swiglu") || rec.Secondary != (rank == 0) {
			t.Errorf("rank %d: %v, %+v, %v", rank, err, rec, e)
		}
		if rank == 1 && (!errors.Is(err, kernels.ErrNotFinite) || !strings.HasPrefix(rec.Operation, "forward.l1.")) {
			t.Errorf("%+v", rec)
		}
	}
	whole := (&job{cpu: true, e: small(t, with(set, "stop-after", "4"))}).run(t).ok(t)
	same(t, "step 4", contents(t, checkpoint.Dir(whole.dir, 4)), contents(t, checkpoint.Dir(j.dir, 4)))
}

func TestGoOn(t *testing.T) {
	j := (&job{e: small(t, map[string]string{"lr": "1e30", "warmup": "0", "clip": "0", "on-nonfinite": "go-on", "eval-every": "10"})}).run(t).ok(t)
	got := lines(t, j.dir, 0)
	if len(got) != 10 || got[9].Flags&record.NonFinite == 0 {
		t.Errorf("%d steps, the last with flags %v", len(got), got[len(got)-1].Flags)
	}
	events, err := os.ReadFile(record.EventsPath(j.dir))
	if err != nil || !strings.Contains(string(events), `"nonfinite"`) {
		t.Errorf("%s, %v", events, err)
	}
	left := 0
	for _, l := range got {
		if l.Flags&record.NonFinite != 0 {
			left++
		}
	}
	if want := fmt.Sprintf("%d of 10 updates were left out", left); !strings.Contains(string(events), want) {
		t.Errorf("%s, want %q", events, want)
	}
	if v, err := record.Evaluations(j.dir); err != nil || len(v) != 1 || v[0].Step != 10 {
		t.Errorf("%v, %v", v, err)
	}
}

// ratiosOf are the update ratios of a run, by step.
func ratiosOf(t testing.TB, dir string) map[int]map[string]float64 {
	t.Helper()
	data, err := os.ReadFile(record.EventsPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]map[string]float64{}
	for line := range bytes.Lines(data) {
		var l struct {
			Code string
			Data struct {
				Step   int
				Ratios map[string]float64
			}
		}
		if json.Unmarshal(line, &l) == nil && l.Code == "update-ratio" {
			out[l.Data.Step] = l.Data.Ratios
		}
	}
	return out
}

func TestUpdateRatios(t *testing.T) {
	set := map[string]string{"update-ratio": "5", "accumulate": "2"}
	want := ratiosOf(t, (&job{cpu: true, e: small(t, set)}).run(t).ok(t).dir)
	if len(want) != 2 || len(want[5]) != 3+2*(2+14) {
		t.Fatalf("%v", want)
	}
	for _, more := range [][]string{{"tp", "2"}, {"dp", "2", "accumulate", "1", "zero", "1"}, {"pp", "2"}} {
		got := ratiosOf(t, (&job{cpu: true, e: small(t, with(set, more...))}).run(t).ok(t).dir)
		for step, ratios := range want {
			for name, r := range ratios {
				if g := got[step][name]; !(r > 0) || math.Abs(g/r-1) > 1e-2 {
					t.Errorf("%v: step %d, %s: %g, want %g", more, step, name, g, r)
				}
			}
		}
	}
}
