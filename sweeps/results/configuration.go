package results

import "boost-tui/experiment"

// configuration is everything that an experiment says but for its seed, name and tags: that of its repeats. It can be
// compared and is a key of maps.
type configuration struct {
	model    experiment.Model
	parallel experiment.Parallel
	step     experiment.Step
	train    experiment.Train
	where    experiment.Where
}

func configurationOf(e *experiment.Experiment) configuration {
	c := configuration{e.Model, e.Parallel, e.Step, e.Train, e.Where}
	c.train.Seed = 0
	return c
}

// kind is what has one speed, about: the same way of computing on as many ranks.
type kind struct {
	variant       experiment.Variant
	scheme        experiment.Scheme
	tp, pp, dp    int
	device, dtype string
	link          string
	recompute     string
}

func kindOf(e *experiment.Experiment) kind {
	p := &e.Parallel
	return kind{e.Model.Variant, p.Scheme, p.TP, p.PP, p.DP, e.Step.Device, e.Step.DType, p.Link, e.Step.Recompute}
}
