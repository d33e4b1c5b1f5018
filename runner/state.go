package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/runner/protocol"
)

// staleAfter is the age of a heartbeat from which an agent that cannot be looked at counts as dead. It
// beats once a second; network file systems show a change seconds later.
const staleAfter = 15 * time.Second

// staleHere is that age on the machine that the run is of, where no agent is named that could be looked at.
const staleHere = 3 * time.Second

// judge works out the state, and whose fault it is.
func (in *Info) judge(me Process, now time.Time) {
	in.judgeState(me, now)
	if in.Result != nil && in.Result.Fault.known() != NoFault {
		in.Fault = in.Result.Fault
		return
	}
	if errors.Is(in.Err, ErrNewerSchema) {
		return
	}
	var exits []protocol.ExitRecord
	if in.State == Failed { // what cannot be read of them is missing here and in Err already
		exits, _ = readExits(in.Dir)
	}
	in.Fault = faultOf(in.Run, in.State, in.Cause, exits)
}

// judgeState works out the state from what lies in the directory and, on its own host, from the process table.
func (in *Info) judgeState(me Process, now time.Time) {
	data, err := protocol.ReadFile(filepath.Join(in.Dir, protocol.ResultFile), maxFileBytes)
	if err == nil {
		var r Result
		if r, err = ParseResult(data); err == nil {
			in.Result, in.State, in.Cause, in.Ended = &r, r.State, clean(r.Cause, maxLineRunes), r.Ended
			return
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		in.Err = join(in.Err, err)
		in.State, in.Cause = Unreadable, "its result may not be read"
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		in.Err = join(in.Err, err)
		in.State, in.Cause = Lost, "its result cannot be read"
		return
	}
	agent, err := readAgent(in.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		in.judgeUnstarted(me, now)
		return
	}
	patience := staleAfter
	if err != nil && in.Run.Host == me.Host { // its own file system shows a heartbeat at once
		patience = staleHere
	}
	switch agent.look(me) {
	case alive:
		in.judgeLooked()
		if why := agent.halted(); why != "" {
			in.Cause = why
		}
	case dead:
		in.judgeAbandoned(fmt.Sprintf("its agent (process %d on %s) is gone", agent.PID, clean(agent.Host, 64)))
	default:
		if age, ok := heartbeatAge(in.Dir, now); ok && age < patience {
			in.judgeLooked()
			return
		}
		in.judgeAbandoned("its agent has shown no sign of life for more than " + patience.String())
	}
}

// halted says that an agent of this machine is stopped, so that nobody looks after its run; empty: it goes on. Whoever stopped it may
// want that, so nobody wakes it as long as somebody waits for the run (see wakeUnwanted).
func (p Process) halted() string {
	st, err := procStat(p.PID)
	if err != nil || st.state != 'T' && st.state != 't' {
		return ""
	}
	return fmt.Sprintf("its agent is stopped (SIGSTOP, process %d): nobody looks after its ranks; kill -CONT %d lets it go on", p.PID, p.PID)
}

// judgeLooked is about a run that an agent looks after: its ranks run, or they wait for another run.
func (in *Info) judgeLooked() {
	in.State, in.Cause = Running, ranksHalted(in.Dir)
	if waiting(in.Dir) {
		in.State, in.Cause = Pending, in.waitsFor()
	}
}

// judgeUnstarted is about a run that no agent has taken on.
func (in *Info) judgeUnstarted(me Process, now time.Time) {
	if in.judgeQueued(now) {
		return
	}
	switch in.Run.Launcher.look(me) {
	case alive:
		in.State, in.Cause = Pending, in.waitsFor()
	case dead:
		in.State, in.Cause = Lost, "it was never started: the program that launched it is gone"
	default:
		in.State, in.Cause = Pending, in.waitsFor()
		if age, ok := heartbeatAge(in.Dir, now); ok && age < staleAfter {
			return // somebody prepares its hosts
		}
		if st, err := os.Stat(filepath.Join(in.Dir, protocol.RunFile)); err != nil || fileNow(in.Dir, now).Sub(st.ModTime()) > staleAfter {
			in.State, in.Cause = Lost, "it was never started"
		}
	}
}

// judgeAbandoned is about a run without a result whose agent is gone: what its ranks wrote decides.
func (in *Info) judgeAbandoned(why string) {
	exits, err := readExits(in.Dir)
	if err != nil {
		in.Err = join(in.Err, err)
	}
	if reason, asked := cancelRequest(in.Dir); asked {
		in.State, in.Cause = stateFor(reason), reason+"; "+why
		return
	}
	if in.judgeJob(&why, time.Now()) {
		return
	}
	if len(exits) == 0 && waiting(in.Dir) {
		in.State, in.Cause = Lost, why+"; it waited for "+in.Run.After
		return
	}
	if len(exits) == 0 {
		in.State, in.Cause = Lost, why+", and no rank left a record"
		return
	}
	if allTold(exits) {
		in.State, in.Cause = Cancelled, why+"; "+ranksTold
		return
	}
	in.State, in.Cause = Failed, describe(primary(exits))
	if allSecondary(exits) {
		in.Cause = why + "; " + in.Cause
	}
}

// heartbeatAge is how old the last sign of life is by the clock of the file system, or by this host's where that cannot be
// learnt. What is newer than now counts as fresh.
func heartbeatAge(dir string, now time.Time) (time.Duration, bool) {
	st, err := os.Stat(filepath.Join(dir, protocol.HeartbeatFile))
	if err != nil {
		return 0, false
	}
	return fileNow(dir, now).Sub(st.ModTime()), true
}

// agentFile is agent.json.
type agentFile struct {
	Schema int `json:"schema"`
	Process
	Started time.Time `json:"started"`
}

// readAgent reads which process looks after the run. One that cannot be understood (cut off, empty, newer)
// gives a Process that nothing is known of and an error: its heartbeat then decides.
func readAgent(dir string) (Process, error) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.AgentFile), maxFileBytes)
	if err != nil {
		return Process{}, err
	}
	return parseProcess(data, protocol.AgentFile)
}

// parseProcess reads which process a file of that name names. Of one that is damaged nothing is known.
func parseProcess(data []byte, file string) (Process, error) {
	var a agentFile
	if err := json.Unmarshal(data, &a); err != nil {
		return Process{}, fmt.Errorf("%s is damaged: %w", file, err)
	}
	if a.PID <= 0 {
		return Process{}, fmt.Errorf("%s is damaged: it names no process", file)
	}
	return a.Process, nil
}
