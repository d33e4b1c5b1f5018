package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
)

// store opens the folder of runs that the command line names.
func (a *app) store() (*runner.Store, error) {
	root, err := runner.DefaultRoot(a.runs)
	if err != nil {
		return nil, usage(err)
	}
	if err := checkStore(root); err != nil {
		return nil, usage(err)
	}
	return runner.NewStore(root), nil
}

// checkStore says in plain words why a path cannot be the folder of runs. One that is not there yet can.
func checkStore(root string) error {
	const advice = "name a folder with --runs or $BOOST_RUNS"
	st, err := os.Stat(root)
	switch {
	case err == nil && !st.IsDir():
		return fmt.Errorf("the folder of runs, %s, is no folder: %s", root, advice)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("the folder of runs, %s, would lie in something that is no folder: %s", root, advice)
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("the folder of runs, %s, is a link that leads in a circle: %s", root, advice)
	case errors.Is(err, fs.ErrNotExist):
		if to, err := os.Readlink(root); err == nil {
			return fmt.Errorf("the folder of runs, %s, is a link to %s, which is not there: make that folder, or %s", root, to, advice)
		}
	}
	return nil
}

// findAll gives the ids of runs that the user named, before anything is done to the first of them.
func (a *app) findAll(args []string) (*runner.Store, []string, error) {
	s, err := a.store()
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	for _, arg := range args {
		id, err := s.Find(arg)
		if err != nil {
			return nil, nil, usage(calledSo(s, arg, err))
		}
		ids = append(ids, id)
	}
	return s, ids, nil
}

// find reads a run that the user named. An id that fits nothing, or too much, is wrong input.
func (a *app) find(id string) (*runner.Store, runner.Info, error) {
	s, err := a.store()
	if err != nil {
		return nil, runner.Info{}, err
	}
	in, err := s.Load(id)
	if err != nil {
		return nil, in, usage(calledSo(s, id, err))
	}
	return s, in, nil
}

// calledSo adds to an error about a run that was not found which run is called so: a name may be many runs', and finds none.
func calledSo(s *runner.Store, name string, err error) error {
	infos, _ := s.List(context.Background()) // the latest of them is the one that is meant, as a rule
	for i := len(infos) - 1; i >= 0; i-- {
		if name != "" && infos[i].Run.Name == name {
			return fmt.Errorf("%w; a name is no id: run %s is called so", err, infos[i].ID)
		}
	}
	return err
}

// findReadable is find of a run whose files can be understood.
func (a *app) findReadable(id string) (*runner.Store, runner.Info, error) {
	s, in, err := a.find(id)
	if err == nil && in.Err != nil {
		err = fmt.Errorf("run %s: %w", in.ID, in.Err)
	}
	return s, in, err
}

// completeRuns offers the ids of the store, the latest first.
func (a *app) completeRuns(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := a.store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	infos, _ := s.List(cmd.Context())
	var ids []string
	for i := len(infos) - 1; i >= 0; i-- {
		ids = append(ids, cobra.CompletionWithDesc(infos[i].ID, string(infos[i].State)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeOneRun is completeRuns for commands that take one run.
func (a *app) completeOneRun(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeRuns(cmd, given, prefix)
}

// runView is a run in the JSON of `runs` and `show`.
type runView struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	State   string `json:"state"`
	Cause   string `json:"cause,omitempty"`
	Size    string `json:"size,omitempty"`
	Variant string `json:"variant,omitempty"`
	Scheme  string `json:"scheme,omitempty"`
	TP      int    `json:"tp,omitempty"`
	PP      int    `json:"pp,omitempty"` // this and those below where they are more than one
	DP      int    `json:"dp,omitempty"`
	Zero    int    `json:"zero,omitempty"`
	SP      bool   `json:"sp,omitempty"`
	Device  string `json:"device,omitempty"` // that it computes on
	// EmulatedLink and EmulatedDevice: its times are those of the link, or of the device, and not this machine's.
	EmulatedLink   string `json:"emulated_link,omitempty"`
	EmulatedDevice bool   `json:"emulated_device,omitempty"`

	Step    *int64           `json:"step,omitempty"`  // last step that the rollup knows
	Steps   int              `json:"steps,omitempty"` // of the schedule
	Loss    *float64         `json:"loss,omitempty"`  // at that step
	Created time.Time        `json:"created"`
	Ended   *time.Time       `json:"ended,omitempty"`
	Took    *float64         `json:"took_s,omitempty"` // of one that is over
	Tags    []string         `json:"tags"`
	Note    string           `json:"note,omitempty"`
	Sweep   *runner.SweepRef `json:"sweep,omitempty"` // that started it
	Dir     string           `json:"dir"`
	Error   string           `json:"error,omitempty"` // what of the run could not be read

	Restart     *runner.Restart `json:"restart,omitempty"`      // what it goes on from by itself
	RestartedAs string          `json:"restarted_as,omitempty"` // what goes on from it
	ComesBack   string          `json:"comes_back,omitempty"`   // what it waits for to go on as another run; the cause has it too

	Archived        bool       `json:"archived,omitempty"`
	Owner           string     `json:"owner,omitempty"`         // where it is not this user's
	Disk            *int64     `json:"disk_b,omitempty"`        // what it takes on the disk
	DiskCheckpoints *int64     `json:"checkpoints_b,omitempty"` // of that, in checkpoints
	Deleted         *time.Time `json:"deleted,omitempty"`       // when it was moved to the trash
}

func viewOf(in runner.Info) runView {
	e := in.Run.Experiment
	v := runView{
		ID: in.ID, Name: in.Run.Name, State: string(in.State), Cause: in.Cause, Size: e.Model.Size, Variant: string(e.Model.Variant),
		Scheme: string(e.Parallel.Scheme), TP: e.Parallel.TP, Device: e.Step.Device, EmulatedLink: e.Parallel.Link, EmulatedDevice: e.Step.Device == experiment.DeviceEmu, Steps: e.Train.Steps, Created: in.Run.Created,
		Tags: append([]string{}, in.Tags...), Note: in.Note, Sweep: in.Run.Sweep, Dir: in.Dir, Archived: in.Archived, Restart: in.Run.Restart,
	}
	v.shared(e.Parallel)
	if !in.Mine() {
		v.Owner = in.Owner()
	}
	if !in.Ended.IsZero() {
		v.Ended = &in.Ended
		if took, why := in.Took(in.Clock(time.Now())); why == "" {
			seconds := took.Seconds()
			v.Took = &seconds
		}
	}
	if in.Err != nil {
		v.Error = in.Err.Error()
	}
	if in.Result != nil {
		v.RestartedAs = runner.Clean(in.Result.RestartedAs)
	}
	if v.ComesBack = in.ComesBack(time.Now()); v.ComesBack != "" {
		v.Cause = v.ComesBack + "; before: " + v.Cause
	}
	last, err := progressOf(in)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && v.Error == "" {
		v.Error = err.Error()
	}
	if last != nil {
		v.Step = &last.Step
		if last.Loss == last.Loss {
			v.Loss = &last.Loss
		}
	}
	return v
}

// shared says how the run's ranks share the work beside tp, where they do.
func (v *runView) shared(p experiment.Parallel) {
	if p.PP > 1 {
		v.PP = p.PP
	}
	if p.DP > 1 {
		v.DP = p.DP
	}
	v.Zero, v.SP = p.Zero, p.SP
}

// progressOf is how far a run got; nil: nobody knows.
func progressOf(in runner.Info) (*runner.Progress, error) {
	if in.Last != nil || in.State == runner.Unreadable {
		return in.Last, nil
	}
	last, err := record.LastRollup(in.Dir, 1)
	if err != nil || len(last) != 1 {
		return nil, err
	}
	return &runner.Progress{Step: last[0].Step, Loss: last[0].Loss}, nil
}
