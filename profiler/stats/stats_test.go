package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The ranks that published tables of the exact 95 % interval give.
func TestOrderRankIsTheExactBinomial(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 15: 4, 20: 6, 25: 8, 50: 18, 100: 40, 1000: 469} {
		if got := orderRank(n); got != want {
			t.Errorf("n %d: rank %d, want %d", n, got, want)
		}
	}
	for n := 6; n < 300; n++ {
		b := distuv.Binomial{N: float64(n), P: 0.5}
		l := float64(orderRank(n))
		if b.CDF(l-1) > 0.025 || b.CDF(l) <= 0.025 {
			t.Fatalf("n %d: rank %v covers %v", n, l, 1-2*b.CDF(l-1))
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want Interval
	}{
		{nil, Interval{math.NaN(), math.NaN(), math.NaN()}},
		{[]float64{3, 1}, Interval{2, math.NaN(), math.NaN()}},
		{[]float64{6, 1, 2, 5, 4, 3}, Interval{3.5, 1, 6}},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, Interval{5, 2, 8}},
	} {
		got := Median(c.x)
		for _, p := range [][2]float64{{got.Value, c.want.Value}, {got.Lo, c.want.Lo}, {got.Hi, c.want.Hi}} {
			if p[0] != p[1] && !(math.IsNaN(p[0]) && math.IsNaN(p[1])) {
				t.Errorf("%v: got %+v, want %+v", c.x, got, c.want)
			}
		}
	}
}

func steps(n int, seconds float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = seconds
	}
	return x
}

func TestSkip(t *testing.T) {
	settling := steps(100, 3)
	for i := range 20 {
		settling[i] = 3 + 0.1*float64(20-i)
	}
	never := steps(100, 3)
	for i := range never {
		never[i] = 3 * math.Pow(0.99, float64(i))
	}
	for name, c := range map[string]struct {
		x     []float64
		want  int
		short bool
	}{
		"nothing":            {nil, 0, true},
		"short in time":      {steps(100, 0.05), 25, true},
		"short in steps":     {steps(24, 1), 6, true},
		"five steps":         {steps(100, 3), 5, false},
		"ten seconds":        {steps(300, 0.125), 80, false},
		"waits for the calm": {settling, 16, false},
		"gives up at 30":     {never, 30, false},
	} {
		got := Skip(c.x)
		if got.Steps != c.want || got.Short != c.short || got.Rule == "" {
			t.Errorf("%s: %+v, want %d, short %v", name, got, c.want, c.short)
		}
	}
}

// series is PROFILING.md §7's: 2 % variation, autocorrelation 0.3, 3 % of outliers of +15 %.
func series(rng *rand.Rand, n int, mean float64) []float64 {
	const cv, rho = 0.02, 0.3
	x, e := make([]float64, n), rng.NormFloat64()
	for i := range x {
		e = rho*e + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		x[i] = mean * (1 + cv*e)
		if rng.Float64() < 0.03 {
			x[i] *= 1.15
		}
	}
	return x
}

func TestCoverageOfSpeedUp(t *testing.T) {
	trials := 300
	if testing.Short() {
		trials = 60
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		n      int
		lo, hi float64 // PROFILING.md §7: .75, .86, .92, .94, give or take the noise of the trials
	}{{7, .60, .88}, {20, .78, .94}, {50, .86, .97}, {100, .88, .98}} {
		hit, width := 0, 0.0
		for range trials {
			ci := SpeedUp([][]float64{series(rng, c.n, 1.1)}, [][]float64{series(rng, c.n, 1)})
			if ci.Lo <= 1.1 && 1.1 <= ci.Hi {
				hit++
			}
			width += (ci.Hi - ci.Lo) / 1.1 / float64(trials)
		}
		cover := float64(hit) / float64(trials)
		t.Logf("n %d: coverage %.3f, width %.1f %%", c.n, cover, 100*width)
		if cover < c.lo || cover > c.hi {
			t.Errorf("n %d: coverage %.3f is not within %v to %v", c.n, cover, c.lo, c.hi)
		}
	}
}

func TestMannWhitneyAfterThinning(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const trials, n = 2000, 50
	falsePos, power := 0, 0
	for range trials {
		a, b, c := series(rng, n, 1), series(rng, n, 1), series(rng, n, 1.02)
		if MannWhitney(a, b) < Alpha {
			falsePos++
		}
		if MannWhitney(a, c) < Alpha {
			power++
		}
	}
	t.Logf("false positives %.3f, power at 2 %% %.3f", float64(falsePos)/trials, float64(power)/trials)
	// Unthinned the false positives are 10 %; nominal is 5 %.
	if falsePos > trials*9/100 || power < trials*75/100 {
		t.Errorf("%d false positives and %d of %d found", falsePos, power, trials)
	}
	if p := MannWhitney(steps(30, 1), steps(30, 1)); p != 1 {
		t.Errorf("two constants: p %v", p)
	}
	if p := MannWhitney(steps(3, 1), steps(30, 1)); !math.IsNaN(p) {
		t.Errorf("three values: p %v", p)
	}
}

// The U statistic's p for a textbook pair (no ties, n 10 and 10, U 12; normal approximation with continuity correction).
func TestMannWhitneyKnownValue(t *testing.T) {
	a := []float64{1, 9, 2, 7, 3, 10, 4, 6, 5, 12}
	b := []float64{20, 8, 19, 11, 18, 13, 17, 14, 16, 15}
	// U = number of pairs with a > b: 9>8, 10>8, 12>8, 12>11.
	z := (50 - 4 - 0.5) / math.Sqrt(10*10*21/12.0)
	if got, want := MannWhitney(a, b), 2*distuv.UnitNormal.Survival(z); math.Abs(got-want) > 1e-12 {
		t.Errorf("p %v, want %v", got, want)
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, math.NaN(), 0.03})
	want := []float64{0.06, 0.03, math.NaN(), 0.06}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 || math.IsNaN(got[i]) != math.IsNaN(want[i]) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestRepeatsWidenTheInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	one := func(mean float64) []float64 { return series(rng, 60, mean) }
	base := [][]float64{one(1), one(1.05), one(0.95), one(1.02)} // runs that differ among themselves
	cand := [][]float64{one(0.5)}
	apart := SpeedUp(base, cand)
	var joined []float64
	for _, r := range base {
		joined = append(joined, r...)
	}
	together := SpeedUp([][]float64{joined}, cand)
	if apart.Hi-apart.Lo < 1.5*(together.Hi-together.Lo) {
		t.Errorf("with runs resampled %+v, without %+v", apart, together)
	}
	if again := SpeedUp(base, cand); again != apart {
		t.Errorf("not deterministic: %+v, %+v", apart, again)
	}
}

// The sides are drawn apart: two runs with the very same steps have an interval round 1, not a point.
func TestSidesAreIndependent(t *testing.T) {
	x := [][]float64{series(rand.New(rand.NewPCG(9, 9)), 60, 1)}
	if s := SpeedUp(x, x); s.Value != 1 || !(s.Lo < 0.999) || !(s.Hi > 1.001) {
		t.Errorf("%+v", s)
	}
	if s := Ratio(Resample(x, Base), Resample(nil, Candidate)); !math.IsNaN(s.Value) || !math.IsNaN(s.Lo) {
		t.Errorf("%+v", s)
	}
}

func BenchmarkSpeedUp(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	x, y := series(rng, 1_000_000, 1), series(rng, 1_000_000, 1.1)
	for b.Loop() {
		SpeedUp([][]float64{x}, [][]float64{y})
	}
}
