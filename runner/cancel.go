package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"boost-tui/runner/protocol"
)

// Cancel ends a run, wherever it runs, and waits until it is over or the context ends. It leaves a
// request in the run's directory, which its agent finds within a second.
func Cancel(ctx context.Context, s *Store, id, reason string) (Info, error) {
	in, err := s.Load(id)
	if err != nil {
		return Info{}, err
	}
	if in.State.Over() {
		return in, fmt.Errorf("run %s is not running: it is %s", in.ID, in.State)
	}
	asked := requestCancel(in.Dir, reason)
	if agent, err := readAgent(in.Dir); err == nil && agent.look(here()) == alive {
		// The request alone would do, unless it could not be written.
		if err := agent.signal(syscall.SIGTERM); err != nil && asked != nil {
			return in, fmt.Errorf("cancel run %s: %w", in.ID, errors.Join(asked, err))
		}
	} else if asked != nil {
		return in, fmt.Errorf("cancel run %s: %w", in.ID, asked)
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if in = readInfo(in.Dir, here(), time.Now()); in.State.Over() {
			return in, nil
		}
		select {
		case <-ctx.Done():
			return in, fmt.Errorf("run %s was asked to end and has not yet: %w", in.ID, ctx.Err())
		case <-tick.C:
		}
	}
}

func requestCancel(dir, reason string) error {
	return writeIn(dir, protocol.CancelFile, []byte(clean(reason, 200)+"\n"))
}

// cancelRequest is the reason of a request to end the run, where there is one.
func cancelRequest(dir string) (string, bool) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.CancelFile), 4096)
	if err != nil {
		return "", false
	}
	if reason := clean(firstLine(data), 200); reason != "" {
		return reason, true
	}
	return "cancelled", true
}
