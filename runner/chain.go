package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

// A handle whose run a process of its own stands over follows the chain of restarts: what it says of the run is of the last one.

const (
	// conductPatience is how long a run elsewhere may take to be taken on: hosts are reached, a binary is copied, a job submitted.
	conductPatience = 3 * time.Minute
	// outlivePatience is how long agents may go on after the process that stood over them died. They notice by their lifelines,
	// those of other hosts by their leader's silence.
	outlivePatience = staleAfter + cancelPatience + 10*time.Second
	// outliveEvery is how often a run is looked at that nobody in this program's sight looks after.
	outliveEvery = 100 * time.Millisecond
)

// takenOn reports whether somebody looks after the run: an agent, or a scheduler that has its job.
func takenOn(dir string) bool {
	for _, name := range []string{protocol.AgentFile, protocol.JobFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// advance moves on to the last run of the chain.
func (h *Handle) advance() {
	if !h.conducted {
		return
	}
	first := readInfo(h.Dir, here(), wallNow())
	if last := Last(first); last.ID != first.ID {
		h.Run, h.Dir = last.Run, last.Dir
	}
}

// outlived waits, where the process that stood over the agents has ended, until the run is over. A run that was handed to a
// scheduler is waited for as long as the context lasts; one whose conductor died, as long as its agents may take to notice.
func (h *Handle) outlived(ctx context.Context) error {
	if !h.conducted || !takenOn(h.Dir) {
		return nil
	}
	handed := h.err == nil && !h.Run.Foreground
	if h.err != nil && h.Run.Foreground {
		h.endOrphan()
	}
	tick := time.NewTicker(outliveEvery)
	defer tick.Stop()
	for limit := time.Now().Add(outlivePatience); handed || time.Now().Before(limit); {
		h.advance()
		if in, err := h.look(); err != nil || in.State.Over() {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if handed {
				return ctx.Err()
			}
			<-tick.C
		}
	}
	return nil
}

// endOrphan ends a run in front whose conductor has died, as this program, which waits for it, alone can know: elsewhere nobody hears
// it any more, and that may have other causes.
func (h *Handle) endOrphan() {
	in, err := h.look()
	if err != nil || in.State.Over() {
		return
	}
	reason := conductEndedBy(h.err)
	if own := h.reason.Load(); own != nil { // it was this program that ended it
		reason = *own
	}
	if _, asked := cancelRequest(h.Dir); !asked {
		_ = requestCancel(h.Dir, reason) // if it cannot be written, the agents end the run when they miss the conductor
	}
	if f, own := ownJob(h.Dir); own {
		if _, err := readAgent(h.Dir); errors.Is(err, fs.ErrNotExist) {
			_ = endJob(context.Background(), &slurm.Client{}, h.Dir, f)
		}
	}
	if was, err := readSSH(h.Dir); err == nil && was.Scattered && h.store != nil { // hosts that do not see the folder hear it from a conductor alone
		_ = h.store.startAgain(&in, filepath.Join(h.Dir, reviveFile)) // without one they end the run when they miss it
	}
}

// look describes the run as its store sees it.
func (h *Handle) look() (Info, error) {
	if h.store == nil {
		return readInfo(h.Dir, here(), wallNow()), nil
	}
	return h.store.Load(h.Run.ID)
}

// Follow is Attach for the program that launched the run: the end of its agents ends it too, whatever the directory
// says. Where the run is restarted it goes on with the next one, and tells Restarted.
func (h *Handle) Follow(ctx context.Context, follow func(record.StepLine)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-h.ended:
			cancel()
		case <-over:
		}
	}()
	for dir := h.Dir; ; {
		read := stepReader(dir, follow)
		in, err := followRun(ctx, dir, read)
		select {
		case <-h.ended:
			err = read() // what came between the last look and the end
		default:
		}
		if err != nil || !h.conducted {
			return err
		}
		next, ok := h.next(ctx, in.Dir)
		if !ok {
			return nil
		}
		if h.Restarted != nil {
			h.Restarted(in, next)
		}
		dir = next.Dir
	}
}

// next waits until it is known whether a run that is over has a successor.
func (h *Handle) next(ctx context.Context, dir string) (Info, bool) {
	tick := time.NewTicker(outliveEvery)
	defer tick.Stop()
	for {
		in := readInfo(dir, here(), wallNow())
		if next, ok := successor(in); ok {
			return next, true
		}
		if errors.Is(in.Err, fs.ErrNotExist) || errors.Is(in.Err, errNoRun) || in.Result != nil && !mayRestart(in) {
			return in, false
		}
		select {
		case <-h.ended:
			next, ok := successor(readInfo(dir, here(), wallNow()))
			return next, ok
		case <-ctx.Done():
			return in, false
		case <-tick.C:
		}
	}
}

// mayRestart reports whether a run that is over is of the kind that is started again.
func mayRestart(in Info) bool {
	return in.Fault == MachineFault && !in.DiskFull() && in.Run.restartNumber() < in.Run.Experiment.Where.MaxRestarts
}
