package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// Interrupt says what becomes of the runs that go on when the context of Run ends.
type Interrupt int

const (
	// Cancel ends them. Their points are queued again, and nothing counts against them.
	Cancel Interrupt = iota
	// Leave lets them go on. Whoever looks after the sweep next adopts them.
	Leave
)

// Options say what Run works with.
type Options struct {
	Runs   *runner.Store
	Binary string // program to start agents and ranks from; empty: this one
	// Prepare checks and plans an experiment before it is launched. Its error is the point's fault. It may be called
	// from another goroutine than Run's, one call at a time. nil: experiments are launched as they are.
	Prepare   func(experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error)
	Interrupt Interrupt
	Notify    func(Event) // of what happens, from the goroutine of Run; nil: nobody is told
	// others replaces othersShare in tests.
	others func(runDir string) (share float64, known bool)
}

// Event is something that happened to a sweep.
type Event struct {
	Kind  EventKind
	Point string // its id
	Label string
	Run   string // its id
	Text  string // one line: how a run ended, why the sweep stops
}

// EventKind says what happened.
type EventKind string

// Kinds of events.
const (
	Started EventKind = "started" // a run was launched
	Adopted EventKind = "adopted" // a run that an earlier program launched goes on
	Ended   EventKind = "ended"   // an attempt is over
	Noted   EventKind = "noted"   // something that people should know
	Halted  EventKind = "halted"  // no further run is started
)

// Run looks after a sweep until every point is over, or it is paused or stopped and the runs that go on have ended;
// the sweep's State says which. It returns an error that wraps sweeps.ErrHeld's when another program looks after the sweep, the
// cause of the context when that ends, sweeps.ErrDeleted and sweeps.ErrLost when the sweep is no longer its own, and
// otherwise what keeps it from going on.
func Run(ctx context.Context, s *sweeps.Sweep, o Options) error {
	if own, err := runner.Binary(); err == nil && own == o.Binary {
		o.Binary = "" // then Launch notices when the file is replaced: the runs of a sweep should be of one program
	}
	for {
		if err := sitting(ctx, s, o); err != nil {
			return err
		}
		// Somebody may have resumed or grown the sweep in the moment before it was given back, when the hold kept
		// another program from taking it up.
		again, err := more(ctx, s)
		if err != nil || !again {
			return err
		}
	}
}

// more reports whether the sweep, held by nobody, has something to do.
func more(ctx context.Context, s *sweeps.Sweep) (bool, error) {
	st, err := s.Load(ctx)
	if errors.Is(err, sweeps.ErrDeleted) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return !st.Held && st.Phase.Alone() && len(st.Points) > 0, nil
}

// sitting works the queue off, from one hold to its release.
func sitting(ctx context.Context, s *sweeps.Sweep, o Options) error {
	return sit(ctx, s, o, func(e *engine) error { return e.loop(ctx) })
}

// sit holds a sweep for as long as something is done.
func sit(ctx context.Context, s *sweeps.Sweep, o Options, do func(*engine) error) error {
	hold, err := s.Hold(ctx)
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	e := &engine{o: o, sweep: s, hold: hold, follow: s.Follow(), work: work, live: map[string]*attempt{}, ends: make(chan ended), paces: map[string]*paced{}, noted: map[string]bool{}, unsettled: map[string]bool{}}
	err = do(e)
	if err != nil && ctx.Err() == nil && (errors.Is(err, sweeps.ErrLost) || errors.Is(err, sweeps.ErrDeleted)) {
		err = errors.Join(err, e.disown())
	}
	stop()
	e.wait()
	_ = o.Runs.Unfurnish() // else whoever creates a run next removes it
	// A sweep that is gone, or another's, cannot be given back.
	return errors.Join(err, hold.Release())
}

// engine is the state of a sitting. It is used by the goroutine of Run alone; those that wait for runs tell
// it their ends through a channel.
type engine struct {
	o      Options
	sweep  *sweeps.Sweep
	hold   *sweeps.Hold
	follow *sweeps.Follower
	work   context.Context // of everything that this sitting waits for; ends with it
	group  waiter

	st     *sweeps.State
	live   map[string]*attempt // by point
	ends   chan ended
	next   *preparation // of the point that is to come
	halted error        // why nothing more is started, where the journal could not be told
	memory memory
	judged time.Time         // when the rules looked last
	paces  map[string]*paced // of finished runs
	noted  map[string]bool   // what noteOnce has said

	unsettled map[string]bool // points whose run's end cannot be made final: left to the next sitting
}

// lookEvery is how often the journal is looked at for what others ask.
const lookEvery = 200 * time.Millisecond

// loop works the queue off.
func (e *engine) loop(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		idle, err := e.turn(ctx)
		if err != nil || idle {
			return err
		}
		var ready <-chan struct{}
		if e.next != nil && !e.next.seen {
			ready = e.next.done
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("sweep %s: %w", e.sweep.ID, context.Cause(ctx)), e.leave())
		case <-e.hold.Lost():
			if err = e.look(); err == nil {
				err = fmt.Errorf("sweep %s: %w", e.sweep.ID, sweeps.ErrLost)
			}
		case x := <-e.ends:
			err = e.ended(x)
		case <-ready:
			e.next.seen = true
		case <-tick.C:
		}
		if err != nil {
			return err
		}
	}
}

// turn does everything that can be done now. idle: there is nothing left to do or to wait for.
func (e *engine) turn(ctx context.Context) (idle bool, err error) {
	if err := e.look(); err != nil {
		return false, err
	}
	if err := e.reconcile(); err != nil {
		return false, err
	}
	if e.st.PauseNow {
		e.endAll(pausedReason)
	}
	if err := e.fill(ctx); err != nil {
		return false, err
	}
	e.judge()
	if len(e.live) > 0 || e.wants() && ctx.Err() == nil {
		return false, nil
	}
	return true, e.halted
}

// look reads the journal.
func (e *engine) look() error {
	st, _, err := e.follow.Next()
	if err != nil {
		return err
	}
	e.st = st
	return nil
}

// wants reports whether more runs are to be started.
func (e *engine) wants() bool {
	return e.halted == nil && e.st.Phase == sweeps.PhaseRunning && len(e.st.Queue) > 0
}

// stop ends the starting of runs, for a reason that people can do something about.
func (e *engine) stop(cause string) error {
	if e.halted != nil || e.st.Phase == sweeps.PhaseStopped {
		return nil // the first cause is the one to know
	}
	e.tell(Event{Kind: Halted, Text: cause})
	switch err := e.hold.Stop(cause); {
	case err == nil:
		return e.look()
	case errors.Is(err, sweeps.ErrLost), errors.Is(err, sweeps.ErrDeleted):
		return err
	default: // the journal cannot be written: whoever called Run says it
		e.halted = fmt.Errorf("sweep %s cannot go on: %s: %w", e.sweep.ID, cause, err)
	}
	return nil
}

// note writes something down for people. It is no matter when that fails.
func (e *engine) note(text string) {
	_ = e.hold.Note(text)
	e.tell(Event{Kind: Noted, Text: text})
}

func (e *engine) tell(v Event) {
	if e.o.Notify != nil {
		e.o.Notify(v)
	}
}
