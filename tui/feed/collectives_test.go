package feed_test

import (
	"math"
	"os"
	"testing"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
	"boost-tui/tui/feed"
)

func span(start, dur int64, op string, seq int) record.Span {
	return record.Span{StartNanos: start, DurNanos: dur, Label: kernels.Label{Phase: kernels.Forward, Op: op}, Op: kernels.AllReduce.String(), Class: kernels.Communication, Group: "tp", Seq: seq}
}

func writeTimeline(t testing.TB, dir string, rank int, steps map[int][]record.Span) {
	t.Helper()
	w, err := record.OpenTimelineWriter(record.TimelinePath(dir, rank), rank, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{5, 50} {
		if err := w.Write(step, steps[step]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is waited and what is transferred sums, per step, over the calls of a
// kind; a collective that a rank lacks is left out.
func TestCollectivesAreMeansOfSampledSteps(t *testing.T) {
	dir := t.TempDir()
	if c, err := feed.ReadCollectives(dir); err != nil || len(c.Kinds) > 0 {
		t.Errorf("of nothing: %+v, %v", c, err)
	}
	writeTimeline(t, dir, 0, map[int][]record.Span{5: {span(1e9, 6e6, "qkv", 0), span(2e9, 4e6, "o", 1)}, 50: {span(3e9, 6e6, "qkv", 0), span(4e9, 2e6, "qkv", 1), span(5e9, 1e6, "o", 2)}})
	writeTimeline(t, dir, 1, map[int][]record.Span{5: {span(1e9+4e6, 2e6, "qkv", 0), span(2e9, 4e6, "o", 1)}, 50: {span(3e9, 6e6, "qkv", 0), span(4e9, 2e6, "qkv", 1)}})
	c, err := feed.ReadCollectives(dir)
	if err != nil || c.Steps != 2 || len(c.Kinds) != 2 || c.TooLong {
		t.Fatalf("%+v, %v", c, err)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	// qkv: waits 2 ms in the mean of the ranks once; transfers 2, 6 and 2 ms in two steps.
	if k := c.Kinds[0]; k.Name != "forward all-reduce qkv" || !near(k.Wait, 1e-3) || !near(k.Transfer, 5e-3) || !near(k.Calls, 1.5) {
		t.Errorf("%+v", k)
	}
	if k := c.Kinds[1]; k.Name != "forward all-reduce o" || !near(k.Wait, 0) || !near(k.Transfer, 2e-3) || !near(k.Calls, 0.5) {
		t.Errorf("%+v", k)
	}
}

func TestLongTimelinesAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	writeTimeline(t, dir, 0, nil)
	if err := os.Truncate(record.TimelinePath(dir, 0), 1<<30); err != nil {
		t.Fatal(err)
	}
	if c, err := feed.ReadCollectives(dir); err != nil || !c.TooLong {
		t.Errorf("%+v, %v", c, err)
	}
	size, err := feed.TimelineBytes(dir)
	if err != nil || size != 1<<30 {
		t.Errorf("%d bytes, %v", size, err)
	}
}

func BenchmarkReadCollectives(b *testing.B) {
	dir := os.Getenv("BOOST_BENCH_RUN")
	if dir == "" {
		b.Skip("BOOST_BENCH_RUN names a run")
	}
	for b.Loop() {
		if _, err := feed.ReadCollectives(dir); err != nil {
			b.Fatal(err)
		}
	}
}
