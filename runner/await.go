package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// A run may wait for another one of its store: together on one machine they would slow each other down.
// Its agent takes it on at once and waits without any ranks. A run can name only runs that were there
// before it, in a file that is written once, so that no two can wait for each other.

const (
	// awaitEvery is how often a waiting agent looks whether the run before it is over, or somebody cancels.
	awaitEvery = 500 * time.Millisecond
	// beatEvery is how many of its looks a waiting agent takes for one heartbeat: one a second.
	beatEvery = 2
)

// before completes the id of the run that a new one is to wait for.
func (s *Store) before(after string) (string, error) {
	if after == "" {
		return "", nil
	}
	id, err := s.Find(after)
	if err == nil {
		_, err = os.Stat(filepath.Join(s.Dir(id), protocol.RunFile))
	}
	if err != nil {
		return "", fmt.Errorf("the run to wait for: %w", err)
	}
	return id, nil
}

// waiting reports whether the run has not come to its turn.
func waiting(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, protocol.WaitingFile))
	return err == nil
}

// waitsFor is the cause of a run that is pending: empty where it waits for no other run.
func (in *Info) waitsFor() string {
	if in.Run.After == "" {
		return ""
	}
	return "waits for " + in.Run.After
}

// await blocks until the run before this one is over, in whatever way. When somebody ends this one first,
// it returns the state and cause of that; the state is empty when the ranks may start.
func (a *agent) await(ctx context.Context, life <-chan string) (State, string) {
	if a.run.After == "" {
		return "", ""
	}
	a.note(record.EventState, string(Pending), "waits for "+a.run.After, nil)
	before, me := filepath.Join(filepath.Dir(a.dir), a.run.After), here()
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for n := 1; !over(before, me); n++ {
		select {
		case <-ctx.Done():
			return Cancelled, a.signalReason()
		case reason, ok := <-life:
			if life = nil; ok {
				return Cancelled, reason
			}
		case <-tick.C:
		}
		if reason, ok := cancelRequest(a.dir); ok {
			return Cancelled, reason
		}
		if a.gone = a.removed(); a.gone {
			return Cancelled, directoryGone + " while it waited"
		}
		if n%beatEvery == 0 {
			_ = beat(a.dir, n/beatEvery) // the next one may succeed
		}
	}
	a.started = a.now() // the wait is not part of how long it took
	// A run whose waiting would be seen for ever must not start.
	if err := os.Remove(filepath.Join(a.dir, protocol.WaitingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Failed, record.Explain(err).Error()
	}
	return "", ""
}

// over reports whether the run in a directory has ended; one that was deleted has.
func over(dir string, me Process) bool {
	in := readInfo(dir, me, time.Now())
	return in.State.Over() || errors.Is(in.Err, errNoRun)
}
