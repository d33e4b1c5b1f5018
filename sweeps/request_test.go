package sweeps

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
)

// TestWishesThatDoNotFit are answered with what stands in their way, and change nothing.
func TestWishesThatDoNotFit(t *testing.T) {
	s := create(t, 5)
	h := hold(t, s)
	for i, state := range []runner.State{"", runner.Finished, runner.Failed} {
		id := expansion(5, "a").Points[i].ID
		must(t, h.Begin(id, 1))
		if state != "" {
			must(t, h.End(id, Attempt{N: 1, State: string(state)}))
		}
	}
	const running, finished, failed, queued = "a0000000", "a0000001", "a0000002", "a0000003"
	before, err := os.ReadFile(filepath.Join(s.Dir, JournalFile))
	must(t, err)
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"skip what runs":      {s.Skip([]string{queued, running}), "is running; only queued points can be skipped"},
		"skip what is done":   {s.Skip([]string{finished}), "finished"},
		"skip nobody":         {s.Skip([]string{"x\x1b[0m"}), "no point \"x\""},
		"retry what is done":  {s.Retry([]string{failed, finished}), "finished"},
		"retry what waits":    {s.Retry([]string{queued}), "queued"},
		"again what waits":    {s.RetryAgain([]string{finished, queued}), "queued"},
		"again what runs":     {s.RetryAgain([]string{running}), "running; only points that are over run again"},
		"move what runs":      {s.Reorder([]string{running}), "running"},
		"a long list":         {s.Skip([]string{"1", "2", "3", "4", "5", "6", "7"}), "and 2 more"},
		"begin what is done":  {h.Begin(finished, 2), "finished"},
		"begin what ran once": {h.Begin(queued, 2), "after 0 attempts"},
		"begin nobody":        {h.Begin("none", 1), "no point"},
		"end what waits":      {h.End(queued, Attempt{N: 1, State: "finished"}), "queued"},
		"end another attempt": {h.End(running, Attempt{N: 2, State: "finished"}), "attempt 2"},
		"adopt nobody":        {h.Adopt("none", 1, "r"), "no such point"},
	} {
		if !errors.Is(c.err, ErrChanged) || !strings.Contains(c.err.Error(), c.says) || strings.Contains(c.err.Error(), "\x1b") {
			t.Errorf("%s: %v", name, c.err)
		}
		if who := strings.Fields(name)[0]; (who == "skip" || who == "retry" || who == "again" || who == "move") && strings.Contains(c.err.Error(), "meanwhile") {
			t.Errorf("%s: a wish that never fitted is not one that came too late: %v", name, c.err)
		}
	}
	if err := h.End(running, Attempt{N: 1, State: "pending"}); err == nil {
		t.Error("an end that is none")
	}
	if err := s.SetOptions(Options{}); err == nil || !strings.Contains(err.Error(), "at-once") {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"resume what goes on": s.Resume("x"), "the same options": s.SetOptions(DefaultOptions()), "move nothing": s.Reorder(nil), "skip nothing": s.Skip(nil),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	after, err := os.ReadFile(filepath.Join(s.Dir, JournalFile))
	must(t, err)
	if string(after) != string(before) {
		t.Errorf("something was written: %s", after[len(before):])
	}
	must(t, s.Retry([]string{failed}))
	if p := load(t, s).Point(failed); p.Status != Queued || p.Cause != "" {
		t.Errorf("%+v", p)
	}
}

func TestPauseOfAFinishedSweep(t *testing.T) {
	s := create(t, 1)
	must(t, s.Pause("anna", false))
	must(t, s.Pause("bert", true)) // more than anna asked for
	must(t, s.Pause("carl", false))
	if st := load(t, s); st.Phase != PhasePaused || st.Cause != "paused by bert" || !st.PauseNow {
		t.Errorf("%s %s %v", st.Phase, st.Cause, st.PauseNow)
	}
	must(t, s.Skip([]string{"a0000000"}))
	if st := load(t, s); st.Phase != PhaseFinished {
		t.Errorf("%s", st.Phase)
	}
	if err := s.Pause("x", true); !errors.Is(err, ErrChanged) || err.Error() != "pause sweep "+s.ID+": every point of it is over, so there is nothing to pause" {
		t.Error(err)
	}
	must(t, s.Retry([]string{"a0000000"}))
	if st := load(t, s); st.Phase != PhasePaused {
		t.Errorf("%s", st.Phase)
	}
}

func TestFindNothing(t *testing.T) {
	f := OpenFolder(runner.NewStore(t.TempDir()))
	if _, err := f.Find("x"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "sweep list") {
		t.Error(err)
	}
	for range 2 {
		_, err := f.Create(file("two"), expansion(1, "a"), DefaultOptions(), nil)
		must(t, err)
	}
	if _, err := f.Find("two"); err == nil || !strings.Contains(err.Error(), "fits 2") {
		t.Error(err)
	}
	if _, err := Open(f.Root); err == nil {
		t.Error("a folder of sweeps is a sweep")
	}
	s, made, err := f.SameOrCreate(file("two"), expansion(1, "a"), DefaultOptions(), nil)
	if err != nil || made || s.ID != f.newest(t) {
		t.Error(s, made, err)
	}
	for name, x := range map[string]error{"no points": creates(f, 0, DefaultOptions()), "no options": creates(f, 1, Options{})} {
		if x == nil {
			t.Errorf("%s: made", name)
		}
	}
}

func creates(f *Folder, points int, o Options) error {
	_, err := f.Create(file("x"), expansion(points, "a"), o, nil)
	return err
}

func (f *Folder) newest(t *testing.T) string {
	ids, err := f.ids()
	must(t, err)
	return ids[len(ids)-1]
}

// TestCheckLegal makes each impossible thing come true.
func TestCheckLegal(t *testing.T) {
	state := func() *State {
		h := newHistory(0)
		h.put(&line{K: kindHold, Epoch: 1, Process: &runner.Process{PID: 1}})
		for i, id := range []string{"a0000000", "a0000001"} {
			h.put(&line{K: kindBegin, Epoch: 1, Point: id, Attempt: 1})
			h.put(&line{K: kindRun, Epoch: 1, Point: id, Attempt: 1, Run: "run" + id})
			if i == 0 {
				h.put(&line{K: kindEnd, Epoch: 1, Point: id, Attempt: 1, State: "finished", Seconds: 1})
			}
		}
		h.tail.take(t, h.data)
		return h.tail.legal(t)
	}
	for name, spoil := range map[string]func(st *State, done, running, queued *PointState){
		"a point twice":            func(st *State, d, _, _ *PointState) { st.Points = append(st.Points, d) },
		"a run twice":              func(_ *State, d, r, _ *PointState) { r.Attempts[0].Run = d.Attempts[0].Run },
		"not in the queue":         func(st *State, _, _, _ *PointState) { st.Queue = nil },
		"twice in the queue":       func(st *State, _, _, q *PointState) { st.Queue = append(st.Queue, q) },
		"running in the queue":     func(st *State, _, r, _ *PointState) { st.Queue = append(st.Queue, r) },
		"finished too early":       func(st *State, _, _, _ *PointState) { st.Phase = PhaseFinished },
		"hours from nowhere":       func(st *State, _, _, _ *PointState) { st.DeviceHours++ },
		"failures below zero":      func(st *State, _, _, _ *PointState) { st.Failures = -1 },
		"options":                  func(st *State, _, _, _ *PointState) { st.Options.AtOnce = 0 },
		"an attempt's number":      func(_ *State, d, _, _ *PointState) { d.Attempts[0].N = 2 },
		"two attempts at once":     func(_ *State, _, r, _ *PointState) { r.Attempts = append(r.Attempts, Attempt{N: 2}) },
		"an end without a state":   func(_ *State, d, _, _ *PointState) { d.Attempts[0].State = "" },
		"a state without an end":   func(_ *State, _, r, _ *PointState) { r.Attempts[0].State = "failed" },
		"an end before its start":  func(_ *State, d, _, _ *PointState) { d.Attempts[0].Ended = d.Attempts[0].Begun.Add(-time.Second) },
		"queued, though finished":  func(st *State, d, _, _ *PointState) { d.Status = Queued; st.Queue = append(st.Queue, d) },
		"running, though queued":   func(_ *State, _, _, q *PointState) { q.Status = Running },
		"stopped by no rule":       func(_ *State, _, _, q *PointState) { q.Status = Stopped },
		"failed without a try":     func(_ *State, _, _, q *PointState) { q.Status = Failed },
		"cancelled without a try":  func(_ *State, _, _, q *PointState) { q.Status = Cancelled },
		"a status of its own":      func(_ *State, _, _, q *PointState) { q.Status = "lucky" },
		"replaced by nothing":      func(_ *State, d, _, _ *PointState) { d.Attempts[0].Replaced = true },
		"replaced before its end":  func(_ *State, _, r, _ *PointState) { r.Attempts[0].Replaced = true },
		"failed, though finished":  func(_ *State, d, _, _ *PointState) { d.Attempts[0].Replaced, d.Status = true, Failed },
		"skipped, though finished": func(_ *State, d, _, _ *PointState) { d.Attempts[0].Replaced, d.Status = true, Skipped },
		"less than no time":        func(_ *State, d, _, _ *PointState) { d.Attempts[0].Seconds = -1 },
		"begun again after it was": func(_ *State, d, _, _ *PointState) { d.Status, d.Attempts = Running, append(d.Attempts, Attempt{N: 2}) },
	} {
		st := state()
		spoil(st, st.Points[0], st.Points[1], st.Points[2])
		if CheckLegal(st) == nil {
			t.Errorf("%s is legal", name)
		}
	}
}
