package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
)

// ConductOptions is what `boost-tui conduct` is told by its command line and by the program that it is part of.
type ConductOptions struct {
	Dir        string // of the run
	Foreground bool   // stdin is the lifeline of the program in front
	Inside     bool   // within a job that was submitted for this run, on its first node
	Binary     string // to start agents from; empty: this one
	// Checkpoint finds the latest whole checkpoint of a run's folder, and the last step that it had done; fs.ErrNotExist where
	// there is none. nil: restarts begin anew. The runner knows no files of checkpoints, so whoever wires the roles hands it in.
	Checkpoint func(runDir string) (dir string, step int, err error)
	// Join makes a checkpoint of the parts that the hosts of a run have left of it, once all of them are in the run's folder
	// (protocol.CheckpointPart), and keeps the last few; fs.ErrNotExist: some are missing. nil: none is made.
	Join func(runDir string, world, step, keep int) error
	// Lifeline replaces stdin in tests.
	Lifeline io.ReadCloser
}

// conductor starts the agents of a run at a place. One that knows its hosts before a run is made implements hosted as well.
type conductor interface {
	// start hands the agents of a run to the system and returns; when it fails, none is left behind. The end of the context is
	// the wish to give up starting, nothing more: agents that were started are ended through Agents. Without agents and
	// without an error the run was handed to somebody who looks after it from here on (a scheduler), and the conductor's
	// program can end.
	start(ctx context.Context, j conductJob) (Agents, error)
}

// conductJob is what a conductor is told of a run.
type conductJob struct {
	Job
	Run    Run
	Inside bool
	// Lost are the hosts that were lost under earlier runs of this chain, by the names that records call them: where a place can
	// choose, it takes others.
	Lost []string
	Join func(runDir string, world, step, keep int) error // as ConductOptions has it
}

// conductorOf finds who starts agents at the place that an experiment names.
func conductorOf(w experiment.Where) (conductor, error) {
	if n, err := testHosts(); n != nil || err != nil {
		return localConductor{n}, err
	}
	switch w.Where {
	case experiment.WhereLocal, "":
		return localConductor{local{}}, nil
	case experiment.WhereSSH:
		return newSSHConductor(w)
	case experiment.WhereSlurm:
		return newSlurmConductor(w)
	}
	return nil, fmt.Errorf("where = %q is no place that runs can be started at: say %s, %s or %s", clean(w.Where, 40),
		experiment.WhereLocal, experiment.WhereSSH, experiment.WhereSlurm)
}

// localConductor starts agents as children, on this machine.
type localConductor struct{ place Place }

func (c localConductor) start(_ context.Context, j conductJob) (Agents, error) {
	return c.place.Start(j.Job)
}

// hostNames implements hosted.
func (c localConductor) hostNames() []string { return hostsOf(c.place) }

// conducted is a place whose agents are started by a process of their run's own, `boost-tui conduct`, which stands over
// them: it waits for them, and starts a successor of the run where one is due.
type conducted struct{ by conductor }

// Start implements Place.
func (conducted) Start(j Job) (Agents, error) { return startRole("conduct", j, nil) }

// hostNames implements hosted.
func (c conducted) hostNames() []string {
	if h, ok := c.by.(hosted); ok {
		return h.hostNames()
	}
	return nil
}

// conduct is the state of the role.
type conduct struct {
	o    ConductOptions
	life <-chan string // reasons to end the run, from the program in front; nil: none, or no more
	lost []string      // hosts
}

// Conduct stands over the agents of a run: it starts them, waits for them, and starts a successor of the run where the
// machine failed it and its experiment asks for restarts. It writes the result where no agent could. How the run went is in its
// result; an error says that even that could not be written. Ending the context ends the run.
func Conduct(ctx context.Context, o ConductOptions) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("conduct: run directory: %w", err)
	}
	if o.Binary == "" {
		if o.Binary, err = Binary(); err != nil {
			return fmt.Errorf("conduct: %w", err)
		}
	}
	ctx, stop := notify(ctx)
	defer stop()
	c := &conduct{o: o}
	var hangUp func()
	if c.life, hangUp, err = listen(o.Foreground, o.Lifeline, here().Host); err != nil {
		return fmt.Errorf("conduct: %w", err)
	}
	defer hangUp()
	first := dir
	if dir, err = c.rejoin(ctx, dir); err != nil {
		return fmt.Errorf("conduct: %w", err)
	}
	for dir != "" {
		if dir, err = c.attempt(ctx, dir); err != nil {
			return fmt.Errorf("conduct: %w", err)
		}
	}
	return c.comeBack(first)
}

// attempt sees one run to its end, and gives the folder of its successor; empty: there is none.
func (c *conduct) attempt(ctx context.Context, dir string) (next string, err error) {
	run, err := readRun(dir)
	if err != nil {
		return "", err
	}
	by, err := conductorOf(run.Experiment.Where)
	if err != nil {
		return "", c.refuse(dir, run, err)
	}
	leave, err := c.stand(by, dir)
	if err != nil {
		return "", c.refuse(dir, run, err)
	}
	if leave == nil { // another process looks after it
		return "", nil
	}
	defer leave()
	j := conductJob{Job: Job{Dir: dir, Binary: c.o.Binary, Foreground: c.o.Foreground, Holder: heldByConduct}, Run: run, Inside: c.o.Inside, Lost: c.lost, Join: c.o.Join}
	agents, err := c.begin(ctx, by, j)
	if err != nil {
		return "", c.refuse(dir, run, err)
	}
	if agents == nil {
		return "", nil
	}
	in, told, err := c.await(ctx, newHandle(run, dir, agents))
	if err != nil || told || c.leaves(in) {
		return "", err
	}
	if decides, err := c.decides(in); !decides {
		return "", err
	}
	return c.restart(ctx, in)
}

// stand writes down which process stands over the run, and gives what takes that back; nil: another one does. By ssh a conductor
// comes back to a run that another one left, and the place changes hands within it. Within a job it is the scheduler that knows.
func (c *conduct) stand(by conductor, dir string) (leave func(), err error) {
	if _, own := by.(sshConductor); own || c.o.Inside {
		return func() {}, nil
	}
	p, busy, err := standOver(dir)
	if err != nil || busy {
		return nil, err
	}
	return p.leave, nil
}

// readRun reads run.json.
func readRun(dir string) (Run, error) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.RunFile), maxFileBytes)
	if err != nil {
		return Run{}, fmt.Errorf("%s is not a run: %w", dir, err)
	}
	return ParseRun(data)
}

// begin starts the agents, unless somebody ends the run meanwhile.
func (c *conduct) begin(ctx context.Context, by conductor, j conductJob) (Agents, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type started struct {
		agents Agents
		err    error
	}
	done := make(chan started, 1)
	go func() {
		agents, err := by.start(ctx, j)
		done <- started{agents, err}
	}()
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		reason, ended := "", false
		select {
		case s := <-done:
			return s.agents, s.err
		case reason, ended = <-c.life:
			c.life = nil
		case <-tick.C:
			if reason, ended = cancelRequest(j.Dir); !takenOn(j.Dir) {
				_ = beat(j.Dir, n) // a sign of life while hosts are made ready; the next one may succeed
			}
		}
		if !ended {
			continue
		}
		cancel(errors.New(reason))
		s := <-done
		if s.agents != nil { // it was as fast
			s.err = errors.Join(s.err, s.agents.Cancel(reason), s.agents.Wait())
		}
		return nil, &endedEarly{reason}
	}
}

// endedEarly says that somebody ended a run before its agents were there.
type endedEarly struct{ reason string }

func (e *endedEarly) Error() string { return e.reason }

// refuse writes down why a run never began.
func (c *conduct) refuse(dir string, run Run, why error) error {
	h := newHandle(run, dir, ended{why})
	var early *endedEarly
	if errors.As(why, &early) {
		h.ends(early.reason)
	}
	<-h.ended
	h.neverBegan = why
	in := h.settle()
	if in.Result == nil {
		return errors.Join(why, in.Err)
	}
	if errors.Is(why, ErrRefused) {
		return why // whoever waits is to know it from the exit code
	}
	return nil
}

// ended are agents that never were.
type ended struct{ err error }

func (e ended) Cancel(string) error { return nil }
func (e ended) Kill() error         { return nil }
func (e ended) Wait() error         { return e.err }

// await waits for the agents; told says that somebody ended the run through this process.
func (c *conduct) await(ctx context.Context, h *Handle) (in Info, told bool, err error) {
	for {
		select {
		case <-h.ended:
			if errors.Is(h.err, errSuperseded) {
				return Info{}, true, h.err
			}
			return h.settle(), false, nil
		case <-ctx.Done():
			in, err = h.end(reasonToEnd(h.Dir))
			return in, true, err
		case reason, ok := <-c.life:
			if c.life = nil; ok {
				in, err = h.end(reason)
				return in, true, err
			}
		}
	}
}

// reasonToEnd says why a signal ends a run: whoever sent it may have left a request beside it.
func reasonToEnd(dir string) string {
	if reason, ok := cancelRequest(dir); ok {
		return reason
	}
	return agentTold
}
