package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/queue"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/screen/launch"
)

// sweepStarted is the JSON of `sweep --detach` and `sweep resume --detach`.
type sweepStarted struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Dir   string `json:"dir"`
}

// queueOptions are what the engine needs to know of this program.
func queueOptions(s *runner.Store, on queue.Interrupt) (queue.Options, error) {
	bin, err := runner.Binary()
	if err != nil {
		return queue.Options{}, err
	}
	return queue.Options{Runs: s, Binary: bin, Prepare: preparer(s), Interrupt: on}, nil
}

// preparer is prepare and launchOptions for the runs of one sweep. The library of products is looked up once for all of them, and
// notes about single runs are left out: a sweep has many.
func preparer(s *runner.Store) func(experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
	library := sync.OnceValues(productLibrary)
	quiet := checks{func() (*runner.Store, error) { return s, nil }, func(string, ...any) {}}
	return func(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
		p, err := quiet.prepare(e)
		if err != nil {
			return e, runner.LaunchOptions{}, err
		}
		blas, err := library()
		if err != nil {
			return e, runner.LaunchOptions{}, err
		}
		o := p.record(blas)
		o.Argv = launch.Command(p.experiment, p.continued()) // what starts the same again
		return p.experiment, o, nil
	}
}

// lookAfter works a sweep off in front, or follows it where another program does.
func (a *app) lookAfter(ctx context.Context, s *runner.Store, sw *sweeps.Sweep) error {
	a.orderly.Store(true) // from here on there are processes to look after
	o, err := queueOptions(s, queue.Cancel)
	if err != nil {
		return err
	}
	stop := a.showSweep(ctx, s, sw)
	followed, err := workOrFollow(ctx, sw, o, a.note)
	stop()
	if ctx.Err() != nil {
		err = nil // said below, with how to go on
	}
	return a.finishSweep(ctx, s, sw, followed, err)
}

// workOrFollow runs the queue. Where another program holds the sweep it follows, and takes the sweep over when that program
// dies. followed says whether the last it did was to follow.
func workOrFollow(ctx context.Context, sw *sweeps.Sweep, o queue.Options, note func(string, ...any)) (followed bool, err error) {
	for {
		err = queue.Run(ctx, sw, o)
		var held sweeps.ErrHeld
		if !errors.As(err, &held) {
			return false, err
		}
		note("%v; this only follows it", held)
		err = queue.Watch(ctx, sw, nil)
		if !errors.Is(err, queue.ErrAlone) {
			return true, err
		}
		note("the program that looked after sweep %s is gone; this one takes it over", sw.ID)
	}
}

// spawnSweep leaves a sweep to a program of its own.
func (a *app) spawnSweep(ctx context.Context, s *runner.Store, sw *sweeps.Sweep) error {
	bin, err := runner.Binary()
	if err != nil {
		return err
	}
	err = queue.Spawn(ctx, sw, bin)
	var held sweeps.ErrHeld
	if errors.As(err, &held) {
		a.note("%v", held)
		err = nil
	}
	if err != nil {
		return a.noSweep(ctx, err)
	}
	if !a.json {
		return a.print("%s\n", sw.ID)
	}
	st, err := sw.Load(ctx)
	if err != nil {
		return err
	}
	return a.printJSON(sweepStarted{st.ID, string(st.Phase), st.Dir})
}

// noSweep ends a command that came to no sweep. With --json its object is printed all the same.
func (a *app) noSweep(ctx context.Context, err error) error {
	var e *exitError
	if !a.json || errors.As(err, &e) && e.code == exitUsage {
		return err
	}
	return errors.Join(err, a.printJSON(results.Table{State: sweeps.Phase(stateAfter(ctx)), Cause: err.Error(), Axes: []string{}, Rows: []*results.Row{}, Pruned: []space.Pruned{}}))
}

// finishSweep prints the table of a sweep that is not worked off here any more, and says why.
func (a *app) finishSweep(ctx context.Context, s *runner.Store, sw *sweeps.Sweep, followed bool, failed error) error {
	// The context may have ended: what was measured is told all the same.
	tell := context.WithoutCancel(ctx)
	st, err := sw.Load(tell)
	if err != nil {
		return errors.Join(failed, err)
	}
	t, err := results.Measure(tell, s, st, results.NewCache())
	if err != nil {
		return errors.Join(failed, err)
	}
	if a.json {
		err = a.printJSON(t)
	} else {
		err = a.printSweepTable(t)
	}
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	if ctx.Err() != nil {
		a.note("%s", leftBehind(st, followed))
		return silently(exitInterrupted, "interrupted")
	}
	return a.verdict(st)
}

// leftBehind says how to go on after ctrl-c.
func leftBehind(st *sweeps.State, followed bool) string {
	left := counted(st)[sweeps.Queued] + counted(st)[sweeps.Running]
	if followed {
		return fmt.Sprintf("sweep %s goes on elsewhere; boost-tui sweep pause %s holds it", st.ID, st.ID)
	}
	return fmt.Sprintf("%d of %d points of sweep %s are left; boost-tui sweep resume %s goes on", left, len(st.Points), st.ID, st.ID)
}

// verdict turns what became of a sweep into the command's own end: 0 when all points are over and none failed.
func (a *app) verdict(st *sweeps.State) error {
	n := counted(st)
	switch bad := n[sweeps.Failed] + n[sweeps.Cancelled]; {
	case st.Phase != sweeps.PhaseFinished:
		a.note("sweep %s is %s: %s; boost-tui sweep resume %s goes on", st.ID, st.Phase, runner.Clean(st.Cause), st.ID)
		return silently(exitFailed, "sweep "+st.ID+" is "+string(st.Phase))
	case bad > 0:
		a.note("%d of %d points did not finish; boost-tui sweep retry %s runs them again", bad, len(st.Points), st.ID)
		return silently(exitFailed, fmt.Sprintf("%d points of sweep %s did not finish", bad, st.ID))
	}
	return nil
}

// counted says how many points are in each status.
func counted(st *sweeps.State) map[sweeps.Status]int {
	n := map[sweeps.Status]int{}
	for _, p := range st.Points {
		n[p.Status]++
	}
	return n
}

// who names this command in the journal of a sweep.
func who() string { return fmt.Sprintf("boost-tui, process %d", os.Getpid()) }
