package trainer

import (
	"context"
	"errors"
	"fmt"
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
// agree on when one is told to stop. However it ends in good order, it leaves a checkpoint.
func (r *rank) loop(ctx context.Context, t *training) error {
	r.enter()
	last, from := lastStep(r.spec.Experiment.Train), t.done
	for step := t.done + 1; step <= last; step++ {
		stop, err := r.stopBefore(ctx, step)
		if err != nil {
			return err
		}
		if stop {
			return errors.Join(r.tellLeftOut(t, from), r.leave(ctx, t))
		}
		if err := r.one(ctx, t, step); err != nil {
			if r.overtaken(step) {
				return r.leave(ctx, t)
			}
			return err
		}
		t.done = step
		if err := r.evaluate(ctx, t); err != nil {
			return err
		}
		if due(step, r.spec.Experiment.Train.CheckpointEvery) {
			if err := r.saver.save(ctx, step); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(r.tellLeftOut(t, from), r.finalSave(ctx, t)); err != nil {
		return err
	}
	// Nobody leaves before all are done: a peer may still be reading this rank's memory.
	if err := r.link.barrier(ctx, "end", partLimit); err != nil {
		return fmt.Errorf("after the last step: %w", err)
	}
	return nil
}

// due reports whether something that is done every so many steps follows on a step; 0 is never.
func due(step, every int) bool { return every > 0 && step%every == 0 }

// leave ends a run that was told to stop.
func (r *rank) leave(ctx context.Context, t *training) error {
	if err := r.finalSave(ctx, t); err != nil {
		return err
	}
	// Ranks that stop together leave together.
	if err := r.link.barrier(ctx, "stop", tellLimit); err != nil {
		r.logf("not every rank stops after step %d: %v", t.done, err)
	}
	return ErrCancelled
}

// finalSave leaves the checkpoint of the last step, and waits until it is there.
func (r *rank) finalSave(ctx context.Context, t *training) error {
	if t.done == 0 {
		return nil
	}
	if err := r.saver.save(ctx, t.done); err != nil {
		return err
	}
	return r.saver.wait(ctx)
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
	if last >= 0 && step > last {
		return true, nil
	}
	// Whoever agrees on a last step cuts off a rank that is beyond it: either it sees this step, or this rank sees the last one.
	r.step.Store(int64(step))
	if _, last = r.stops(); last >= 0 && step > last {
		r.step.Store(int64(step - 1))
		return true, nil
	}
	return false, nil
}

// overtaken reports whether a step failed only because the others had stopped before it: its state is that of the step before,
// since nothing is updated without all of them.
func (r *rank) overtaken(step int) bool {
	_, last := r.stops()
	return last >= 0 && step > last && r.known(0) == nil
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
	in := step.Input{Tokens: t.tokens, LR: lr, Index: index}
	if err := t.ratios.before(ctx, index); err != nil {
		return err
	}
	res, err := t.step.Run(ctx, in)
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
	if err := r.nonFinite(ctx, t, in, res); err != nil {
		return err
	}
	return t.ratios.after(ctx, index)
}
