package record

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// writeSteps makes a rank's file of n steps, whose wall and loss can be told from the step.
func writeSteps(t testing.TB, dir string, rank, n int) {
	t.Helper()
	path := StepsPath(dir, rank)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f := must(os.Create(path))(t)
	var buf []byte
	for i := range n {
		l := fullStep(i)
		l.WallNanos += int64(rank) * 1000
		buf = append(l.Append(buf), '\n')
		if len(buf) > 1<<20 || i == n-1 {
			must(f.Write(buf))(t)
			buf = buf[:0]
		}
	}
	check(t, f.Close())
}

func rollUp(t testing.TB, dir string, ranks ...int) {
	t.Helper()
	w := must(OpenRollupWriter(dir, ranks))(t)
	must(w.Poll(context.Background()))(t)
	check(t, w.Close())
}

func wallOf(step int64) float64 { return float64(50_000_000+step%7*100_000) / 1e9 }

func lossOf(step int64) float64 { return 2.5 + 1/float64(step+1) }

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }

func TestSeriesAgreesWithTheSteps(t *testing.T) {
	const n = 30000
	for _, rolled := range []bool{false, true} {
		dir := t.TempDir()
		writeSteps(t, dir, 0, n)
		if rolled {
			rollUp(t, dir, 0)
		}
		s := must(OpenSeries(dir))(t)
		if s.fixed != rolled {
			t.Fatalf("rolled %v: reads %s", rolled, s.path)
		}
		check(t, s.Sample(100))
		if _, last, _ := s.Range(); last != n-1 {
			t.Errorf("rolled %v: the sample ends at step %d", rolled, last)
		}
		for i, c := range s.Columns(0, n-1, 20) {
			if c.Count == 0 || !c.Sampled() || c.WallMin < wallOf(0) || c.WallMax > wallOf(6) {
				t.Errorf("rolled %v: sampled column %d: %+v", rolled, i, c)
			}
		}
		for more := true; more; {
			more = must(s.Refine(100 << 10))(t)
		}
		for name, c := range map[string][2]int64{"whole": {0, n - 1}, "part": {100, 12345}, "few": {20000, 20049}, "one": {7, 7}} {
			checkColumns(t, name, c[0], c[1], must(s.Zoom(c[0], c[1], 50))(t))
		}
		if first, last, _ := s.Range(); first != 0 || last != n-1 || s.Skipped() != 0 {
			t.Errorf("range %d to %d, %d skipped", first, last, s.Skipped())
		}
	}
}

func checkColumns(t testing.TB, name string, from, to int64, cols []Column) {
	t.Helper()
	total := 0
	for i, c := range cols {
		if c.Count == 0 {
			continue
		}
		total += c.Count
		if c.Sampled() || int64(c.Count) != c.Last-c.First+1 {
			t.Fatalf("%s: column %d has %d steps of %d to %d", name, i, c.Count, c.First, c.Last)
		}
		if !near(c.LossMax, lossOf(c.First)) || !near(c.LossMin, lossOf(c.Last)) {
			t.Fatalf("%s: column %d: loss %v to %v", name, i, c.LossMin, c.LossMax)
		}
		if c.Count >= 7 && (!near(c.WallMin, wallOf(0)) || !near(c.WallMax, wallOf(6))) {
			t.Fatalf("%s: column %d: wall %v to %v", name, i, c.WallMin, c.WallMax)
		}
	}
	if int64(total) < to-from+1 {
		t.Errorf("%s: %d steps of %d", name, total, to-from+1)
	}
}

func TestSeriesFollowsAndSurvivesDamage(t *testing.T) {
	dir := t.TempDir()
	s := must(OpenSeries(dir))(t)
	if more := must(s.Refine(1 << 20))(t); more {
		t.Error("an empty run has more")
	}
	path := StepsPath(dir, 0)
	w := must(OpenWriter(path))(t)
	for i := range 10 {
		l := fullStep(i)
		check(t, w.Step(&l))
	}
	must(s.Refine(1 << 20))(t)
	appendTo(t, path, "garbage\n{\"t\":\"step\",\"step\":10,")
	must(s.Refine(1 << 20))(t)
	if _, last, ok := s.Range(); !ok || last != 9 || s.Skipped() != 1 {
		t.Errorf("last %d, ok %v, %d skipped", last, ok, s.Skipped())
	}
	appendTo(t, path, "\"wall_ns\":5}\n")
	must(s.Refine(1 << 20))(t)
	if _, last, _ := s.Range(); last != 10 {
		t.Errorf("last %d", last)
	}
	check(t, w.Close())
	writeSteps(t, dir, 0, 3)
	must(s.Refine(1 << 20))(t)
	if _, last, _ := s.Range(); last != 2 {
		t.Errorf("after the file was replaced: last %d", last)
	}
}

func TestRollupOverRanks(t *testing.T) {
	dir := t.TempDir()
	writeSteps(t, dir, 0, 100)
	writeSteps(t, dir, 1, 90) // died early
	w := must(OpenRollupWriter(dir, []int{0, 1}))(t)
	if n := must(w.Poll(context.Background()))(t); n != 90 {
		t.Errorf("%d steps complete, want 90", n)
	}
	check(t, w.Close())
	all := must(ReadRollup(dir, 0, 1000))(t)
	if len(all) != 100 {
		t.Fatalf("%d records", len(all))
	}
	for i, r := range all {
		ranks, slowest := 2, 1
		if i >= 90 {
			ranks, slowest = 1, 0
		}
		want := fullStep(i)
		if r.Step != int64(i) || r.Ranks != ranks || r.Slowest != slowest || r.Loss != want.Loss || r.Flags != want.Flags ||
			r.WallMinNanos != want.WallNanos || r.WallMaxNanos != want.WallNanos+int64(1000*(ranks-1)) ||
			math.Abs(float64(r.Idle)-float64(want.IdleNanos)) > 1 || r.CommBytes != want.CommBytes {
			t.Fatalf("step %d: %+v", i, r)
		}
	}
	// Continued after a crash that tore a record: nothing twice, nothing lost.
	f := must(os.OpenFile(RollupPath(dir), os.O_APPEND|os.O_WRONLY, 0))(t)
	must(f.WriteString("torn"))(t)
	check(t, f.Close())
	writeSteps(t, dir, 0, 110)
	writeSteps(t, dir, 1, 110)
	rollUp(t, dir, 0, 1)
	if last := must(LastRollup(dir, 2))(t); len(last) != 2 || last[1].Step != 109 || last[1].Ranks != 2 {
		t.Errorf("continued: %+v", last)
	}
	if all := must(ReadRollup(dir, 0, 1000))(t); len(all) != 110 {
		t.Errorf("%d records", len(all))
	}
}

func TestLastStepsAcrossBlocks(t *testing.T) {
	dir := t.TempDir()
	writeSteps(t, dir, 0, 1000)
	for _, n := range []int{1, 2, 500, 1000, 2000} {
		got := must(LastSteps(StepsPath(dir, 0), n))(t)
		if len(got) != min(n, 1000) || got[0].Step != int64(1000-min(n, 1000)) || got[len(got)-1].Step != 999 {
			t.Errorf("the last %d: %d lines", n, len(got))
		}
	}
	torn := filepath.Join(dir, "torn")
	appendTo(t, torn, `{"t":"step","step":1}`)
	if got := must(LastSteps(torn, 5))(t); len(got) != 0 {
		t.Errorf("a torn line was read: %+v", got)
	}
}

// No content of a file and no range may break a chart.
func FuzzSeries(f *testing.F) {
	l := fullStep(3)
	line := append(l.Append(nil), '\n')
	f.Add(append(line, line...), false, int64(0), int64(9))
	f.Add([]byte("{\"t\":\"step\",\"step\":9000000000000000000}\n\n{\"t\":\"step\",\"step\":1}\n"), false, int64(math.MinInt64), int64(math.MaxInt64))
	r := RollupStep{Step: 4, Loss: 2}
	f.Add(append(rollupHead(), make([]byte, 3*rollupRecord+5)...), true, int64(3), int64(3))
	rec := make([]byte, rollupRecord)
	r.put(rec)
	f.Add(append(rollupHead(), rec...), true, int64(0), int64(100))
	f.Fuzz(func(t *testing.T, data []byte, rolled bool, from, to int64) {
		dir := t.TempDir()
		path := StepsPath(dir, 0)
		if rolled {
			path = RollupPath(dir)
		}
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, data, 0o644))
		s, err := OpenSeries(dir)
		if err != nil {
			return
		}
		check(t, s.Sample(10))
		s.Columns(from, to, 7)
		for more := true; more; {
			more = must(s.Refine(100))(t)
		}
		s.Columns(from, to, 7)
		must(s.Zoom(from, to, 7))(t)
		s.Range()
		if _, err := EachStep(context.Background(), dir, func(*RollupStep) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// The speeds that the screens count on, at a million steps.
func BenchmarkSeriesOfAMillionSteps(b *testing.B) {
	const n = 1_000_000
	dir := b.TempDir()
	writeSteps(b, dir, 0, n)
	before := heap()
	s := must(OpenSeries(dir))(b)
	start := time.Now()
	check(b, s.Sample(400))
	s.Columns(0, n-1, 200)
	sampled := time.Since(start)
	for more := true; more; {
		more = must(s.Refine(4 << 20))(b)
	}
	full := time.Since(start)
	checkColumns(b, "from step lines", 0, n-1, s.Columns(0, n-1, 200))
	kept := heap() - before
	runtime.KeepAlive(s)
	rollUp(b, dir, 0)
	var rolled time.Duration
	for b.Loop() {
		start = time.Now()
		s = must(OpenSeries(dir))(b)
		must(s.Refine(math.MaxInt))(b)
		checkColumns(b, "from the rollup", 0, n-1, s.Columns(0, n-1, 200))
		rolled = time.Since(start)
	}
	b.ReportMetric(sampled.Seconds()*1e3, "ms/sample")
	b.ReportMetric(full.Seconds()*1e3, "ms/lines")
	b.ReportMetric(rolled.Seconds()*1e3, "ms/rollup")
	b.ReportMetric(float64(kept)/1e6, "MB/kept")
	if sampled > 100*time.Millisecond*slack || full > 5*time.Second*slack || kept > 10<<20 || rolled > 150*time.Millisecond*slack {
		b.Errorf("sample %v, lines %v, rollup %v, %d bytes kept: too slow or too large", sampled, full, rolled, kept)
	}
}

// slack keeps a loaded machine from failing the benchmark; its figures say more.
const slack = 5

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestSeriesKeepsTheFirstStepThatIsNoNumber(t *testing.T) {
	dir := t.TempDir()
	w := must(OpenWriter(StepsPath(dir, 0)))(t)
	for i := range 10 {
		l := NewStepLine(i)
		l.WallNanos, l.Loss = 1e6, 2
		if i == 4 || i == 6 {
			l.Loss, l.Flags = math.NaN(), NonFinite
		}
		check(t, w.Step(&l))
	}
	check(t, w.Close())
	for _, rolled := range []bool{false, true} {
		if rolled {
			rollUp(t, dir, 0)
		}
		s := must(OpenSeries(dir))(t)
		must(s.Refine(1 << 20))(t)
		c := s.Columns(0, 9, 2)
		if c[0].NonFinite != 4 || c[1].NonFinite != 6 || s.Columns(0, 3, 1)[0].NonFinite != Unknown {
			t.Errorf("rolled %v: %d and %d", rolled, c[0].NonFinite, c[1].NonFinite)
		}
		if c[0].NonFinites != 1 || c[1].NonFinites != 1 || s.Columns(0, 9, 1)[0].NonFinites != 2 {
			t.Errorf("rolled %v: so many: %d and %d", rolled, c[0].NonFinites, c[1].NonFinites)
		}
	}
}
