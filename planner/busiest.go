package planner

import (
	"boost-tui/experiment"
	"boost-tui/step"
)

// busiest finds what the rank that communicates most moves in a step, of the stages that differ: the first, one between, the
// last. r is the recording of the stage that the plan is about.
func (p *Plan) busiest(cfg step.Config, e experiment.Experiment, r *recording) error {
	p.MostBytes = r.mean(e, p.StepBytes)
	last := e.Parallel.PP - 1
	between := func(stage int) bool { return stage > 0 && stage < last }
	for i := range last + 1 {
		if i == p.Stage || i > 1 && between(i) || between(i) && between(p.Stage) {
			continue
		}
		other, err := recordStep(cfg, e.Parallel, i)
		if err != nil {
			return err
		}
		var q Plan
		other.totals(&q)
		p.MostBytes = max(p.MostBytes, other.mean(e, q.StepBytes))
	}
	return nil
}

// mean is the payload per step over all steps of a run, of which some are exact.
func (r *recording) mean(e experiment.Experiment, bytes int64) int64 {
	steps := int64(e.StepsToRun())
	if r.exact.Every < 1 || steps < 1 {
		return bytes
	}
	return bytes + steps/int64(r.exact.Every)*r.exact.Bytes/steps
}
