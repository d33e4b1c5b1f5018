package runner

import (
	"context"
	"errors"
	"fmt"
	"os"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// LaunchOptions say how to launch.
type LaunchOptions struct {
	// Detach leaves the run to itself: it survives this program and its terminal. Without it the run ends
	// when this program does, whatever ends it.
	Detach    bool
	Binary    string // program to start agents and ranks from; empty: this one
	Argv      []string
	After     string // a run of the store, as Find takes it: the ranks start when it is over; empty: at once
	Resumed   *Resumed
	Sweep     *SweepRef
	Preflight *protocol.PreflightSpec // look at the machines instead of training; nil: train
	Predicted *Predicted
	Versions  Versions // Binary and Go are filled in
	GPUs      []GPU    // that the ranks compute on; nil: none, or not known
}

// hostsOf are the hosts of a place that knows them; nil: this one.
func hostsOf(p Place) []string {
	if h, ok := p.(hosted); ok {
		return h.hostNames()
	}
	return nil
}

// Launch creates a run of a resolved experiment and starts it. It returns when an agent has taken the
// run on, whether its ranks start at once or wait for another run; an error before that leaves no run behind, as a refusal of
// the place does (ErrRefused), unless its directory says why it failed (*StartError). When the context ends in the meantime, a foreground run is there all the same: Wait ends it.
func Launch(ctx context.Context, s *Store, e experiment.Experiment, o LaunchOptions) (*Handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("launch a run: %w", err)
	}
	if o.Sweep != nil && e.Where.MaxRestarts > 0 { // the sweep would not know the runs that follow
		return nil, fmt.Errorf("launch a run of sweep %s: a sweep tries again by itself what a machine failed: leave max-restarts at 0", clean(o.Sweep.ID, 80))
	}
	place, err := placeOf(e.Where)
	if err != nil {
		return nil, err
	}
	if err := settleHosts(place, &e); err != nil {
		return nil, err
	}
	if o.Binary == "" {
		if o.Binary, err = Binary(); err != nil {
			return nil, err
		}
	}
	if err := checkBinary(o.Binary); err != nil {
		return nil, err
	}
	if o.Versions.Binary, err = s.program.hash(o.Binary); err != nil {
		return nil, fmt.Errorf("tell the program's version: %w", err)
	}
	if e.Where.Where == experiment.WhereLocal { // limits of this machine are no other one's
		if err := CheckLimits(e.World(), o.Predicted.sharedBytes(e)); err != nil {
			return nil, err
		}
	}
	r, dir, err := s.Create(e, CreateOptions{Argv: o.Argv, Predicted: o.Predicted, Versions: o.Versions, Foreground: !o.Detach, After: o.After, Sweep: o.Sweep,
		Resumed: o.Resumed, Preflight: o.Preflight, Hosts: hostsOf(place), GPUs: o.GPUs})
	if err != nil {
		return nil, err
	}
	agents, err := place.Start(Job{Dir: dir, Binary: o.Binary, Foreground: !o.Detach})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("launch run %s: %w", r.ID, record.Explain(err)), os.RemoveAll(dir))
	}
	h := newHandle(r, dir, agents)
	h.store = s
	_, h.conducted = place.(conducted)
	if err := h.started(ctx); err != nil {
		if errors.Is(err, ErrRefused) && !takenOn(dir) && os.RemoveAll(dir) == nil { // nothing was queued or started anywhere
			return nil, err
		}
		return nil, &StartError{r.ID, err}
	}
	return h, nil
}
