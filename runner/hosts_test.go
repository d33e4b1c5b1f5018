package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// The ranks of these runs are fakes that do not talk to each other: what holds a run together over hosts here is what
// agents do. Runs of real ranks over two hosts are in cmd.

func launchHosts(t *testing.T, mode string, tp int, detach bool) *Handle {
	t.Helper()
	t.Setenv(EnvTestHosts, "2")
	return launch(t, mode, tp, detach)
}

// leftClean checks what two agents leave behind.
func leftClean(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, protocol.MeetFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the secret of the run is still there: %v", err)
	}
	for _, name := range []string{"127.0.0.1", "127.0.0.2"} {
		if st, err := os.Stat(record.HealthPath(dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("samples of %s: %v", name, err)
		}
	}
}

func TestTwoHosts(t *testing.T) {
	for _, detach := range []bool{false, true} {
		h := launchHosts(t, "ok", 4, detach)
		in := wait(t, h)
		if in.State != Finished || in.Result == nil || len(in.Result.Ranks) != 4 || len(in.Run.Hosts) != 2 {
			t.Fatalf("%s: %s; %+v on %v", in.State, in.Cause, in.Result, in.Run.Hosts)
		}
		for i, r := range in.Result.Ranks {
			if r.Rank != i || r.Code != 0 {
				t.Errorf("%+v", r)
			}
		}
		if s, err := record.LastRollup(h.Dir, 1); err != nil || len(s) != 1 || s[0].Ranks != 4 {
			t.Errorf("the last step of the rollup: %+v, %v", s, err)
		}
		leftClean(t, h.Dir)
	}
}

// A rank that fails on either host ends the ranks of both, and is named.
func TestFailureOnOneHostEndsBoth(t *testing.T) {
	for rank, mode := range map[string]string{"rank 0": "crash:0", "rank 3": "crash:3"} {
		h := launchHosts(t, mode, 4, false)
		start := time.Now()
		in := wait(t, h)
		if in.State != Failed || !strings.HasPrefix(in.Cause, rank+": ended with exit code 1: boom") || len(in.Result.Ranks) != 4 {
			t.Errorf("%s after %v: %s: %s; %+v", mode, time.Since(start), in.State, in.Cause, in.Result)
		}
		leftClean(t, h.Dir)
	}
}

func TestCancelOnTwoHosts(t *testing.T) {
	h := launchHosts(t, "polite", 4, true)
	atStep3(t, h.Dir, 4)
	in, err := Cancel(t.Context(), NewStore(filepath.Dir(h.Dir)), h.Run.ID, "enough")
	if err != nil || in.State != Cancelled || in.Cause != "enough" {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
	}
	gone(t, h.Dir, 5*time.Second)
	h = launchHosts(t, "polite", 2, false)
	atStep3(t, h.Dir, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if in, err = h.Wait(ctx); err != nil || in.State != Cancelled {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
	}
	gone(t, h.Dir, 5*time.Second)
}

// Whichever agent dies, no process stays and the run ends.
func TestDeadAgentOfTwo(t *testing.T) {
	for _, host := range []string{"0", "1"} {
		h := launchHosts(t, "hang", 2, false)
		inCollective(t, h.Dir, 2)
		for _, pid := range processes(h.Dir, "agent") {
			line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
			if strings.Contains(string(line), "--host\x00"+host+"\x00") {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		in := wait(t, h)
		if in.State != Failed || !strings.Contains(in.Cause, "agent") {
			t.Errorf("host %s: %s: %s", host, in.State, in.Cause)
		}
		t.Log(host, in.State, in.Cause)
	}
}

func TestShares(t *testing.T) {
	for world := 1; world < 20; world++ {
		for hosts := 1; hosts <= world; hosts++ {
			next := 0
			for host := range hosts {
				s := Share{Host: host, Hosts: hosts, Address: "127.0.0.1"}
				first, end := s.ranks(world)
				if first != next || end <= first || s.check(world) != nil {
					t.Fatalf("host %d of %d has ranks %d to %d of %d", host, hosts, first, end, world)
				}
				next = end
			}
			if next != world {
				t.Fatalf("%d of %d ranks on %d hosts", next, world, hosts)
			}
		}
	}
	for _, s := range []Share{{Host: 2, Hosts: 2, Address: "127.0.0.1"}, {Host: -1, Hosts: 2, Address: "::1"}, {Hosts: 5, Address: "::1"}, {Hosts: 2, Address: "x"}} {
		if s.check(4) == nil {
			t.Errorf("%+v of four ranks is accepted", s)
		}
	}
	t.Setenv(EnvTestHosts, "many")
	if _, err := Launch(t.Context(), NewStore(t.TempDir()), testExperiment("ok", 2), LaunchOptions{}); err == nil || !strings.Contains(err.Error(), EnvTestHosts) {
		t.Error(err)
	}
}

func FuzzAccounts(f *testing.F) {
	f.Add([]byte(`{"schema":1,"ranks":[{"rank":1,"code":3,"signal":"SIGKILL"}]}`))
	f.Add([]byte(`{"schema":1,"rendezvous":"127.0.0.1:1","secret":"x"}`))
	f.Add([]byte(`{"schema":1,"cause":"no"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parsePart(data); err == nil {
			for _, r := range p.Ranks {
				if r.Rank < 0 || r.Rank >= protocol.MaxRanks {
					t.Errorf("%+v", r)
				}
			}
		}
		if m, err := parseMeeting(data); err == nil && m.Rendezvous == "" {
			t.Errorf("%+v", m)
		}
	})
}
