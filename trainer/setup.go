package trainer

import (
	"context"
	"errors"
	"fmt"
	"os"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/check"
	"boost-tui/profiler"
	"boost-tui/profiler/flight"
	"boost-tui/runner/protocol"
	"boost-tui/step"
	"boost-tui/trainer/data"
	"boost-tui/trainer/mesh"
)

// device is a rank's device with everything that is put round it: check (when asked for), the memory
// meter, the timer, the flight recorder. Calls go to flight.
type device struct {
	kernels.Device        // the innermost; Close closes it
	probe          *probe // nil where every operation is checked anyway
	meter          *meter
	timer          *profiler.Device
	flight         *flight.Device
}

func (r *rank) openDevice() error {
	inner, err := r.open(r.spec)
	if err != nil {
		return err
	}
	r.dev = &device{Device: inner}
	outer := inner
	if os.Getenv(EnvCheck) == "1" {
		outer = check.Wrap(outer, check.Options{Finite: true})
		r.logf("checking bounds, types and finiteness of every operation (%s=1): slow", EnvCheck)
	} else {
		r.dev.probe = newProbe(inner)
		outer = r.dev.probe
	}
	r.dev.meter = &meter{Device: outer}
	if r.dev.timer, err = profiler.Wrap(r.dev.meter, profiler.Options{}); err != nil {
		return err
	}
	w, err := r.openBoard()
	if err != nil {
		return err
	}
	if h, ok := inner.(kernels.Heeder); ok && w != nil {
		h.Heed(w.Under)
	}
	r.dev.flight = flight.Wrap(r.dev.timer, w)
	return nil
}

// openBoard claims this rank's slot of the inherited flight board; a rank that was given none notes nothing.
func (r *rank) openBoard() (*flight.Writer, error) {
	if r.spec.BoardFD == protocol.NoFD {
		return nil, nil
	}
	b, err := flight.Open(os.NewFile(uintptr(r.spec.BoardFD), "board"))
	if err != nil {
		return nil, err
	}
	r.boardMu.Lock()
	r.board = b
	r.boardMu.Unlock()
	return b.Writer(r.spec.LocalRank)
}

func (r *rank) openData() error {
	var err error
	r.data, err = OpenTraining(r.spec.Experiment)
	return err
}

// training is what the loop needs.
type training struct {
	step    *step.Step
	batches data.Batches
	tokens  []int32
	out     *telemetry
	ratios  *ratios // nil: none are measured
	leftOut int     // updates that were not made, of this run's steps
	done    int     // the last step of the run that this one resumes; 0: it begins at the beginning
}

// setUp opens device and data, joins the communicators and makes the model. What it opened is given
// back by release, whether it succeeds or not.
func (r *rank) setUp(ctx context.Context) (*training, error) {
	if err := r.openData(); err != nil {
		return nil, err
	}
	if err := r.openDevice(); err != nil {
		return nil, err
	}
	groups, err := r.joinGroups(ctx)
	if err != nil {
		return nil, err
	}
	e := r.spec.Experiment
	t := &training{}
	if t.step, err = step.New(step.ConfigOf(e), r.dev.flight, groups); err != nil {
		return nil, err
	}
	if err := r.begin(ctx, t); err != nil {
		return nil, err
	}
	samples := e.Step.MicroBatch * e.Step.Accumulate
	at, err := r.mesh.Coordinate(r.spec.Rank)
	if err != nil {
		return nil, err
	}
	t.batches = data.Batches{Source: r.data.train, Seed: e.Train.Seed, Seq: e.Step.Seq, First: at.DP * samples, Samples: samples}
	t.tokens = make([]int32, samples*(e.Step.Seq+1))
	if t.out, err = r.openTelemetry(ctx); err != nil {
		return nil, err
	}
	r.introduce()
	return t, nil
}

// joinGroups makes this rank's communicators, along every axis in the same order on every rank.
func (r *rank) joinGroups(ctx context.Context) (g step.Groups, err error) {
	for _, join := range []struct {
		axis mesh.Axis
		to   *kernels.Comm
	}{{mesh.TP, &g.TP}, {mesh.DP, &g.DP}, {mesh.PP, &g.PP}} {
		if *join.to, err = r.joinGroup(ctx, join.axis); err != nil {
			return g, err
		}
	}
	return g, nil
}

// joinGroup makes this rank's communicator along an axis; nil where it is alone.
func (r *rank) joinGroup(ctx context.Context, a mesh.Axis) (kernels.Comm, error) {
	members, err := r.mesh.Group(a, r.spec.Rank)
	if err != nil || len(members) == 1 {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, meetLimit)
	defer cancel()
	id, err := r.link.uid(ctx, r.dev.flight, a.String(), members, r.spec.Rank)
	if err != nil {
		return nil, fmt.Errorf("identity of the %s group: %w", a, err)
	}
	c, err := r.mesh.Coordinate(r.spec.Rank)
	if err != nil {
		return nil, err
	}
	name, err := r.mesh.GroupName(a, r.spec.Rank)
	if err != nil {
		return nil, err
	}
	comm, err := r.dev.flight.Join(ctx, id, len(members), c.Along(a), name)
	if err != nil {
		return nil, fmt.Errorf("join the %s group of ranks %v: %w", a, members, err)
	}
	r.join(comm)
	return comm, nil
}

// introduce says in the log what this rank is.
func (r *rank) introduce() {
	e, info := r.spec.Experiment, r.dev.Info()
	at, _ := r.mesh.Coordinate(r.spec.Rank) // known to be one of the mesh
	r.logf("%s (%s), %d threads, %v; at %s of tp %d, dp %d, pp %d; %s %s, %s", info.Backend, info.Name, info.Threads, info.Libraries,
		at, e.Parallel.TP, e.Parallel.DP, e.Parallel.PP, e.Model.Variant, e.Parallel.Scheme, e.Step.DType)
	if e.Parallel.Link != "" {
		r.logf("%s: messages are slowed down to %s; times are not this machine's", experiment.EmulatedLink, e.Parallel.Link)
	}
	if e.Emulated() == experiment.EmulatedDevice {
		r.logf("%s: the processor runs the CUDA kernels thread by thread; times say nothing about a GPU", experiment.EmulatedDevice)
	}
	if r.spec.Rank == 0 {
		r.logf("data: %s, %d tokens in %d files, as %s", r.data.all.Name(), r.data.all.Tokens(), r.data.all.Files(), r.data.all.Types())
	}
}

func (t *training) close() error {
	if t.out == nil {
		return nil
	}
	return errors.Join(t.out.steps.Close(), t.out.timeline.Close())
}
