package model

import (
	"math"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/reference"
)

// TestSameBits initialises on one and on two ranks, under every scheme: the parts are parts of the same tensors.
func TestSameBits(t *testing.T) {
	for _, v := range variants() {
		var want map[string][]float32
		for _, s := range v.Variant.Schemes() {
			cfg := Config{D: 16, Layers: 2, Heads: 2, FF: 24, Vocab: 10, RankAttn: 4, RankMLP: 6, Eps: 1e-5, Theta: 10000,
				Scheme: s, Batch: 1, Seq: 2, Micros: 1, Seed: 9}.as(v)
			if want == nil {
				d, err := New(cfg, reference.New(&reference.World{}, 0), nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Initialize(t.Context()); err != nil {
					t.Fatal(err)
				}
				want = map[string][]float32{}
				for _, p := range d.Params() {
					if want[p.Name], _, err = d.ReadWeight(t.Context(), p.Name); err != nil {
						t.Fatal(err)
					}
				}
			}
			onRanks(t, 2, func(rank int, dev kernels.Device, tp kernels.Comm) error {
				d, err := New(cfg, dev, tp)
				if err != nil {
					return err
				}
				if err := d.Initialize(t.Context()); err != nil {
					return err
				}
				for _, p := range d.Params() {
					got, _, err := d.ReadWeight(t.Context(), p.Name)
					if err != nil {
						return err
					}
					for i, x := range got {
						if y := want[p.Name][p.Global(int64(i))]; x != y {
							t.Errorf("%+v %s rank %d: %s element %d is %g, want %g", v, s, rank, p.Name, i, x, y)
							break
						}
					}
				}
				return nil
			})
		}
	}
}

func TestStandardDeviations(t *testing.T) {
	cfg := Config{D: 64, Layers: 1, Heads: 2, FF: 96, Vocab: 100, RankAttn: 16, RankMLP: 24, Eps: 1e-5, Theta: 10000, Variant: experiment.CoLA,
		Scheme: experiment.BTP, Batch: 1, Seq: 2, Micros: 1, Seed: 9}
	d, err := New(cfg, reference.New(&reference.World{}, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"embed.weight": 0.02, "lm_head.weight": 0.02,
		"layers.0.q.A": math.Pow(16*128, -0.25), "layers.0.down.B": math.Pow(24*160, -0.25)} {
		w, _, err := d.ReadWeight(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		sum, squares := 0.0, 0.0
		for _, x := range w {
			sum += float64(x)
			squares += float64(x) * float64(x)
		}
		n := float64(len(w))
		if std := math.Sqrt(squares / n); math.Abs(std/want-1) > 4/math.Sqrt(2*n) || math.Abs(sum/n) > 4*want/math.Sqrt(n) {
			t.Errorf("%s: mean %.4f std %.4f of %d, want 0 and %.4f", name, sum/n, std, len(w), want)
		}
	}
}

// TestSpectral checks that the factors are balanced, and that the spectrum is that of a Gaussian matrix.
func TestSpectral(t *testing.T) {
	const m, n = 300, 120
	s, err := gaussianSpectrum(newRandom(5, "x"), m, n)
	if err != nil {
		t.Fatal(err)
	}
	squares := 0.0
	for i, v := range s {
		squares += v * v
		if i > 0 && v > s[i-1] {
			t.Fatal("not sorted")
		}
	}
	if math.Abs(squares/(m*n)-1) > 5*math.Sqrt(2.0/(m*n)) {
		t.Errorf("sum of squares %.0f, want about %d", squares, m*n)
	}
	top, bottom := math.Sqrt(m)+math.Sqrt(n), math.Sqrt(m)-math.Sqrt(n)
	if math.Abs(s[0]/top-1) > 0.05 || math.Abs(s[n-1]/bottom-1) > 0.2 {
		t.Errorf("singular values from %.2f to %.2f, want about %.2f to %.2f", s[0], s[n-1], top, bottom)
	}

	cfg := Config{D: 32, Layers: 1, Heads: 2, FF: 48, Vocab: 10, RankAttn: 8, RankMLP: 8, Eps: 1e-5, Theta: 10000, Variant: experiment.SVD,
		Scheme: experiment.BTP, Batch: 1, Seq: 2, Micros: 1, Seed: 9}
	d, err := New(cfg, reference.New(&reference.World{}, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, pa, err := d.ReadWeight(t.Context(), "layers.0.gate.A")
	if err != nil {
		t.Fatal(err)
	}
	b, pb, err := d.ReadWeight(t.Context(), "layers.0.gate.B")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pa.Rows {
		for j := range pa.Rows {
			aa, bb := 0.0, 0.0
			for c := range pa.Cols {
				aa += float64(a[i*pa.Cols+c]) * float64(a[j*pa.Cols+c])
			}
			for r := range pb.Rows {
				bb += float64(b[r*pb.Cols+i]) * float64(b[r*pb.Cols+j])
			}
			if math.Abs(aa-bb) > 1e-6 || i != j && math.Abs(aa) > 1e-6 {
				t.Errorf("A A^T and B^T B at (%d, %d): %g and %g", i, j, aa, bb)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	good := Config{D: 64, Layers: 2, Heads: 4, FF: 176, Vocab: 96, RankAttn: 16, RankMLP: 16, Variant: experiment.CoLA,
		Scheme: experiment.BTP, Batch: 1, Seq: 1, Micros: 1}
	for _, c := range []struct {
		change func(*Config)
		tp     int
		want   []string
	}{
		{func(*Config) {}, 4, nil},
		{func(*Config) {}, 8, []string{"heads 4 is not divisible by tp 8"}},
		{func(c *Config) { c.Scheme = experiment.Vanilla }, 8, nil},
		{func(c *Config) { c.Scheme = experiment.Vanilla }, 5, []string{"rank-attn 16", "rank-mlp 16", "vocab 96"}},
		{func(c *Config) { c.Scheme = experiment.FullRank }, 1, []string{"under scheme [btp vanilla]"}},
		{func(c *Config) { c.Variant, c.Scheme = experiment.Full, experiment.FullRank }, 3, []string{"heads 4", "ff 176", "d 64"}},
		{func(c *Config) { c.Variant = experiment.LaX }, 1, []string{"gate", "base"}},
		{func(c *Config) { c.Variant, c.Scheme = experiment.SLTrain, experiment.BTP }, 1, []string{"under scheme [full-rank]", "alpha", "delta"}},
		{func(c *Config) { c.Variant, c.Recompute = "nonsense", "some" }, 1, []string{"unknown", "recompute"}},
		{func(c *Config) { c.Seq, c.Heads = 0, 0 }, 1, []string{"heads is 0", "seq is 0"}},
		{func(c *Config) { c.Heads = 64 }, 1, []string{"even multiple of heads"}},
	} {
		cfg := good
		c.change(&cfg)
		err := cfg.Validate(c.tp)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%+v on %d: %v", cfg, c.tp, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v lacks %q", err, w)
			}
		}
	}
}

// TestPublishedCounts compares parameter counts with METHOD.md §1's table.
func TestPublishedCounts(t *testing.T) {
	for _, c := range []struct {
		d, l, f, r int
		v          experiment.Variant
		want       float64 // millions
	}{{512, 8, 1376, 128, experiment.Full, 58.1}, {512, 8, 1376, 128, experiment.CoLA, 42.8}, {768, 12, 2048, 256, experiment.CoLA, 94.0},
		{4096, 32, 11008, 1024, experiment.Full, 6738}, {4096, 32, 11008, 1024, experiment.CoLA, 2821}} {
		got := float64(Count(Config{D: c.d, Layers: c.l, FF: c.f, Vocab: 32000, RankAttn: c.r, RankMLP: c.r, Variant: c.v})) / 1e6
		if math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("%+v: %.1fM", c, got)
		}
	}
}
