package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"boost-tui/runner"
)

const (
	fewFaults  = 10
	manyFaults = 200
	// restartWithin is how long a conductor may take from the end of a run to its successor: it dials hosts that may be gone.
	restartWithin = 30 * time.Second
	// gatherWithin is how long after its return the files of a host that was lost may take to come home.
	gatherWithin = 20 * time.Second
	// randomPatience bounds one random fault with all that follows; over it the test fails.
	randomPatience = 150 * time.Second
	// fewPatience and manyPatience bound the test as a whole: what is left of its faults by then is left out, and said.
	fewPatience  = 3 * time.Minute
	manyPatience = 50 * time.Minute
)

// soak says how many faults are drawn, and for how long new ones are begun.
type soak struct {
	seed   uint64
	count  int
	within time.Duration
}

func soakOf(t *testing.T) soak {
	s := soak{count: fewFaults, within: fewPatience}
	if os.Getenv("BOOST_TEST_SOAK") != "" {
		s.count, s.within = manyFaults, manyPatience
	}
	var err error
	if v := os.Getenv("BOOST_TEST_FAULTS"); v != "" {
		if s.count, err = strconv.Atoi(v); err != nil {
			t.Fatalf("BOOST_TEST_FAULTS: %v", err)
		}
	}
	if v := os.Getenv("BOOST_TEST_WITHIN"); v != "" {
		if s.within, err = time.ParseDuration(v); err != nil {
			t.Fatalf("BOOST_TEST_WITHIN: %v", err)
		}
	}
	if s.seed, err = strconv.ParseUint(os.Getenv("BOOST_TEST_SEED"), 10, 64); err != nil {
		s.seed = uint64(time.Now().UnixNano()) % 1e9
	}
	return s
}

// TestRandomFaults lets faults drawn by chance meet runs at moments drawn by chance. After each: the run is over within
// the deadline, nothing of it is left on any host, and its record can be read and says nothing false. Each fault is drawn
// from the seed and its number alone, so that one of them can be tried again by itself.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	s := soakOf(t)
	t.Logf("seed %d: BOOST_TEST_SEED=%d draws the same faults again, and -run 'RandomFaults/^17$' the 17th alone", s.seed, s.seed)
	var begun sync.Once
	var end time.Time
	var done atomic.Int32
	t.Cleanup(func() { t.Logf("seed %d: %d of %d faults tried", s.seed, done.Load(), s.count) })
	for n := 1; n <= s.count; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			begun.Do(func() { end = time.Now().Add(s.within) }) // tests before may have held the clusters
			if time.Now().After(end) {
				t.Skipf("left out: %v are over", s.within)
			}
			strike(t, newProgram(t), rand.New(rand.NewPCG(s.seed, uint64(n))))
			done.Add(1)
		})
	}
}

func strike(t *testing.T, p *program, r *rand.Rand) {
	where := []string{"slurm", "ssh", "ssh, no shared file system"}[r.IntN(3)]
	s := strokes[r.IntN(len(strokes))]
	detached := r.IntN(2) == 0
	restarts := r.IntN(2)
	steps := 200 + r.IntN(200)
	step := int64(r.IntN(40))
	if r.IntN(4) == 0 { // as the run ends by itself
		step = int64(steps - r.IntN(10))
	}
	if s.where != "" {
		where = s.where
	}
	if s.before != nil {
		s.before(&scene{program: p})
	}
	place := places[where]
	if place == nil {
		place = places["ssh"]
		apart(&scene{program: p})
	}
	deadline := time.Now().Add(randomPatience)
	t.Logf("%s over %s, detached %v, %d restarts, at step %d of %d", s.name, where, detached, restarts, step, steps)

	args := slices.Concat([]string{"run", "--json", "--name", "random"}, place, endless, s.extra)
	args = append(args, "--set", fmt.Sprintf("max-restarts=%d", restarts), "--set", "checkpoint-every=10", "--stop-after", strconv.Itoa(steps))
	var id string
	var front *job
	if detached {
		var v said
		p.json(p.on("login", append(args, "--detach")...), &v)
		id = v.ID
	} else {
		front = p.start("login", args...)
		p.eventually(20*time.Second, "the run in the store", func() bool { id = p.named("random"); return id != "" })
	}
	for dir := p.see(filepath.Join(p.runs, id)); stepOf(dir, 0) < step && time.Now().Before(deadline.Add(-2*randomPatience/3)); {
		if in, err := runner.Read(dir); err == nil && in.State.Over() {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("  struck at step %d", stepOf(p.see(filepath.Join(p.runs, id)), 0))
	harmed := s.do(t, p, r, id)
	if len(harmed) > 0 {
		heal := func() {
			for _, host := range harmed {
				p.do(t, "heal", host)
			}
		}
		t.Cleanup(heal) // also when this test ends before
		time.Sleep(time.Duration(r.IntN(silence+10)) * time.Second)
		heal()
	}
	patience := goneWithin
	if restarts > 0 { // between two runs of a chain there is a conductor that looks for hosts
		patience += restartWithin
	}
	if places[where] == nil { // a conductor stays that brings home what a host has which comes back
		patience += gatherWithin
	}
	p.settles(t, patience, deadline)
	p.wellRecorded(t, s, int64(steps), harmed)
	if front != nil {
		select {
		case <-front.ended: // settles saw no process of it
		case <-time.After(goneWithin):
			t.Errorf("boost-tui run has not ended\n%v", p.processes(t))
		}
	}
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
	for n := 0; ; n++ {
		time.Sleep(300 * time.Millisecond)
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
		case (n%8 == 7 || len(open)+len(left) == 0) && p.administer(t):
			over = time.Time{}
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

// administer does what the administrator of a cluster does after faults: nodes that Slurm took out of use, as where a hung node
// kept it from ending a step, are given back, and a job that is queued again need not wait for its two minutes. It reports
// whether Slurm still has such a job, or is not done with one: a run may be about to go on.
func (p *program) administer(t *testing.T) (again bool) {
	t.Helper()
	for i, state := range strings.Fields(p.root(t, "sinfo", "-h", "-N", "-p", "dev", "-o", "%T")) {
		if strings.HasPrefix(state, "drain") || strings.HasPrefix(state, "down") {
			t.Logf("  node%d is %s, and given back", i+1, state)
			p.do(t, "heal", fmt.Sprintf("node%d", i+1))
		}
	}
	for line := range strings.Lines(p.root(t, "squeue", "-h", "-t", "PD,CG", "-u", userName, "-o", "%A %t %r")) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		switch id, state, reason := f[0], f[1], f[2]; {
		case state == "CG":
			again = true
		case reason == "BeginTime":
			t.Logf("  job %s is queued again, and need not wait", id)
			p.root(t, "scontrol", "update", "jobid="+id, "starttime=now")
			again = true
		}
	}
	return again
}

// wellRecorded looks at what each run has left that is over: the first, and its successors.
func (p *program) wellRecorded(t *testing.T, s stroke, steps int64, harmed []string) {
	t.Helper()
	p.eventually(2*goneWithin, "an empty queue", func() bool {
		return strings.TrimSpace(p.root(t, "squeue", "-h", "-o", "%A", "-t", "PD,R,S")) == ""
	})
	var all []said
	p.json(p.on("login", "runs", "--json"), &all)
	if len(all) == 0 {
		t.Error("no run is listed")
	}
	for _, listed := range all {
		v := p.show("login", listed.ID)
		dir := p.see(filepath.Join(p.runs, v.ID))
		last := [2]int64{stepOf(dir, 0), stepOf(dir, 1)}
		t.Logf("  %s: %s at step %d: %s", v.ID, v.State, last, v.Cause)
		switch {
		case v.State != listed.State:
			t.Errorf("run %s is listed as %q and shown as %q", v.ID, listed.State, v.State)
		case !slices.Contains([]string{"finished", "failed", "cancelled", "lost"}, v.State):
			t.Errorf("run %s is %q", v.ID, v.State)
		case v.State != "finished" && v.Cause == "":
			t.Errorf("run %s is %s, for no cause", v.ID, v.State)
		case v.State == "finished" && (last[0] != steps || last[1] != steps):
			t.Errorf("run %s is finished at the steps %d, want %d", v.ID, last, steps)
		case v.State == "cancelled" && s.spares:
			t.Errorf("run %s is cancelled, which nobody did: %s", v.ID, v.Cause)
		case v.State == "failed" && s.names != nil && !s.names.MatchString(v.Cause):
			t.Errorf("run %s failed, and nothing names a host: %s", v.ID, v.Cause)
		case v.State == "failed" && s.blamed && !strings.Contains(v.Cause, harmed[0]):
			t.Errorf("run %s failed by %s, and the cause is another one: %s", v.ID, harmed[0], v.Cause)
		}
		p.recordHolds(dir, 2)
	}
}
