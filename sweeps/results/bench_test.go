package results

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// thousand is a sweep of 1,000 points: families of a full-rank twin with four ranks of vanilla and btp, at three seeds, along
// another axis. Along seq the steps of each value do something else; along lr they do the same, so that all of a scheme
// and a rank are repeats of each other.
func thousand(t testing.TB, axis string) *fake {
	f := newFake(t, []string{axis, "scheme", "rank", "seed"}, "size", "tiny", "variant", "cola", "steps", "60", "tp", "2")
	for family := 0; len(f.st.Points) < 1000; family++ {
		value, seed := fmt.Sprint(1+family/3), fmt.Sprint(1+family%3)
		full := f.point(fmt.Sprintf("f%d", family), "variant", "full", "scheme", "full-rank", axis, value, "seed", seed)
		full.Full = full.ID
		for rank := 8; rank <= 64 && len(f.st.Points) < 1000; rank *= 2 {
			van := f.point(fmt.Sprintf("v%d-%d", family, rank), "scheme", "vanilla", "rank", fmt.Sprint(rank), axis, value, "seed", seed)
			btp := f.point(fmt.Sprintf("b%d-%d", family, rank), "scheme", "btp", "rank", fmt.Sprint(rank), axis, value, "seed", seed)
			van.Full, van.Vanilla, btp.Full, btp.Vanilla = full.ID, van.ID, full.ID, van.ID
		}
	}
	for _, p := range append([]*sweeps.PointState{}, f.st.Queue...) {
		f.run(p, dose{wall: 0.4, loss: 2, memory: 1 << 20})
	}
	return f
}

// A refresh of 1,000 finished runs of which one has changed must take less than 200 ms.
func BenchmarkRefresh(b *testing.B) {
	for _, axis := range []string{"seq", "lr"} {
		f := thousand(b, axis)
		for what, at := range map[string]int{"twin": 0, "point": 2} {
			b.Run(axis+"/"+what, func(b *testing.B) {
				c := NewCache()
				began := time.Now()
				f.measure(c)
				first := time.Since(began)
				changed := f.st.Points[at]
				for i := 0; b.Loop(); i++ {
					b.StopTimer()
					touch(b, filepath.Join(f.store.Dir(changed.Run()), "result.json"), i)
					b.StartTimer()
					f.measure(c)
				}
				b.ReportMetric(first.Seconds()*1e3, "ms/first")
			})
		}
	}
}

// touch makes a file look changed.
func touch(t testing.TB, path string, i int) {
	at := time.Now().Add(time.Duration(i) * time.Millisecond)
	ok(t, os.Chtimes(path, at, at))
}

// vast is a sweep of 141,000 points, of which a few have finished.
func vast(t testing.TB) *fake {
	f := newFake(t, []string{"scheme", "tp", "rank", "lr", "seed"}, "size", "tiny", "variant", "cola", "steps", "60")
	for i := range 141_000 {
		p := &sweeps.PointState{Status: sweeps.Queued, Point: space.Point{ID: fmt.Sprintf("%016x", i), Label: fmt.Sprint(i), Ranks: 1, Steps: 60, FLOPs: 1e9, Set: []space.Assign{
			{Key: "scheme", Value: []string{"vanilla", "btp"}[i%2]}, {Key: "tp", Value: fmt.Sprint(1 + i/2%2)}, {Key: "rank", Value: fmt.Sprint(8 + i/4%100)},
			{Key: "lr", Value: fmt.Sprint(1+i/400, "e-6")}, {Key: "seed", Value: fmt.Sprint(i)}}}}
		f.st.Points, f.st.Queue = append(f.st.Points, p), append(f.st.Queue, p)
	}
	for _, p := range append([]*sweeps.PointState{}, f.st.Queue[:5]...) {
		f.run(p, dose{wall: 0.4, loss: 2, memory: 1 << 20})
	}
	return f
}

// What is left of a vast sweep must be known in half a second: sweep status waits for it.
func BenchmarkEstimate(b *testing.B) {
	f := vast(b)
	for b.Loop() {
		_, err := EstimateSweep(b.Context(), f.store, f.st, nil)
		ok(b, err)
	}
}

// The table of a vast sweep must be there in two seconds.
func BenchmarkMeasure(b *testing.B) {
	f, c := vast(b), NewCache()
	for b.Loop() {
		f.measure(c)
	}
}

// Looks at the table of a vast sweep, and ways to write it.
func BenchmarkLook(b *testing.B) {
	t := vast(b).measure(nil)
	where := func(line string) {
		keep, err := t.Where(line)
		ok(b, err)
		t.Filter(keep)
	}
	for name, do := range map[string]func(){
		"sort by metric": func() { ok(b, t.Sort(StepTime, false)) },
		"sort by key":    func() { ok(b, t.Sort("lr", false)) },
		"filter":         func() { where("scheme=btp rank>=32 loss_last<3") },
		"words":          func() { where("btp") },
		"heat":           func() { _, err := t.Heat("rank", "tp", StepTime); ok(b, err) },
		"pareto":         func() { t.Pareto() },
		"best":           func() { t.BestPerSize() },
		"notes":          func() { t.Notes() },
		"text":           func() { ok(b, t.Text(io.Discard, 120)) },
		"csv":            func() { ok(b, t.CSV(io.Discard)) },
		"json":           func() { _, err := json.Marshal(t); ok(b, err) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				do()
			}
		})
	}
}

// However many points there are, a point costs little: spelling it out as text cost a hundred microseconds.
func TestPointsAreCheap(t *testing.T) {
	f := usual(t)
	f.run(f.st.Points[0], dose{wall: 0.4, loss: 2})
	for len(f.st.Queue) < 1000 {
		p := *f.st.Queue[len(f.st.Queue)%9]
		p.ID = fmt.Sprint("more", len(f.st.Queue))
		f.st.Points, f.st.Queue = append(f.st.Points, &p), append(f.st.Queue, &p)
	}
	c := NewCache()
	f.measure(c)
	const perPoint = 5
	for name, do := range map[string]func(){
		"estimate": func() { _, err := EstimateSweep(t.Context(), f.store, f.st, c); ok(t, err) },
		"measure":  func() { f.measure(c) },
	} {
		if n := testing.AllocsPerRun(3, do); n > perPoint*1000 {
			t.Errorf("%s makes %v allocations for 1,000 points", name, n)
		}
	}
}
