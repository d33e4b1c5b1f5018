package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
	"boost-tui/runner/userconfig"
)

// Names of files of a run that Slurm starts.
const (
	jobScriptFile = "job.sh"  // the script of the job
	jobLogFile    = "job.log" // what it said
	frontFile     = "front"   // sign of life of the program in front of a foreground run, on the machine that submitted it
)

// slurmConductor has the agents of a run started by Slurm. Outside of a job it submits one; within one it starts the agents by srun.
type slurmConductor struct {
	where  experiment.Where
	client *slurm.Client
	config userconfig.Config
	setup  userconfig.Setup
}

// newSlurmConductor checks what can be known before a run is made.
func newSlurmConductor(w experiment.Where) (conductor, error) {
	c := &slurmConductor{where: w, client: &slurm.Client{}}
	if err := c.client.Missing(); err != nil {
		return nil, err
	}
	var err error
	if c.config, err = userconfig.Load(); err != nil {
		return nil, err
	}
	if c.setup, err = c.config.Named(w.Setup); err != nil {
		return nil, err
	}
	a, inside := slurm.Inside(os.Getenv)
	if inside && a.Nodes > 0 && a.Nodes < w.Nodes {
		return nil, fmt.Errorf("this is Slurm job %s, and the run asks for %d nodes where it has %d: say --nodes %d, or start it outside of the job", a.Job.ID, w.Nodes, a.Nodes, a.Nodes)
	}
	if inside {
		return c, c.stale(a)
	}
	return c, nil
}

// stalePatience is how long Slurm may take to say that a job is there; one that it says nothing of may be.
const stalePatience = 5 * time.Second

// stale refuses an environment that tells of a job which is over: a variable was left behind, in a screen or by a copied script.
func (c *slurmConductor) stale(a slurm.Allocation) error {
	ctx, cancel := context.WithTimeout(context.Background(), stalePatience)
	defer cancel()
	if j, err := c.client.Past(ctx, a.Job); err == nil && j.Over() {
		return fmt.Errorf("SLURM_JOB_ID says that this is Slurm job %s, which is over or never was: unset SLURM_JOB_ID, or start it in a job that runs", a.Job.ID)
	}
	return nil
}

// hostNames implements hosted: Slurm picks the hosts later.
func (*slurmConductor) hostNames() []string { return []string{} }

// ErrRefused is in the error about a run that a place will not start as it was asked for: the same again is refused again.
var ErrRefused = errors.New("refused")

// CodeRefused is the exit code of a conductor whose run was refused.
const CodeRefused = 2

type refusedError struct{ err error }

func (e *refusedError) Error() string        { return e.err.Error() }
func (e *refusedError) Unwrap() error        { return e.err }
func (e *refusedError) Is(target error) bool { return target == ErrRefused }

// wasRefused reports that the conductor of a run ended because the run was refused.
func wasRefused(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == CodeRefused
}

// start implements conductor.
func (c *slurmConductor) start(ctx context.Context, j conductJob) (Agents, error) {
	a, inside := slurm.Inside(os.Getenv)
	switch {
	case j.Inside && !inside:
		return nil, errors.New("this is said to be the inside of a Slurm job, and SLURM_JOB_ID is not set")
	case j.Inside:
		return c.startStep(ctx, j, a)
	}
	script := filepath.Join(j.Dir, jobScriptFile)
	if err := protocol.WriteFile(script, jobScript(c.config, c.setup)); err != nil {
		return nil, err
	}
	if inside {
		return c.startWithin(j, a, script)
	}
	return c.submit(ctx, j, script)
}

// submit has Slurm start the agents some time. A detached run needs nobody here for that.
func (c *slurmConductor) submit(ctx context.Context, j conductJob, script string) (Agents, error) {
	s := c.submission(j, script)
	ref, err := c.client.Submit(ctx, s)
	var no *slurm.RejectedError
	if errors.As(err, &no) {
		return nil, &refusedError{fmt.Errorf("%w%s; %s", err, c.advice(), no.Advice())}
	}
	if err != nil {
		return nil, err
	}
	f := jobFile{Kind: jobSlurm, Ref: ref, Submitted: wallNow(), Host: here().Host, Script: script, Command: append([]string{"sbatch"}, s.Arguments()...)}
	if err := writeJob(j.Dir, f); err != nil { // nobody would find it
		return nil, errors.Join(err, c.client.Cancel(context.Background(), ref))
	}
	if !j.Foreground || j.Inside { // in a job that goes on as another one, the nodes are not to be held
		return nil, nil
	}
	return watchJob(c.client, f, j), nil
}

// advice says where what was refused may come from.
func (c *slurmConductor) advice() string {
	if c.config.Path == "" {
		return ""
	}
	return " (" + c.config.Path + " adds what the experiment leaves open)"
}

const (
	// rankOverheadBytes is what a rank takes beside what was predicted: the program, libraries, buffers of the network.
	rankOverheadBytes = 512 << 20
	// agentBytes is what an agent takes, and the programs over it.
	agentBytes = 256 << 20
)

// hostBytes is the predicted host memory of a rank; 0: unknown. That of a GPU says nothing of it.
func (r *Run) hostBytes() int64 {
	switch p := r.Predicted; {
	case p == nil:
		return 0
	case p.HostBytes == 0 && r.Experiment.Step.Device != experiment.DeviceCUDA: // a record of an earlier version
		return p.MemBytes
	default:
		return p.HostBytes
	}
}

// submission is the job that a run needs.
func (c *slurmConductor) submission(j conductJob, script string) slurm.Submission {
	w, own := c.where, c.config.Slurm
	nodes := max(1, w.Nodes)
	ranks := (j.Run.World() + nodes - 1) / nodes
	s := slurm.Submission{
		Name: jobName(j.Run), Script: script, Args: []string{j.Dir, j.Binary}, Output: filepath.Join(j.Dir, jobLogFile), Nodes: nodes,
		Account: cmp.Or(w.Account, own.Account), Partition: cmp.Or(w.Partition, own.Partition), QOS: cmp.Or(w.QOS, own.QOS),
		Constraint: cmp.Or(w.Constraint, own.Constraint), Time: cmp.Or(w.Time, own.Time),
		Requeue: w.MaxRestarts > 0, SurviveNodes: w.MaxRestarts > 0,
	}
	if !c.linesSay("--cpus-per-task", "-c", "--exclusive") {
		s.CPUsPerNode = ranks
	}
	if host := j.Run.hostBytes(); host > 0 && !c.linesSay("--mem", "--mem-per-cpu", "--mem-per-gpu", "--exclusive") {
		s.MemoryBytes = int64(ranks)*(host+host/4+rankOverheadBytes) + agentBytes
	}
	if d := j.Run.Experiment.Step.Device; d == experiment.DeviceCUDA && !c.linesSay("--gres", "--gpus", "-G", "--gpus-per-node") {
		s.GPUsPerNode = cmp.Or(w.GPUsPerNode, ranks)
	}
	for _, host := range j.Lost {
		if !slices.Contains(s.Exclude, host) {
			s.Exclude = append(s.Exclude, host)
		}
	}
	return s
}
