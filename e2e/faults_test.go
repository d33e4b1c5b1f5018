package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// goneWithin is how long after the end of a run no process of it may be left on a reachable host: Slurm's KillWait of
	// 5 s, and as much again.
	goneWithin = 10 * time.Second
	// silence is the heartbeat-timeout of the runs below, in seconds: a lost host is noticed after that.
	silence = 5
	// lostWithin is how long after its loss the end of a host must be the end of the run: noticed after silence, the others
	// ended and the result written within 10 s, and what a busy machine needs.
	lostWithin = (silence + 15) * time.Second
	// endWithin is how long the end of a run takes that nobody has to be missed for.
	endWithin = 15 * time.Second
)

// endless goes on for longer than any test waits, and yet has an end. One rank on each of two hosts.
var endless = []string{"--size", "tiny", "--layers", "1", "--seq", "32", "--micro-batch", "2", "--tp", "2", "--steps", "50000", "--set", fmt.Sprintf("heartbeat-timeout=%d", silence)}

// scene is a run in front, on two nodes, to which something happens.
type scene struct {
	*program
	job *job
	dir string
}

// jobID is the number of the user's one job in Slurm's queue.
func (s *scene) jobID() string {
	s.t.Helper()
	ids := strings.Fields(s.user(s.t, "login", "squeue", "-h", "-o", "%A"))
	if len(ids) != 1 {
		s.t.Fatalf("jobs in the queue: %v", ids)
	}
	return ids[0]
}

// fault is something that happens to a run, and what must become of the run.
type fault struct {
	name   string
	where  string // slurm or ssh
	extra  []string
	before func(*scene) // the start of the run
	do     func(*scene)
	state  []string       // any of these
	cause  *regexp.Regexp // what the record must say
	within time.Duration  // from the fault to the end of the command
	// away are the hosts that cannot be reached while the fault lasts, and that must be clean when it is over.
	away []string
	// fences says that those hosts live: no agent and no rank may be left on them, cut off as they are.
	fences bool
	// unseen says that the run in front dies with the fault: its record says what became of the run.
	unseen bool
	// goesOn says that the run must survive: it is seen to go on, and then cancelled from another host.
	goesOn bool
	// wrong says that it is wrong input, and has the exit code of that.
	wrong bool
}

var faults = []fault{
	{name: "cut node2", where: "slurm", do: harm("cut", "node2"), state: failed, cause: naming("node2"), within: lostWithin, away: []string{"node2"}, fences: true},
	// Of two hosts that do not hear each other either may call the other lost.
	{name: "cut node1, which leads", where: "slurm", do: harm("cut", "node1"), state: failed, cause: naming("node[12]"), within: lostWithin, away: []string{"node1"}, fences: true},
	{name: "crash node2", where: "slurm", do: harm("crash", "node2"), state: failed, cause: naming("node2"), within: lostWithin, away: []string{"node2"}},
	{name: "crash node2, which starts anew at once", where: "slurm", do: func(s *scene) { s.harm(s.t, "crash", "node2"); s.do(s.t, "heal", "node2") }, state: failed, cause: naming("^host node2 was lost"), within: lostWithin},
	{name: "crash node1, which leads", where: "slurm", do: harm("crash", "node1"), state: failed, cause: naming("node1"), within: lostWithin, away: []string{"node1"}},
	{name: "hang node2", where: "slurm", do: harm("hang", "node2"), state: failed, cause: naming("node2"), within: lostWithin, away: []string{"node2"}},
	{name: "kill slurmd on node2", where: "slurm", do: harm("kill", "node2"), state: failed, cause: naming("node2|slurm|Slurm"), within: 40 * time.Second},
	{name: "scancel", where: "slurm", do: func(s *scene) { s.user(s.t, "login", "scancel", s.jobID()) }, state: []string{"cancelled"}, cause: naming("scancel|Slurm|SIGTERM"), within: endWithin},
	{name: "requeue without restarts (Slurm refuses), then scancel", where: "slurm", do: func(s *scene) { s.root(s.t, "sh", "-c", `! scontrol requeue "$1" && scancel "$1"`, "sh", s.jobID()) }, state: []string{"cancelled", "failed"}, cause: naming("requeue|scancel|Slurm|SIGTERM"), within: endWithin},
	{name: "preemption (cancel)", where: "slurm", extra: []string{"--partition", "lowcancel"}, do: preempt, state: []string{"failed", "cancelled"}, cause: naming("preempt"), within: 40 * time.Second},
	{name: "preemption (requeue)", where: "slurm", extra: []string{"--partition", "low"}, do: preempt, state: []string{"failed", "cancelled"}, cause: naming("preempt"), within: 40 * time.Second},
	{name: "time limit", where: "slurm", extra: []string{"--set", "time=1"}, do: func(*scene) {}, state: []string{"failed", "cancelled"}, cause: naming("time limit|TIMEOUT"), within: 100 * time.Second},
	{name: "SIGKILL of the agent on node2", where: "slurm", do: kill("node2", "agent"), state: failed, cause: naming("node2"), within: endWithin},
	{name: "SIGKILL of the agent on node1", where: "slurm", do: kill("node1", "agent"), state: failed, cause: naming("agent"), within: lostWithin},
	{name: "SIGKILL of a rank on node2", where: "slurm", do: kill("node2", "rank"), state: failed, cause: naming("rank 1.*SIGKILL"), within: endWithin},
	{name: "SIGKILL of the batch script", where: "slurm", do: func(s *scene) { s.cluster.kill(s.t, "node1", "conduct", "") }, state: []string{"failed", "cancelled", "lost"}, cause: naming("."), within: lostWithin},
	{name: "SIGKILL of srun", where: "slurm", do: func(s *scene) { s.killNamed(s.t, "node1", "srun", "agent") }, state: []string{"failed", "cancelled"}, cause: naming("."), within: lostWithin},
	{name: "SIGTERM of srun", where: "slurm", do: func(s *scene) { s.signalNamed(s.t, syscall.SIGTERM, "node1", "srun", "agent") }, state: failed, cause: naming("srun.*SIGTERM"), within: lostWithin},
	// srun alone finds it out, and ends the agent of the other host for it.
	{name: "node2 is cut off as agents begin", where: "slurm", before: harm("cut", "node2"), state: failed, cause: naming("^host node2"), within: 40 * time.Second, away: []string{"node2"}},
	{name: "SIGKILL of `boost-tui run`", where: "slurm", do: func(s *scene) { _ = s.job.cmd.Process.Kill() }, state: []string{"failed", "cancelled"}, cause: naming("."), within: endWithin, unseen: true},
	{name: "a wrong path: the store is not on node2", where: "slurm", before: func(s *scene) { hide(s, "node2", s.runs) }, state: failed, cause: naming("node2"), within: 40 * time.Second},
	{name: "the binary is missing on node2", where: "slurm", before: func(s *scene) { hide(s, "node2", s.bindir()) }, state: failed, cause: naming("node2"), within: 40 * time.Second},
	{name: "a module is missing", where: "slurm", extra: []string{"--set", "setup=broken"}, before: missingModule, state: failed, cause: naming("nonexistent|module"), within: 40 * time.Second, wrong: true},
	{name: "an interface that is not there", where: "slurm", extra: []string{"--interface", "nosuch9"}, before: func(*scene) {}, state: failed, cause: naming(`interface "nosuch9": .*it has eth0`), within: 40 * time.Second, wrong: true},
	{name: "an interface that is not there", where: "ssh", extra: []string{"--interface", "nosuch9"}, before: func(*scene) {}, state: failed, cause: naming(`interface "nosuch9": .*it has eth0`), within: 40 * time.Second, wrong: true},
	{name: "the shared file system is full", where: "slurm", before: onSmallFS, do: func(s *scene) { s.do(s.t, "fill", "login", s.small()) }, state: failed, cause: naming("full|space|disk"), within: 40 * time.Second},

	{name: "cut node2", where: "ssh", do: harm("cut", "node2"), state: failed, cause: naming("node2"), within: lostWithin, away: []string{"node2"}, fences: true},
	{name: "cut node1, which leads", where: "ssh", do: harm("cut", "node1"), state: failed, cause: naming("node1"), within: lostWithin, away: []string{"node1"}, fences: true},
	{name: "crash node2", where: "ssh", do: harm("crash", "node2"), state: failed, cause: naming("node2"), within: lostWithin, away: []string{"node2"}},
	{name: "crash node1, which leads", where: "ssh", do: harm("crash", "node1"), state: failed, cause: naming("node1"), within: lostWithin, away: []string{"node1"}},
	{name: "hang node2", where: "ssh", do: harm("hang", "node2"), state: failed, cause: naming("node2"), within: lostWithin, away: []string{"node2"}},
	{name: "node2 is cut off as agents begin", where: "ssh", before: harm("cut", "node2"), state: failed, cause: naming("host node2"), within: 40 * time.Second, away: []string{"node2"}},
	{name: "SIGKILL of the agent on node2", where: "ssh", do: kill("node2", "agent"), state: failed, cause: naming("node2"), within: endWithin},
	{name: "SIGKILL of the agent on node1", where: "ssh", do: kill("node1", "agent"), state: failed, cause: naming("agent"), within: lostWithin},
	{name: "SIGKILL of a rank on node2", where: "ssh", do: kill("node2", "rank"), state: failed, cause: naming("rank 1.*SIGKILL"), within: endWithin},
	{name: "SIGKILL of all ssh clients to node2", where: "ssh", do: func(s *scene) { s.killNamed(s.t, "login", "ssh", "node2") }, state: []string{"cancelled"}, cause: naming("."), within: lostWithin, goesOn: true},
	{name: "SIGKILL of `boost-tui conduct`", where: "ssh", do: kill("login", "conduct"), state: []string{"failed", "cancelled"}, cause: naming("."), within: lostWithin},
	{name: "SIGKILL of `boost-tui run`", where: "ssh", do: func(s *scene) { _ = s.job.cmd.Process.Kill() }, state: []string{"failed", "cancelled"}, cause: naming("."), within: endWithin, unseen: true},
	// No host may say that somebody was killed whom it only does not hear. The sessions of a connection that is cut end with it.
	{name: "cut login", where: "ssh", do: harm("cut", "login"), state: failed, cause: naming("heard nothing of boost-tui conduct.* was killed or cut off"), within: lostWithin, away: []string{"login", "node1", "node2"}, fences: true},
	{name: "SIGKILL of `boost-tui run` and `boost-tui conduct` at once", where: "ssh", do: killFront, state: failed, cause: naming("heard nothing of boost-tui conduct.* was killed or cut off"), within: lostWithin, unseen: true},
	{name: "SIGKILL of `boost-tui conduct` (no shared file system)", where: "ssh", before: apart, do: kill("login", "conduct"), state: failed, cause: naming("boost-tui conduct, which stood over the run, was killed"), within: lostWithin},
	{name: "the shared file system is full", where: "ssh", before: onSmallFS, do: func(s *scene) { s.do(s.t, "fill", "login", s.small()) }, state: failed, cause: naming("full|space|disk"), within: 40 * time.Second},
}

var failed = []string{"failed"}

func naming(what string) *regexp.Regexp { return regexp.MustCompile("(?s)" + what) }

func harm(what, node string) func(*scene) {
	return func(s *scene) { s.harm(s.t, what, node) }
}

func kill(host, role string) func(*scene) {
	return func(s *scene) { s.cluster.kill(s.t, host, role, "") }
}

// killFront kills who stands over the run on the login host before any of them can say so.
func killFront(s *scene) {
	_ = s.job.cmd.Process.Signal(syscall.SIGSTOP)
	s.cluster.kill(s.t, "login", "conduct", "")
	_ = s.job.cmd.Process.Kill()
}

// hide gives a host an empty folder of its own in the place of one that the others share.
func hide(s *scene, host, dir string) {
	s.t.Helper()
	s.user(s.t, "login", "mkdir", "-p", dir)
	s.t.Cleanup(func() { s.do(s.t, "share", host, dir) })
	s.do(s.t, "unshare", host, dir, "96m")
}

// onSmallFS puts the store of the run on the small file system that all hosts share.
func onSmallFS(s *scene) {
	s.runs = filepath.Join(s.small(), filepath.Base(s.runs))
	s.env = []string{"BOOST_RUNS=" + s.runs}
	s.t.Cleanup(func() { s.do(s.t, "unfill", "login", s.small()) })
}

// missingModule writes a configuration of the user with a setup that asks for a module which is not there.
func missingModule(s *scene) {
	dir := filepath.Join(s.home(), ".config", "boost-tui")
	s.user(s.t, "login", "mkdir", "-p", dir)
	path := filepath.Join(dir, "config.toml")
	s.user(s.t, "login", "sh", "-c", `printf '[setup.broken]\nlines = ["module load nonexistent/1.0"]\n' >"$1" && chmod 600 "$1"`, "sh", path)
	s.t.Cleanup(func() { s.user(s.t, "login", "rm", "-f", path) })
}

// preempt takes all nodes for a job of the partition that preempts. It is the administrator's, so that it is none of ours.
func preempt(s *scene) {
	j := s.root(s.t, "sbatch", "--parsable", "-p", "high", "-N", fmt.Sprint(nodeCount), "--exclusive", "-o", "/dev/null", "--wrap", "sleep 60")
	s.t.Cleanup(func() { s.root(s.t, "scancel", strings.TrimSpace(j)) })
}

// TestFaults lets everything happen to runs on two nodes that does happen, and looks at what is left.
func TestFaults(t *testing.T) {
	t.Parallel() // with the long ones beside it
	for _, f := range faults {
		t.Run(f.where+"/"+f.name, func(t *testing.T) {
			t.Parallel()
			f.happens(t)
		})
	}
}

func (f fault) happens(t *testing.T) {
	s := &scene{program: newProgram(t)}
	if f.before != nil {
		f.before(s)
	}
	s.job = s.start("login", append(append(append([]string{"run", "--json"}, places[f.where]...), endless...), f.extra...)...)
	if f.do != nil {
		s.dir = s.dirOf()
		s.reaches(s.dir, 5)
	}
	began := time.Now()
	if f.do != nil {
		f.do(s)
	}
	if f.goesOn {
		s.goesOn()
	}
	v := f.ended(s, began)
	took := time.Since(began)
	if !slices.Contains(f.state, v.State) || !f.cause.MatchString(v.Cause) {
		t.Errorf("the run is %s: %s\nwant %v, a cause with %v\nstderr %s", v.State, v.Cause, f.state, f.cause, &s.job.errs)
	}
	left := s.gone(t, goneWithin, slices.DeleteFunc(s.hosts(), func(h string) bool { return slices.Contains(f.away, h) })...)
	if f.where == "slurm" {
		// One that completes waits for slurmd on a host that may be away; nothing of ours can hasten that.
		s.eventually(endWithin, "a queue without the job", func() bool {
			return strings.TrimSpace(s.user(t, "login", "squeue", "-h", "-o", "%A", "-t", "PD,R,S", "--partition", "dev,short,low,lowcancel")) == ""
		})
	}
	for _, h := range f.away {
		if f.fences {
			s.fenced(t, h)
		}
		s.do(t, "heal", h)
	}
	s.gone(t, goneWithin)
	if again := s.show("node3", v.ID); again.State != v.State || !f.cause.MatchString(again.Cause) {
		t.Errorf("node3 sees the run %s: %s\nlogin saw it %s: %s", again.State, again.Cause, v.State, v.Cause)
	}
	s.recordHolds(s.dirOf(), 2)
	f.row(t, v, took, left)
}

// ended waits for what becomes of the run.
func (f fault) ended(s *scene, began time.Time) (v said) {
	s.t.Helper()
	if !f.unseen {
		r := s.job.wait(f.within)
		s.json(r, &v)
		code := 1
		if f.wrong {
			code = 2
		}
		if r.code != code && v.State != "finished" && !f.goesOn {
			s.t.Errorf("exit %d of a run that is %s", r.code, v.State)
		}
		return v
	}
	id := filepath.Base(s.dir)
	for v = s.show("node3", id); v.State == "running" || v.State == "pending"; v = s.show("node3", id) {
		if time.Since(began) > f.within {
			s.t.Fatalf("after %v the run is %s: %s", f.within, v.State, v.Cause)
		}
		time.Sleep(200 * time.Millisecond)
	}
	return v
}

// goesOn waits long enough for a host to be missed, requires that the run is still at work, and cancels it.
func (s *scene) goesOn() {
	s.t.Helper()
	time.Sleep((silence + 3) * time.Second)
	s.reaches(s.dir, stepOf(s.dir, 0)+20)
	if r := s.on("node3", "cancel", filepath.Base(s.dir)); r.code != 0 {
		s.t.Errorf("cancel on node3: exit %d\n%s", r.code, r.errs)
	}
}

// dirOf is the folder of the run; it is looked for once.
func (s *scene) dirOf() string {
	if s.dir == "" {
		s.dir = s.onlyRun()
	}
	return s.dir
}

var table sync.Mutex

// row writes down what became of a fault, where somebody keeps a table.
func (f fault) row(t *testing.T, v said, took, left time.Duration) {
	t.Logf("%s, %s: %s after %.1f s (%s), nobody left %.1f s later", f.where, f.name, v.State, took.Seconds(), v.Cause, left.Seconds())
	path := os.Getenv("BOOST_E2E_TABLE")
	if path == "" || t.Failed() {
		return
	}
	table.Lock()
	defer table.Unlock()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if f.goesOn {
		v.State, v.Cause = "goes on", "nothing is said: the connection is made again"
	}
	cause := strings.NewReplacer("|", "/", "\n", " ", filepath.Dir(s0(v.Dir)), "RUNS").Replace(v.Cause)
	if _, err := fmt.Fprintf(file, "| %s | %s | %s | %.1f s | %s |\n", f.name, f.where, v.State, took.Seconds(), cause); err != nil {
		t.Fatal(err)
	}
}

// s0 keeps a replacer from replacing nothing by something.
func s0(dir string) string {
	if dir == "" {
		return "\x00/\x00"
	}
	return dir
}
