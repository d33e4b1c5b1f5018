package profiler_test

import (
	"context"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/profiler"
	"boost-tui/profiler/record"
	"boost-tui/step"
)

// realRank is a rank of a tiny model on the cpu device, with a timer round it.
type realRank struct {
	dev   *cpu.Device
	timer *profiler.Device
	step  *step.Step
	in    step.Input
}

// team makes tp ranks that share memory.
func team(t testing.TB, tp int) []*realRank {
	t.Helper()
	e := experiment.Default()
	e.Parallel.TP = tp
	e, err := e.Resolve()
	must(t, err)
	seg, err := cpu.NewSegment()
	must(t, err)
	defer seg.Close()
	ranks := make([]*realRank, tp)
	var uid kernels.UID
	for i := range ranks {
		d, err := cpu.Open(cpu.Options{Segment: seg, World: tp, Rank: i})
		must(t, err)
		w, err := profiler.Wrap(d, profiler.Options{})
		must(t, err)
		ranks[i] = &realRank{dev: d, timer: w}
		t.Cleanup(func() { _ = d.Close() }) // a failed test has said why
	}
	uid, err = ranks[0].timer.UID()
	must(t, err)
	tokens := make([]int32, e.Step.Accumulate*e.Step.MicroBatch*(e.Step.Seq+1))
	for i := range tokens {
		tokens[i] = int32(i*7%251 + i%3)
	}
	each(t, ranks, func(i int, r *realRank) error {
		var comm kernels.Comm
		if tp > 1 {
			c, err := r.timer.Join(context.Background(), uid, tp, i, "tp")
			if err != nil {
				return err
			}
			comm = c
		}
		s, err := step.New(step.ConfigOf(e), r.timer, step.Groups{TP: comm})
		r.step, r.in = s, step.Input{Tokens: tokens, LR: 1e-3}
		if err == nil {
			err = s.Model().Initialize(context.Background())
		}
		return err
	})
	return ranks
}

// each runs something on every rank at once and waits for all.
func each(t testing.TB, ranks []*realRank, f func(int, *realRank) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(ranks))
	for i, r := range ranks {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = f(i, r)
		}()
	}
	wg.Wait()
	for _, err := range errs {
		must(t, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run is one timed step.
func (r *realRank) run(index int, sampled bool) (profiler.StepTimes, []profiler.Span, error) {
	if err := r.timer.BeginStep(index, sampled); err != nil {
		return profiler.StepTimes{}, nil, err
	}
	r.in.Index = index
	if _, err := r.step.Run(context.Background(), r.in); err != nil {
		return profiler.StepTimes{}, nil, err
	}
	return r.timer.EndStep()
}

// What the ranks' own clocks say of each other must agree with what their devices measured inside
// the collectives.
func TestWaitsOfRealRanks(t *testing.T) {
	ranks := team(t, 2)
	dir := t.TempDir()
	const steps = 12
	each(t, ranks, func(i int, r *realRank) error {
		w, err := record.OpenTimelineWriter(record.TimelinePath(dir, i), i, 0)
		if err != nil {
			return err
		}
		for k := 1; k <= steps; k++ {
			times, spans, err := r.run(k, k%2 == 0)
			if err != nil {
				return err
			}
			if sum := times.ComputeNanos + times.ExposedNanos + times.MemNanos + times.IdleNanos; sum != times.WallNanos ||
				times.WaitNanos > times.CommNanos || times.WaitNanos < 0 || times.Collectives == 0 || times.ForwardNanos <= 0 || times.OptimizerNanos <= 0 {
				t.Errorf("rank %d, step %d: %+v", i, k, times)
			}
			if err := w.Write(k, spans); err != nil {
				return err
			}
		}
		return w.Close()
	})
	var apart []float64
	calls := 0
	must(t, profiler.EachSampled(t.Context(), dir, func(_ int, rs []profiler.RankSpans) error {
		for _, c := range profiler.Match(rs) {
			calls++
			for i := range c.Ranks {
				if c.DeviceWait[i] < 0 || c.DeviceWait[i] > c.DurNanos[i] {
					t.Errorf("%s %d: the device waited %d of %d ns", c.Op, c.Seq, c.DeviceWait[i], c.DurNanos[i])
				}
				apart = append(apart, math.Abs(float64(c.WaitNanos[i]-c.DeviceWait[i])))
			}
		}
		return nil
	}))
	slices.Sort(apart)
	t.Logf("%d collectives; waits differ by %.0f ns in the median, %.0f ns in the 90th percentile", calls, apart[len(apart)/2], apart[len(apart)*9/10])
	if calls < 12*10 || apart[len(apart)/2] > float64(200*time.Microsecond) {
		t.Errorf("%d collectives, waits differ by %v ns", calls, apart[len(apart)/2])
	}
}

// The limits that the project holds its timer to, as shares of a tiny step.
const (
	alwaysLimit  = 0.01
	sampledLimit = 0.05
)

// threadNanos is the processor time that this thread has used.
func threadNanos(t testing.TB) float64 {
	var ts unix.Timespec
	must(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts))
	return float64(ts.Nano())
}

// BenchmarkInstrumentation alternates untimed, timed and sampled steps, so that all meet the same
// machine, and reports what timing and writing it down add. It counts the thread's own time: a busy
// machine disturbs that least.
func BenchmarkInstrumentation(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := team(b, 1)[0]
	w, err := record.OpenTimelineWriter(filepath.Join(b.TempDir(), "t.btl"), 0, 0)
	must(b, err)
	lines, err := record.OpenWriter(filepath.Join(b.TempDir(), "s.jsonl"))
	must(b, err)
	var nanos [3][]float64
	one := func(mode, index int) {
		start := threadNanos(b)
		if mode == 0 {
			r.in.Index = index
			_, err = r.step.Run(context.Background(), r.in)
			must(b, err)
		} else {
			times, spans, err := r.run(index, mode == 2)
			must(b, err)
			l := record.NewStepLine(index)
			times.Fill(&l)
			must(b, lines.Step(&l))
			if mode == 2 {
				must(b, w.Write(index, spans))
			}
		}
		nanos[mode] = append(nanos[mode], threadNanos(b)-start)
	}
	index := 0
	for b.Loop() {
		for mode := range 3 {
			index++
			one(mode, index)
		}
	}
	var low [3]float64
	for i := range nanos {
		slices.Sort(nanos[i])
		low[i] = nanos[i][len(nanos[i])/4] // what disturbs a step only ever adds to it
	}
	always, sampled := low[1]/low[0]-1, low[2]/low[0]-1
	b.ReportMetric(100*always, "%always")
	b.ReportMetric(100*sampled, "%sampled")
	b.ReportMetric(low[0]/1e6, "ms/step")
	if len(nanos[0]) > 50 && (always > alwaysLimit || sampled > sampledLimit) {
		b.Errorf("timing adds %.2f %% to a step, sampling %.2f %%; the limits are %.0f and %.0f %%", 100*always, 100*sampled, 100*alwaysLimit, 100*sampledLimit)
	}
}
