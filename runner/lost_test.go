package runner

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

// ofHost are the processes of a run that belong to one of its hosts, of a rank each.
func ofHost(t *testing.T, dir string, host int) []int {
	t.Helper()
	var pids []int
	for _, pid := range processes(dir, "") {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			t.Fatal(err)
		}
		n := strconv.Itoa(host)
		if strings.Contains(string(line), "--host\x00"+n+"\x00") || strings.Contains(string(line), "--rank\x00"+n) {
			pids = append(pids, pid)
		}
	}
	if len(pids) != 2 {
		t.Fatalf("host %d has processes %v", host, pids)
	}
	return pids
}

func signalAll(t *testing.T, pids []int, sig syscall.Signal) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
}

// A host that stands still is lost, by name, and ends its ranks by itself when it goes on; the other one goes by its own clock.
func TestHostThatStandsStill(t *testing.T) {
	for host, want := range []string{"host 127.0.0.1, which leads the run, was lost: nothing was heard of it for 3", "host 127.0.0.2 was lost: nothing was heard of it for 3"} {
		t.Setenv(EnvTestHosts, "2")
		e := testExperiment("hang", 2)
		e.Where.HeartbeatTimeout = 3
		h, err := Launch(t.Context(), NewStore(t.TempDir()), e, LaunchOptions{Detach: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sweep(t, h.Dir) })
		inCollective(t, h.Dir, 2)
		eventually(t, "the hosts to know each other", func() bool {
			_, err := Hosts(h.Dir)
			return err == nil
		})
		pids := ofHost(t, h.Dir, host)
		signalAll(t, pids, syscall.SIGSTOP)
		start := time.Now()
		eventuallyIn(t, "the result", 20*time.Second, func() bool { return resultThere(h.Dir) })
		took := time.Since(start)
		in := readInfo(h.Dir, here(), time.Now())
		if in.State != Failed || in.Fault != MachineFault || !strings.HasPrefix(in.Cause, want) || len(in.Result.Lost) != 1 {
			t.Errorf("host %d: %s: %s; lost %v", host, in.State, in.Cause, in.Result.Lost)
		}
		left := processes(h.Dir, "rank")
		if took > 15*time.Second || len(left) != 1 {
			t.Errorf("host %d: after %v; ranks left: %v", host, took, left)
		}
		signalAll(t, pids, syscall.SIGCONT)
		t.Logf("host %d: result after %v, nothing left %v after it went on", host, took, gone(t, h.Dir, 10*time.Second))
		if again := readInfo(h.Dir, here(), time.Now()); again.Cause != in.Cause {
			t.Errorf("host %d wrote another result: %s", host, again.Cause)
		}
		if _, err := os.Stat(filepath.Join(h.Dir, protocol.MeetFile)); err == nil {
			t.Error("the secret of the run is still there")
		}
	}
}

func eventuallyIn(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// A rank that is stopped on one host is named although who waits for it is on the other.
func TestStallAcrossHosts(t *testing.T) {
	here := []standing{{Rank: 0, Step: 4, Seq: 9, Waits: true, Label: "forward.l1.attn.in/qkv"}}
	there := []standing{{Rank: 1, Step: 4, Seq: 3, Stopped: true}, {Rank: 2, Step: 4, Seq: 5, Waits: true, Label: "forward.l1.attn.in/qkv"}}
	var dog watchdog
	now := time.Now()
	all := func() []standing { return append(here, there...) }
	if s := dog.look(all, now); s != "" {
		t.Error(s)
	}
	s := dog.look(all, now.Add(laterStall+2*time.Second))
	if !strings.Contains(s, "rank 0 has waited 2m2s at step 4") || !strings.Contains(s, "rank 1, which is stopped") || strings.Contains(s, "rank 2") {
		t.Error(s)
	}
	bad := []standing{{Rank: -1}}
	if checkBoard(bad) == nil {
		t.Error("a board of rank -1")
	}
}

// A heart is judged by the clock of its file system: an observer whose clock is minutes off sees the same.
func TestClocksApart(t *testing.T) {
	h := launch(t, "hang", 2, false)
	inCollective(t, h.Dir, 2)
	elsewhere := here()
	elsewhere.Host = "another"
	for _, off := range []time.Duration{-5 * time.Minute, 0, 5 * time.Minute} {
		if in := readInfo(h.Dir, elsewhere, time.Now().Add(off)); in.State != Running {
			t.Errorf("%v off: %s: %s", off, in.State, in.Cause)
		}
	}
	signalAll(t, processes(h.Dir, "agent"), syscall.SIGKILL)
	wait(t, h)
	if err := os.Remove(filepath.Join(h.Dir, protocol.ResultFile)); err != nil {
		t.Fatal(err)
	}
	agedHeart(t, h.Dir, time.Minute)
	for _, off := range []time.Duration{-5 * time.Minute, 0, 5 * time.Minute} {
		if in := readInfo(h.Dir, elsewhere, time.Now().Add(off)); !in.State.Over() {
			t.Errorf("%v off: %s: %s", off, in.State, in.Cause)
		}
	}
}

func TestStaleness(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := staleness{dir: dir}
	if s.age() < time.Hour {
		t.Error("a heart that never beat is fresh")
	}
	if err := beat(dir, 1); err != nil {
		t.Fatal(err)
	}
	if age := s.age(); age > time.Second {
		t.Errorf("%v", age)
	}
	agedHeart(t, dir, time.Minute)
	if age := s.age(); age < 59*time.Second || age > 62*time.Second {
		t.Errorf("%v", age)
	}
}

func TestOwnAddress(t *testing.T) {
	if got, err := ownAddress("lo"); err == nil {
		t.Errorf("loopback leads to other hosts: %s", got)
	}
	if got, err := ownAddress("127.0.0.0/8"); err != nil || got != "127.0.0.1" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := ownAddress("203.0.113.7"); err == nil || !strings.Contains(err.Error(), "--interface") && !strings.Contains(err.Error(), "interface") {
		t.Error(err)
	}
	if _, err := ownAddress("\x1b[2Jeth0"); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Error(err)
	}
	if ip := routeTo("127.0.0.9:1"); ip.String() != "127.0.0.1" {
		t.Errorf("the way to loopback begins at %v", ip)
	}
	own, err := ownAddresses()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if !reachable(a.ip) {
			continue
		}
		if got, err := ownAddress("", a.ip.String()); err != nil || net.ParseIP(got) == nil {
			t.Errorf("%s, %v", got, err)
		}
		if got, err := ownAddress(a.face); err != nil || net.ParseIP(got) == nil {
			t.Errorf("%s, %v", got, err)
		}
		return
	}
	t.Log("this machine has loopback alone")
	if got, err := ownAddress(""); err == nil {
		t.Errorf("%s", got)
	}
}

func TestHostsFile(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"schema":1,"hosts":[{"name":"a","address":"10.0.0.1","first":0,"ranks":2,"offset_ns":0},{"name":"b","address":"10.0.0.2","first":2,"ranks":1}]}`: true,
		`{"schema":1,"hosts":[{"name":"a","first":1,"ranks":2}]}`: false,
		`{"schema":1,"hosts":[{"name":"a","first":0,"ranks":0}]}`: false,
		`{"schema":2}`: false, "": false, "[": false,
	} {
		if _, err := parseHosts([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add(byte(wordExit), say(wordExit, protocol.ExitRecord{Rank: 1}).Body)
	f.Add(byte(wordPart), say(wordPart, part{Ranks: []RankExit{{Rank: 1}}}).Body)
	f.Add(byte(wordBoard), say(wordBoard, []standing{{Rank: 1, What: "\x1b"}}).Body)
	f.Add(byte(wordHello), say(wordHello, greeting{"n", "10.0.0.1"}).Body)
	f.Add(byte(wordEnd), say(wordEnd, order{Failed, "x"}).Body)
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		a := &agent{o: AgentOptions{Share: Share{Hosts: 2}}, ending: ending{state: Failed}, gone: true}
		a.run.Experiment.Parallel.TP, a.run.Experiment.Parallel.PP, a.run.Experiment.Parallel.DP = 4, 1, 1
		a.others = &others{hosts: make([]other, 2)}
		h := &a.others.hosts[1]
		_ = a.told(1, h, control.Message{Kind: kind, Body: body}) // refused or not, it must not end the agent
		for r := range h.exits {
			if r < 2 || r > 3 {
				t.Errorf("a record of rank %d", r)
			}
		}
		for _, s := range h.board {
			if s.Rank < 0 || s.What != clean(s.What, 120) {
				t.Errorf("%+v", s)
			}
		}
		_, _ = parseHosts(body)
	})
}
