package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// LaunchOptions say how to launch.
type LaunchOptions struct {
	// Detach leaves the run to itself: it survives this program and its terminal. Without it the run ends
	// when this program does, whatever ends it.
	Detach    bool
	Binary    string // program to start agents and ranks from; empty: this one
	Argv      []string
	After     string // a run of the store, as Find takes it: the ranks start when it is over; empty: at once
	Predicted *Predicted
	Versions  Versions // Binary and Go are filled in
}

// Handle is a run that this program launched.
type Handle struct {
	Run    Run
	Dir    string
	agents Agents
	ended  chan struct{} // closed when the agents are gone
	err    error         // how they ended; read after ended
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

// Launch creates a run of a resolved experiment and starts it. It returns when an agent has taken the
// run on, whether its ranks start at once or wait for another run; an error before that leaves no run behind unless its directory says why it failed.
func Launch(ctx context.Context, s *Store, e experiment.Experiment, o LaunchOptions) (*Handle, error) {
	place, err := placeOf(e.Where)
	if err != nil {
		return nil, err
	}
	if o.Binary == "" {
		if o.Binary, err = Binary(); err != nil {
			return nil, err
		}
	}
	if err := checkBinary(o.Binary); err != nil {
		return nil, err
	}
	if o.Versions.Binary, err = hashFile(o.Binary); err != nil {
		return nil, fmt.Errorf("tell the program's version: %w", err)
	}
	r, dir, err := s.Create(e, CreateOptions{Argv: o.Argv, Predicted: o.Predicted, Versions: o.Versions, Foreground: !o.Detach, After: o.After})
	if err != nil {
		return nil, err
	}
	agents, err := place.Start(Job{Dir: dir, Binary: o.Binary, Foreground: !o.Detach})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("launch run %s: %w", r.ID, record.Explain(err)), os.RemoveAll(dir))
	}
	h := &Handle{Run: r, Dir: dir, agents: agents, ended: make(chan struct{})}
	// The goroutine reaps the agent and so lives exactly as long as it; Wait waits for it.
	go func() {
		h.err = agents.Wait()
		close(h.ended)
	}()
	if err := h.started(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// started waits until the agent has taken the run on.
func (h *Handle) started(ctx context.Context) error {
	limit := time.NewTimer(startPatience)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(h.Dir, protocol.AgentFile)); err == nil {
			return nil
		}
		select {
		case <-h.ended:
			in := h.settle()
			if in.Result != nil && in.State != Failed {
				return nil // so short that it is over already
			}
			return fmt.Errorf("run %s did not start: %s", h.Run.ID, in.Cause)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("launch run %s: %w", h.Run.ID, ctx.Err()), h.abandon())
		case <-limit.C:
			return errors.Join(fmt.Errorf("run %s did not start: its agent took more than %s", h.Run.ID, startPatience), h.abandon())
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

// Cancel asks the run to end and does not wait for that; Wait does.
func (h *Handle) Cancel(reason string) error {
	select {
	case <-h.ended:
		return nil
	default:
	}
	if err := requestCancel(h.Dir, reason); err == nil {
		return nil
	}
	// The file could not be written (a full disk, say): the agent has other ears.
	return h.agents.Cancel(reason)
}

// Wait blocks until the run is over and says how it ended. When the context ends first, a foreground
// run is cancelled and waited for; a detached one goes on, and Wait returns the context's error.
func (h *Handle) Wait(ctx context.Context) (Info, error) {
	select {
	case <-h.ended:
		return h.settle(), nil
	case <-ctx.Done():
	}
	if !h.Run.Foreground {
		return readInfo(h.Dir, here(), time.Now()), ctx.Err()
	}
	err := h.agents.Cancel(reasonOf(context.Cause(ctx)))
	limit := time.NewTimer(cancelPatience)
	defer limit.Stop()
	select {
	case <-h.ended:
	case <-limit.C:
		err = errors.Join(err, h.abandon())
	}
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		err = nil // it ended by itself in that moment
	}
	return h.settle(), err
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
	in := readInfo(h.Dir, here(), time.Now())
	if in.Result != nil || in.Err != nil {
		return in
	}
	if _, err := readAgent(h.Dir); err == nil && !waiting(h.Dir) { // else it never came to start ranks
		waitExits(h.Dir, h.Run.World(), lastWords)
	}
	exits, err := readExits(h.Dir)
	r := Result{State: Failed, Cause: "the agent ended before the run did", Started: h.Run.Created, Ended: time.Now().UTC()}
	if h.err != nil {
		r.Cause = "the agent ended before the run did: " + h.err.Error()
	}
	if line := lastLine(filepath.Join(h.Dir, protocol.AgentLogFile)); line != "" {
		r.Cause += ": " + line
	}
	if diskIsFull(h.Dir) {
		r.Cause += "; " + fullDisk
	}
	for _, e := range exits {
		r.Ranks = append(r.Ranks, RankExit{Rank: e.Rank, Code: e.Code, Signal: e.Signal})
	}
	if len(exits) > 0 {
		r.Cause += "; " + describe(primary(exits))
	}
	err = errors.Join(err, removeReserve(h.Dir), completeRollup(h.Dir, h.Run.World()))
	r.Summary = summarize(h.Dir, r)
	err = errors.Join(err, writeResult(h.Dir, r))
	in = readInfo(h.Dir, here(), time.Now())
	if in.Result == nil { // a full or read-only disk: say it at least to who asks
		in.State, in.Cause, in.Result = r.State, r.Cause, &r
		in.Err = errors.Join(in.Err, err)
	}
	return in
}

// waitExits waits until n ranks have left a record, at most so long.
func waitExits(dir string, n int, patience time.Duration) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pollEvery) {
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

func removeReserve(dir string) error {
	err := os.Remove(filepath.Join(dir, protocol.ReserveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
