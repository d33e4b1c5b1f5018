package runner

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/runner/protocol"
)

// Why nobody knows how long a run took.
const (
	tookUnsaid    = "nobody wrote down when it ended"
	tookUnstarted = "nothing says that it started"
	tookTwoClocks = "its start and its end were written by two clocks"
	tookBackwards = "its clock says that it ended before it began"
	tookFuture    = "its clock says that it has not begun yet"
	tookTooLong   = "its clocks say that it took longer than it is old"
)

// Began is when the run's time began to count: when it was launched, or, as soon as it has a result, when an agent took it on,
// behind the run that it waited for or its turn in a queue.
func (in *Info) Began() time.Time {
	if in.Result != nil && in.Result.Started.After(in.Run.Created) {
		return in.Result.Started
	}
	return in.Run.Created
}

// Took is how long the run went on, or where it still does, has gone on now, a time of Clock. Where that cannot be known, why says
// why.
func (in *Info) Took(now time.Time) (took time.Duration, why string) {
	switch r := in.Result; {
	case !in.State.Over():
		took, why = now.Sub(in.Began()), tookFuture
		if -took < sameClock {
			took = max(took, 0)
		}
	case in.Ended.IsZero():
		return 0, tookUnsaid
	case r == nil: // the end is a scheduler's word
		return 0, tookTwoClocks
	case len(r.Ranks) == 0 && len(r.Summary) == 0 && !r.Started.After(in.Run.Created):
		return 0, tookUnstarted
	case in.State != Finished && r.Started.Equal(in.Run.Created) && !in.launchedThere():
		return 0, tookTwoClocks // nobody but an agent says finished; an earlier version said this in its place
	default:
		if took, why = in.Ended.Sub(in.began()), tookBackwards; took > now.Sub(in.Run.Created)+sameClock {
			return 0, tookTooLong
		}
	}
	if took < 0 {
		return 0, why
	}
	return took, ""
}

// began is when the run's agent says that it began: by the clock by which it says when it ended.
func (in *Info) began() time.Time {
	if in.Result != nil && !in.Result.Started.IsZero() {
		return in.Result.Started
	}
	return in.Run.Created
}

// launchedThere reports whether all ranks of the run are on the host that launched it.
func (in *Info) launchedThere() bool {
	return !slices.ContainsFunc(in.Run.Hosts, func(host string) bool { return host != in.Run.Host })
}

// begun is when a run began whose agent cannot say when it ended: the time of the file by which that took it on, which the clock
// gave that gives those of its signs of life.
func begun(dir string, r Run) time.Time {
	me, unknown := self()
	st, err := os.Stat(filepath.Join(dir, protocol.AgentFile))
	if err != nil || unknown != nil || claimedBy(dir, me) || st.ModTime().Before(r.Created) { // this process only settles it
		return r.Created
	}
	return st.ModTime().UTC()
}
