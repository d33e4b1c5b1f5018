package checkpoint

import (
	"fmt"
	"strings"

	"boost-tui/experiment"
)

// MisfitError says why an experiment cannot go on from a checkpoint.
type MisfitError struct{ Reasons []string }

func (e *MisfitError) Error() string {
	return "it does not fit this experiment: " + strings.Join(e.Reasons, "; ")
}

// Keys that weights alone do not say, and without which they are another model.
const (
	Shape    = "d layers heads ff vocab"
	Function = "keep-silu norm-eps rope-theta"
	// Form is how linears are made of their tensors; the variant comes first.
	Form = "rank-attn rank-mlp lax-gate lax-base relora-alpha sltrain-alpha sltrain-delta"
)

// fixed are the keys that a run and what it resumes must have in common, with why. Everything else may differ: how ranks share the
// work, batches, the schedule, the data.
var fixed = []struct{ keys, why string }{
	// Other keys follow from these, and say themselves already in a checkpoint's experiment, so that another value would name
	// what nothing of the run is.
	{"size rank", "the model stays as it is"},
	{Shape, "the model's shape stays as it is"},
	{"variant " + Form + " " + Function, "the model's function stays as it is"},
	{"loro-every loro-refresh relora-every relora-keep-step", "the moments were counted in other cycles"},
	{"seed", "weights that are drawn anew, and the order of the data, follow from it"},
	{"dtype", "the weights are of that type"},
}

// Fits says whether a resolved experiment can go on from a checkpoint: *MisfitError with every reason when it cannot.
func Fits(m *Manifest, e experiment.Experiment) error {
	var reasons []string
	for _, f := range fixed {
		if differ := Differences(m.Experiment, e, f.keys); len(differ) > 0 {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", strings.Join(differ, ", "), f.why))
		}
	}
	switch last, stop := e.Train.Steps, e.Train.StopAfter; {
	case m.Step >= last:
		reasons = append(reasons, fmt.Sprintf("the checkpoint is of step %d, and the run would end after step %d: raise steps", m.Step, last))
	case stop > 0 && m.Step >= stop:
		reasons = append(reasons, fmt.Sprintf("the checkpoint is of step %d, and stop-after would end the run after step %d: raise stop-after, or leave it out", m.Step, stop))
	}
	if len(reasons) > 0 {
		return &MisfitError{reasons}
	}
	return nil
}

// Differences lists in which of some keys an experiment departs from that of a checkpoint.
func Differences(checkpoint, e experiment.Experiment, keys string) (differ []string) {
	for _, key := range strings.Fields(keys) {
		if was, is := checkpoint.Get(key), e.Get(key); was != is {
			differ = append(differ, fmt.Sprintf("%s is %s, the checkpoint's %s", key, orNone(is), orNone(was)))
		}
	}
	return differ
}

func orNone(v string) string {
	if v == "" {
		return "none"
	}
	return v
}
