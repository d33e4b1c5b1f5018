package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/profiler/record"
	"boost-tui/runner"
)

// runResult is the JSON of `run` and `attach`: how the run ended, and its figures.
type runResult struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Cause string `json:"cause"`
	Dir   string `json:"dir"`
	// Evaluation is the last one.
	Evaluation *record.Evaluation `json:"evaluation,omitempty"`
	compare.Summary
}

// launched is the JSON of `run --detach`.
type launched struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Dir   string `json:"dir"`
}

func newRun(a *app) *cobra.Command {
	f := experimentFlags{in: a.in}
	var detach bool
	var after string
	cmd := &cobra.Command{
		Use: "run", Short: "Train one model: launch, follow, summarise", GroupID: groupWork, Args: cobra.NoArgs,
		Long: `Train one model. The run and all of its processes end together with this command, whatever ends it, unless
--detach is given: then it prints the run's id and leaves the run to itself.

With --after the run waits until another one is over, however that ends. Until then it is pending and has no ranks.

With --resume a run goes on from the latest checkpoint of another one (RUN or its folder; RUN@STEP for that of a step), on any number of ranks. It is the
same experiment, but for what other flags say.`,
		Example: "  boost-tui run --size tiny --variant cola --scheme btp --tp 2 --steps 200\n  boost-tui run --config experiment.toml --set lr=1e-3 --json\n" +
			"  boost-tui run --resume 1f3a --tp 4 --steps 1000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := a.asked(&f)
			if err != nil {
				return err
			}
			s, err := a.store()
			if err != nil {
				return err
			}
			if after != "" { // before the plan, which takes longer
				_, before, err := a.find(after)
				if err != nil {
					return err
				}
				after = before.ID
			}
			p, err := a.prepare(e)
			if err != nil {
				return err
			}
			p.after = after
			if detach {
				return a.detach(cmd.Context(), s, p)
			}
			in, err := a.follow(cmd.Context(), s, p, "")
			if err != nil {
				return a.unfinished(cmd.Context(), in, err)
			}
			return a.finish(cmd.Context(), in)
		},
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "print the run's id and leave the run to itself")
	cmd.Flags().StringVar(&after, "after", "", "start when this `RUN` is over, however it ended")
	_ = cmd.RegisterFlagCompletionFunc("after", a.completeRuns) // it fails for a flag that is not there
	f.register(cmd)
	return cmd
}

// asked is the experiment that the command line asks for.
func (a *app) asked(f *experimentFlags) (experiment.Experiment, error) {
	if name := f.resume(); name != "" {
		return a.resumed(f, name)
	}
	return f.experiment()
}

// unfinished ends a run of which no end is known: it did not come to be, or nobody waited for it. With --json its
// object is printed all the same.
func (a *app) unfinished(ctx context.Context, in runner.Info, err error) error {
	if !a.json {
		return err
	}
	r := runResult{ID: in.ID, State: stateAfter(ctx), Cause: err.Error(), Dir: in.Dir}
	var start *runner.StartError
	if errors.As(err, &start) { // its directory is there
		r.ID = start.ID
		if s, err := a.store(); err == nil {
			r.Dir = s.Dir(start.ID)
		}
	}
	return errors.Join(err, a.printJSON(r))
}

// stateAfter is the state of work that ended with an error.
func stateAfter(ctx context.Context) string {
	if ctx.Err() != nil {
		return string(runner.Cancelled)
	}
	return string(runner.Failed)
}

func (a *app) detach(ctx context.Context, s *runner.Store, p prepared) error {
	if err := compile(ctx, p.experiment, a.note); err != nil {
		return err
	}
	o, err := p.launchOptions()
	if err != nil {
		return err
	}
	o.Detach = true
	h, err := runner.Launch(ctx, s, p.experiment, o)
	if err != nil {
		return refusal(err)
	}
	if a.json {
		in, err := s.Load(h.Run.ID)
		if err != nil {
			return err
		}
		return a.printJSON(launched{h.Run.ID, string(in.State), h.Dir})
	}
	return a.print("%s\n", h.Run.ID)
}

// follow launches a run in front and shows its progress until it is over. An error says that there is no
// such run; one that failed is in what is returned.
func (a *app) follow(ctx context.Context, s *runner.Store, p prepared, title string) (runner.Info, error) {
	if err := compile(ctx, p.experiment, a.note); err != nil {
		return runner.Info{}, err
	}
	o, err := p.launchOptions()
	if err != nil {
		return runner.Info{}, err
	}
	a.orderly.Store(true) // from here on there are processes to look after
	h, err := runner.Launch(ctx, s, p.experiment, o)
	if err != nil {
		return runner.Info{}, refusal(err)
	}
	if title == "" {
		title = h.Run.ID
		a.note("run %s in %s", h.Run.ID, h.Dir)
		if h.Run.After != "" {
			a.note("it waits for %s", h.Run.After)
		}
	}
	bar := a.progress(title, p.experiment.StepsToRun())
	h.Restarted = func(was, next runner.Info) {
		bar.clear()
		a.note("run %s is %s: %s; it goes on as run %s", was.ID, was.State, was.Cause, next.ID)
	}
	told := a.tellWaiting(ctx, h.Dir)
	followed := h.Follow(ctx, bar.step)
	told()
	bar.clear()
	in, err := h.Wait(ctx)
	if followed != nil && !errors.Is(followed, context.Canceled) {
		a.note("%v", followed)
	}
	return in, err
}

// refusal is wrong input where a place refuses the run as it was asked for.
func refusal(err error) error {
	if !errors.Is(err, runner.ErrRefused) {
		return err
	}
	var start *runner.StartError
	if errors.As(err, &start) { // its record stays
		return usage(fmt.Errorf("run %s was refused: %w", start.ID, err))
	}
	return usage(fmt.Errorf("%w (nothing was queued, and no run is left)", err))
}

// finish prints how a run ended and turns that into the command's own end.
func (a *app) finish(ctx context.Context, in runner.Info) error {
	sum, err := compare.Summarize(in.Dir)
	if err != nil {
		a.note("figures of %s: %v", in.ID, err)
	}
	r := runResult{ID: in.ID, State: string(in.State), Cause: in.Cause, Dir: in.Dir, Evaluation: a.lastEvaluation(in.Dir), Summary: sum}
	if a.json {
		err = a.printJSON(r)
	} else {
		err = a.printResult(r)
	}
	if err != nil {
		return err
	}
	switch {
	case in.State == runner.Finished:
		return nil
	case ctx.Err() != nil:
		return silently(exitInterrupted, "interrupted")
	case in.Mistaken():
		return silently(exitUsage, "run "+in.ID+" asked a host for what is not there")
	default:
		return silently(exitFailed, "run "+in.ID+" is "+string(in.State))
	}
}
