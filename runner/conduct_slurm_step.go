package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"

	"golang.org/x/sys/unix"
)

// stepLate is how long a step may take to end after the run's result is there: then a node of it is lost, of which Slurm
// learns much later.
const stepLate = 5 * time.Second

// step is the agents of a run as tasks of a step of this job, one on each node.
type step struct {
	dir   string
	run   Run
	hosts []string // as far as they are known before
	cmd   *exec.Cmd
	said  *stepLog
	over  chan struct{} // closed when srun has ended
	wg    sync.WaitGroup

	limits *limitWatch
	mu     sync.Mutex
	leader string   // why the agent of the first host has ended; empty: it has not
	why    *endTold // why the step ended as a whole, before any agent did; nil: it did not
}

// startStep starts the agents by srun.
func (c *slurmConductor) startStep(ctx context.Context, j conductJob, a slurm.Allocation) (Agents, error) {
	hosts, err := slurm.Expand(a.Hosts)
	if err != nil {
		return nil, err
	}
	nodes := max(1, c.where.Nodes)
	left, lost := without(hosts, j.Lost)
	if len(hosts) > 0 && len(left) < nodes {
		return c.again(ctx, j, fmt.Errorf("%d nodes are left of Slurm job %s, and the run needs %d", len(left), a.Job.ID, nodes))
	}
	if err := inheritJob(j, a); err != nil {
		return nil, err
	}
	version, err := c.client.Version(ctx)
	if err != nil {
		return nil, err
	}
	srun, err := exec.LookPath("srun")
	if err != nil {
		return nil, &slurm.MissingError{Tool: "srun"}
	}
	s := slurm.Step{Name: jobName(j.Run), Nodes: nodes, CPUsPerNode: a.CPUs, Exclude: lost, Version: version,
		Folder: j.Dir, Output: "agent-%t.log",
		Program: []string{j.Binary, "agent", "--run", j.Dir, "--slurm"}}
	st := &step{dir: j.Dir, run: j.Run, hosts: left, over: make(chan struct{}), cmd: exec.Command(srun, s.Arguments()...), limits: newLimitWatch(ctx, c.client, a)}
	if err := st.begin(); err != nil {
		return nil, err
	}
	return st, nil
}

// again submits a job of its own for the successor of a run whose job has too few nodes left. In an allocation that was there
// before, there is nothing to be done.
func (c *slurmConductor) again(ctx context.Context, j conductJob, few error) (Agents, error) {
	if j.Run.Restart == nil {
		return nil, few
	}
	before, ok := ownJob(filepath.Join(filepath.Dir(j.Dir), j.Run.Restart.Of))
	if !ok || before.ID != os.Getenv("SLURM_JOB_ID") {
		return nil, few
	}
	script, err := protocol.ReadFile(before.Script, maxScriptBytes) // what the user set may not be there to read on a node
	if err != nil {
		return nil, errors.Join(few, err)
	}
	path := filepath.Join(j.Dir, jobScriptFile)
	if err := protocol.WriteFile(path, script); err != nil {
		return nil, errors.Join(few, err)
	}
	agents, err := c.submit(ctx, j, path)
	if err != nil { // there are clusters on which nodes may not submit
		return nil, errors.Join(few, err, requeue(c.client, before))
	}
	return agents, nil
}

// maxScriptBytes bounds the script of a job.
const maxScriptBytes = 1 << 20

// inheritJob writes down that the run is this job, where that is not known: the run is the successor of one that was, or whoever
// submitted the job has not come to it yet.
func inheritJob(j conductJob, a slurm.Allocation) error {
	if _, err := readJob(j.Dir); !noJob(err) {
		return nil // damaged is nobody's to mend
	}
	f := jobFile{Kind: jobAllocation, Ref: a.Job, Submitted: wallNow(), Host: here().Host}
	if j.Run.Restart != nil {
		if before, err := readJob(filepath.Join(filepath.Dir(j.Dir), j.Run.Restart.Of)); err == nil && before.Ref.ID == a.Job.ID {
			f = before
		}
	}
	if os.Getenv("SLURM_JOB_NAME") == jobName(j.Run) {
		f.Kind = jobSlurm
	}
	return writeJob(j.Dir, f)
}

// without are the hosts that are not lost, and those that are.
func without(hosts, lost []string) (left, gone []string) {
	for _, h := range hosts {
		if containsHost(lost, h) {
			gone = append(gone, h)
			continue
		}
		left = append(left, h)
	}
	return left, gone
}

func containsHost(list []string, host string) bool {
	for _, h := range list {
		if h == host {
			return true
		}
	}
	return false
}

// begin starts srun. It is in a group of its own, so that it ends as a whole; it is never told to end in order: to its tasks that
// would be the end at once.
func (s *step) begin() error {
	log, err := regular.OpenFile(filepath.Join(s.dir, protocol.AgentLogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, protocol.FileMode)
	if err != nil {
		return fmt.Errorf("log of the agents: %w", err)
	}
	s.said = &stepLog{log: log, failed: s.failed, ended: s.ended}
	s.cmd.Env, s.cmd.Dir = slurm.StepEnvironment(os.Environ()), "/"
	s.cmd.Stderr, s.cmd.WaitDelay = s.said, time.Second
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the agents by srun: %w", err), log.Close())
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		s.look()
	}()
	return nil
}

func writePart(dir string, host int, p part) error {
	p.Schema = Schema
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return protocol.WriteNew(protocol.PartPath(dir, host), append(data, '\n'))
}

// look watches over the step until it has ended: it must not outlive its run, the agent that leads it, or the program in front,
// and the run has to end before the time of the job does.
func (s *step) look() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var late, beaten time.Time
	_, submitted := ownJob(s.dir)
	f := frontWatch{dir: s.dir, wanted: s.run.Foreground && submitted}
	for {
		select {
		case <-s.over:
			return
		case <-tick.C:
		}
		if time.Since(beaten) >= conductEvery {
			beaten = time.Now()
			_ = beatConduct(s.dir, beaten) // the next one may succeed
		}
		_, err := os.Lstat(filepath.Join(s.dir, protocol.ResultFile))
		if ending := err == nil || s.ledNoMore() != ""; ending && late.IsZero() {
			late = time.Now().Add(stepLate)
		}
		if !late.IsZero() {
			if time.Now().After(late) {
				_ = s.Kill() // it may have ended in that moment
			}
			continue
		}
		if reason := cmp.Or(s.limits.near(), f.gone()); reason != "" {
			_ = s.Cancel(reason) // it is tried again at the next look
		}
	}
}

// Cancel implements Agents.
func (s *step) Cancel(reason string) error {
	if _, asked := cancelRequest(s.dir); asked {
		return nil
	}
	asked := requestCancel(s.dir, reason)
	if _, err := readAgent(s.dir); asked == nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(asked, s.Kill())
}

// Kill implements Agents: srun's tasks end within a second of it.
func (s *step) Kill() error {
	err := syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// Wait implements Agents.
func (s *step) Wait() error {
	err := s.cmd.Wait()
	close(s.over)
	s.wg.Wait()
	if told := s.told(); told != nil {
		err = told
	} else if err != nil {
		err = srunEnded(err)
	}
	return errors.Join(err, s.said.log.Close())
}

// srunEnded says how srun ended. Its exit code says little: the agents know better, where one is left.
func srunEnded(err error) error {
	var exit *exec.ExitError
	if st, ok := syscall.WaitStatus(0), errors.As(err, &exit); ok {
		if st, ok = exit.Sys().(syscall.WaitStatus); ok && st.Signaled() {
			return &endTold{cause: "srun, which had started its agents, was ended by " + unix.SignalName(st.Signal())}
		}
	}
	return fmt.Errorf("srun, which had started its agents: %w", err)
}
