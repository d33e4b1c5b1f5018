package planner

import (
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/check"
	"boost-tui/kernels/record"
	"boost-tui/step"
)

// everyForm is every way that this version arranges a block.
var everyForm = []string{"variant=full", "variant=full grouping=off", "scheme=btp", "scheme=btp grouping=off", "scheme=btp norm=sync",
	"scheme=btp norm=sync grouping=off", "scheme=vanilla", "scheme=vanilla grouping=off", "variant=svd", "variant=svd scheme=vanilla"}

// Every operation of a step gets operands in bounds and of the right type, and aliases only what it may.
func TestStepPassesCheck(t *testing.T) {
	for _, words := range everyForm {
		dev := check.Wrap(record.New(record.Options{}), check.Options{})
		comm, err := dev.Join(t.Context(), kernels.UID{}, 2, 1, "tp")
		if err != nil {
			t.Fatal(err)
		}
		e := resolve(t, "tp=2 accumulate=2 "+words)
		s, err := step.New(step.ConfigOf(e), dev, step.Groups{TP: comm})
		if err != nil {
			t.Fatal(err)
		}
		tokens := make([]int32, 2*e.Step.MicroBatch*(e.Step.Seq+1))
		if _, err := s.Run(t.Context(), step.Input{Tokens: tokens, LR: 1, Index: 1}); err != nil {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// No compute touches what a collective works on: the fences of every scheme hold.
func TestStepHasNoRaces(t *testing.T) {
	for _, words := range everyForm {
		r, err := recordStep(step.ConfigOf(resolve(t, "tp=2 accumulate=2 "+words)), experiment.Parallel{TP: 2, DP: 1, PP: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, race := range r.dev.Races() {
			if i < 3 {
				t.Errorf("%s: %s", words, race)
			}
		}
	}
}
