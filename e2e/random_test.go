package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/runner"
)

const (
	fewFaults  = 10
	manyFaults = 200
	// restartWithin is how long a conductor may take from the end of a run to its successor: it dials hosts that may be gone.
	restartWithin = 30 * time.Second
	// randomPatience bounds one random fault with all that follows; over it the test fails.
	randomPatience = 90 * time.Second
	// fewPatience bounds the short test as a whole: what is left of its faults is left out, and said.
	fewPatience = 3 * time.Minute
)

// stroke is a fault that may meet any run at any moment.
type stroke struct {
	name string
	do   func(t *testing.T, p *program, r *rand.Rand, id string) (harmed string) // the host to heal
}

var strokes = []stroke{
	{"cut", nodeFault("cut")},
	{"short cut", func(t *testing.T, p *program, r *rand.Rand, _ string) string {
		node := anyNode(r)
		p.do(t, "cut", node)
		time.Sleep(time.Duration(r.IntN(4000)) * time.Millisecond)
		return node
	}},
	{"crash", nodeFault("crash")},
	{"hang", nodeFault("hang")},
	{"kill slurmd", nodeFault("kill")},
	{"slow", func(t *testing.T, p *program, r *rand.Rand, id string) string {
		node := anyNode(r)
		p.do(t, "slow", node, "10mbit", "20ms")
		time.Sleep(time.Second)
		p.on("node3", "cancel", id)
		return node
	}},
	{"cancel", func(_ *testing.T, p *program, r *rand.Rand, id string) string {
		p.on([]string{"login", "node1", "node3"}[r.IntN(3)], "cancel", id)
		return ""
	}},
	{"scancel", func(t *testing.T, p *program, _ *rand.Rand, _ string) string {
		p.root(t, "scancel", "-u", userName)
		return ""
	}},
	{"SIGKILL of any process of ours", func(t *testing.T, p *program, r *rand.Rand, _ string) string {
		return anyProcess(t, p, r, syscall.SIGKILL)
	}},
	{"SIGTERM of any process of ours", func(t *testing.T, p *program, r *rand.Rand, _ string) string {
		return anyProcess(t, p, r, syscall.SIGTERM)
	}},
	{"SIGSTOP of any process of ours", func(t *testing.T, p *program, r *rand.Rand, _ string) string { return stopAProcess(t, p, r) }},
}

// anyNode is one of the two that runs are on over ssh, and often with Slurm.
func anyNode(r *rand.Rand) string { return fmt.Sprintf("node%d", 1+r.IntN(2)) }

func nodeFault(what string) func(*testing.T, *program, *rand.Rand, string) string {
	return func(t *testing.T, p *program, r *rand.Rand, _ string) string {
		node := anyNode(r)
		p.do(t, what, node)
		return node
	}
}

func anyProcess(t *testing.T, p *program, r *rand.Rand, sig syscall.Signal) string {
	all := p.processes(t)
	if len(all) == 0 {
		return ""
	}
	q := all[r.IntN(len(all))]
	t.Logf("  %v to %v", sig, q)
	hit(t, q, sig)
	return ""
}

func hit(t *testing.T, q process, sig syscall.Signal) {
	if err := syscall.Kill(q.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// stopAProcess stops one for some seconds: less or more than a host may be silent. For how long a rank alone may be stopped
// is the watchdog's business, which waits for minutes.
func stopAProcess(t *testing.T, p *program, r *rand.Rand) string {
	all := p.processes(t)
	if len(all) == 0 {
		return ""
	}
	q := all[r.IntN(len(all))]
	t.Logf("  stopped and continued: %v", q)
	hit(t, q, syscall.SIGSTOP)
	time.Sleep(time.Duration(1+r.IntN(2*silence)) * time.Second)
	hit(t, q, syscall.SIGCONT)
	return ""
}

// TestRandomFaults lets faults drawn by chance meet runs at moments drawn by chance. After each: the run is over within
// the deadline, nothing of it is left on any host, and its record can be read and says nothing false.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	count, end := fewFaults, time.Now().Add(fewPatience)
	if os.Getenv("BOOST_TEST_SOAK") != "" {
		count, end = manyFaults, time.Now().Add(manyFaults*randomPatience)
	}
	seed, err := strconv.ParseUint(os.Getenv("BOOST_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	t.Logf("seed %d: BOOST_TEST_SEED=%d draws the same faults again", seed, seed)
	r := rand.New(rand.NewPCG(seed, 0))
	done := 0
	for ; done < count && time.Now().Before(end) && !t.Failed(); done++ {
		strike(t, p, r, done)
	}
	if done < count {
		t.Logf("%d of %d faults: the rest is left out after %v", done, count, fewPatience)
	}
	var all []said
	p.json(p.on("login", "runs", "--json"), &all)
	if len(all) < done {
		t.Errorf("%d runs are listed, %d were started", len(all), done)
	}
	for _, v := range all {
		if v.State == "running" || v.State == "pending" {
			t.Errorf("run %s is still %s: %s", v.ID, v.State, v.Cause)
		}
	}
}

func strike(t *testing.T, p *program, r *rand.Rand, n int) {
	where := []string{"slurm", "ssh"}[r.IntN(2)]
	s := strokes[r.IntN(len(strokes))]
	detached := r.IntN(2) == 0
	restarts := r.IntN(2)
	step := int64(r.IntN(40))
	deadline := time.Now().Add(randomPatience)
	t.Logf("fault %d: %s over %s, detached %v, %d restarts, at step %d", n+1, s.name, where, detached, restarts, step)

	args := append(append([]string{"run", "--json", "--name", fmt.Sprintf("random-%d", n)}, places[where]...), endless...)
	args = append(args, "--set", fmt.Sprintf("max-restarts=%d", restarts), "--set", "checkpoint-every=10", "--stop-after", strconv.Itoa(200+r.IntN(200)))
	var id string
	if detached {
		var v said
		p.json(p.on("login", append(args, "--detach")...), &v)
		id = v.ID
	} else {
		p.start("login", args...)
		p.eventually(20*time.Second, "the run in the store", func() bool { id = p.named(fmt.Sprintf("random-%d", n)); return id != "" })
	}
	for dir := p.see(filepath.Join(p.runs, id)); stepOf(dir, 0) < step && time.Now().Before(deadline.Add(-randomPatience/2)); {
		if in, err := runner.Read(dir); err == nil && in.State.Over() {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	harmed := s.do(t, p, r, id)
	if harmed != "" {
		time.Sleep(time.Duration(r.IntN(silence+10)) * time.Second)
		p.do(t, "heal", harmed)
	}
	patience := goneWithin
	if restarts > 0 { // between two runs of a chain there is a conductor that looks for hosts
		patience += restartWithin
	}
	p.settles(t, patience, deadline)
	p.wellRecorded(t, id)
}

// named is the id of the latest run with the name; empty: there is none.
func (p *program) named(name string) string {
	found, _ := filepath.Glob(p.see(filepath.Join(p.runs, "*", "run.json")))
	for i := len(found) - 1; i >= 0; i-- {
		data, err := os.ReadFile(found[i])
		if err != nil {
			continue
		}
		if r, err := runner.ParseRun(data); err == nil && r.Name == name {
			return r.ID
		}
	}
	return ""
}

// settles waits until no run of the store goes on, and no process of ours on any host; for those it has patience after the
// end of the last run.
func (p *program) settles(t *testing.T, patience time.Duration, deadline time.Time) {
	t.Helper()
	var open []said
	var over time.Time
	for ; ; time.Sleep(300 * time.Millisecond) {
		var all []said
		p.json(p.on("node3", "runs", "--json"), &all)
		open = open[:0]
		for _, v := range all {
			if v.State == "running" || v.State == "pending" {
				open = append(open, v)
			}
		}
		left := p.processes(t)
		switch {
		case len(open) > 0:
			over = time.Time{}
		case len(left) == 0:
			return
		case over.IsZero():
			over = time.Now()
		case time.Since(over) > patience:
			t.Errorf("%v after the end there are still %v", patience, left)
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("not over in time: %+v\n%v\n%s", open, left, p.root(t, "squeue"))
			return
		}
	}
}

// wellRecorded looks at what a run that is over has left.
func (p *program) wellRecorded(t *testing.T, id string) {
	t.Helper()
	p.eventually(2*goneWithin, "an empty queue", func() bool {
		return strings.TrimSpace(p.root(t, "squeue", "-h", "-o", "%A", "-t", "PD,R,S")) == ""
	})
	v := p.show("login", id)
	if v.State == "" || v.State != "finished" && v.Cause == "" {
		t.Errorf("run %s is %q, cause %q", v.ID, v.State, v.Cause)
	}
	t.Logf("  %s at step %d: %s", v.State, stepOf(p.see(filepath.Join(p.runs, id)), 0), v.Cause)
	p.recordHolds(p.see(filepath.Join(p.runs, id)), 2)
}
