package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/reference"
)

// TestSupport draws supports of every density: distinct places in rising order, spread evenly.
func TestSupport(t *testing.T) {
	for _, c := range []struct {
		n     int
		total int64
	}{{1, 1}, {5, 7}, {64, 64}, {65, 130}, {3000, 100_000}, {90_000, 100_000}} {
		s := support(newRandom(3, "x"), c.n, c.total)
		if len(s) != c.n || !slices.IsSorted(s) || len(slices.Compact(slices.Clone(s))) != c.n || s[0] < 0 || s[len(s)-1] >= c.total {
			t.Fatalf("%d of %d: %d places", c.n, c.total, len(s))
		}
		if c.n < 1000 {
			continue
		}
		const parts = 4
		for p := range int64(parts) {
			got := 0
			for _, at := range s {
				if at*parts/c.total == p {
					got++
				}
			}
			share := float64(c.n) / float64(c.total)
			if sigma := math.Sqrt(float64(c.total) / parts * share * (1 - share)); math.Abs(float64(got)-float64(c.n)/parts) > 5*sigma {
				t.Errorf("%d of %d: %d in quarter %d", c.n, c.total, got, p)
			}
			if got > room(c.n, parts) {
				t.Errorf("%d of %d: %d do not fit the room of %d", c.n, c.total, got, room(c.n, parts))
			}
		}
	}
}

func TestLoadSupportErrors(t *testing.T) {
	cfg := Config{D: 64, Layers: 1, Heads: 2, FF: 24, Vocab: 10, RankAttn: 4, RankMLP: 6, Eps: 1e-5, Theta: 10000, Scheme: experiment.FullRank,
		Batch: 1, Seq: 2, Micros: 1, Seed: 9, Variant: experiment.SLTrain, Alpha: 4, Delta: 0.5}
	onRanks(t, 2, func(rank int, dev kernels.Device, tp kernels.Comm) error {
		d, err := New(cfg, dev, tp)
		if err != nil || rank > 0 {
			return err
		}
		good := support(newRandom(1, "x"), 2048, 4096)
		first := make([]int64, 2048) // all in the first rank's rows
		for i := range first {
			first[i] = int64(i)
		}
		for want, places := range map[string][]int64{
			"want 2048":    good[1:],
			"outside":      append(slices.Clone(good[:2047]), 4096),
			"rising order": append([]int64{good[1], good[0]}, good[2:]...),
			"far from":     first,
		} {
			if err := d.LoadSupport(t.Context(), "layers.0.q", places); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if err := d.LoadSupport(t.Context(), "layers.0.norm", good); err == nil {
			t.Error("a support of what is not sparse")
		}
		return d.LoadSupport(t.Context(), "layers.0.q", good)
	})
}

// TestMergeKeepsTheFunction: the loss is the same before and after, and the factors start anew.
func TestMergeKeepsTheFunction(t *testing.T) {
	cfg := Config{D: 16, Layers: 2, Heads: 2, FF: 24, Vocab: 12, RankAttn: 4, RankMLP: 6, Eps: 1e-5, Theta: 10000, Scheme: experiment.FullRank,
		Batch: 2, Seq: 5, Micros: 1, Seed: 9, Variant: experiment.ReLoRA, Alpha: 5}
	r, err := newRunner(cfg, reference.New(&reference.World{}, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.widen(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := r.loss(false)
	if err != nil {
		t.Fatal(err)
	}
	var was [3][]float32
	for i := range was {
		if was[i], _, err = r.ReadWeight(t.Context(), "layers.1.gate.A"); err != nil {
			t.Fatal(err)
		}
		r.Merge(r.x, i)
		after, err := r.loss(false)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(after-before) > 2e-6 {
			t.Errorf("the loss was %.7f and is %.7f", before, after)
		}
		b, _, err := r.ReadWeight(t.Context(), "layers.1.gate.B")
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(b, func(x float32) bool { return x != 0 }) {
			t.Error("an up-projection is not zero")
		}
	}
	if slices.Equal(was[1], was[2]) || slices.Equal(was[0], was[1]) {
		t.Error("a down-projection is drawn the same twice")
	}
	for _, x := range was[2] {
		if math.Abs(float64(x)) > 1/math.Sqrt(16) {
			t.Errorf("%g is beyond 1/sqrt(in)", x)
		}
	}
}
