package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/runner"
)

// The demo gives each scheme about demoTime, so that its statistic is a real one: what is skipped at the
// start of a run takes ten seconds (docs/numbers.md). The pace is measured on the slowest scheme first.
const (
	demoTime  = 22 * time.Second
	demoPace  = 12 // steps that measure the pace
	demoLeast = 60
	demoMost  = 1500
	demoSeed  = "1"
	demoRanks = "2"
	demoTag   = "demo"
)

// demoSchemes are what the demo compares, in order.
var demoSchemes = []struct{ variant, scheme string }{
	{"full", "full-rank"},
	{"cola", "vanilla"},
	{"cola", "btp"},
}

// demoResult is the JSON of `demo`: the comparison, with how the runs ended.
type demoResult struct {
	compare.Table
	State string     `json:"state"`
	Cause string     `json:"cause,omitempty"`
	Runs  []launched `json:"runs"`
}

func newDemo(a *app) *cobra.Command {
	var steps int
	cmd := &cobra.Command{
		Use: "demo", Short: "Train the same small model under three schemes and compare them", GroupID: groupWork, Args: cobra.NoArgs,
		Long: `Train the preset tiny under full-rank, vanilla and bottleneck-aware tensor parallelism, two ranks each, one after
another, and compare them. It takes between one and three minutes; the runs stay in the store.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.store()
			if err != nil {
				return err
			}
			return a.demo(cmd.Context(), s, steps)
		},
	}
	cmd.Flags().IntVar(&steps, "steps", 0, "steps of each run (default as many as take about 20 s)")
	return cmd
}

// demoExperiment is one of the three.
func demoExperiment(variant, scheme string, steps int) (experiment.Experiment, error) {
	e := experiment.Default()
	for _, kv := range []assignment{{"size", "tiny"}, {"variant", variant}, {"scheme", scheme}, {"tp", demoRanks}, {"seed", demoSeed},
		{"steps", fmt.Sprint(steps)}, {"name", "demo " + scheme}, {"tags", demoTag}} {
		if err := e.Set(kv.key, kv.value); err != nil {
			return e, fmt.Errorf("the demo's own experiment: %w", err)
		}
	}
	return e, nil
}

func (a *app) demo(ctx context.Context, s *runner.Store, steps int) error {
	r := demoResult{State: string(runner.Finished), Runs: []launched{}}
	r.Rows = []compare.Row{}
	err := a.demoRuns(ctx, s, steps, &r)
	if err != nil {
		r.State, r.Cause = stateAfter(ctx), err.Error()
	}
	if a.json {
		return errors.Join(err, a.printJSON(r))
	}
	if err != nil {
		return err
	}
	return a.printDemo(s, r)
}

// demoRuns trains under each scheme, and compares.
func (a *app) demoRuns(ctx context.Context, s *runner.Store, steps int, r *demoResult) error {
	if steps == 0 {
		var err error
		if steps, err = a.pace(ctx, s); err != nil {
			return err
		}
	}
	var dirs []string
	for i, d := range demoSchemes {
		e, err := demoExperiment(d.variant, d.scheme, steps)
		if err != nil {
			return err
		}
		p, err := a.prepare(e)
		if err != nil {
			return err
		}
		title := fmt.Sprintf("%d/%d %s, %s", i+1, len(demoSchemes), d.variant, d.scheme)
		a.note("%s: %d steps on %s ranks", title, steps, demoRanks)
		in, err := a.follow(ctx, s, p, title)
		if err != nil {
			return err
		}
		r.Runs = append(r.Runs, launched{in.ID, string(in.State), in.Dir})
		if in.State != runner.Finished {
			return fmt.Errorf("run %s is %s: %s; boost-tui show %s says more", in.ID, in.State, runner.Clean(in.Cause), in.ID)
		}
		dirs = append(dirs, in.Dir)
	}
	t, err := compare.CompareContext(ctx, dirs, compare.Options{})
	if err == nil {
		r.Table = t
	}
	return err
}

func (a *app) printDemo(s *runner.Store, r demoResult) error {
	if err := a.printTable(r.Table); err != nil {
		return err
	}
	ids := ""
	for _, run := range r.Runs {
		ids += " " + run.ID
	}
	return a.print(`
Two ranks of one machine communicate through memory, so times say little about a cluster here; bytes do.
The runs are kept in %s. Next:
  boost-tui                     the same in the UI: 3 Compare (0 there, if you chose other runs before)
  boost-tui compare%s
  boost-tui export --to demo-csv%s
`, s.Root, ids, ids)
}

// pace finds out how many steps fill the demo's time, by a few steps in a store that is thrown away.
func (a *app) pace(ctx context.Context, s *runner.Store) (steps int, err error) {
	scratch, remove, err := s.Scratch()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	a.note("measuring this machine's pace")
	e, err := demoExperiment("cola", "vanilla", demoPace)
	if err != nil {
		return 0, err
	}
	p, err := a.prepare(e)
	if err != nil {
		return 0, err
	}
	in, err := a.follow(ctx, scratch, p, "pace")
	if err != nil {
		return 0, err
	}
	if in.State != runner.Finished {
		return 0, fmt.Errorf("a run of %d steps is %s: %s", demoPace, in.State, runner.Clean(in.Cause))
	}
	sum, err := compare.SummarizeContext(ctx, in.Dir)
	if err != nil {
		return 0, err
	}
	if sum.StepTimeMedian == nil || *sum.StepTimeMedian <= 0 {
		return demoLeast, nil
	}
	return min(max(int(math.Ceil(demoTime.Seconds() / *sum.StepTimeMedian)), demoLeast), demoMost), nil
}
