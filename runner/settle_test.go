package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// orphan creates a run whose launcher died before an agent took it on.
func orphan(t testing.TB, s *Store, mode string, ref *SweepRef) (Run, string) {
	t.Helper()
	r, dir, err := s.Create(testExperiment(mode, 1), CreateOptions{Sweep: ref})
	if err != nil {
		t.Fatal(err)
	}
	r.Launcher.StartTicks++ // another process that had this pid
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, protocol.RunFile), string(data))
	return r, dir
}

func TestSweepRefs(t *testing.T) {
	s := NewStore(t.TempDir())
	create(t, s, "none")
	a, _ := orphan(t, s, "ok", &SweepRef{ID: "s1", Point: "p1", Attempt: 1})
	orphan(t, s, "ok", &SweepRef{ID: "s2", Point: "p1", Attempt: 1})
	b, _ := orphan(t, s, "ok", &SweepRef{ID: "s1", Point: "p1", Attempt: 2})
	_, damaged := orphan(t, s, "ok", &SweepRef{ID: "s1", Point: "p1", Attempt: 3})
	put(t, filepath.Join(damaged, protocol.RunFile), "{")
	infos, err := s.OfSweep(t.Context(), "s1")
	if err != nil || len(infos) != 2 {
		t.Fatalf("%d runs, %v", len(infos), err)
	}
	for _, in := range infos {
		if in.ID != a.ID && in.ID != b.ID || in.Run.Sweep.ID != "s1" || in.State != Lost {
			t.Errorf("%s: %+v is %s", in.ID, in.Run.Sweep, in.State)
		}
	}
	for _, bad := range []*SweepRef{{}, {ID: "../x", Point: "p", Attempt: 1}, {ID: "s", Point: "p\x1b[m", Attempt: 1}, {ID: "s", Point: "p"}} {
		if _, _, err := s.Create(testExperiment("x", 1), CreateOptions{Sweep: bad}); err == nil {
			t.Errorf("%+v was written", bad)
		}
		b.Sweep = bad
		data, _ := json.Marshal(b)
		if _, err := ParseRun(data); err == nil {
			t.Errorf("%+v was read", bad)
		}
	}
}

// TestSettleUnstarted: a run that nobody took on is lost for good: its agent comes too late.
func TestSettleUnstarted(t *testing.T) {
	s := NewStore(t.TempDir())
	r, dir := orphan(t, s, "ok", nil)
	in, err := Settle(t.Context(), s, r.ID)
	if err != nil || in.State != Lost || in.Result == nil || in.Fault != MachineFault || !strings.Contains(in.Cause, "never started") {
		t.Fatalf("%s (%s): %s, %v", in.State, in.Fault, in.Cause, err)
	}
	out, err := agentCommand(dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has an agent already") {
		t.Errorf("an agent took it on: %v, %s", err, out)
	}
	if again, err := Settle(t.Context(), s, r.ID); err != nil || again.State != Lost {
		t.Errorf("%s, %v", again.State, err)
	}
}

func agentCommand(dir string) *exec.Cmd {
	self, _ := os.Executable()
	return exec.Command(self, "agent", "--run", dir)
}

// TestSettleWhileAnAgentTakesItOn: an agent whose launcher died takes the run on just after that was seen to have none. Who
// called it lost then would start it a second time.
func TestSettleWhileAnAgentTakesItOn(t *testing.T) {
	s := NewStore(t.TempDir())
	parent := here()
	parent.PID = os.Getppid()
	st, err := procStat(parent.PID)
	if err != nil {
		t.Fatal(err)
	}
	parent.StartTicks = st.startTicks
	for name, agent := range map[string]Process{"here": parent, "elsewhere": {PID: 1, Host: "elsewhere"}} {
		r, dir := orphan(t, s, "ok", nil)
		in, err := s.Load(r.ID)
		if err != nil || in.State != Lost {
			t.Fatalf("%s: %s, %v", name, in.State, err)
		}
		if _, err := claim(dir, agent); err != nil {
			t.Fatal(err)
		}
		if again, err := in.settle(t.Context()); err != nil || !again && in.State != Running {
			t.Errorf("%s: %s (%s), %v", name, in.State, in.Cause, err)
		}
	}
}

// TestSettleAfterClaim: who claimed a run and could not write the result (the disk was full) can do so later, and
// others can when it is gone.
func TestSettleAfterClaim(t *testing.T) {
	s := NewStore(t.TempDir())
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	for name, who := range map[string]Process{"mine": me, "another's": {PID: me.PID, StartTicks: me.StartTicks + 1, Host: me.Host, Boot: me.Boot, PIDSpace: me.PIDSpace}} {
		r, dir := orphan(t, s, "ok", nil)
		if _, err := claim(dir, who); err != nil {
			t.Fatal(err)
		}
		if in, err := Settle(t.Context(), s, r.ID); err != nil || in.State != Lost || in.Result == nil {
			t.Errorf("%s: %s, %v, %v", name, in.State, in.Result, err)
		}
	}
}

// TestSettleLeaves what has an end, or somebody who looks after it.
func TestSettleLeaves(t *testing.T) {
	s := NewStore(t.TempDir())
	done, dir := create(t, s, "done")
	finish(t, dir)
	unread, dir := create(t, s, "unread")
	put(t, filepath.Join(dir, protocol.ResultFile), "{")
	newer, dir := create(t, s, "newer")
	put(t, filepath.Join(dir, protocol.ResultFile), `{"schema":99}`)
	launching, _ := create(t, s, "launching") // by this process, which is alive
	far, dir := create(t, s, "far")
	if _, err := claim(dir, Process{PID: 1, Host: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, protocol.HeartbeatFile), old, old); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]State{done.ID: Finished, unread.ID: Lost, newer.ID: Lost, launching.ID: Pending, far.ID: Lost} {
		before := snapshot(t, s.Dir(id))
		if in, err := Settle(t.Context(), s, id); err != nil || in.State != want {
			t.Errorf("%s is %s, %v", id, in.State, err)
		}
		after := snapshot(t, s.Dir(id))
		if id != unread.ID && before != after {
			t.Errorf("%s: %s became %s", id, before, after)
		}
	}
	if _, err := Settle(t.Context(), s, "nobody"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func snapshot(t *testing.T, dir string) string {
	t.Helper()
	result, err := os.ReadFile(filepath.Join(dir, protocol.ResultFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	agent, err := os.ReadFile(filepath.Join(dir, protocol.AgentFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(result) + "|" + string(agent)
}

// TestSettleKilledAgent: nobody launched it from here, its agent is killed: the ranks' words decide, and stay.
func TestSettleKilledAgent(t *testing.T) {
	t.Parallel()
	dir, cmd := frontend(t, "hang", "detach")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	atStep3(t, dir, 2)
	kill(t, dir, "agent")
	in, err := Await(t.Context(), NewStore(filepath.Dir(dir)), filepath.Base(dir))
	if err != nil || in.Result == nil || in.Fault != MachineFault || len(in.Result.Ranks) != 2 {
		t.Fatalf("%s (%s): %s, %+v, %v", in.State, in.Fault, in.Cause, in.Result, err)
	}
	gone(t, dir, 2*time.Second)
}

// TestAwait hears of the end of a run that another program launched.
func TestAwait(t *testing.T) {
	t.Parallel()
	dir, cmd := frontend(t, "ok", "detach")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	in, err := Await(t.Context(), NewStore(filepath.Dir(dir)), filepath.Base(dir))
	if err != nil || in.State != Finished {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
	}
	if late := time.Since(in.Result.Ended); late > 15*time.Second {
		t.Errorf("heard of it %v after", late)
	}
}

// TestClaimRace: an agent that comes late and programs that settle, all at once: the run trains once and finishes, or never
// and is lost.
func TestClaimRace(t *testing.T) {
	s := NewStore(t.TempDir())
	count := map[State]int{}
	for range 40 {
		r, dir := orphan(t, s, "ok", nil)
		agent := agentCommand(dir)
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				time.Sleep(rand.N(25 * time.Millisecond))
				if _, err := Settle(t.Context(), s, r.ID); err != nil {
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		_ = agent.Wait() // fails where it came too late
		in, err := s.Load(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		count[in.State]++
		steps, _ := os.ReadFile(record.StepsPath(dir, 0))
		if trained := len(steps) > 0; trained != (in.State == Finished) || in.State != Finished && in.State != Lost {
			t.Errorf("it is %s (%s), trained: %v", in.State, in.Cause, trained)
		}
	}
	t.Logf("ends: %v", count)
}

// TestStartError says which run it was that did not start.
func TestStartError(t *testing.T) {
	s := NewStore(t.TempDir())
	bad := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Launch(t.Context(), s, testExperiment("ok", 1), LaunchOptions{Detach: true, Binary: bad})
	var start *StartError
	if !errors.As(err, &start) {
		t.Fatal(err)
	}
	if in, err := s.Load(start.ID); err != nil || in.State != Failed || in.Fault != MachineFault || in.Result == nil {
		t.Errorf("%s (%s), %v", in.State, in.Fault, err)
	}
}

// TestCancelThenDead: the launcher that sees its agent die knows that somebody wanted it.
func TestCancelThenDead(t *testing.T) {
	t.Parallel()
	h := launch(t, "hang", 2, true)
	atStep3(t, h.Dir, 2)
	pid := processes(h.Dir, "agent")[0]
	if err := errors.Join(syscall.Kill(pid, syscall.SIGSTOP), requestCancel(h.Dir, "by the user"), syscall.Kill(pid, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	if in := wait(t, h); in.State != Cancelled || in.Fault != UserFault || in.Cause != "by the user" {
		t.Errorf("%s (%s): %s", in.State, in.Fault, in.Cause)
	}
}

// TestProgramHash follows the file, although it is read only once.
func TestProgramHash(t *testing.T) {
	var p program
	path := filepath.Join(t.TempDir(), "program")
	put(t, path, "one")
	a, err := p.hash(path)
	if again, err2 := p.hash(path); err != nil || err2 != nil || again != a {
		t.Fatal(a, again, err, err2)
	}
	put(t, path+".new", "two")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if b, err := p.hash(path); err != nil || b == a {
		t.Errorf("%s after %s, %v", b, a, err)
	}
}

// Where every agent was killed, nobody of them is left to take away where they met: its secret goes with the run's end.
func TestSettleForgetsTheMeeting(t *testing.T) {
	s := NewStore(t.TempDir())
	r, dir := orphan(t, s, "ok", nil)
	gone, err := self()
	if err != nil {
		t.Fatal(err)
	}
	gone.StartTicks++ // no such process
	if _, err := claim(dir, gone); err != nil {
		t.Fatal(err)
	}
	if err := writeMeeting(dir, meeting{Rendezvous: "127.0.0.1:1", Control: "127.0.0.1:2", Secret: "secret"}); err != nil {
		t.Fatal(err)
	}
	in, err := Settle(t.Context(), s, r.ID)
	if err != nil || in.State != Lost || in.Result == nil {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, protocol.MeetFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", protocol.MeetFile, err)
	}
}
