package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
)

// End-to-end tests run the real binary, which starts real agents and ranks.

// goneWithin is how long after a kill no process of a run may be left.
const goneWithin = 5 * time.Second

// built is the binary of all end-to-end tests of one process, made by the first that needs it.
var built struct {
	sync.Once
	path string
	err  error
}

func builtBinary() (string, error) {
	built.Do(func() {
		dir, err := os.MkdirTemp("", "boost-tui-e2e-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "boost-tui")
		if out, err := exec.Command("go", "build", "-o", built.path, ".").CombinedOutput(); err != nil {
			built.err = errors.Join(err, errors.New(string(out)))
		}
	})
	return built.path, built.err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path)) // a leftover in the temporary folder fails nobody
	}
	os.Exit(code)
}

// program is the binary with a store of its own.
type program struct {
	t         *testing.T
	bin, runs string
}

func newProgram(t *testing.T) program {
	t.Helper()
	if testing.Short() {
		t.Skip("end-to-end: left out by -short")
	}
	bin, err := builtBinary()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Cleanup(func() { endAll(t, filepath.Dir(folder)) })
	return program{t, bin, filepath.Join(folder, "runs")}
}

// endless is more steps than a test waits for, and yet an end: when a test is killed, nobody is left to clean up.
const endless = "20000"

// endAll ends what a test has left of its runs and sweeps: all whose folders lie in those of the test. Agents end
// their ranks; what stays is killed.
func endAll(t *testing.T, folder string) {
	for i := range 60 {
		left := processesOf(t, folder+string(filepath.Separator))
		if len(left) == 0 {
			return
		}
		for _, q := range left {
			switch {
			case i == 59:
				_ = syscall.Kill(q.pid, syscall.SIGKILL) // it may have ended meanwhile, here and below
			case (q.role() == "agent" || q.role() == "sweeper") && i%20 == 0:
				_ = syscall.Kill(q.pid, syscall.SIGTERM)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (p program) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), p.bin, args...)
	cmd.Env = append(os.Environ(), "BOOST_RUNS="+p.runs)
	return cmd
}

// run runs a command to its end.
func (p program) run(args ...string) result {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%v: %v", args, err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// want is run of a command that must end with the code.
func (p program) want(code int, args ...string) result {
	p.t.Helper()
	r := p.run(args...)
	if r.code != code {
		p.t.Fatalf("boost-tui %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.code, code, r.stdout, r.err)
	}
	return r
}

// shortRun is a quick experiment.
func shortRun(extra ...string) []string {
	return append([]string{"run", "--size", "tiny", "--layers", "1", "--seq", "32", "--micro-batch", "2", "--tp", "2"}, extra...)
}

// onlyRun waits for the one run of the store and gives its folder.
func (p program) onlyRun() string {
	p.t.Helper()
	var dir string
	p.eventually(10*time.Second, "a run in the store", func() bool {
		found, _ := filepath.Glob(filepath.Join(p.runs, "*", "run.json"))
		if len(found) != 1 {
			return false
		}
		dir = filepath.Dir(found[0])
		return true
	})
	return dir
}

// reaches waits until a run has done so many steps.
func (p program) reaches(dir string, step int64) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); p.stepOf(dir) < step; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("the run is at step %d, want %d\n%s\n%s\nprocesses %v", p.stepOf(dir), step,
				p.run("show", filepath.Base(dir)).stdout, p.run("logs", filepath.Base(dir)).stdout, processesOf(p.t, dir))
		}
	}
}

// stepOf is the last step that rank 0 has written down; 0: none.
func (p program) stepOf(dir string) int64 {
	p.t.Helper()
	last, err := record.LastSteps(record.StepsPath(dir, 0), 1)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(last) == 0 {
		return 0
	}
	return last[0].Step
}

func (p program) eventually(within time.Duration, what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s: not within %s", what, within)
		}
	}
}

// process is one that has the run's folder in its command line.
type process struct {
	pid  int
	argv []string
}

func (q process) role() string {
	if len(q.argv) > 1 {
		return q.argv[1]
	}
	return ""
}

// processesOf finds agents and ranks of a run. Processes that have ended and wait to be reaped have no command line.
func processesOf(t *testing.T, dir string) []process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, process{pid, strings.Split(string(line), "\x00")})
		}
	}
	return found
}

// gone fails when agents or ranks are left after the time they have to leave.
func (p program) gone(dir string) {
	p.t.Helper()
	var left []process
	for end := time.Now().Add(goneWithin); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if left = processesOf(p.t, dir); len(left) == 0 {
			return
		}
	}
	for _, q := range left {
		p.t.Errorf("after %s there is still %d: %s", goneWithin, q.pid, strings.Join(q.argv, " "))
		_ = syscall.Kill(q.pid, syscall.SIGKILL) // ours: its command line names this test's folder
	}
}

// view is `show --json` of a run.
func (p program) view(dir string) showView {
	p.t.Helper()
	var v showView
	oneJSON(p.t, p.want(exitOK, "show", filepath.Base(dir), "--json").stdout, &v)
	return v
}
