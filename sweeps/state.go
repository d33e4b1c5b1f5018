package sweeps

import (
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps/space"
)

// Status is what has become of a point.
type Status string

// Statuses of a point. A point is over when it is not queued or running.
const (
	Queued    Status = "queued"
	Running   Status = "running"   // an attempt was started and its end is not known
	Finished  Status = "finished"  // its run did its work
	Failed    Status = "failed"    // the configuration's fault, or the machine's once too often
	Stopped   Status = "stopped"   // by one of the sweep's stopping rules
	Cancelled Status = "cancelled" // its run was ended by somebody
	Skipped   Status = "skipped"   // taken out of the queue by somebody
)

// Over reports whether the point needs nothing more.
func (s Status) Over() bool { return s != Queued && s != Running }

// Phase is what has become of a sweep.
type Phase string

// Phases of a sweep.
const (
	PhaseRunning     Phase = "running"     // a program looks after it
	PhasePaused      Phase = "paused"      // somebody paused it
	PhaseStopped     Phase = "stopped"     // a limit was reached; Cause says which
	PhaseInterrupted Phase = "interrupted" // points are left, and the program that looked after it is gone or has left before they were over
	PhaseWaiting     Phase = "waiting"     // points are left that nobody has begun to work on: it is new, or got them after all was over
	PhaseFinished    Phase = "finished"    // every point is over
)

// Alone reports whether points are left that nobody looks after, although nobody paused or stopped the sweep: whoever
// finds it so may take it up.
func (p Phase) Alone() bool { return p == PhaseInterrupted || p == PhaseWaiting }

// Orders of the queue.
const (
	OrderGiven    = "given"    // as in the file; twins first
	OrderCheapest = "cheapest" // fewest FLOPs first
	OrderRandom   = "random"   // shuffled by Options.Seed
)

// Options say how a sweep's queue is worked off. They are in its journal and can be changed while it runs.
type Options struct {
	Order          string        `json:"order"`                      // given, cheapest or random
	Seed           uint64        `json:"seed,omitempty"`             // of the random order
	AtOnce         int           `json:"at_once"`                    // runs at a time; at least 1
	MaxTime        time.Duration `json:"max_time,omitempty"`         // that the sweep is worked on, all its sittings together; 0: no limit
	MaxDeviceHours float64       `json:"max_device_hours,omitempty"` // ranks x hours of all its runs; 0: no limit
	MaxFailures    int           `json:"max_failures"`               // failures in a row that stop the sweep; 0: no limit
	Retries        int           `json:"retries"`                    // of a point whose run the machine ended
	StopDiverged   bool          `json:"stop_diverged"`              // end a run whose loss is no number or grows beyond its start
	StopSlower     bool          `json:"stop_slower"`                // end a run that is clearly slower than the best at the same step
}

// DefaultOptions are those of a sweep whose user says nothing.
func DefaultOptions() Options {
	return Options{Order: OrderGiven, Seed: 1, AtOnce: 1, MaxFailures: 5, Retries: 2, StopDiverged: true}
}

// Attempt is one run of a point.
type Attempt struct {
	N       int       // from 1
	Run     string    // id of the run; empty: it was about to be created
	Begun   time.Time // written down before the run was created
	Ended   time.Time // zero: not known yet
	State   string    // the run's last state (runner.State); empty as long as it goes on
	Cause   string    // one line
	Machine bool      // the machine's fault: the attempt does not count against the point
	Again   bool      // it was ended only because whoever looked after the sweep left: nothing counts
	Rule    string    // the stopping rule that ended it
	Seconds float64   // that its ranks ran
	Adopted bool      // by a later program than the one that began it
	// Replaced: it finished, and does not count any more because somebody asked for another one (Sweep.RetryAgain).
	Replaced bool
}

// PointState is a point with what the journal says of it.
type PointState struct {
	space.Point
	Plan     int // index of the plan that brought it
	Status   Status
	Cause    string
	Attempts []Attempt
}

// Run is the id of the run that counts: the last attempt's. Empty: there is none.
func (p *PointState) Run() string {
	for i := len(p.Attempts) - 1; i >= 0; i-- {
		if p.Attempts[i].Run != "" {
			return p.Attempts[i].Run
		}
	}
	return ""
}

// State is a sweep as its directory tells it. It is a snapshot: nothing in it changes any more, and it may be read
// by several goroutines. Its text is safe for a terminal; TOML alone has several lines.
type State struct {
	ID, Dir string
	Name    string
	Created time.Time
	Base    experiment.Experiment // not resolved
	Axes    []string              // keys of all axes, in the order of the plans
	Points  []*PointState         // in planned order
	Pruned  []space.Pruned
	Options Options
	Phase   Phase
	Cause   string // of the phase: who paused it, which limit, which process looks after it
	// Queue are the queued points in the order in which they will start.
	Queue       []*PointState
	DeviceHours float64       // of all attempts that have ended
	Worked      time.Duration // that programs looked after it
	Failures    int           // in a row
	BadLines    int           // lines of the journal that could not be read
	Pace        []Pace        // what its finished runs measured, for estimates

	Raw      int            // combinations of the axes' values of the newest plan, which holds those of the plans before
	Excluded int            // of those, how many its constraints left out
	Merged   int            // of those, how many were the same as another
	Argv     []string       // of the command that made it
	Keys     []string       // space.Spec.Key of every plan, in their order
	TOML     string         // the file of the newest plan, as sweep.toml has it
	PauseNow bool           // whoever paused it wants its runs ended too
	Held     bool           // a program looks after it, also while it is paused or stopped
	Holder   runner.Process // that program; the last one where none does
	Since    time.Time      // when it began to; zero: none ever did
	Updated  time.Time      // last entry of the journal
	Notes    []Note         // what its programs noted, the newest last; at most maxNotes
}

// Note is a line that the program which looks after a sweep wrote down for people.
type Note struct {
	At   time.Time
	Text string
}

// Waiting are the points that are to run and do not yet, in planned order.
func (s *State) Waiting() (points []space.Point) {
	for _, p := range s.Points {
		if p.Status == Queued {
			points = append(points, p.Point)
		}
	}
	return points
}

// Pace is how fast a run of the sweep was.
type Pace struct {
	Point   string
	FLOPs   float64
	Ranks   int
	Seconds float64
}
