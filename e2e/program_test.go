package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
)

// built is the binary of all tests of this process.
var built struct {
	sync.Once
	path string
	made bool // here, and removed at the end
	err  error
}

func builtBinary() (string, error) {
	built.Do(func() {
		if built.path = os.Getenv("BOOST_E2E_BINARY"); built.path != "" {
			return
		}
		dir, err := os.MkdirTemp("", "boost-e2e-bin-")
		if err != nil {
			built.err = err
			return
		}
		built.path, built.made = filepath.Join(dir, "boost-tui"), true
		if out, err := exec.Command("go", "build", "-o", built.path, "../cmd/boost-tui").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	return built.path, built.err
}

// program is the binary on a cluster, with a store of its own for the test.
type program struct {
	*cluster
	t    testing.TB
	runs string
	env  []string
	// within is the command that the program is an argument of, as salloc; none: it stands for itself.
	within []string
}

// newProgram gives the test a cluster and a store that all hosts share.
func newProgram(t testing.TB) *program {
	t.Helper()
	c := newCluster(t)
	return c.program(t, filepath.Join(c.home(), "runs-"+strings.ReplaceAll(strings.ToLower(filepath.Base(t.Name())), " ", "-")+fmt.Sprintf("-%d", time.Now().UnixNano()%1e6)))
}

func (c *cluster) program(t testing.TB, runs string) *program {
	t.Helper()
	p := &program{cluster: c, t: t, runs: runs, env: []string{"BOOST_RUNS=" + runs}}
	t.Cleanup(func() {
		c.clear(t)
		if t.Failed() {
			c.keepFor(t, p.runs)
		}
		_ = os.RemoveAll(p.see(p.runs)) // the cluster's home goes with it
	})
	return p
}

// keepFor copies what a failed test has left, where somebody asked for it: the runs, and what Slurm's daemons wrote.
func (c *cluster) keepFor(t testing.TB, runs string) {
	to := os.Getenv("BOOST_E2E_KEEP")
	if to == "" {
		return
	}
	to = filepath.Join(to, strings.ReplaceAll(t.Name(), "/", "-"))
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Log(err)
		return
	}
	if out, err := exec.Command("cp", "-a", c.see(runs), filepath.Join(c.dir, "log"), to).CombinedOutput(); err != nil {
		t.Logf("keep: %v\n%s", err, out)
	}
}

// clear ends what a test has left of jobs and processes.
func (c *cluster) clear(t testing.TB) {
	c.do(t, "exec", "login", "scancel", "-f", "-u", userName)
	for i := range 100 {
		left := c.processes(t)
		if len(left) == 0 {
			break
		}
		for _, p := range left {
			if i > 20 || p.role() == "rank" {
				_ = syscall.Kill(p.pid, syscall.SIGKILL) // ours: see processes
			} else if i == 0 {
				_ = syscall.Kill(p.pid, syscall.SIGTERM)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// argv is how the program is started on a host.
func (p *program) argv(host string, args ...string) []string {
	return slices.Concat([]string{"exec", "-u", host, "env"}, p.env, p.within, []string{p.binary()}, args)
}

// result is what a command gave.
type result struct {
	code      int
	out, errs string
	took      time.Duration
}

// on runs the program on a host to its end.
func (p *program) on(host string, args ...string) result {
	p.t.Helper()
	j := p.start(host, args...)
	return j.wait(doPatience)
}

// job is the program in front, on a host.
type job struct {
	*program
	host      string
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	began     time.Time
	ended     chan struct{}
	lasted    time.Duration
	args      []string
}

// start starts the program on a host. On login the process is the program itself, for signals.
func (p *program) start(host string, args ...string) *job {
	p.t.Helper()
	j := &job{program: p, host: host, began: time.Now(), ended: make(chan struct{}), args: args}
	j.cmd = p.command(p.t.Context(), p.argv(host, args...)...)
	j.cmd.WaitDelay = 2 * time.Second
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.errs
	if err := j.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(j.ended)
		_ = j.cmd.Wait() // the exit code says it
		j.lasted = time.Since(j.began)
	}()
	p.t.Cleanup(func() {
		_ = j.cmd.Process.Kill() // what the test itself has not ended
		<-j.ended
	})
	return j
}

// wait waits for the end of the command.
func (j *job) wait(within time.Duration) result {
	j.t.Helper()
	select {
	case <-j.ended:
	case <-time.After(within):
		_ = j.cmd.Process.Kill()
		<-j.ended
		j.t.Fatalf("%v on %s did not end within %v\nstdout %s\nstderr %s\n%v", j.args, j.host, within, &j.out, &j.errs, j.processes(j.t))
	}
	return result{j.cmd.ProcessState.ExitCode(), j.out.String(), j.errs.String(), j.lasted}
}

// said is the JSON of `run`, `show` and an entry of `runs`, as far as tests look at it.
type said struct {
	ID       string   `json:"id"`
	State    string   `json:"state"`
	Cause    string   `json:"cause"`
	Fault    string   `json:"fault"`
	Dir      string   `json:"dir"`
	Hosts    []string `json:"hosts"`
	LossLast *float64 `json:"loss_last"`
	Step     *int64   `json:"step"`
	Steps    int64    `json:"steps"`
}

func (p *program) json(r result, into any) {
	p.t.Helper()
	dec := json.NewDecoder(strings.NewReader(r.out))
	if err := dec.Decode(into); err != nil {
		p.t.Fatalf("stdout is no JSON (exit %d): %v\n%s\nstderr: %s", r.code, err, r.out, r.errs)
	}
	if dec.More() {
		p.t.Fatalf("stdout holds more than one JSON value:\n%s", r.out)
	}
}

// run runs an experiment in front, on login, and gives what was said.
func (p *program) run(args ...string) (result, said) {
	p.t.Helper()
	r := p.on("login", append([]string{"run", "--json"}, args...)...)
	var s said
	p.json(r, &s)
	return r, s
}

// show describes a run as a host sees it.
func (p *program) show(host, id string) said {
	p.t.Helper()
	var s said
	p.json(p.on(host, "show", id, "--json"), &s)
	return s
}

// onlyRun waits for the one run of the store that belongs to no other and gives its folder.
func (p *program) onlyRun() string {
	p.t.Helper()
	var dir string
	p.eventually(20*time.Second, "a run in the store", func() bool {
		found, _ := filepath.Glob(p.see(filepath.Join(p.runs, "*", "run.json")))
		if len(found) != 1 {
			return false
		}
		dir = filepath.Dir(found[0])
		return true
	})
	return dir
}

// see is a path of the login host as this process reaches it: what the cluster mounts, only its hosts see.
func (c *cluster) see(path string) string {
	pid, err := os.ReadFile(filepath.Join(c.dir, "ns", "login"))
	if err != nil {
		return path
	}
	return filepath.Join("/proc", strings.TrimSpace(string(pid)), "root", path)
}

func (p *program) eventually(within time.Duration, what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s: not within %v\n%v", what, within, p.processes(p.t))
		}
	}
}

// stepOf is the last step that a rank has written down; 0: none.
func stepOf(dir string, rank int) int64 {
	last, err := record.LastSteps(record.StepsPath(dir, rank), 1)
	if err != nil || len(last) == 0 {
		return 0
	}
	return last[0].Step
}

// reaches waits until rank 0 of a run has done so many steps.
func (p *program) reaches(dir string, step int64) {
	p.t.Helper()
	for end := time.Now().Add(2 * time.Minute); stepOf(dir, 0) < step; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			id := filepath.Base(dir)
			p.t.Fatalf("the run is at step %d, want %d\n%s\n%s\nprocesses %v\n%s", stepOf(dir, 0), step,
				p.on("login", "show", id).out, p.on("login", "logs", id).out, p.processes(p.t), p.root(p.t, "squeue"))
		}
	}
}

// losses are those of a rank's steps.
func (p *program) losses(dir string, rank int) (out []float64) {
	p.t.Helper()
	steps, err := record.LastSteps(record.StepsPath(dir, rank), 100000)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, l := range steps {
		out = append(out, l.Loss)
	}
	return out
}

// recordHolds fails where the folder of a run that is over cannot be read, or lost steps that its ranks wrote.
func (p *program) recordHolds(dir string, world int) {
	p.t.Helper()
	in, err := runner.Read(dir)
	if err = errors.Join(err, in.Err); err != nil {
		p.t.Errorf("the record of %s cannot be read: %v", dir, err)
	}
	for rank := range world {
		steps, err := record.LastSteps(record.StepsPath(dir, rank), 1<<20)
		if err != nil {
			p.t.Errorf("steps of rank %d: %v", rank, err)
			continue
		}
		if i := slices.IndexFunc(steps, func(l record.StepLine) bool { return l.Step < 1 }); i >= 0 {
			p.t.Errorf("rank %d: line %d is of step %d", rank, i+1, steps[i].Step)
		}
		for i := 1; i < len(steps); i++ {
			if steps[i].Step != steps[i-1].Step+1 {
				p.t.Errorf("rank %d: step %d follows %d", rank, steps[i].Step, steps[i-1].Step)
				break
			}
		}
	}
}
