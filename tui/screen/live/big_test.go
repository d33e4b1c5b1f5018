package live_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"

	tea "github.com/charmbracelet/bubbletea"
)

// slack is what limits are multiplied by: tests share the machine, and the race
// detector slows them. The benchmarks below measure.
const slack = 5

// bigRun is a finished run of n steps with a rollup. The rollup repeats that of
// a small run with other step numbers, which is much faster than n steps.
func bigRun(t testing.TB, n int) runner.Info {
	t.Helper()
	const sample, head, size = 1000, 64, 128
	r := fullRank(t)
	r.Ranks, r.Steps, r.Rollup = 1, sample, true
	r.Experiment.Parallel.TP, r.Experiment.Train.Steps = 1, n
	info := r.Write(t, t.TempDir())
	small, err := os.ReadFile(record.RollupPath(info.Dir))
	if err != nil || len(small) != head+sample*size {
		t.Fatalf("%d bytes of rollup, %v", len(small), err)
	}
	var b bytes.Buffer
	b.Write(small[:head])
	for step := 1; step <= n; step++ {
		at := head + (step-1)%sample*size
		binary.LittleEndian.PutUint32(small[at:], uint32(step))
		b.Write(small[at : at+size])
	}
	if err := os.WriteFile(record.RollupPath(info.Dir), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	// The step lines' end, which the breakdown is read from.
	if err := os.Remove(record.StepsPath(info.Dir, 0)); err != nil {
		t.Fatal(err)
	}
	appendSteps(t, info.Dir, r, n-99, n)
	return info
}

// P23: a run of a million steps shows a chart at the first read, and no read
// takes longer than its budget allows.
func TestAMillionSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 128 MB")
	}
	info := bigRun(t, 1_000_000)
	store := &testkit.Store{Infos: []runner.Info{info}}
	m := live.New()
	env := testkit.Env(t, store)
	env.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	m.Init(env)
	m.Update(msg.Runs{Infos: store.Infos})
	begin := time.Now()
	cmd, _ := m.Update(msg.Shown{Screen: live.ID})
	reads, slowest := 0, time.Duration(0)
	var firstChart time.Duration
	for queue := []tea.Cmd{cmd}; len(queue) > 0; {
		next := queue[0]
		queue = queue[1:]
		if next == nil {
			continue
		}
		start := time.Now()
		out := next()
		switch out := out.(type) {
		case tea.BatchMsg:
			queue = append(queue, out...)
			continue
		case nil:
			continue
		}
		slowest = max(slowest, time.Since(start))
		reads++
		follow, _ := m.Update(out)
		queue = append(queue, follow)
		if firstChart == 0 && !strings.Contains(m.View(layout.Rect{W: 120, H: 33}), "no step yet") {
			firstChart = time.Since(begin)
		}
	}
	whole := time.Since(begin)
	if strings.Contains(m.View(layout.Rect{W: 120, H: 33}), "reading") {
		t.Error("not read to the end")
	}
	t.Logf("first chart %v, whole %v, %d reads, slowest %v", firstChart, whole, reads, slowest)
	if firstChart > 200*time.Millisecond*slack || slowest > (feed.Budget+30*time.Millisecond)*slack || firstChart == 0 {
		t.Errorf("first chart %v, slowest read %v", firstChart, slowest)
	}
}

// open shows a run until it is read to its end and returns the time to the first chart.
func open(t testing.TB, info runner.Info) time.Duration {
	m := live.New()
	env := testkit.Env(t, &testkit.Store{})
	env.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	m.Init(env)
	m.Update(msg.Runs{Infos: []runner.Info{info}})
	begin := time.Now()
	first := time.Duration(0)
	queue := []tea.Cmd{}
	add := func(c tea.Cmd) {
		if c != nil {
			queue = append(queue, c)
		}
	}
	c, _ := m.Update(msg.Shown{Screen: live.ID})
	for add(c); len(queue) > 0; {
		next := queue[0]
		queue = queue[1:]
		switch out := next().(type) {
		case tea.BatchMsg:
			for _, c := range out {
				add(c)
			}
		case nil:
		default:
			c, _ := m.Update(out)
			add(c)
			view := m.View(layout.Rect{W: 120, H: 33})
			if first == 0 && !strings.Contains(view, "no step yet") {
				first = time.Since(begin)
			}
		}
	}
	return first
}

func benchmarkOpen(b *testing.B, n int) {
	info := bigRun(b, n)
	b.ReportAllocs()
	var first time.Duration
	for b.Loop() {
		first += open(b, info)
	}
	b.ReportMetric(float64(first.Microseconds())/float64(b.N)/1000, "ms-to-chart")
}

func BenchmarkOpen100kSteps(b *testing.B) { benchmarkOpen(b, 100_000) }
func BenchmarkOpen1mSteps(b *testing.B)   { benchmarkOpen(b, 1_000_000) }

// Without a rollup (a run of somebody else's program, a rank alone) the step
// lines are read instead.
func BenchmarkOpen100kStepLines(b *testing.B) {
	r := fullRank(b)
	r.Ranks, r.Steps = 1, 100_000
	info := r.Write(b, b.TempDir())
	b.ReportAllocs()
	var first time.Duration
	for b.Loop() {
		first += open(b, info)
	}
	b.ReportMetric(float64(first.Microseconds())/float64(b.N)/1000, "ms-to-chart")
}

// BenchmarkLiveSecond is what a second of a run of four ranks at five steps a
// second costs: reading what is new, and drawing. 30 ms would be 3 % of a core.
func BenchmarkLiveSecond(b *testing.B) {
	r := btp(b)
	d, store := start(b, 120, 36, r)
	step := r.Steps
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		appendSteps(b, store.Infos[0].Dir, r, step+1, step+5)
		step += 5
		b.StartTimer()
		d.Advance(time.Second)
		d.View()
	}
}

// BenchmarkLiveSecondOf512 is what a second of a run of 64 hosts with 8 ranks each at five steps a second costs: reading what is
// new of every rank and host, and drawing. 100 ms would be a tenth of a core.
func BenchmarkLiveSecondOf512(b *testing.B) {
	r := many(b)
	d, store := start(b, 120, 36, r)
	d.Press("h")
	step := r.Steps
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		appendSteps(b, store.Infos[0].Dir, r, step+1, step+5)
		step += 5
		b.StartTimer()
		d.Advance(time.Second)
		d.View()
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	b.ReportMetric(float64(mem.HeapAlloc)/(1<<20), "MiB-heap")
	runtime.KeepAlive(d)
}
