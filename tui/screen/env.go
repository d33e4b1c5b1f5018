package screen

import (
	"context"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
	"boost-tui/tui/theme"
)

// Store is what the screens need of the store of runs; *runner.Store is one.
// Every method touches files and belongs in a Cmd.
type Store interface {
	List(context.Context) ([]runner.Info, []error)
	Load(id string) (runner.Info, error)
	Tag(id string, add, remove []string) error
	Note(id, text string) error
	// Archive takes a run out of the lists that show no archived ones, or puts it back.
	Archive(id string, archived bool) error
	// Trash deletes runs so that Undo brings them back, and says which it deleted.
	Trash(ids ...string) (done []string, err error)
	Undo(ctx context.Context, ids ...string) (done []string, err error)
}

// Start is what the weights of an experiment start from.
type Start struct {
	// Continued is what the checkpoint that is resumed was, as experiment.Continued gives it; nil: none is, or it is not known.
	Continued *experiment.Experiment
	// Err says why the experiment cannot start from it.
	Err error
}

// Env is what a screen gets from outside. It is passed once, to Init; the
// theme may change later by msg.Theme.
type Env struct {
	Store Store
	// Launch starts a detached run of a resolved experiment, which survives the
	// UI, and returns its ID. It waits for the end of the run after; "" for none.
	Launch func(ctx context.Context, e experiment.Experiment, after string) (id string, err error)
	// Cancel ends a run.
	Cancel func(ctx context.Context, id string) error
	// Export writes the CSV files of runs under a folder, which must be new
	// unless force is set, and returns the paths.
	Export func(ctx context.Context, ids []string, to string, force bool) ([]string, error)

	// Sweeps are the store's sweeps; nil: there are none.
	Sweeps Sweeps

	// Usage counts what the run in a directory takes on its disk; nil: nobody counts.
	Usage func(ctx context.Context, dir string) (runner.Usage, error)
	// Summary measures the run in a directory from its steps.
	Summary func(ctx context.Context, dir string) (compare.Summary, error)
	// Compare is profiler/compare on run directories; nil: no comparisons.
	Compare func(ctx context.Context, dirs []string, o compare.Options) (compare.Table, error)
	// Plan predicts a resolved experiment on this machine. It may take a second.
	Plan func(experiment.Experiment) (*planner.Plan, error)
	// LargestMicroBatch is the largest micro-batch of a resolved experiment that
	// fits this machine; 0: none is known. It may take a second; nil: no such answer.
	LargestMicroBatch func(experiment.Experiment) int
	// Machine describes the machines that an experiment would run on, as far as they are known; it reads files.
	Machine func(experiment.Experiment) planner.Machine
	// CheckPlace says why no run can be started at a place; it reads files. nil: nobody looks.
	CheckPlace func(experiment.Where) error
	// CheckDevice says what keeps so many ranks of this machine from a device, and what "auto" is for them. It may take seconds, and
	// remembers its answers for a while; nil: nobody looks.
	CheckDevice func(ctx context.Context, device string, ranks int) (string, error)
	// Hosts are the machines that a value of the key hosts names; it reads a file of hosts. nil: lists alone are understood.
	Hosts func(value string) ([]string, error)
	// Partitions lists Slurm's, as far as it says; it may wait for that. nil: nobody asks.
	Partitions func() ([]slurm.Partition, error)
	// Start looks at what a resolved experiment's weights start from, where they are not drawn; it reads files. nil: nobody looks.
	Start func(experiment.Experiment) Start
	// Setups are the names of the setups in the user's own configuration; nil: there are none.
	Setups func() ([]string, error)
	// Script is the script of the job that a resolved experiment would be on Slurm, and the command that would submit it; nil:
	// it cannot be told before.
	Script func(experiment.Experiment) (script []byte, command []string, err error)
	// Job describes the job of a run that is not over; it may wait for Slurm. nil, or a nil answer: there is none.
	Job func(runner.Info) *runner.JobView
	// ComesBack says what a run that is over waits for to go on as another one; empty: it does not. It may wait for Slurm; nil: nobody
	// asks.
	ComesBack func(runner.Info) string
	// Preflight starts a detached look at the machines that a resolved experiment would run on and returns the ID of its run;
	// nil: there is none. ReadPreflight reads what it found from the run's directory.
	Preflight     func(ctx context.Context, e experiment.Experiment) (id string, err error)
	ReadPreflight func(dir string) (protocol.Preflight, error)

	Theme    theme.Theme
	Now      func() time.Time
	After    After
	ReadOnly bool   // nothing may be launched, cancelled, deleted or noted
	Host     string // of this machine
	WorkDir  string // exports go below it
	// Logf notes something in the UI's log file. It may be called from Cmds.
	Logf func(format string, args ...any)
}
