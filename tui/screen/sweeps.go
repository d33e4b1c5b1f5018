package screen

import (
	"context"
	"time"

	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
)

// Sweeps is what the Sweep screen needs of the store's sweeps. Every method
// touches files or computes, and belongs in a Cmd. ids are whole ones.
type Sweeps interface {
	// Expand spells a space out for this machine. An error of the user's making
	// is a *space.SpaceError.
	Expand(ctx context.Context, s space.Spec) (*space.Expansion, error)
	// Cost says what points will take, by runs that were measured.
	Cost(ctx context.Context, x *space.Expansion, o sweeps.Options) (results.Estimate, error)
	// List describes the sweeps, oldest first.
	List(ctx context.Context) ([]SweepInfo, []error)
	// Read looks at a sweep. The view is the same pointer as long as nothing has changed.
	Read(ctx context.Context, id string) (*SweepView, error)

	// Same finds the newest sweep of the same space, one that is not finished before those that are; ok is false
	// where there is none.
	Same(ctx context.Context, s space.Spec) (in SweepInfo, ok bool, err error)
	// Create writes a new sweep down; where this user has one of the same space that is not finished, it is that one,
	// and made is false. Start starts a program that looks after
	// it, on its own, and lets it go on where it was paused or has stopped.
	Create(ctx context.Context, f space.File, x *space.Expansion, o sweeps.Options) (id string, made bool, err error)
	Start(ctx context.Context, id string) error
	// Grow adds the points of a larger space that the sweep does not have, and returns how many they were.
	Grow(ctx context.Context, id string, f space.File, x *space.Expansion) (added int, err error)
	Pause(ctx context.Context, id string, now bool) error
	Change(ctx context.Context, id string, o sweeps.Options) error
	// Front moves queued points to the front; Skip takes points out of the queue; Retry puts them back. Points that
	// have changed meanwhile are left out.
	Front(ctx context.Context, id string, points []string) error
	Skip(ctx context.Context, id string, points []string) error
	Retry(ctx context.Context, id string, points []string) error
	// End skips what waits and cancels what runs of some points, or, without any, of all.
	End(ctx context.Context, id string, points []string) error
	// Export writes the results as CSV and as Markdown into a folder and returns the paths.
	Export(ctx context.Context, id, to string) ([]string, error)
}

// SweepInfo is a sweep in a list.
type SweepInfo struct {
	ID, Name    string
	Created     time.Time
	Phase       sweeps.Phase
	Over, Total int // points that need nothing more; all
}

// SweepView is a sweep as it is now. Nothing in it changes afterwards.
type SweepView struct {
	State *sweeps.State
	// File is what was asked for at last; FileErr says why it cannot be read.
	File    space.File
	FileErr error
	Table   *results.Table // nil: nothing was measured yet
	// Steps are the last steps of the runs that are going, by run.
	Steps map[string]Step
}

// Step is how far a run is.
type Step struct {
	Step    int64
	Seconds float64 // of that step
}
