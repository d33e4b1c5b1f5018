package sweeps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps/space"
)

// expansion is a space of n points, the first of them a twin of all others.
func expansion(n int, prefix string) *space.Expansion {
	x := &space.Expansion{Base: experiment.Default(), Keys: []string{"tp", "rank"}, Raw: n}
	for i := range n {
		x.Points = append(x.Points, space.Point{
			ID: fmt.Sprintf("%s%07x", prefix, i), Full: prefix + "0000000", Twin: i == 0, FLOPs: float64(1e9 + 1e6*float64(i*7919%n)), Ranks: 1 + i%2, Steps: 20,
			Set:   []space.Assign{{Key: "scheme", Value: "btp"}, {Key: "tp", Value: "2"}, {Key: "rank", Value: fmt.Sprint(32 + i)}},
			Label: fmt.Sprintf("btp tp 2 rank %d", 32+i),
		})
	}
	x.Pruned = []space.Pruned{{Point: "tp 3", Rule: "heads", Reason: "4 heads do not divide by tp 3"}}
	return x
}

func file(name string) space.File {
	return space.File{Spec: space.Spec{Name: name, Axes: []space.Axis{{Keys: []string{"rank"}, Values: [][]string{{"32"}, {"64"}}}}}}
}

func create(t testing.TB, n int) *Sweep {
	t.Helper()
	s, err := OpenFolder(runner.NewStore(t.TempDir())).Create(file("Try it"), expansion(n, "a"), DefaultOptions(), []string{"boost-tui", "sweep"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t testing.TB, s *Sweep) *State {
	t.Helper()
	st, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckLegal(st); err != nil {
		t.Fatal(err)
	}
	return st
}

func hold(t testing.TB, s *Sweep) *Hold {
	t.Helper()
	h, err := s.Hold(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Release(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLifeOfASweep(t *testing.T) {
	s := create(t, 4)
	if !strings.Contains(s.ID, "-tryit-") {
		t.Errorf("id %s", s.ID)
	}
	st := load(t, s)
	if st.Phase != PhaseWaiting || st.Cause != "nobody has started it" || len(st.Queue) != 4 || st.Name != "Try it" || len(st.Pruned) != 1 || st.Options != DefaultOptions() || strings.Join(st.Axes, " ") != "tp rank" {
		t.Fatalf("%+v", st)
	}
	h := hold(t, s)
	f := s.Follow()
	next := func(changed bool) *State {
		t.Helper()
		st, is, err := f.Next()
		must(t, err)
		must(t, CheckLegal(st))
		if is != changed {
			t.Fatalf("changed %v", is)
		}
		return st
	}
	if st = next(true); st.Phase != PhaseRunning || !st.Held || st.Holder.PID != os.Getpid() {
		t.Fatalf("%s %+v", st.Phase, st.Holder)
	}
	next(false)
	id := st.Queue[0].ID
	must(t, h.Begin(id, 1))
	if err := h.Begin(id, 1); !errors.Is(err, ErrChanged) {
		t.Fatal(err)
	}
	must(t, h.Began(id, 1, "run-1"))
	before := next(true)
	must(t, h.End(id, Attempt{N: 1, State: string(runner.Finished), Seconds: 3600}))
	if before.Point(id).Status != Running || !before.Point(id).Attempts[0].Ended.IsZero() {
		t.Fatal("a snapshot changed")
	}
	if st = next(true); st.Point(id).Status != Finished || st.DeviceHours != 1 || len(st.Pace) != 1 || len(st.Queue) != 3 {
		t.Fatalf("%+v", st)
	}
	must(t, s.Pause("anna", false))
	if st = next(true); st.Phase != PhasePaused || st.Cause != "paused by anna" || st.PauseNow {
		t.Fatalf("%s %s", st.Phase, st.Cause)
	}
	if err := h.Begin(st.Queue[0].ID, 1); !errors.Is(err, ErrChanged) {
		t.Fatal(err)
	}
	must(t, s.Resume("anna"))
	must(t, s.Skip([]string{st.Queue[0].ID}))
	must(t, s.Reorder([]string{st.Queue[2].ID}))
	was := st
	if st = next(true); st.Queue[0].ID != was.Queue[2].ID || len(st.Queue) != 2 || st.Count(Skipped) != 1 {
		t.Fatalf("%+v", st.Queue)
	}
	must(t, s.Grow(file("grown"), expansion(6, "a")))
	if st = next(true); len(st.Points) != 6 || st.Points[5].Plan != 1 || len(st.Keys) != 2 {
		t.Fatalf("%d points", len(st.Points))
	}
	if err := s.Grow(file("grown"), expansion(6, "a")); !errors.Is(err, ErrNothingNew) {
		t.Fatal(err)
	}
	must(t, h.Stop("it is late"))
	must(t, h.Release())
	if st = next(true); st.Phase != PhaseStopped || st.Held || st.Cause != "it is late" {
		t.Fatalf("%+v", st)
	}
	if err := h.Note("x"); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
}

func TestDeletedUnderItsHolder(t *testing.T) {
	s := create(t, 2)
	h := hold(t, s)
	f := s.Follow()
	if _, _, err := f.Next(); err != nil {
		t.Fatal(err)
	}
	must(t, os.RemoveAll(s.Dir))
	if err := h.Begin("a0000000", 1); !errors.Is(err, ErrDeleted) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	select {
	case <-h.Lost():
	case <-time.After(5 * time.Second):
		t.Fatal("not lost")
	}
	if _, _, err := f.Next(); !errors.Is(err, ErrDeleted) {
		t.Fatal(err)
	}
	must(t, h.Release())
	if _, err := os.Lstat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("it came back")
	}
}

func TestListFindSame(t *testing.T) {
	folder := OpenFolder(runner.NewStore(t.TempDir()))
	if infos, errs := folder.List(context.Background()); len(infos)+len(errs) != 0 {
		t.Fatal(infos, errs)
	}
	s, err := folder.Create(file("one"), expansion(2, "a"), DefaultOptions(), nil)
	must(t, err)
	must(t, os.Mkdir(filepath.Join(folder.Root, "other"), 0o700))
	infos, errs := folder.List(context.Background())
	if len(errs) > 0 || len(infos) != 1 || infos[0].Points != 2 || infos[0].Counts[Queued] != 2 {
		t.Fatal(infos, errs)
	}
	for _, name := range []string{s.ID, s.ID[:9], "one", s.ID[len(s.ID)-4:]} {
		if got, err := folder.Find(name); err != nil || got.ID != s.ID {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "..", "other", "a/b"} {
		if _, err := folder.Find(name); err == nil {
			t.Errorf("found %q", name)
		}
	}
	if got, ok, err := folder.Same(file("one").Spec.Key()); err != nil || !ok || got.ID != s.ID {
		t.Fatal(got, ok, err)
	}
	if _, ok, err := folder.Same("x"); ok || err != nil {
		t.Fatal(ok, err)
	}
	must(t, s.Skip([]string{"a0000000", "a0000001"}))
	if _, ok, err := folder.Same(file("one").Spec.Key()); ok || err != nil {
		t.Fatal("a finished sweep is the same", err)
	}
}

// A sweep that cannot be read at the moment is not absent: its points must not run a second time.
func TestSameUnreadable(t *testing.T) {
	folder := OpenFolder(runner.NewStore(t.TempDir()))
	s, err := folder.Create(file("one"), expansion(2, "a"), DefaultOptions(), nil)
	must(t, err)
	plan := filepath.Join(s.Dir, planFile(0))
	must(t, os.Rename(plan, plan+".away"))
	if _, ok, err := folder.Same(file("one").Spec.Key()); ok || err == nil || !strings.Contains(err.Error(), s.ID) {
		t.Fatal("taken for absent", ok, err)
	}
	if _, ok, err := folder.Same("x"); ok || err != nil {
		t.Fatal("stands in the way of another space", ok, err)
	}
	must(t, os.Rename(plan+".away", plan))
	if got, ok, err := folder.Same(file("one").Spec.Key()); err != nil || !ok || got.ID != s.ID {
		t.Fatal(got, ok, err)
	}
}

func BenchmarkLoad10000(b *testing.B) {
	s := create(b, 10_000)
	f, err := os.OpenFile(filepath.Join(s.Dir, JournalFile), os.O_WRONLY|os.O_APPEND, 0)
	must(b, err)
	put := func(l *line) {
		l.Epoch, l.T = 1, time.Now().UnixNano()
		data, err := l.encode()
		must(b, err)
		if _, err := f.Write(data); err != nil {
			b.Fatal(err)
		}
	}
	me, err := runner.Self()
	must(b, err)
	put(&line{K: kindHold, Process: &me})
	for i := range 10_000 {
		id := fmt.Sprintf("a%07x", i)
		put(&line{K: kindBegin, Point: id, Attempt: 1})
		put(&line{K: kindRun, Point: id, Attempt: 1, Run: fmt.Sprintf("20261129-152049-tiny-cola-btp-tp2-%07x", i)})
		put(&line{K: kindEnd, Point: id, Attempt: 1, State: "finished", Seconds: 12.3456789, Ended: time.Now().UnixNano()})
	}
	must(b, f.Close())
	b.ResetTimer()
	for b.Loop() {
		if st := load(b, s); st.Phase != PhaseFinished || st.BadLines != 0 {
			b.Fatal(st.Phase, st.BadLines)
		}
	}
}
