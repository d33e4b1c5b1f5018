package e2e

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"boost-tui/trainer/checkpoint"
)

// cache is where a host keeps the binary and its part of a run that it does not share.
func (c *cluster) cache() string { return filepath.Join(c.home(), ".cache", "boost-tui") }

// apart gives both nodes folders of their own in the place of the store and of the cache, and no binary of ours.
func apart(s *scene) {
	for _, node := range []string{"node1", "node2"} {
		hide(s, node, s.runs)
		hide(s, node, s.bindir())
		hide(s, node, s.cache())
	}
}

// Without a shared file system the binary goes to the hosts, and what ranks write comes home, whole.
func TestWithoutASharedFileSystem(t *testing.T) {
	t.Parallel()
	s := &scene{program: newProgram(t)}
	_, one := s.run(acceptance...)
	want := s.losses(one.Dir, 0)
	apart(s)
	r, two := s.run(append(places["ssh"], acceptance...)...)
	if r.code != 0 || two.State != "finished" {
		t.Fatalf("exit %d, %s: %s\n%s", r.code, two.State, two.Cause, r.errs)
	}
	for rank := range 4 {
		if got := s.losses(two.Dir, rank); len(got) != len(want) {
			t.Errorf("rank %d: %d steps came home of %d", rank, len(got), len(want))
		} else if rank == 0 && math.Abs(got[29]-want[29]) > lossTolerance {
			t.Errorf("the last loss is %v, on one host %v", got[29], want[29])
		}
	}
	s.recordHolds(two.Dir, 4)
	s.gone(t, goneWithin)
}

// A break of the network between the login host and a node loses nothing that was written meanwhile.
func TestStepsComeHomeAfterABreak(t *testing.T) {
	t.Parallel()
	s := &scene{program: newProgram(t)}
	apart(s)
	// TCP alone may take as long again as the break lasted: a host may be silent for as long as it may by default.
	s.job = s.start("login", append(append(append([]string{"run", "--json"}, places["ssh"]...), endless...), "--stop-after", "600", "--set", "heartbeat-timeout=15")...)
	s.dir = s.onlyRun()
	s.reaches(s.dir, 20)
	s.harm(t, "cut", "login") // ssh alone breaks: the nodes see each other
	time.Sleep(3 * time.Second)
	s.do(t, "heal", "login")
	r := s.job.wait(60 * time.Second)
	var v said
	s.json(r, &v)
	if r.code != 0 || v.State != "finished" {
		t.Errorf("exit %d, %s: %s\n%s", r.code, v.State, v.Cause, r.errs)
	}
	for rank := range 2 {
		if n := len(s.losses(v.Dir, rank)); n != 600 {
			t.Errorf("rank %d: %d steps came home of 600", rank, n)
		}
	}
	s.recordHolds(v.Dir, 2)
	s.gone(t, goneWithin)
}

// A node whose own disk is full ends the run, and the record at home says which.
func TestNodeOutOfDisk(t *testing.T) {
	t.Parallel()
	f := fault{name: "the disk of node2 is full", where: "ssh", before: apart,
		do:    func(s *scene) { s.do(s.t, "fill", "node2", s.cache()) },
		state: failed, cause: regexp.MustCompile("full|space"), within: 40 * time.Second}
	f.happens(t)
}

// A job that is put back into the queue goes on from its checkpoint where its user asked for restarts.
func TestRequeueWithRestarts(t *testing.T) {
	t.Parallel()
	s := &scene{program: newProgram(t)}
	args := append(append([]string{"run", "--json"}, places["slurm"]...), endless...)
	s.job = s.start("login", append(args, "--set", "max-restarts=1", "--set", "checkpoint-every=20", "--stop-after", "400")...)
	s.dir = s.onlyRun()
	s.reaches(s.dir, 45)
	id := s.jobID()
	s.user(t, "login", "scontrol", "requeue", id)
	s.eventually(30*time.Second, "the job in the queue again", func() bool {
		return strings.TrimSpace(s.root(t, "squeue", "-h", "-t", "PD", "-o", "%A")) == id
	})
	s.root(t, "scontrol", "update", "jobid="+id, "starttime=now+2") // else Slurm lets it wait for two minutes; within a second of its end it would refuse to start it
	r := s.job.wait(80 * time.Second)
	var v said
	s.json(r, &v)
	if r.code != 0 || v.State != "finished" || filepath.Base(v.Dir) == filepath.Base(s.dir) {
		t.Errorf("exit %d, %s in %s: %s\n%s", r.code, v.State, v.Dir, v.Cause, r.errs)
	}
	old := s.show("node3", filepath.Base(s.dir))
	t.Logf("the first run is %s: %s", old.State, old.Cause)
	s.gone(t, goneWithin)
}

// A run whose job's time is up writes a checkpoint, and goes on from it when its job has come back.
func TestTimeLimitWithRestarts(t *testing.T) {
	t.Parallel() // it takes most of the shortest limit that Slurm knows: a minute
	s := &scene{program: newProgram(t)}
	args := append(append([]string{"run", "--json"}, places["slurm"]...), endless...)
	s.job = s.start("login", append(args, "--set", "time=1", "--set", "max-restarts=1")...)
	s.dir = s.onlyRun()
	s.reaches(s.dir, 5)
	id := s.jobID()
	s.eventually(90*time.Second, "the job in the queue again", func() bool {
		return strings.TrimSpace(s.root(t, "squeue", "-h", "-t", "PD", "-o", "%A")) == id
	})
	first := s.show("node3", filepath.Base(s.dir))
	if first.State != "cancelled" || !strings.HasPrefix(first.Cause, "waits to go on as restart 1 of 1: Slurm job "+id) || !strings.Contains(first.Cause, "the time limit of its Slurm job is near") {
		t.Errorf("it is %s: %s", first.State, first.Cause)
	}
	last := stepOf(s.dir, 0)
	s.root(t, "scontrol", "update", "jobid="+id, "starttime=now+2") // else Slurm lets it wait for two minutes; within a second of its end it would refuse to start it
	next := ""
	s.eventually(30*time.Second, "the run that it goes on as", func() bool {
		var result struct {
			Next string `json:"restarted_as"`
		}
		data, err := os.ReadFile(filepath.Join(s.dir, "result.json"))
		if err == nil {
			err = json.Unmarshal(data, &result)
		}
		next = result.Next
		return err == nil && next != ""
	})
	s.reaches(filepath.Join(filepath.Dir(s.dir), next), last+5) // it has lost no step
	if r := s.on("node3", "cancel", next); r.code != 0 {
		t.Errorf("cancel on node3: exit %d\n%s", r.code, r.errs)
	}
	r := s.job.wait(30 * time.Second)
	var v said
	s.json(r, &v)
	var of struct {
		Resumed struct {
			Step int64 `json:"step"`
		} `json:"resumed"`
	}
	data, err := os.ReadFile(filepath.Join(v.Dir, "run.json"))
	if err == nil {
		err = json.Unmarshal(data, &of)
	}
	if err != nil || v.ID != next || v.State != "cancelled" || r.code != 1 || of.Resumed.Step != last {
		t.Errorf("exit %d, %s is %s: %s, from step %d, not %d: %v", r.code, v.ID, v.State, v.Cause, of.Resumed.Step, last, err)
	}
	s.recordHolds(s.dir, 2)
	s.gone(t, goneWithin)
}

// While the disk at home is full a run goes on where its hosts are, however long; when there is room again all that it wrote comes home,
// and the checkpoints are the latest.
func TestHomeDiskFull(t *testing.T) {
	t.Parallel()
	s := &scene{program: newProgram(t)}
	onSmallFS(s)
	apart(s)
	s.job = s.start("login", append(append(append([]string{"run", "--json"}, places["ssh"]...), endless...), "--set", "checkpoint-every=50")...)
	s.dir = s.onlyRun()
	s.reaches(s.dir, 150)
	s.do(t, "fill", "login", s.small())
	time.Sleep((silence + 5) * time.Second) // longer than a host that hears nothing of home goes on
	full := stepOf(s.dir, 0)
	s.do(t, "unfill", "login", s.small())
	s.reaches(s.dir, full+200)
	if r := s.on("node3", "cancel", filepath.Base(s.dir)); r.code != 0 {
		t.Errorf("cancel on node3: exit %d\n%s", r.code, r.errs)
	}
	var v said
	s.json(s.job.wait(30*time.Second), &v)
	if v.State != "cancelled" || v.Cause != "cancelled by its user" {
		t.Errorf("%s: %s", v.State, v.Cause)
	}
	s.recordHolds(s.dir, 2)
	steps, err := checkpoint.Steps(checkpoint.Folder(s.dir))
	last := int(stepOf(s.dir, 0))
	if err != nil || len(steps) != 2 || steps[1] != last || steps[0] < last-100 {
		t.Errorf("checkpoints of steps %v, the last step is %d: %v", steps, last, err)
	}
	s.gone(t, goneWithin)
}
