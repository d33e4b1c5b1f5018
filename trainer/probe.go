package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"boost-tui/experiment"
	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/kernels/check"
	"boost-tui/profiler/record"
	"boost-tui/step"
)

// probe is a device that checks nothing until it is armed; then every operation is checked for the first value that is not finite. It costs
// nothing before, but that it knows all buffers.
type probe struct {
	kernels.Device
	checked kernels.Device
	armed   bool
}

func newProbe(inner kernels.Device) *probe {
	return &probe{Device: inner, checked: check.Wrap(inner, check.Options{Finite: true})}
}

// Alloc implements kernels.Device.
func (p *probe) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	return p.checked.Alloc(name, bytes, symmetric)
}

// Free implements kernels.Device.
func (p *probe) Free(b *kernels.Buffer) error { return p.checked.Free(b) }

// Do implements kernels.Device.
func (p *probe) Do(at kernels.Call, op kernels.Op) error {
	if p.armed {
		return p.checked.Do(at, op)
	}
	return p.Device.Do(at, op)
}

// nonFinite is what to do about a step whose numbers have broken down, on every rank alike. The step itself left the weights alone. Told to stop, the ranks leave a
// checkpoint of the state before it, and do the step again with every operation checked: the error names the first that gave such a value.
func (r *rank) nonFinite(ctx context.Context, t *training, in step.Input, res step.Result) error {
	what, v := broken(res)
	if what == "" {
		return nil
	}
	e := r.spec.Experiment.Train
	found := fmt.Sprintf("the %s of step %d is %v", what, in.Index, v)
	if e.OnNonFinite == experiment.NonFiniteGoOn {
		t.leftOut++
		if r.spec.Rank == 0 {
			r.logf("%s; its update is left out", found)
			return r.event(&record.EventLine{Kind: record.EventAlert, TSNanos: wallclock.UnixNano(), Code: "nonfinite", Msg: found + "; its update was left out",
				Data: map[string]any{"step": in.Index}})
		}
		return nil
	}
	if !due(in.Index, e.Cycle()) { // what a cycle's end does is not left out
		if err := r.finalSave(ctx, t); err != nil {
			return err
		}
	}
	const advice = "the weights were left as they were before it. A lower lr or a longer warmup may help; on-nonfinite go-on leaves such steps out"
	if r.dev.probe != nil {
		r.logf("%s: doing it again to find the first operation that gives such a value", found)
		r.dev.probe.armed = true
		if _, err := t.step.Run(ctx, in); errors.Is(err, kernels.ErrNotFinite) || symptom(err) {
			return fmt.Errorf("%s; the first operation that gives such a value: %w; %s", found, err, advice)
		}
	}
	return fmt.Errorf("%s; %s", found, advice)
}

// tellLeftOut sums up at the end how many updates were left out: the last loss alone does not show it.
func (r *rank) tellLeftOut(t *training, from int) error {
	if t.leftOut == 0 || r.spec.Rank > 0 {
		return nil
	}
	msg := fmt.Sprintf("%d of %d updates were left out: loss or gradient norm was not finite", t.leftOut, t.done-from)
	r.logf("%s", msg)
	return r.event(&record.EventLine{Kind: record.EventAlert, TSNanos: wallclock.UnixNano(), Code: "left-out", Msg: msg,
		Data: map[string]any{"left_out": t.leftOut, "steps": t.done - from}})
}

// broken names the number of a step that is not finite; empty: all are.
func broken(res step.Result) (what string, v float64) {
	switch {
	case notFinite(res.Loss):
		return "loss", res.Loss
	case notFinite(res.GradNorm):
		return "gradient norm", res.GradNorm
	}
	return "", 0
}

func notFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
