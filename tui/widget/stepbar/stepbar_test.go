package stepbar_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"boost-tui/profiler/compare"
	"boost-tui/tui/layout"
	"boost-tui/tui/testkit"
	"boost-tui/tui/widget/stepbar"
)

func TestOfABreakdown(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	p := stepbar.Of(&compare.Breakdown{Compute: v(0.15), Comm: v(0.11), CommExposed: v(0.04), CommWait: v(0.06), CommTransfer: v(0.05), Overlap: v(0.07), Memory: v(0.01), Idle: v(0.02)})
	if math.Abs(p.Sum()-0.22) > 1e-12 {
		t.Errorf("parts sum to %v, the step is 0.22", p.Sum())
	}
	if math.Abs(p.Compute-0.08) > 1e-12 || p.Hidden != 0.07 || p.Comm != 0.11 || p.Wait != 0.06 || p.Transfer != 0.05 {
		t.Errorf("%+v", p)
	}
	if stepbar.Of(nil).Known() || stepbar.Of(&compare.Breakdown{}).Known() {
		// An empty breakdown has no overlap, which counts as none.
		if stepbar.Of(&compare.Breakdown{}).Sum() != 0 {
			t.Error("parts of nothing")
		}
	}
}

// P2: any number at any width gives a bar and lines that fit.
func TestAnyNumberFits(t *testing.T) {
	th := testkit.Theme()
	rng := rand.New(rand.NewPCG(5, 6))
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1, 0, 1e-300, 0.2}
	pick := func() float64 { return odd[rng.IntN(len(odd))] }
	for range 2000 {
		p := stepbar.Parts{Compute: pick(), Hidden: pick(), Exposed: pick(), Memory: pick(), Idle: pick(), Comm: pick(), Wait: pick(), Transfer: pick()}
		w := rng.IntN(130)
		if bar := p.Bar(th, pick(), w); layout.Width(bar) != w {
			t.Fatalf("%+v: bar of %d cells, want %d", p, layout.Width(bar), w)
		}
		for _, line := range append(p.Values(th, w), stepbar.Legend(th, p, w)) {
			if layout.Width(line) > max(w, 0) {
				t.Fatalf("%+v: %q is wider than %d", p, line, w)
			}
		}
	}
}

// Waiting and transfer are of all communication: how much of either is exposed
// is not known.
func TestValuesSayWaitAndTransfer(t *testing.T) {
	p := stepbar.Parts{Compute: 0.1, Hidden: 0.05, Exposed: 0.03, Memory: 0.001, Idle: 0.01, Comm: 0.08, Wait: 0.06, Transfer: 0.02}
	const all = "all comm 80.0 = wait 60.0 + transfer 20.0"
	if text := strings.Join(p.Values(testkit.Theme(), 45), "\n"); !strings.Contains(text, all) {
		t.Errorf("%q is missing in %q", all, text)
	}
	text := strings.Join(p.Values(testkit.Theme(), 80), "\n")
	for _, want := range []string{"compute 100.0", "compute hiding comm 50.0", "exposed comm 30.0", all, "memory 1.00", "idle 10.0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
}
