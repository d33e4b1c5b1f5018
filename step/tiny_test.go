package step

import (
	"fmt"
	"math"
	"testing"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
)

// tiny is the preset, with half of its sequence, and periods short enough for two cycles.
func tiny(t *testing.T, variant string, s experiment.Scheme) Config {
	t.Helper()
	e := experiment.Default()
	for k, v := range map[string]string{"variant": variant, "scheme": string(s), "seq": "64", "loro-every": "10", "relora-every": "10", "lax-gate": experiment.GateVector} {
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return ConfigOf(r)
}

// losses trains on n ranks of the cpu device.
func losses(t *testing.T, cfg Config, n, steps int) []float64 {
	t.Helper()
	segment, err := cpu.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	devices := make([]*cpu.Device, n)
	for r := range devices {
		if devices[r], err = cpu.Open(cpu.Options{Segment: segment, World: n, Rank: r, Threads: 1}); err != nil {
			t.Fatal(err)
		}
		defer devices[r].Close()
	}
	id, err := devices[0].UID()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, steps)
	g, ctx := errgroup.WithContext(t.Context())
	for r, d := range devices {
		g.Go(func() error {
			var tp kernels.Comm
			if n > 1 {
				c, err := d.Join(ctx, id, n, r, "tp")
				if err != nil {
					return err
				}
				tp = c
			}
			s, err := New(cfg, d, Groups{TP: tp})
			if err != nil {
				return err
			}
			if err := s.Model().Initialize(ctx); err != nil {
				return err
			}
			for i := range out {
				res, err := s.Run(ctx, Input{Tokens: tokens(cfg.Model, i%7), LR: 1e-3, Index: i + 1})
				if err != nil {
					return err
				}
				if r == 0 {
					out[i] = res.Loss
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTinyAgrees trains the tiny preset of every variant over two merges or exact steps on one rank and on two: the
// losses agree at every step, and fall.
func TestTinyAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of training")
	}
	const steps = 24
	for _, v := range []experiment.Variant{experiment.Full, experiment.SVD, experiment.CoLA, experiment.LaX, experiment.LORO, experiment.ReLoRA, experiment.SLTrain} {
		var one []float64
		for _, s := range v.Schemes() {
			t.Run(fmt.Sprintf("%s/%s", v, s), func(t *testing.T) {
				cfg := tiny(t, string(v), s)
				if one == nil {
					one = losses(t, cfg, 1, steps)
				}
				two := losses(t, cfg, 2, steps)
				worst := 0.0
				for i := range one {
					worst = math.Max(worst, math.Abs(one[i]-two[i]))
				}
				if worst > 5e-5 || !(two[steps-1] < two[0]-0.1) {
					t.Errorf("losses differ by %.1e; from %.3f to %.3f", worst, two[0], two[steps-1])
				}
				t.Logf("differ by %.1e; from %.3f to %.3f", worst, two[0], two[steps-1])
			})
		}
	}
}
