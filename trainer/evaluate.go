package trainer

import (
	"context"
	"fmt"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/profiler/record"
	"boost-tui/trainer/data"
)

// evaluate measures the loss of what is held out, where that is due after the last step. It is always the same samples, whatever the ranks' layout, and
// leaves everything that training depends on as it is.
func (r *rank) evaluate(ctx context.Context, t *training) error {
	e := r.spec.Experiment
	if !due(t.done, e.Train.EvalEvery) && (e.Train.EvalEvery == 0 || t.done != lastStep(e.Train)) {
		return nil
	}
	began := time.Now()
	b := data.Batches{Source: r.data.held, Seed: e.Train.Seed, Seq: e.Step.Seq, Samples: t.batches.Samples}
	sum := 0.0
	for i := range e.Train.EvalBatches {
		b.First = i*b.Samples*e.Parallel.DP + t.batches.First
		if err := b.Fill(t.tokens, data.Evaluation); err != nil {
			return err
		}
		loss, err := t.step.Evaluate(ctx, t.tokens)
		if err != nil {
			return fmt.Errorf("after step %d: %w", t.done, err)
		}
		sum += loss
	}
	if r.spec.Rank > 0 {
		return nil
	}
	v := record.Evaluation{Step: t.done, Loss: sum / float64(e.Train.EvalBatches), Tokens: int64(e.Train.EvalBatches) * e.TokensPerStep(),
		Seconds: time.Since(began).Seconds()}
	r.logf("evaluation after step %d: loss %.4f, perplexity %.3f, of %d tokens", v.Step, v.Loss, v.Perplexity(), v.Tokens)
	if notFinite(v.Loss) {
		if err := r.event(&record.EventLine{Kind: record.EventAlert, TSNanos: wallclock.UnixNano(), Code: "nonfinite",
			Msg: fmt.Sprintf("the evaluation after step %d gives a loss of %v", v.Step, v.Loss)}); err != nil {
			return err
		}
	}
	return r.event(v.Event(wallclock.Now()))
}
