package sweeps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
)

// writeHolder names another program as the holder, with a sign of life of some age.
func writeHolder(t *testing.T, s *Sweep, p runner.Process, age time.Duration) {
	t.Helper()
	data, err := json.Marshal(holder{Schema: Schema, Process: p})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(s.Dir, HolderFile), data, 0o600))
	must(t, touch(s.Dir, os.O_CREATE))
	at := time.Now().Add(-age)
	must(t, os.Chtimes(filepath.Join(s.Dir, HeartbeatFile), at, at))
}

func self(t *testing.T) runner.Process {
	t.Helper()
	me, err := runner.Self()
	must(t, err)
	return me
}

// TestHoldersThatCannotBeLookedAt are of other machines, other kernels, other pid namespaces: what their heartbeat and
// their lock say decides.
func TestHoldersThatCannotBeLookedAt(t *testing.T) {
	away := func(edit func(*runner.Process)) runner.Process {
		p := self(t)
		edit(&p)
		return p
	}
	host := away(func(p *runner.Process) { p.Host = "login\x1b[31m7" })
	dead := away(func(p *runner.Process) { p.StartTicks++ })
	for name, c := range map[string]struct {
		by    runner.Process
		age   time.Duration
		phase Phase
		holds bool
	}{
		"another host, alive":           {host, 2 * time.Second, PhaseRunning, false},
		"another host, its clock ahead": {host, -time.Minute, PhaseRunning, false},
		"another host, gone":            {host, time.Minute, PhaseInterrupted, true},
		"this host, dead":               {dead, 0, PhaseInterrupted, true},
		"this host before it restarted": {away(func(p *runner.Process) { p.Boot = "other" }), 0, PhaseInterrupted, true},
		"this process, which left":      {self(t), 0, PhaseRunning, true},
		"another container, alive":      {away(func(p *runner.Process) { p.PIDSpace = "pid:[1]" }), 0, PhaseRunning, true}, // but its lock is free
		"this host, its lock deleted":   {away(func(p *runner.Process) { p.PID, p.StartTicks = parent(t) }), time.Hour, PhaseRunning, false},
		"nobody can tell":               {runner.Process{}, time.Second, PhaseRunning, false},
		"nobody could tell, long ago":   {runner.Process{}, time.Minute, PhaseInterrupted, true},
	} {
		s := create(t, 2)
		writeHolder(t, s, c.by, c.age)
		st := load(t, s)
		if st.Phase != c.phase || strings.Contains(st.Cause, "\x1b") {
			t.Errorf("%s: %s (%s)", name, st.Phase, st.Cause)
		}
		h, err := s.Hold(context.Background())
		var held ErrHeld
		if (err == nil) != c.holds || err != nil && !errors.As(err, &held) || strings.Contains(held.Host, "\x1b") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			must(t, h.Release())
		}
	}
}

// parent is a process that lives and is not this one.
func parent(t *testing.T) (pid int, ticks uint64) {
	t.Helper()
	pid = os.Getppid()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	ticks, err = strconv.ParseUint(fields[19], 10, 64) // the 22nd of proc(5)
	must(t, err)
	return pid, ticks
}

// TestTakenOver lets a program of another host take a sweep over from one that had shown no sign of life: when the
// first wakes up, it can write nothing more and notices.
func TestTakenOver(t *testing.T) {
	s := create(t, 2)
	first := hold(t, s)
	must(t, first.Begin("a0000000", 1))
	must(t, os.Remove(filepath.Join(s.Dir, HoldFile))) // another host's lock
	p := self(t)
	p.Host = "elsewhere"
	writeHolder(t, s, p, time.Minute)
	second := hold(t, s)
	if err := first.Began("a0000000", 1, "run-1"); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	<-first.Lost()
	must(t, first.Release())
	if st := load(t, s); !st.Held || st.Phase != PhaseRunning {
		t.Fatalf("the first one's release took the sweep from the second: %s", st.Phase)
	}
	must(t, second.Adopt("a0000000", 1, "run-1"))
	must(t, second.End("a0000000", Attempt{N: 1, State: "finished"}))
	if p := load(t, s).Point("a0000000"); p.Run() != "run-1" || !p.Attempts[0].Adopted || p.Status != Finished {
		t.Fatalf("%+v", p)
	}
}

// TestNoticesThatItWasReplaced waits for the heartbeat to see another's name.
func TestNoticesThatItWasReplaced(t *testing.T) {
	s := create(t, 2)
	h := hold(t, s)
	must(t, os.Remove(filepath.Join(s.Dir, HolderFile))) // by hand: nobody took anything over
	select {
	case <-h.Lost():
		t.Fatal("lost to nobody")
	case <-time.After(beatEvery + beatEvery/2):
	}
	writeHolder(t, s, runner.Process{PID: 1, Host: "elsewhere"}, 0)
	select {
	case <-h.Lost():
	case <-time.After(3 * beatEvery):
		t.Fatal("not noticed")
	}
	must(t, os.Remove(filepath.Join(s.Dir, HolderFile)))
}

// TestWorkedTime counts sittings, also those of programs that left without a word.
func TestWorkedTime(t *testing.T) {
	s := create(t, 2)
	p := self(t)
	p.StartTicks++ // dead
	base := time.Now().Add(-time.Hour)
	put := func(after time.Duration, l *line) {
		l.T = base.Add(after).UnixNano()
		data, err := l.encode()
		must(t, err)
		f, err := os.OpenFile(filepath.Join(s.Dir, JournalFile), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = f.Write(data)
		must(t, errors.Join(err, f.Close()))
	}
	worked := func(want time.Duration) {
		t.Helper()
		if got := load(t, s).Worked; got < want || got > want+5*time.Second {
			t.Errorf("worked %s, want %s", got, want)
		}
	}
	worked(0)
	put(0, &line{K: kindHold, Epoch: 1, Process: &p})
	put(10*time.Second, &line{K: kindRelease, Epoch: 1})
	worked(10 * time.Second)
	put(60*time.Second, &line{K: kindHold, Epoch: 2, Process: &p})
	put(65*time.Second, &line{K: kindNote, Epoch: 2, Cause: "x"})
	worked(15 * time.Second) // its last line
	writeHolder(t, s, p, time.Since(base.Add(80*time.Second)))
	worked(30 * time.Second) // its heartbeat
	h := hold(t, s)
	worked(30 * time.Second) // the new one's heartbeat is not the old one's
	must(t, h.Release())
	worked(30 * time.Second)
	put(0, &line{K: kindHold, Epoch: 4, Process: &p}) // a clock that goes back
	worked(30 * time.Second)
}

func TestReleaseTwice(t *testing.T) {
	s := create(t, 1)
	h := hold(t, s)
	must(t, h.Release())
	must(t, h.Release())
	if st := load(t, s); st.Phase != PhaseInterrupted || !strings.Contains(st.Cause, "has left") {
		t.Errorf("%s %s", st.Phase, st.Cause)
	}
	for _, name := range []string{HolderFile, ReserveFile} {
		if _, err := os.Lstat(filepath.Join(s.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

func TestHoldEndsWithItsContext(t *testing.T) {
	s := create(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Hold(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	hold(t, s)
}

// Whatever holder.json says, a look at the sweep ends, and names the holder in words that a terminal takes without harm.
func FuzzHolder(f *testing.F) {
	for _, text := range []string{`{"schema":1,"pid":7,"start_ticks":9,"host":"node1","boot":"b","started":"2026-01-02T03:04:05Z"}`,
		`{"pid":-7,"host":"\u001b[2J"}`, `{"pid":1}`, `{"pid":"x"}`, "{", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, HolderFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		p := look(dir, time.Now())
		if !p.named || runner.CleanTo(p.who(), 1<<10) != p.who() {
			t.Errorf("%v, %q", p.named, p.who())
		}
		if p.held && p.holder.PID <= 0 { // nothing beats here
			t.Errorf("process %d holds it", p.holder.PID)
		}
	})
}
