package trainer

import (
	"context"
	"fmt"
	"math"
	"time"

	"boost-tui/step"
)

// Which steps have a timeline: the first few after the machine has warmed up (threads, caches, pages),
// then one in so many (PROFILING.md §6).
const (
	warmSteps    = 5
	firstSampled = 3
	sampledEvery = 50
)

// sampled reports whether every operation of the step is timed by itself.
func sampled(step int) bool {
	return step > warmSteps && step <= warmSteps+firstSampled || step%sampledEvery == 0
}

// loop runs the steps of the schedule, up to its end, to stop-after, or to the step that the ranks
// agree on when one is told to stop.
func (r *rank) loop(ctx context.Context, t *training) error {
	r.enter()
	last := lastStep(r.spec.Experiment.Train)
	for step := 1; step <= last; step++ {
		stop, err := r.stopBefore(ctx, step)
		if err != nil {
			return err
		}
		if stop {
			// Ranks that stop together leave together; one that went on a step further is cut off.
			if err := r.link.barrier(ctx, "stop", tellLimit); err != nil {
				r.logf("not every rank stops after step %d: %v", step-1, err)
			}
			return ErrCancelled
		}
		r.step.Store(int64(step))
		if err := r.one(ctx, t, step); err != nil {
			return err
		}
	}
	// Nobody leaves before all are done: a peer may still be reading this rank's memory.
	if err := r.link.barrier(ctx, "end", partLimit); err != nil {
		return fmt.Errorf("after the last step: %w", err)
	}
	return nil
}

// stopBefore reports whether the run ends before the given step. A rank that was told to stop proposes
// the coming step as the last one: its peers may be in it already, waiting for this rank.
func (r *rank) stopBefore(ctx context.Context, step int) (bool, error) {
	if cause := context.Cause(ctx); cause != nil {
		return false, cause
	}
	asked, last := r.stops()
	if asked && last < 0 {
		propose := step
		if r.spec.World == 1 {
			propose = step - 1
		}
		n, err := r.link.stopAfter(ctx, propose)
		if err != nil {
			return false, fmt.Errorf("agree on the last step: %w", err)
		}
		r.agree(n)
		last = n
	}
	return last >= 0 && step > last, nil
}

// one runs a step and writes down what it was.
func (r *rank) one(ctx context.Context, t *training, index int) error {
	deep := sampled(index)
	r.dev.flight.SetStep(index)
	if err := r.dev.timer.BeginStep(index, deep); err != nil {
		return fmt.Errorf("step %d: %w", index, err)
	}
	began := time.Now()
	if err := t.batches.Fill(t.tokens, index); err != nil {
		return err
	}
	filled := time.Since(began)
	lr := Rate(r.spec.Experiment.Train, index)
	res, err := t.step.Run(ctx, step.Input{Tokens: t.tokens, LR: lr, Index: index})
	if err != nil {
		return err
	}
	times, spans, err := r.dev.timer.EndStep()
	if err != nil {
		return fmt.Errorf("step %d: %w", index, err)
	}
	if err := r.report(t.out, measured{index: index, deep: deep, lr: lr, dataNanos: filled.Nanoseconds(), result: res, times: times, spans: spans}); err != nil {
		return err
	}
	return finite(index, res)
}

// finite ends the run where its numbers have broken down. The step itself did nothing: the optimizer
// leaves the weights alone when the norm is not finite.
func finite(index int, res step.Result) error {
	what, v := "loss", res.Loss
	if !notFinite(v) {
		what, v = "gradient norm", res.GradNorm
	}
	if !notFinite(v) {
		return nil
	}
	return fmt.Errorf("the %s of step %d is %v; the weights were left as they were before it. A lower lr or a longer warmup may help; "+
		"a run with %s=1 in the environment finds the first operation that gives such a value", what, index, v, EnvCheck)
}

func notFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
