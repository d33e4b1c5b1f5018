package step

import (
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/model"
)

// sixty is the 60m preset's step of the speed target: CoLA, micro-batch 4, seq 512.
func sixty(v experiment.Variant, s experiment.Scheme) Config {
	return Config{Model: model.Config{D: 512, Layers: 8, Heads: 8, FF: 1376, Vocab: 32000, RankAttn: 128, RankMLP: 128, Eps: 1e-6, Theta: 10000,
		Variant: v, Scheme: s, Batch: 4, Seq: 512, Micros: 1, Grouped: true, Seed: 1},
		Clip: 1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1}
}

// BenchmarkStep trains 60m on two cores: one rank of two threads, and two ranks of one. It reports model FLOP/s and
// its share of what the BLAS library reaches at 1024³ on one thread, times the cores used, in the same run.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name        string
		cfg         Config
		tp, threads int
	}{
		{"cola/btp/tp1", sixty(experiment.CoLA, experiment.BTP), 1, 2},
		{"cola/btp/tp2", sixty(experiment.CoLA, experiment.BTP), 2, 1},
		{"cola/btp/tp2/recompute=low-rank", recomputing(sixty(experiment.CoLA, experiment.BTP), experiment.RecomputeLowRank), 2, 1},
		{"cola/btp/tp2/recompute=full", recomputing(sixty(experiment.CoLA, experiment.BTP), experiment.RecomputeFull), 2, 1},
		{"cola/vanilla/tp2", sixty(experiment.CoLA, experiment.Vanilla), 2, 1},
		{"full/full-rank/tp2", sixty(experiment.Full, experiment.FullRank), 2, 1},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.cfg, c.tp, c.threads) })
	}
}

// recomputing is the step with recomputation.
func recomputing(c Config, mode string) Config {
	c.Model.Recompute = mode
	return c
}

func benchmark(b *testing.B, cfg Config, tp, threads int) {
	segment, err := cpu.NewSegment()
	if err != nil {
		b.Fatal(err)
	}
	defer segment.Close()
	devices := make([]kernels.Device, tp)
	for r := range devices {
		if devices[r], err = cpu.Open(cpu.Options{Segment: segment, World: tp, Rank: r, Threads: threads}); err != nil {
			b.Fatal(err)
		}
		defer devices[r].Close()
	}
	id, err := devices[0].UID()
	if err != nil {
		b.Fatal(err)
	}
	steps := make([]*Step, tp)
	together := func(f func(r int) error) {
		var g errgroup.Group
		for r := range tp {
			g.Go(func() error { return f(r) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	together(func(r int) error {
		var comm kernels.Comm
		var err error
		if tp > 1 {
			if comm, err = devices[r].Join(b.Context(), id, tp, r, "tp"); err != nil {
				return err
			}
		}
		if steps[r], err = New(cfg, devices[r], Groups{TP: comm}); err != nil {
			return err
		}
		return steps[r].Model().Initialize(b.Context())
	})
	input := tokens(cfg.Model, 1)
	index := 0
	run := func() {
		index++
		together(func(r int) error {
			_, err := steps[r].Run(b.Context(), Input{Tokens: input, LR: 1e-4, Index: index})
			return err
		})
	}
	run()
	peak := product(b) * float64(tp*threads)
	b.ResetTimer()
	start := time.Now()
	for range b.N {
		run()
	}
	b.StopTimer()
	rate := float64(model.FLOPs(cfg.Model)) * float64(b.N) / time.Since(start).Seconds()
	peak = max(peak, product(b)*float64(tp*threads))
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(peak/1e9, "peak-GFLOP/s")
	b.ReportMetric(100*rate/peak, "%peak")
	b.Logf("%s, %v", devices[0].Info().Name, devices[0].Info().Libraries)
}

// product is the best of a few 1024³ products on one thread, FLOP/s.
func product(b *testing.B) float64 {
	d, err := cpu.Open(cpu.Options{Threads: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	const n = 1024
	buf, err := d.Alloc("product", 3*n*n*4, false)
	if err != nil {
		b.Fatal(err)
	}
	at := func(i int64) kernels.View { return kernels.Matrix(buf, i*n*n*4, n, n, kernels.F32) }
	op := &kernels.Gemm{Alpha: 1, A: at(0), B: at(1), D: at(2), TransB: true}
	best := 0.0
	for range 8 {
		start := time.Now()
		if err := d.Do(kernels.Call{}, op); err != nil {
			b.Fatal(err)
		}
		best = max(best, float64(op.FLOPs())/time.Since(start).Seconds())
	}
	return best
}
