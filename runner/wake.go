package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// Who is stopped (SIGSTOP) hears nothing: not that the program in front has gone, nor that the run is over. It would stay for ever,
// and with it whatever it holds. So whoever looks at a run next wakes those of this machine whom nobody waits for any more; they
// find out what happened meanwhile, and end.

// wakeUnwanted wakes who is stopped and looks after a run that is over, or that the program in front has left. left says that the
// run is over and a process stands over it all the same, or may on another machine: the run has to be looked at again.
func (in *Info) wakeUnwanted(me Process) (left bool) {
	over := in.Result != nil
	if !in.Mine() || !over && !(in.Run.Foreground && in.leftAlone(me)) {
		return false
	}
	if agent, err := readAgent(in.Dir); err == nil && !over {
		wakeRole(agent, "agent", in.Dir, me)
	}
	return in.wakeConductor(me) && over
}

// wakeConductor wakes who stands over the run, where it is stopped; there says that somebody does, or may on another machine.
func (in *Info) wakeConductor(me Process) (there bool) {
	path := filepath.Join(in.Dir, protocol.ConductFile)
	data, err := protocol.ReadFile(path, maxFileBytes)
	if err != nil || !ownFile(path) {
		return false
	}
	p, err := parseProcess(data, protocol.ConductFile)
	return err == nil && wakeRole(p, "conduct", in.Dir, me) != dead
}

// wakeRole lets a process that is stopped go on, once it is certain that it is the one that plays the role for the run: a folder may
// be a copy, and say anything. A debugger keeps what it has stopped.
func wakeRole(p Process, role, dir string, me Process) life {
	l := p.look(me)
	if l != alive {
		return l
	}
	st, err := procStat(p.PID)
	if err == nil && st.state == 'T' && plays(p.PID, role, dir) {
		_ = p.signal(unix.SIGCONT) // it may have ended in that moment; else the next look tries again
	}
	return alive
}

// plays reports that a process was started as a role of this program for the run.
func plays(pid int, role, dir string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := bytes.Split(line, []byte{0})
	is := func(want string) func([]byte) bool { return func(arg []byte) bool { return string(arg) == want } }
	return err == nil && len(args) > 1 && string(args[1]) == role && slices.ContainsFunc(args, is(dir))
}

// leftAlone reports that the program in front of a run is gone. A run that goes on from another one was made by who stands over it,
// and is in front of the same program.
func (in *Info) leftAlone(me Process) bool {
	run := in.Run
	for range maxRestarts {
		if run.Restart == nil {
			return run.Launcher.look(me) == dead
		}
		before, err := readRun(filepath.Join(filepath.Dir(in.Dir), run.Restart.Of))
		if err != nil {
			return false
		}
		run = before
	}
	return false
}
