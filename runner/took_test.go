package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/runner/protocol"
)

func TestTook(t *testing.T) {
	made := time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return made.Add(d) }
	now := at(time.Hour)
	ranks := []RankExit{{}}
	for name, c := range map[string]struct {
		in   Info
		took time.Duration
		why  string
	}{
		"runs":       {Info{State: Running}, time.Hour, ""},
		"to come":    {Info{State: Running, Run: Run{Created: now.Add(5 * time.Minute)}}, 0, tookFuture},
		"a tick":     {Info{State: Running, Run: Run{Created: now.Add(time.Second)}}, 0, ""},
		"lost":       {Info{State: Lost}, 0, tookUnsaid},
		"its job's":  {Info{State: Failed, Ended: at(time.Minute)}, 0, tookTwoClocks},
		"agent's":    {Info{State: Finished, Ended: at(9 * time.Minute), Result: &Result{Started: at(4 * time.Minute), Ranks: ranks}}, 5 * time.Minute, ""},
		"behind":     {Info{State: Finished, Ended: at(-4 * time.Minute), Result: &Result{Started: at(-5 * time.Minute), Ranks: ranks}}, time.Minute, ""},
		"unstarted":  {Info{State: Failed, Ended: at(time.Minute), Result: &Result{Started: made}}, 0, tookUnstarted},
		"two clocks": {Info{State: Failed, Ended: at(time.Minute), Run: Run{Created: made, Host: "login", Hosts: []string{"node1"}}, Result: &Result{Started: made, Ranks: ranks}}, 0, tookTwoClocks},
		"one host":   {Info{State: Failed, Ended: at(time.Minute), Run: Run{Created: made, Host: "pc", Hosts: []string{"pc"}}, Result: &Result{Started: made, Ranks: ranks}}, time.Minute, ""},
		"backwards":  {Info{State: Failed, Ended: at(time.Minute), Result: &Result{Started: at(5 * time.Minute), Ranks: ranks}}, 0, tookBackwards},
		"too long":   {Info{State: Failed, Ended: at(2 * time.Hour), Result: &Result{Started: at(time.Minute), Ranks: ranks}}, 0, tookTooLong},
	} {
		if c.in.Run.Created.IsZero() {
			c.in.Run.Created = made
		}
		if took, why := c.in.Took(now); took != c.took || why != c.why {
			t.Errorf("%s: %v, %q", name, took, why)
		}
	}
}

func TestClockAhead(t *testing.T) {
	now := time.Now()
	for d, want := range map[time.Duration]time.Duration{0: 0, time.Second: 0, -time.Second: 0, 5 * time.Minute: 5 * time.Minute, -5 * time.Minute: -5 * time.Minute,
		50 * 365 * 24 * time.Hour: 0} {
		if got := clockAhead(now, now.Add(-d)); (got - want).Abs() > time.Millisecond {
			t.Errorf("%v ahead: %v", d, got)
		}
	}
}

// However fast runs are restarted, and whatever the clock was by which the one before it was made, a chain sorts in its order.
func TestChainSortsInItsOrder(t *testing.T) {
	s := NewStore(t.TempDir())
	before, _, err := s.Create(testExperiment("ok", 2), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{before.ID}
	for n := 1; n <= 6; n++ {
		if n == 3 { // the clock of the one that made this is ahead
			before.Created = before.Created.Add(10 * time.Minute)
			old := s.Dir(before.ID)
			if before.ID, err = newID(before.Created, before.Experiment); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(old, s.Dir(before.ID)); err != nil {
				t.Fatal(err)
			}
			writeRun(t, s.Dir(before.ID), before)
			want[n-1] = before.ID
		}
		next, _, err := s.Create(testExperiment("ok", 2), CreateOptions{Restart: &Restart{Of: before.ID, Number: n}})
		if err != nil {
			t.Fatal(err)
		}
		if !next.Created.After(before.Created) {
			t.Errorf("restart %d was created %v, the run before it %v", n, next.Created, before.Created)
		}
		want, before = append(want, next.ID), next
	}
	infos, _ := s.List(t.Context())
	var got []string
	for _, in := range infos {
		got = append(got, in.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, made %v", got, want)
	}
}

// Programs whose clocks are ten minutes apart write times by one clock, that of the file system.
func TestTimesOfHostsWhoseClocksDiffer(t *testing.T) {
	began := time.Now().Add(-sameClock)
	t.Setenv(wallclock.EnvOffset, "5m")
	t.Setenv(envAgentClock, "-5m")
	t.Setenv("BOOST_FAKE_RESTARTS", "2")
	dir, cmd := frontend(t, "mortal:1", "foreground")
	_ = cmd.Wait() // its last run finishes, or not: the records say
	infos, errs := NewStore(filepath.Dir(dir)).List(t.Context())
	if len(infos) != 3 || len(errs) != 0 {
		t.Fatalf("%d runs, %v", len(infos), errs)
	}
	for i, in := range infos {
		if in.Result == nil || i > 0 && in.Run.Restart.Of != infos[i-1].ID {
			t.Fatalf("run %d of the list: %+v of %s", i, in.Run.Restart, infos[0].ID)
		}
		took, why := in.Took(in.Clock(time.Now()))
		if why != "" || in.Result.Started.Before(in.Run.Created.Add(-sameClock)) || in.Ended.Before(in.Result.Started) || in.Run.Created.Before(began) || in.Ended.After(time.Now().Add(sameClock)) {
			t.Errorf("run %d: created %v, started %v, ended %v, took %v %s", i, in.Run.Created, in.Result.Started, in.Ended, took, why)
		}
	}
}

// One whose agent was killed is settled by a program with another clock.
func TestTimesOfARunThatAnotherHostSettles(t *testing.T) {
	t.Setenv(envAgentClock, "-5m")
	dir, cmd := frontend(t, "polite", "detach")
	atStep3(t, dir, 2)
	for _, pid := range processes(dir, "agent") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	kill9(t, cmd)
	s := NewStore(filepath.Dir(dir))
	in, err := Await(t.Context(), s, filepath.Base(dir))
	if err != nil || in.Result == nil {
		t.Fatal(err, in.State, in.Cause)
	}
	if took, why := in.Took(in.Clock(time.Now())); why != "" || took <= 0 || took > time.Since(in.Run.Created) {
		t.Errorf("took %v %s: %+v", took, why, in.Result)
	}
}

func TestAgentsTimes(t *testing.T) {
	a := &agent{started: wallNow().Add(-time.Minute - time.Hour), ahead: time.Hour}
	if took := a.over().Sub(a.started.Round(0)); took < time.Minute || took > 2*time.Minute {
		t.Errorf("a minute on it is over, after %v", took)
	}
}

func writeRun(t *testing.T, dir string, r Run) {
	t.Helper()
	data, err := json.Marshal(r)
	if err == nil {
		err = writeIn(dir, protocol.RunFile, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}
