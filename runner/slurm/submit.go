package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Submission is a job to be submitted. Empty values are left to Slurm and the script.
type Submission struct {
	Name         string // of the job
	Script       string // absolute path
	Args         []string
	Output       string // file that the script's output is added to; absolute
	Nodes        int
	CPUsPerNode  int
	MemoryBytes  int64 // of each node
	GPUsPerNode  int
	Account      string
	Partition    string
	QOS          string
	Constraint   string
	Time         string
	Requeue      bool     // Slurm may start the job again after a node failed or another job took its nodes
	SurviveNodes bool     // the job goes on when it loses a node
	Exclude      []string // hosts not to be taken
}

// Arguments are sbatch's. Values stand behind a "=" in arguments of their own: whatever they hold, they are values.
func (s Submission) Arguments() []string {
	args := []string{"--parsable", "--job-name=" + s.Name, "--output=" + literal(s.Output), "--open-mode=append", "--input=/dev/null", "--chdir=/",
		"--nodes=" + strconv.Itoa(max(1, s.Nodes)), "--ntasks-per-node=1", "--kill-on-invalid-dep=yes"}
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	positive := func(n int64, unit string) string {
		if n <= 0 {
			return ""
		}
		return strconv.FormatInt(n, 10) + unit
	}
	add("cpus-per-task", positive(int64(s.CPUsPerNode), ""))
	add("mem", positive((s.MemoryBytes+1<<20-1)>>20, "M"))
	if s.GPUsPerNode > 0 { // every version knows gres
		add("gres", fmt.Sprintf("gpu:%d", s.GPUsPerNode))
	}
	add("account", s.Account)
	add("partition", s.Partition)
	add("qos", s.QOS)
	add("constraint", s.Constraint)
	add("time", s.Time)
	add("exclude", strings.Join(s.Exclude, ","))
	if s.Requeue {
		args = append(args, "--requeue")
	} else {
		args = append(args, "--no-requeue")
	}
	if s.SurviveNodes {
		args = append(args, "--no-kill")
	}
	return append(append(args, s.Script), s.Args...)
}

// literal keeps sbatch from replacing parts of a path that look like %j.
func literal(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// Check refuses values that could not be meant: what is left is for Slurm to judge.
func (s Submission) Check() error {
	for name, v := range map[string]string{"account": s.Account, "partition": s.Partition, "qos": s.QOS, "constraint": s.Constraint, "time": s.Time,
		"the run's name": s.Name, "the run's folder": s.Output} {
		if len(v) > maxValue {
			return fmt.Errorf("%s has %d bytes, at most %d are taken", name, len(v), maxValue)
		}
		if i := strings.IndexFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f || r == '�' }); i >= 0 {
			return fmt.Errorf("%s %q holds what is no printable character: say it without", name, v)
		}
	}
	return nil
}

// maxValue bounds a value of a submission; paths are the longest.
const maxValue = 4096

// recoverPatience is how long a job is looked for whose sbatch did not answer: it may be in the queue all the same.
const recoverPatience = 30 * time.Second

// Submit submits a job and gives its number. A *RejectedError is Slurm's refusal. sbatch may time out after the controller took the
// job: then the job is looked for by its name, which must be one of a kind.
func (c *Client) Submit(ctx context.Context, s Submission) (Ref, error) {
	if err := s.Check(); err != nil {
		return Ref{}, &RejectedError{err.Error()}
	}
	out, said, err := c.call(ctx, submitPatience, outside(c.environ()), "sbatch", s.Arguments()...)
	if err == nil {
		r, err := parseSubmitted(out)
		if err != nil {
			return Ref{}, &toolError{tool: "sbatch", message: err.Error() + " " + said}
		}
		return r, nil
	}
	var silent *UnreachableError
	if errors.As(err, &silent) || ctx.Err() != nil {
		if r, ok := c.named(s.Name); ok {
			return r, nil
		}
		return Ref{}, err
	}
	return Ref{}, rejected(err)
}

// named looks for a job of the user by its name.
func (c *Client) named(name string) (Ref, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), recoverPatience)
	defer cancel()
	out, cols, err := c.ask(ctx, []string{"--noheader", "--states=all", "--name=" + name}, []column{columns[0]})
	if err != nil {
		return Ref{}, false
	}
	for line := range strings.Lines(out) {
		if j, ok := cut(strings.TrimRight(line, "\r\n"), cols); ok {
			return j.Ref, true
		}
	}
	return Ref{}, false
}

// parseSubmitted reads sbatch --parsable: the number, and ";" and the cluster where that is another one. A site's plugin may print
// lines before it.
func parseSubmitted(out string) (Ref, error) {
	lines := strings.Fields(out)
	for _, text := range slices.Backward(lines) {
		id, cluster, _ := strings.Cut(text, ";")
		if r := (Ref{ID: id, Cluster: cluster}); r.Check() == nil {
			return r, nil
		}
	}
	return Ref{}, fmt.Errorf("it printed no number of a job: %.80q", out)
}

// outside is an environment without what describes an allocation that this process may be in, and without the options that variables
// give to Slurm's tools (SBATCH_EXPORT, SBATCH_ARRAY_INX, SLURM_HINT): a job is what its command line and its script say. What
// leads to the cluster stays.
func outside(env []string) []string {
	keep := []string{"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT"}
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "PMI"} {
			if strings.HasPrefix(name, prefix) {
				return !slices.Contains(keep, name)
			}
		}
		return false
	})
}

// Cancel ends a job: its tasks get SIGTERM, and SIGKILL some time later (KillWait). One that is over or unknown is no error.
func (c *Client) Cancel(ctx context.Context, r Ref) error {
	if err := r.Check(); err != nil {
		return err
	}
	_, _, err := c.query(ctx, "scancel", r.on(r.ID)...)
	if unknownJob(err) || err != nil && strings.Contains(strings.ToLower(err.Error()), "already completing or completed") {
		return nil
	}
	return err
}

// Requeue puts a job back into the queue: what runs of it is ended, and it starts anew some minutes later.
func (c *Client) Requeue(ctx context.Context, r Ref) error {
	if err := r.Check(); err != nil {
		return err
	}
	_, _, err := c.query(ctx, "scontrol", r.on("requeue", r.ID)...)
	return err
}
