package step

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/model"
	"boost-tui/profiler"
)

// middle is a step between tiny and 60m with a small vocabulary, so that blocks are what there is to do and to reduce.
func middle(micros int) Config {
	return Config{Model: model.Config{D: 512, Layers: 8, Heads: 8, FF: 1376, Vocab: 1024, RankAttn: 128, RankMLP: 128, Eps: 1e-6, Theta: 10000,
		Variant: experiment.CoLA, Scheme: experiment.BTP, Batch: 1, Seq: 256, Micros: micros, Grouped: true, Seed: 1},
		Clip: 1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1}
}

// traced runs steps of one-thread ranks on the cpu device over a link, and gives the spans of each rank's in each step.
func traced(b *testing.B, cfg Config, m mesh, link kernels.Link) [][][]profiler.Span {
	segment, err := cpu.NewSegment()
	if err != nil {
		b.Fatal(err)
	}
	defer segment.Close()
	first, err := cpu.Open(cpu.Options{Segment: segment, World: m.world(), Rank: 0, Threads: 1, Link: link})
	if err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	ids := map[string]kernels.UID{}
	id := func(name string) kernels.UID {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := ids[name]; !ok {
			if ids[name], err = first.UID(); err != nil {
				b.Error(err)
			}
		}
		return ids[name]
	}
	own := m.share(cfg)
	out := make([][][]profiler.Span, m.world())
	run, ctx := errgroup.WithContext(b.Context())
	for r := range m.world() {
		run.Go(func() error {
			inner := first
			if r > 0 {
				var err error
				if inner, err = cpu.Open(cpu.Options{Segment: segment, World: m.world(), Rank: r, Threads: 1, Link: link}); err != nil {
					return err
				}
			}
			defer inner.Close()
			dev, err := profiler.Wrap(inner, profiler.Options{})
			if err != nil {
				return err
			}
			g, err := m.groups(ctx, dev, r, id)
			if err != nil {
				return err
			}
			defer g.each(func(c kernels.Comm) { _ = c.Close() })
			s, err := New(own, dev, g)
			if err != nil {
				return err
			}
			if err := s.Model().Initialize(ctx); err != nil {
				return err
			}
			for i := range b.N + 1 { // the first warms up
				if err := dev.BeginStep(i, true); err != nil {
					return err
				}
				if _, err := s.Run(ctx, Input{Tokens: tokens(own.Model, i), LR: 1e-4, Index: i + 1}); err != nil {
					return err
				}
				_, spans, err := dev.EndStep()
				if err != nil {
					return err
				}
				if i > 0 {
					out[r] = append(out[r], append([]profiler.Span(nil), spans...))
				}
			}
			return nil
		})
	}
	if err := run.Wait(); err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkReplicas reports which share of the time that the gradients' reduction over two replicas takes, on a link that is
// busy with it for about half of the backward, comes after the backward of the slower of both.
func BenchmarkReplicas(b *testing.B) {
	for _, zero := range []int{0, 1} {
		b.Run([]string{"all-reduce", "zero"}[zero], func(b *testing.B) {
			cfg := middle(4) // two of each replica
			cfg.Zero = zero
			ranks := traced(b, cfg, mesh{1, 2, 1}, kernels.Link{BytesPerSecond: 500e6, Latency: 20 * time.Microsecond})
			var reduce, exposed, back time.Duration
			for i := range b.N {
				r, e, t := reduction(ranks[0][i], ranks[1][i])
				reduce, exposed, back = reduce+r, exposed+e, back+t
			}
			b.ReportMetric(100*float64(exposed)/float64(reduce), "%exposed")
			b.ReportMetric(100*float64(reduce)/float64(back), "%of-backward")
			b.ReportMetric(float64(back.Microseconds())/1e3/float64(b.N), "ms/backward")
		})
	}
}

// reduction is how long buckets were under way without waiting for a peer, how much of that was when no rank's backward ran any
// more, and how long the backward of the last micro-batch took.
func reduction(ranks ...[]profiler.Span) (reduce, exposed, backward time.Duration) {
	var begin, back int64
	for _, spans := range ranks {
		for i := range spans {
			s := &spans[i]
			if s.Class == kernels.Compute && s.Label.Phase == kernels.Backward && s.Label.Micro == 1 {
				back = max(back, s.EndNanos())
				if begin == 0 || s.StartNanos < begin {
					begin = s.StartNanos
				}
			}
		}
	}
	for i := range ranks[0] {
		s := &ranks[0][i]
		if s.Label.Chunk != ChunkReplicas {
			continue
		}
		from := s.StartNanos + max(s.WaitNanos, 0)
		reduce += time.Duration(s.EndNanos() - from)
		exposed += time.Duration(max(0, s.EndNanos()-max(from, back)))
	}
	return reduce, exposed, time.Duration(back - begin)
}

// BenchmarkStages reports how much longer forward and backward of eight micro-batches over two stages take than the schedule needs
// with the stages' measured times, and the idle time of a stage beside that of the schedule.
func BenchmarkStages(b *testing.B) {
	m := mesh{1, 1, 2}
	cfg := middle(8)
	var took, ideal, idle, least time.Duration
	ranks := traced(b, cfg, m, kernels.Link{})
	for i := range b.N {
		busy := make([]map[turn]time.Duration, m.pp)
		var begin, end int64
		for p := range busy {
			busy[p] = map[turn]time.Duration{}
			for j := range ranks[p][i] {
				s := &ranks[p][i][j]
				if s.Class == kernels.Communication || s.Label.Phase != kernels.Forward && s.Label.Phase != kernels.Backward {
					continue
				}
				busy[p][turn{s.Label.Micro, s.Label.Phase == kernels.Backward}] += time.Duration(s.DurNanos)
				if end = max(end, s.EndNanos()); begin == 0 || s.StartNanos < begin {
					begin = s.StartNanos
				}
			}
		}
		span := makespan(busy, cfg.Model.Micros)
		took, ideal = took+time.Duration(end-begin), ideal+span
		for p := range busy {
			work := time.Duration(0)
			for _, d := range busy[p] {
				work += d
			}
			idle, least = idle+time.Duration(end-begin)-work, least+span-work
		}
	}
	n := float64(b.N)
	b.ReportMetric(float64(took.Microseconds())/1e3/n, "ms/step")
	b.ReportMetric(100*(float64(took)/float64(ideal)-1), "%over-schedule")
	b.ReportMetric(100*float64(idle)/float64(took)/float64(m.pp), "%idle")
	b.ReportMetric(100*float64(least)/float64(ideal)/float64(m.pp), "%idle-of-schedule")
}

// makespan is how long the stages need for the schedule when nothing but their work takes time.
func makespan(busy []map[turn]time.Duration, micros int) time.Duration {
	stages := len(busy)
	done := make([]map[turn]time.Duration, stages)
	next, free := make([]int, stages), make([]time.Duration, stages)
	for p := range done {
		done[p] = map[turn]time.Duration{}
	}
	for left := 2 * micros * stages; left > 0; {
		for p := range stages {
			order := oneForwardOneBackward(p, stages, micros)
			for next[p] < len(order) {
				t := order[next[p]]
				from, known := time.Duration(0), true
				if t.back && p+1 < stages {
					from, known = done[p+1][t], done[p+1][t] > 0
				} else if !t.back && p > 0 {
					from, known = done[p-1][t], done[p-1][t] > 0
				}
				if !known {
					break
				}
				free[p] = max(free[p], from) + max(busy[p][t], 1)
				done[p][t] = free[p]
				next[p]++
				left--
			}
		}
	}
	end := time.Duration(0)
	for _, f := range free {
		end = max(end, f)
	}
	return end
}
