package results

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/sweeps"
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
