package runner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"boost-tui/runner/protocol"
)

// staleAfter is the age of a heartbeat from which an agent that cannot be looked at counts as dead. It
// beats once a second; network file systems show a change seconds later.
const staleAfter = 15 * time.Second

// judge works out the state from what lies in the directory and, on its own host, from the process table.
func (in *Info) judge(me Process, now time.Time) {
	data, err := protocol.ReadFile(filepath.Join(in.Dir, protocol.ResultFile), maxFileBytes)
	if err == nil {
		var r Result
		if r, err = ParseResult(data); err == nil {
			in.Result, in.State, in.Cause, in.Ended = &r, r.State, clean(r.Cause, maxLineRunes), r.Ended
			return
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		in.Err = errors.Join(in.Err, err)
		in.State, in.Cause = Lost, "its result cannot be read"
		return
	}
	agent, err := readAgent(in.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		in.judgeUnstarted(me, now)
		return
	}
	switch agent.look(me) {
	case alive:
		in.judgeLooked()
	case dead:
		in.judgeAbandoned(fmt.Sprintf("its agent (process %d on %s) is gone", agent.PID, clean(agent.Host, 64)))
	default:
		if age, ok := heartbeatAge(in.Dir, now); ok && age < staleAfter {
			in.judgeLooked()
			return
		}
		in.judgeAbandoned("its agent has shown no sign of life for more than " + staleAfter.String())
	}
}

// judgeLooked is about a run that an agent looks after: its ranks run, or they wait for another run.
func (in *Info) judgeLooked() {
	in.State = Running
	if waiting(in.Dir) {
		in.State, in.Cause = Pending, in.waitsFor()
	}
}

// judgeUnstarted is about a run that no agent has taken on.
func (in *Info) judgeUnstarted(me Process, now time.Time) {
	switch in.Run.Launcher.look(me) {
	case alive:
		in.State, in.Cause = Pending, in.waitsFor()
	case dead:
		in.State, in.Cause = Lost, "it was never started: the program that launched it is gone"
	default:
		in.State, in.Cause = Pending, in.waitsFor()
		if st, err := os.Stat(filepath.Join(in.Dir, protocol.RunFile)); err != nil || now.Sub(st.ModTime()) > staleAfter {
			in.State, in.Cause = Lost, "it was never started"
		}
	}
}

// judgeAbandoned is about a run without a result whose agent is gone: what its ranks wrote decides.
func (in *Info) judgeAbandoned(why string) {
	exits, err := readExits(in.Dir)
	if err != nil {
		in.Err = errors.Join(in.Err, err)
	}
	if len(exits) == 0 && waiting(in.Dir) {
		in.State, in.Cause = Lost, why+"; it waited for "+in.Run.After
		return
	}
	if len(exits) == 0 {
		in.State, in.Cause = Lost, why+", and no rank left a record"
		return
	}
	if allCancelled(exits) {
		in.State, in.Cause = Cancelled, why+"; its ranks were told to stop"
		return
	}
	in.State, in.Cause = Failed, describe(primary(exits))
	if allSecondary(exits) {
		in.Cause = why + "; " + in.Cause
	}
}

// heartbeatAge is negative where the clocks of two hosts disagree; that counts as fresh.
func heartbeatAge(dir string, now time.Time) (time.Duration, bool) {
	st, err := os.Stat(filepath.Join(dir, protocol.HeartbeatFile))
	if err != nil {
		return 0, false
	}
	return now.Sub(st.ModTime()), true
}

// agentFile is agent.json.
type agentFile struct {
	Schema int `json:"schema"`
	Process
	Started time.Time `json:"started"`
}

// readAgent reads which process looks after the run. One that cannot be understood (cut off, newer)
// gives a Process that lives elsewhere: its heartbeat then decides.
func readAgent(dir string) (Process, error) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.AgentFile), maxFileBytes)
	if err != nil {
		return Process{}, err
	}
	var a agentFile
	if json.Unmarshal(data, &a) != nil {
		return Process{}, nil
	}
	return a.Process, nil
}

// readExits reads the exit records that are there, by rank. Damaged ones are left out.
func readExits(dir string) ([]protocol.ExitRecord, error) {
	entries, err := os.ReadDir(protocol.ExitDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the exit records: %w", err)
	}
	var exits []protocol.ExitRecord
	var errs []error
	for _, e := range entries {
		var rank int
		if _, err := fmt.Sscanf(e.Name(), "r%05d.json", &rank); err != nil {
			continue
		}
		rec, err := protocol.ReadExit(dir, rank)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		exits = append(exits, rec)
	}
	return exits, errors.Join(errs...)
}

// primary is the record of the rank that ended the run: the earliest failure that was no answer to another one.
func primary(exits []protocol.ExitRecord) protocol.ExitRecord {
	return slices.MinFunc(exits, func(a, b protocol.ExitRecord) int {
		return cmp.Or(
			compareBool(a.OK(), b.OK()),
			compareBool(a.Secondary, b.Secondary),
			cmp.Compare(a.TSNanos, b.TSNanos),
			cmp.Compare(a.Rank, b.Rank))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func allSecondary(exits []protocol.ExitRecord) bool {
	return !slices.ContainsFunc(exits, func(e protocol.ExitRecord) bool { return !e.Secondary && !e.OK() })
}

// allCancelled reports that every one of the ranks stopped between two steps because it was told to.
func allCancelled(exits []protocol.ExitRecord) bool {
	return !slices.ContainsFunc(exits, func(e protocol.ExitRecord) bool { return e.Code != protocol.CodeCancelled })
}

// describe is a rank's end in one line: which, how, where.
func describe(e protocol.ExitRecord) string {
	s := fmt.Sprintf("rank %d", e.Rank)
	switch {
	case e.Cause != "":
		s += ": " + clean(e.Cause, maxLineRunes)
	case e.Signal != "":
		s += " was ended by " + clean(e.Signal, 20)
	default:
		s += fmt.Sprintf(" ended with exit code %d", e.Code)
	}
	switch op := clean(e.Operation, 120); {
	case e.Step > 0 && op != "":
		s += fmt.Sprintf(" (step %d, %s)", e.Step, op)
	case e.Step > 0:
		s += fmt.Sprintf(" (step %d)", e.Step)
	case op != "":
		s += fmt.Sprintf(" (before the first step, %s)", op)
	}
	return s
}

func inode(st fs.FileInfo) int64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int64(s.Ino)
	}
	return 0
}
