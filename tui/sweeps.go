package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/queue"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/screen"
)

// sweepStore is screen.Sweeps on a store of runs.
type sweepStore struct {
	runs   *runner.Store
	folder *sweeps.Folder
	binary string // that programs which look after sweeps are started from; empty: this one
	cache  *results.Cache
	// machine describes the machines that an experiment would run on.
	machine func(experiment.Experiment) planner.Machine
	// device says what keeps ranks of this machine from a device; nil: nobody looks.
	device deviceCheck

	mu       sync.Mutex
	settled  string // device that the last space which left it open was settled to; empty: none was
	followed map[string]*followed
	history  results.History
	asked    time.Time // when history was read
}

func newSweepStore(runs *runner.Store, binary string, machine func(experiment.Experiment) planner.Machine, device deviceCheck) *sweepStore {
	return &sweepStore{runs: runs, folder: sweeps.OpenFolder(runs), binary: binary, cache: results.NewCache(), followed: map[string]*followed{}, machine: machine, device: device}
}

// whoAsks is named in journals as who paused a sweep or let it go on.
const whoAsks = "the UI"

func (s *sweepStore) Expand(ctx context.Context, spec space.Spec) (*space.Expansion, error) {
	x, err := space.ExpandHere(ctx, spec, s.machine, s.device.on(ctx))
	if x != nil {
		s.mu.Lock()
		s.settled = x.Device
		s.mu.Unlock()
	}
	return x, err
}

// historyAge is how old what earlier runs measured may get while a grid is edited.
const historyAge = time.Minute

func (s *sweepStore) Cost(ctx context.Context, x *space.Expansion, o sweeps.Options) (results.Estimate, error) {
	s.mu.Lock()
	h, fresh := s.history, time.Since(s.asked) < historyAge
	s.mu.Unlock()
	if !fresh {
		h = results.ReadHistory(ctx, s.runs)
		s.mu.Lock()
		s.history, s.asked = h, time.Now()
		s.mu.Unlock()
	}
	return results.EstimatePoints(x.Base, x.Points, o, h), ctx.Err()
}

func (s *sweepStore) List(ctx context.Context) ([]screen.SweepInfo, []error) {
	infos, errs := s.folder.List(ctx)
	var out []screen.SweepInfo
	for i := range infos {
		if infos[i].Err == nil { // else it is among the errors
			out = append(out, sweepInfo(&infos[i]))
		}
	}
	return out, errs
}

func sweepInfo(in *sweeps.Info) screen.SweepInfo {
	open := in.Counts[sweeps.Queued] + in.Counts[sweeps.Running]
	return screen.SweepInfo{ID: in.ID, Name: in.Name, Created: in.Created, Phase: in.Phase, Over: in.Points - open, Total: in.Points}
}

func (s *sweepStore) Same(ctx context.Context, spec space.Spec) (screen.SweepInfo, bool, error) {
	infos, errs := s.folder.List(ctx)
	s.mu.Lock()
	key := spec.Settled(&space.Expansion{Device: s.settled}).Key()
	s.mu.Unlock()
	var over *sweeps.Info
	for i := range slices.Backward(infos) {
		in := &infos[i]
		if in.Err != nil || !slices.Contains(in.Keys, key) {
			continue
		}
		if in.Phase != sweeps.PhaseFinished {
			return sweepInfo(in), true, nil
		}
		if over == nil {
			over = in
		}
	}
	if over != nil {
		return sweepInfo(over), true, nil
	}
	return screen.SweepInfo{}, false, errors.Join(errs...)
}

func (s *sweepStore) Create(_ context.Context, f space.File, x *space.Expansion, o sweeps.Options) (id string, made bool, err error) {
	f.Spec = f.Spec.Settled(x)
	sweep, made, err := s.folder.SameOrCreate(f, x, o, os.Args)
	if err != nil {
		return "", false, err
	}
	return sweep.ID, made, nil
}

// startAgain is how long a program that looks after a sweep may be on its way
// out when the sweep is to go on.
const startAgain = 500 * time.Millisecond

func (s *sweepStore) Start(ctx context.Context, id string) error {
	sweep, err := s.folder.Find(id)
	if err != nil {
		return err
	}
	st, err := sweep.Load(ctx)
	if err != nil {
		return err
	}
	if check := s.device.on(ctx); check != nil && !st.Held {
		if err := space.CheckDevices(st.Base, st.Waiting(), check); err != nil {
			return err
		}
	}
	if err := sweep.Resume(whoAsks); err != nil {
		return err
	}
	binary := s.binary
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
	}
	for range 2 {
		var held sweeps.ErrHeld
		if err = queue.Spawn(ctx, sweep, binary); !errors.As(err, &held) {
			return err
		}
		select { // somebody looks after it already, and perhaps has just seen the pause
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(startAgain):
		}
	}
	return nil
}

func (s *sweepStore) Grow(ctx context.Context, id string, f space.File, x *space.Expansion) (int, error) {
	sweep, err := s.folder.Find(id)
	if err != nil {
		return 0, err
	}
	st, err := sweep.Load(ctx)
	if err != nil {
		return 0, err
	}
	rest := x.Beyond(points(st), st.Pruned)
	f.Spec = f.Spec.Settled(x)
	return len(rest.Points), sweep.Grow(f, rest)
}

func points(st *sweeps.State) []space.Point {
	out := make([]space.Point, len(st.Points))
	for i, p := range st.Points {
		out[i] = p.Point
	}
	return out
}

func (s *sweepStore) on(id string, f func(*sweeps.Sweep) error) error {
	sweep, err := s.folder.Find(id)
	if err != nil {
		return err
	}
	return f(sweep)
}

func (s *sweepStore) Pause(_ context.Context, id string, now bool) error {
	return s.on(id, func(w *sweeps.Sweep) error { return w.Pause(whoAsks, now) })
}

func (s *sweepStore) Change(_ context.Context, id string, o sweeps.Options) error {
	return s.on(id, func(w *sweeps.Sweep) error { return w.SetOptions(o) })
}
