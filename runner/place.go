package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"boost-tui/experiment"
	"boost-tui/internal/regular"
	"boost-tui/runner/protocol"
)

// Place is somewhere that the agents of a run can be started. The run directory must be visible there.
type Place interface {
	// Start starts the agents of a run. It returns when they were handed to the system, not when they work.
	Start(Job) (Agents, error)
}

// Job is what a place is told.
type Job struct {
	Dir        string // of the run, absolute
	Binary     string // absolute, at the place
	Foreground bool   // the run ends with the program that launched it
	Holder     string // who holds the lifeline of a foreground run; empty: the program in front
}

// Agents are the started agents of one run.
type Agents interface {
	// Cancel asks a foreground run's agents to end it; the reason goes into the record. It does not wait.
	Cancel(reason string) error
	// Kill ends the agents at once. Their ranks notice and leave.
	Kill() error
	// Wait blocks until the agents have ended and says how, where they did not end well. It is called once.
	Wait() error
}

// hosted is a place that knows its hosts before a run is made.
type hosted interface{ hostNames() []string }

// placeOf finds the place that an experiment names.
func placeOf(w experiment.Where) (Place, error) {
	by, err := conductorOf(w)
	if err != nil {
		return nil, err
	}
	if here, ok := by.(localConductor); ok && w.MaxRestarts == 0 {
		return here.place, nil // nobody need stand over its agents
	}
	return conducted{by}, nil
}

// local is this machine.
type local struct{}

// localAgent is the one agent of a run on this machine.
type localAgent struct {
	cmd      *exec.Cmd
	lifeline *os.File // nil: detached
}

// Start implements Place. The agent gets a session of its own either way: what happens to the terminal
// reaches a foreground run's agent through the program in front of it, so that the record can say what it was.
func (local) Start(j Job) (Agents, error) { return startAgent(j, nil) }

// startAgent starts an agent on this machine, with an environment of its own where one is given.
func startAgent(j Job, env []string, args ...string) (*localAgent, error) {
	return startRole("agent", j, env, args...)
}

// startRole starts the program on this machine, as an agent or to conduct some.
func startRole(role string, j Job, env []string, args ...string) (*localAgent, error) {
	cmd := exec.Command(j.Binary, append([]string{role, "--run", j.Dir}, args...)...)
	cmd.Env = env
	return startChild(j, cmd)
}

// startChild starts a program that looks after the run, with what it says in the log of the agent and, in the foreground, with a
// lifeline; --foreground tells it so.
func startChild(j Job, cmd *exec.Cmd) (*localAgent, error) {
	log, err := regular.OpenFile(filepath.Join(j.Dir, protocol.AgentLogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, protocol.FileMode)
	if err != nil {
		return nil, fmt.Errorf("log of the agent: %w", err)
	}
	defer log.Close() // the agent has its own descriptor
	cmd.Dir = "/"     // a run must not keep a file system busy; paths are absolute
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	a := &localAgent{cmd: cmd}
	if j.Foreground {
		cmd.Args = append(cmd.Args, "--foreground")
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("lifeline of the agent: %w", err)
		}
		defer r.Close()
		cmd.Stdin, a.lifeline = r, w
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(cmd.Env, envLifeline+"="+j.Holder) // the last one counts
	}
	if err := cmd.Start(); err != nil {
		if a.lifeline != nil {
			err = errors.Join(err, a.lifeline.Close())
		}
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	return a, nil
}

// Cancel implements Agents.
func (a *localAgent) Cancel(reason string) error {
	if a.lifeline == nil {
		return errors.Join(a.cmd.Process.Signal(syscall.SIGTERM), a.cmd.Process.Signal(syscall.SIGCONT))
	}
	_, err := io.WriteString(a.lifeline, clean(reason, 200)+"\n")
	return errors.Join(err, a.cmd.Process.Signal(syscall.SIGCONT)) // one that is stopped would not hear it
}

// Kill implements Agents.
func (a *localAgent) Kill() error { return a.cmd.Process.Kill() }

// Wait implements Agents.
func (a *localAgent) Wait() error {
	err := a.cmd.Wait()
	if a.lifeline != nil {
		err = errors.Join(err, a.lifeline.Close())
	}
	return err
}
