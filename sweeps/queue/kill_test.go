package queue

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// lifetime is how long engines live in a test. It grows where they get nowhere: on a busy machine, or with little luck.
type lifetime struct {
	least, most time.Duration
	finished    int
}

func (l *lifetime) draw() time.Duration { return l.least + rand.N(l.most-l.least) }

func (l *lifetime) after(st *sweeps.State) {
	if n := st.Count(sweeps.Finished); n > l.finished {
		l.finished = n
	} else {
		l.most += l.most / 16
	}
}

// TestKilledAtRandom kills the engine again and again, at any moment, until the sweep is finished: every point has
// trained exactly once, whatever the engine was doing.
func TestKilledAtRandom(t *testing.T) {
	for _, c := range []struct {
		name        string
		n, atOnce   int
		engines     int           // that try to hold the sweep at once
		least, most time.Duration // that they live
	}{
		{"as it starts", 12, 1, 1, time.Millisecond, 60 * time.Millisecond},
		{"in the middle", 40, 1, 1, 30 * time.Millisecond, 250 * time.Millisecond},
		{"three at once", 40, 3, 1, 20 * time.Millisecond, 150 * time.Millisecond},
		{"three engines", 30, 2, 3, 20 * time.Millisecond, 120 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := points(t, c.n, func(o *sweeps.Options) { o.AtOnce = c.atOnce })
			kills, life := 0, lifetime{c.least, c.most, 0}
			for end := time.Now().Add(2 * time.Minute); b.state().Phase != sweeps.PhaseFinished; {
				if time.Now().After(end) {
					t.Fatalf("after %d kills it is %+v", kills, b.state())
				}
				var group sync.WaitGroup
				for range c.engines {
					cmd := b.engine("engine")
					group.Add(1)
					timer := time.AfterFunc(life.draw(), func() { _ = cmd.Process.Kill() })
					go func() {
						defer group.Done()
						_ = cmd.Wait()
						timer.Stop()
					}()
				}
				group.Wait()
				kills++
				life.after(b.state())
			}
			adopted, unborn, unstarted := 0, 0, 0
			for _, p := range b.once(c.n).Points {
				for _, a := range p.Attempts {
					switch {
					case a.Adopted:
						adopted++
					case a.Run == "":
						unborn++
					case a.State == string(runner.Lost):
						unstarted++
					}
				}
			}
			t.Logf("killed %d times; %d runs adopted, %d attempts died before their run was created, %d before it was started", kills, adopted, unborn, unstarted)
			left, err := filepath.Glob(filepath.Join(b.runs.Root, ".new-*"))
			if err != nil || len(left) > 1 { // the last one's, which the next launch removes
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// TestKilledWhileOneRuns: the run goes on, and the next engine adopts it.
func TestKilledWhileOneRuns(t *testing.T) {
	b := points(t, 3, nil)
	b.fakes("1 long")
	cmd := b.engine("engine")
	first := b.eventually("a run", running(1))
	b.training("1")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	run := seed(first, 1).Run()
	if st := b.state(); st.Phase != sweeps.PhaseInterrupted || st.Held {
		t.Fatalf("%s, held: %v", st.Phase, st.Held)
	}
	var told []Event
	b.o.Notify = func(v Event) { told = append(told, v) }
	wait := b.begin(t.Context())
	b.eventually("the adoption", func(st *sweeps.State) bool { return seed(st, 1).Attempts[0].Adopted })
	if _, err := runner.Cancel(t.Context(), b.runs, run, "by ada"); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	p := seed(b.state(), 1)
	if p.Status != sweeps.Cancelled || p.Cause != "by ada" || len(p.Attempts) != 1 || p.Run() != run || told[0].Kind != Adopted {
		t.Errorf("%+v, told %+v", p, told)
	}
	if begins, _ := b.ran(); begins["1"] != 1 {
		t.Errorf("began %d times", begins["1"])
	}
}

// TestKilledRunsAreRetried: agents and ranks die as well. No point has two finished runs, and each finishes.
func TestKilledRunsAreRetried(t *testing.T) {
	const n = 12
	b := points(t, n, func(o *sweeps.Options) { o.AtOnce, o.Retries, o.MaxFailures = 2, 100, 0 })
	b.fakes("* slow")
	wait := b.begin(t.Context())
	kills := 0
	for over := false; !over; {
		time.Sleep(rand.N(40 * time.Millisecond))
		if pids := processes(b.runs.Root); len(pids) > 0 && kills < 15 {
			if syscall.Kill(pids[rand.IntN(len(pids))], syscall.SIGKILL) == nil {
				kills++
			}
		}
		over = b.state().Phase == sweeps.PhaseFinished
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	st := b.state()
	infos, err := b.runs.OfSweep(t.Context(), st.ID)
	if err != nil {
		t.Fatal(err)
	}
	finished := map[string]int{}
	for _, in := range infos {
		if in.State == runner.Finished {
			finished[in.Run.Sweep.Point]++
		} else if in.Fault != runner.MachineFault {
			t.Errorf("%s: %s, fault %q", in.State, in.Cause, in.Fault)
		}
	}
	for _, p := range st.Points {
		if p.Status != sweeps.Finished || finished[p.ID] != 1 {
			t.Errorf("%s: %d finished runs, %+v", p.Status, finished[p.ID], p.Attempts)
		}
	}
	t.Logf("%d kills, %d runs", kills, len(infos))
}

// TestTornJournal: the engine dies in the middle of a write.
func TestTornJournal(t *testing.T) {
	b := points(t, 6, nil)
	cmd := b.engine("engine")
	b.eventually("some ends", func(st *sweeps.State) bool { return st.Count(sweeps.Finished) >= 2 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	path := filepath.Join(b.sweep.Dir, sweeps.JournalFile)
	journal, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = journal.WriteString(`{"t":1764441856000000000,"k":"begin","epoch":1,"point":"`)
		err = errors.Join(err, journal.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	b.run()
	st := b.once(6)
	if st.BadLines > 1 {
		t.Errorf("%d bad lines", st.BadLines)
	}
}

// TestInterruptedAtRandom: an engine that is told to end, at any moment, leaves nothing running, and no point finishes twice.
func TestInterruptedAtRandom(t *testing.T) {
	const n = 25
	b := points(t, n, func(o *sweeps.Options) { o.AtOnce = 2 })
	signals, life := 0, lifetime{50 * time.Millisecond, 200 * time.Millisecond, 0}
	for ; b.state().Phase != sweeps.PhaseFinished; signals++ {
		cmd := b.engine("engine")
		timer := time.AfterFunc(life.draw(), func() {
			_ = cmd.Process.Signal([]os.Signal{os.Interrupt, syscall.SIGTERM}[signals%2])
		})
		_ = cmd.Wait()
		timer.Stop()
		st := b.state()
		life.after(st)
		if st.Held || st.Count(sweeps.Running) > 0 || st.Count(sweeps.Finished)+st.Count(sweeps.Queued) != n || st.Failures > 0 {
			t.Fatalf("%s: %d running, %d finished, %d queued, %d failures", st.Phase, st.Count(sweeps.Running), st.Count(sweeps.Finished), st.Count(sweeps.Queued), st.Failures)
		}
		if left := processes(b.runs.Root); len(left) > 0 {
			time.Sleep(20 * time.Millisecond) // an agent that has written its result takes a moment to leave
			if left = processes(b.runs.Root); len(left) > 0 {
				t.Fatalf("processes %v are left", left)
			}
		}
		if signals > 400 {
			t.Fatalf("no end: %d finished", st.Count(sweeps.Finished))
		}
	}
	finished := map[string]int{}
	infos, err := b.runs.OfSweep(t.Context(), b.sweep.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range infos {
		if in.State == runner.Finished {
			finished[in.Run.Sweep.Point]++
		}
	}
	for _, p := range b.state().Points {
		if finished[p.ID] != 1 {
			t.Errorf("%s has %d finished runs", p.Label, finished[p.ID])
		}
	}
	t.Logf("%d signals, %d runs", signals, len(infos))
}

// TestEverythingKilled: the engine, the agent and the rank die at once, as when a machine does. The run is tried again.
func TestEverythingKilled(t *testing.T) {
	b := points(t, 2, nil)
	b.fakes("1 long-once")
	cmd := b.engine("engine")
	b.eventually("a run", running(1))
	b.training("1")
	for _, pid := range processes(b.runs.Root) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = cmd.Wait() // it holds its lock until it is gone
	st := b.run()
	if first := seed(st, 1).Attempts[0]; st.Count(sweeps.Finished) != 2 || !first.Machine || len(seed(st, 1).Attempts) != 2 {
		t.Errorf("%d finished, %+v", st.Count(sweeps.Finished), seed(st, 1).Attempts)
	}
}

// TestLinesLostToAPowerFailure: what need not be on the disk at once (sweeps' lines on what became of attempts) is found out
// again from the runs, wherever the journal ends.
func TestLinesLostToAPowerFailure(t *testing.T) {
	b := points(t, 3, nil)
	b.run()
	path := filepath.Join(b.sweep.Dir, sweeps.JournalFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	var kept []byte
	for i, l := range lines {
		kept = append(kept, l...)
		if !bytes.Contains(l, []byte(`"k":"begin"`)) || i+1 == len(lines) {
			continue
		}
		// This line was waited for, those behind it are lost, some of them in half.
		for _, torn := range []string{"", `{"t":1,"k":"en`, "\x00\x00\x00"} {
			if err := os.WriteFile(path, append(slices.Clone(kept), torn...), 0o600); err != nil {
				t.Fatal(err)
			}
			st := b.state()
			if st.Count(sweeps.Running) != 1 {
				t.Fatalf("after line %d: %d run", i, st.Count(sweeps.Running))
			}
			// Runs that the journal knows nothing of any more, those of later points, never were: a power failure ends all.
			infos, err := b.runs.OfSweep(t.Context(), b.sweep.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range infos {
				if st.Point(in.Run.Sweep.Point).Status == sweeps.Queued {
					remove(t, in.Dir)
				}
			}
			_ = os.Remove(filepath.Join(b.runs.Root, "ran.log")) // it is not there where nothing ran anew
			st = b.run()
			if st.Count(sweeps.Finished) != 3 || st.Phase != sweeps.PhaseFinished {
				t.Fatalf("after line %d: %s, %d finished", i, st.Phase, st.Count(sweeps.Finished))
			}
			begins, _ := b.ran()
			for n := 1; n <= 3; n++ {
				p := seed(st, n)
				want := 0
				if bytes.Count(kept, []byte(`"point":"`+p.ID)) == 0 {
					want = 1
				}
				if got := begins[strconv.Itoa(n)]; got != want || len(p.Attempts) != 1 {
					t.Errorf("after line %d and %q: seed %d ran %d times more, %+v", i, torn, n, got, p.Attempts)
				}
			}
		}
	}
}
