package sweep_test

import (
	"fmt"
	"testing"
	"time"

	"boost-tui/planner"
	"boost-tui/profiler/compare"
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/screen/sweep"
	"boost-tui/tui/testkit"

	tea "github.com/charmbracelet/bubbletea"
)

// large is a sweep of n points, all of which have figures.
func large(t testing.TB, n int) *screen.SweepView {
	t.Helper()
	f := space.File{Spec: space.Spec{Set: []space.Assign{{Key: "size", Value: "tiny"}}}}
	for _, text := range []string{"scheme=vanilla,btp", "tp=1,2", "rank=32,64", fmt.Sprintf("seed=1..%d", max(1, n/8))} {
		a, err := space.ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		f.Axes = append(f.Axes, a)
	}
	x, err := space.Expand(t.Context(), f.Spec, planner.Machine{Name: "test", MemBytes: 32 << 30, Cores: 8})
	if err != nil {
		t.Fatal(err)
	}
	st := &sweeps.State{ID: shownID, Created: testkit.Start, Base: x.Base, Axes: x.Keys, Options: sweeps.DefaultOptions(), Phase: sweeps.PhaseRunning}
	table := &results.Table{ID: st.ID, Axes: x.Keys}
	for i := range x.Points {
		e, err := x.Points[i].Experiment(x.Base)
		if err != nil {
			t.Fatal(err)
		}
		step, loss, memory := 0.1+float64(i%97)/1000, 2+float64(i%31)/100, int64(1+i%13)<<20
		st.Points = append(st.Points, &sweeps.PointState{Point: x.Points[i], Status: sweeps.Finished, Attempts: []sweeps.Attempt{{N: 1, Run: fmt.Sprintf("20261129-150000-tiny-cola-btp-tp1-%05d", i)}}})
		r := &results.Row{Point: x.Points[i].ID, Label: x.Points[i].Label, Run: st.Points[i].Run(), Status: sweeps.Finished, Experiment: e, Variant: "cola",
			Scheme: string(e.Parallel.Scheme), TP: e.Parallel.TP, Rank: e.Model.Rank, Size: "tiny", Tokens: 1024}
		r.Figures = compare.Summary{ID: r.Run, StepTimeMedian: &step, StepTimeCI: []float64{step, step}, LossLast: &loss, LossMeanLast20: &loss, PeakMemory: &memory}
		table.Rows = append(table.Rows, r)
	}
	return &screen.SweepView{State: st, File: f, Table: table}
}

// on is a screen that shows a sweep, without the root around it.
func on(t testing.TB, view *screen.SweepView) (*sweep.Model, *testkit.Sweeps) {
	m := sweep.New()
	env := testkit.Env(t, &testkit.Store{})
	s := &testkit.Sweeps{}
	s.Put(view)
	env.Sweeps = s
	env.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	m.Init(env)
	m.Load([]byte(`{"sweep":"` + view.State.ID + `"}`))
	cmd, _ := m.Update(msg.Shown{Screen: sweep.ID})
	m.Update(cmd())
	return m, s
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		view := large(b, n)
		b.Run(fmt.Sprintf("news of %d points", n), func(b *testing.B) {
			m, s := on(b, view)
			for range b.N {
				b.StopTimer()
				other := *view
				s.Put(&other)
				m.Update(msg.Hidden{Screen: sweep.ID})
				cmd, _ := m.Update(msg.Shown{Screen: sweep.ID})
				in := cmd()
				b.StartTimer()
				m.Update(in)
			}
		})
		b.Run(fmt.Sprintf("a key at %d points", n), func(b *testing.B) {
			m, _ := on(b, view)
			b.ResetTimer()
			for range b.N {
				m.Update(keys.Press("j"))
			}
		})
		b.Run(fmt.Sprintf("a filter key at %d points", n), func(b *testing.B) {
			m, _ := on(b, view)
			for _, k := range []string{"tab", "/", "b"} {
				m.Update(keys.Press(k))
			}
			b.ResetTimer()
			for i := range b.N {
				m.Update(keys.Press([]string{"t", "backspace"}[i%2]))
			}
		})
	}
}

func BenchmarkView(b *testing.B) {
	m, _ := on(b, large(b, 10000))
	b.ResetTimer()
	for range b.N {
		m.Update(keys.Press("j")) // or the drawing is kept
		m.View(layout.Rect{Y: 1, W: 200, H: 57})
	}
}

// slack is what limits are multiplied by: tests share the machine, and the race
// detector slows them down.
const slack = 5

// Nothing that a sweep of many points tells holds a key up.
func TestBudgets(t *testing.T) {
	m, s := on(t, large(t, 10000))
	quickest := func(f func()) time.Duration {
		best := time.Hour
		for range 5 {
			start := time.Now()
			f()
			best = min(best, time.Since(start))
		}
		return best
	}
	view := *s.Views[shownID]
	update := time.Hour
	news := quickest(func() { // the reading itself is in a Cmd
		other := view
		s.Put(&other)
		cmd, _ := m.Update(msg.Shown{Screen: sweep.ID})
		in := cmd()
		start := time.Now()
		m.Update(in)
		update = min(update, time.Since(start))
	})
	for _, k := range []string{"tab", "/"} {
		m.Update(keys.Press(k))
	}
	key := quickest(func() { m.Update(keys.Press("b")) })
	draw := quickest(func() {
		m.Update(keys.Press("down"))
		m.View(layout.Rect{Y: 1, W: 200, H: 57})
	})
	t.Logf("news %v, with reading %v, key %v, drawing %v", update, news, key, draw)
	if update > 5*time.Millisecond*slack {
		t.Errorf("news took %v", update)
	}
	if key > 5*time.Millisecond*slack || draw > 8*time.Millisecond*slack {
		t.Errorf("a key took %v, drawing %v", key, draw)
	}
}
