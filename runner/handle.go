package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"boost-tui/runner/protocol"
)

// Handle is a run that this program launched.
type Handle struct {
	Run    Run
	Dir    string
	agents Agents
	ended  chan struct{}          // closed when the agents are gone
	err    error                  // how they ended; read after ended
	reason atomic.Pointer[string] // for which this program ends it; nil: it does not
	// neverBegan is why no agent could be started; nil: some were, or nobody knows.
	neverBegan error
	conducted  bool   // a process of the run's own stands over its agents
	store      *Store // that the run was launched in; nil: whichever it lies in
	// Restarted hears from Follow that a run goes on as another one; nil: nobody does.
	Restarted func(was, next Info)
}

// newHandle is the handle of a run whose agents were started.
func newHandle(r Run, dir string, agents Agents) *Handle {
	h := &Handle{Run: r, Dir: dir, agents: agents, ended: make(chan struct{})}
	// The goroutine reaps the agents and so lives exactly as long as they; Wait waits for it.
	go func() {
		h.err = agents.Wait()
		close(h.ended)
	}()
	return h
}

const (
	// startPatience is how long an agent may take to take its run on.
	startPatience = 20 * time.Second
	// lastWords is how long ranks may take to write their records after their agent died.
	lastWords = 2500 * time.Millisecond
	// cancelPatience is how long an agent may take to end a cancelled run before it is killed itself.
	cancelPatience = finishPatience + 4*time.Second
	pollEvery      = 20 * time.Millisecond
)

// started waits until the agent has taken the run on.
func (h *Handle) started(ctx context.Context) error {
	patience := startPatience
	if h.conducted {
		patience = conductPatience
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if takenOn(h.Dir) {
			return nil
		}
		select {
		case <-h.ended:
			if h.conducted && takenOn(h.Dir) {
				return nil // in that moment
			}
			in := h.settle()
			if wasRefused(h.err) {
				return &refusedError{errors.New(in.Cause)}
			}
			if h.Run.Foreground {
				return nil // whoever waits for it learns what became of it
			}
			if in.Result != nil && in.State != Failed {
				return nil // so short that it is over already
			}
			return fmt.Errorf("run %s did not start: %s", h.Run.ID, in.Cause)
		case <-ctx.Done():
			if h.Run.Foreground {
				return nil
			}
			h.ends(reasonOf(context.Cause(ctx)))
			return errors.Join(fmt.Errorf("launch run %s: %w", h.Run.ID, ctx.Err()), h.abandon())
		case <-limit.C:
			return errors.Join(fmt.Errorf("run %s did not start: its agent took more than %s", h.Run.ID, patience), h.abandon())
		case <-tick.C:
		}
	}
}

// abandon kills an agent that did not start in time and writes down what became of the run.
func (h *Handle) abandon() error {
	if err := h.agents.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-h.ended
	h.settle()
	return nil
}

// ends notes why this program ends the run, for the case that its agent cannot write it down.
func (h *Handle) ends(reason string) { h.reason.CompareAndSwap(nil, &reason) }

// Wait blocks until the run is over and says how it ended; where it was restarted, how the last of the chain ended. When
// the context ends first, a foreground run is cancelled and waited for; a detached one goes on, and Wait returns the
// context's error.
func (h *Handle) Wait(ctx context.Context) (Info, error) {
	select {
	case <-h.ended:
		if err := h.outlived(ctx); err != nil {
			in, _ := h.look() // the error that counts is there already
			return in, err
		}
		return h.settle(), nil
	case <-ctx.Done():
	}
	if !h.Run.Foreground {
		return readInfo(h.Dir, here(), time.Now()), ctx.Err()
	}
	return h.end(reasonOf(context.Cause(ctx)))
}

// end ends the run and waits until it is over.
func (h *Handle) end(reason string) (Info, error) {
	h.ends(reason)
	err := h.agents.Cancel(reason)
	err = errors.Join(err, h.awaitCancelled())
	if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.EPIPE) {
		err = nil // it ended by itself in that moment
	}
	if again := h.outlived(context.Background()); again != nil {
		err = errors.Join(err, again)
	}
	return h.settle(), err
}

// awaitCancelled waits for the agents of a run that was cancelled, and kills them when they take too long.
func (h *Handle) awaitCancelled() error {
	limit, latest := time.NewTimer(cancelPatience), time.Now().Add(savePatience+cancelPatience)
	defer limit.Stop()
	for {
		select {
		case <-h.ended:
			return nil
		case <-limit.C:
			if saving(h.Dir) && time.Now().Before(latest) {
				limit.Reset(watchEvery)
				continue
			}
			return h.abandon()
		}
	}
}

// reasonOf says why a foreground run is cancelled: the signal that ended the context, in people's words
// (signal.NotifyContext gives it as text alone), or whatever cause the context was given.
func reasonOf(cause error) string {
	const ending = " signal received"
	switch name, isSignal := strings.CutSuffix(cause.Error(), ending); {
	case cause == context.Canceled || isSignal && name == syscall.SIGINT.String():
		return "interrupted"
	case isSignal && name == syscall.SIGHUP.String():
		return "its terminal closed"
	case isSignal && name == syscall.SIGTERM.String():
		return "boost-tui run was told to end (SIGTERM)"
	}
	return cause.Error()
}

// settle reads how the run ended once its agent is gone. An agent that could not say (it was killed)
// leaves the last word to the ranks' records, and this program writes the result.
func (h *Handle) settle() Info {
	h.advance()
	in := readInfo(h.Dir, here(), time.Now())
	if in.Result != nil || in.Err != nil {
		if !in.State.Over() { // its agent is gone: nothing goes on, whatever the files say
			in.State, in.Cause, in.Fault = Lost, "its agent is gone, and its directory cannot be read", MachineFault
		}
		return in
	}
	if _, err := readAgent(h.Dir); err == nil && !waiting(h.Dir) { // else it never came to start ranks
		limit, cancel := context.WithTimeout(context.Background(), lastWords)
		waitExits(limit, h.Dir, h.Run.World())
		cancel()
	}
	exits, err := readExits(h.Dir)
	r := Result{State: Failed, Cause: "the agent ended before the run did", Started: begun(h.Dir, h.Run), Ended: storeNow(h.Dir)}
	var told *endTold
	switch {
	case errors.As(h.err, &told):
		r.Cause, r.Lost = told.cause, told.lost
	case h.err != nil:
		r.Cause = "the agent ended before the run did: " + h.err.Error()
	}
	if line := lastLine(filepath.Join(h.Dir, protocol.AgentLogFile)); line != "" && told == nil {
		r.Cause += ": " + line
	}
	if diskIsFull(h.Dir) {
		r.Cause += "; " + fullDisk
	}
	if h.neverBegan != nil {
		r.Cause = clean(h.neverBegan.Error(), maxLineRunes)
	}
	reason := h.reason.Load()
	if asked, ok := cancelRequest(h.Dir); ok && reason == nil {
		reason = &asked // by another program, and the agent did not live to say so
	}
	if reason != nil {
		r.State, r.Cause = stateFor(*reason), *reason
	}
	for _, e := range exits {
		r.Ranks = append(r.Ranks, RankExit{Rank: e.Rank, Code: e.Code, Signal: e.Signal})
	}
	if len(exits) > 0 && reason == nil {
		r.Cause += "; " + describe(primary(exits))
	}
	r.Fault = faultOf(h.Run, r.State, r.Cause, exits)
	err = errors.Join(err, removeReserve(h.Dir), forgetMeeting(h.Dir), completeRollup(h.Dir, h.Run.World()))
	r.Summary = summarize(h.Dir, r)
	if written := writeNewResult(h.Dir, r); !errors.Is(written, fs.ErrExist) { // else somebody settled it as well
		err = errors.Join(err, written)
	}
	in = readInfo(h.Dir, here(), time.Now())
	if in.Result == nil { // a full or read-only disk: say it at least to who asks
		in.State, in.Cause, in.Fault, in.Result = r.State, r.Cause, r.Fault, &r
		in.Err = errors.Join(in.Err, err)
	}
	return in
}

// waitExits waits until n ranks have left a record, or the context ends.
func waitExits(ctx context.Context, dir string, n int) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for ; ctx.Err() == nil; waitTick(ctx, tick.C) {
		entries, err := os.ReadDir(protocol.ExitDir(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		whole := 0
		for _, e := range entries {
			if e.Name()[0] != '.' {
				whole++
			}
		}
		if whole >= n {
			return
		}
	}
}

// waitTick waits for a tick, or for the end of the context.
func waitTick(ctx context.Context, tick <-chan time.Time) {
	select {
	case <-ctx.Done():
	case <-tick:
	}
}

func removeReserve(dir string) error {
	err := os.Remove(filepath.Join(dir, protocol.ReserveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
