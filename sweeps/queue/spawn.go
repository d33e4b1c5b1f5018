package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/sweeps"
)

// Role is the command by which a program that looks after a sweep is started: `BINARY sweeper --sweep DIR`.
const Role = "sweeper"

const (
	// spawnPatience is how long a spawned program may take to take the sweep over.
	spawnPatience = 20 * time.Second
	spawnEvery    = 10 * time.Millisecond
	logTail       = 4 << 10
)

// Spawn starts a program that looks after the sweep and survives this one and its terminal. It returns when that holds
// the sweep, or has finished it already. An error of type sweeps.ErrHeld says that another one does; any other is
// what the program said.
func Spawn(ctx context.Context, s *sweeps.Sweep, binary string) error {
	st, err := s.Load(ctx)
	if err != nil {
		return err
	}
	if st.Held {
		return fmt.Errorf("look after sweep %s: %w", s.ID, sweeps.ErrHeld{PID: st.Holder.PID, Host: st.Holder.Host})
	}
	log, err := regular.OpenFile(filepath.Join(s.Dir, sweeps.LogFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, protocol.FileMode)
	if err != nil {
		return fmt.Errorf("log of the program that looks after sweep %s: %w", s.ID, err)
	}
	defer log.Close() // the program has its own descriptor
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("log of the program that looks after sweep %s: %w", s.ID, err)
	}
	cmd := exec.Command(binary, Role, "--sweep", s.Dir)
	cmd.Dir = "/" // it must not keep a file system busy; paths are absolute
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the program that looks after sweep %s: %w", s.ID, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // lives exactly as long as the program, which outlives this call
	return awaitHold(ctx, s, cmd.Process, ended, func() string { return said(log, from) })
}

// awaitHold waits until the process holds the sweep.
func awaitHold(ctx context.Context, s *sweeps.Sweep, p *os.Process, ended <-chan error, said func() string) error {
	follow := s.Follow()
	limit := time.NewTimer(spawnPatience)
	defer limit.Stop()
	tick := time.NewTicker(spawnEvery)
	defer tick.Stop()
	for {
		st, _, err := follow.Next()
		if err != nil {
			return err
		}
		if st.Held && st.Holder.PID == p.Pid {
			return nil
		}
		select {
		case err := <-ended:
			return notHeld(s, follow, err, said())
		case <-ctx.Done():
			return fmt.Errorf("wait for the program that looks after sweep %s: %w", s.ID, ctx.Err())
		case <-limit.C:
			return fmt.Errorf("the program that was to look after sweep %s has not taken it on within %s: see %s", s.ID, spawnPatience, filepath.Join(s.Dir, sweeps.LogFile))
		case <-tick.C:
		}
	}
}

// notHeld says why a program that has ended does not hold the sweep.
func notHeld(s *sweeps.Sweep, follow *sweeps.Follower, ended error, said string) error {
	if ended == nil {
		return nil // so short that it is over already
	}
	if st, _, err := follow.Next(); err == nil && st.Held { // another program was faster
		return fmt.Errorf("look after sweep %s: %w", s.ID, sweeps.ErrHeld{PID: st.Holder.PID, Host: st.Holder.Host})
	}
	if said == "" {
		said = ended.Error()
	}
	return errors.New(said)
}

// said is the last line that the program wrote from a byte on.
func said(log *os.File, from int64) string {
	st, err := log.Stat()
	if err != nil {
		return ""
	}
	from = max(from, st.Size()-logTail)
	data, err := io.ReadAll(io.NewSectionReader(log, from, logTail))
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return strings.TrimPrefix(runner.Clean(string(lines[len(lines)-1])), "boost-tui: ")
}
