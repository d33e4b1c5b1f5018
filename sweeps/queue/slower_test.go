package queue

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// slowerTrials is how many runs of each kind TestSlowerErrors simulates; the figures of slowerThan are of 4,000.
var slowerTrials = flag.Int("slower-trials", 50, "simulated runs of each kind")

// noise makes step times: relative deviation, autocorrelation, share and factor of outliers, chance per step to become
// slower for a while, and how much and about how many steps, deviation between runs.
type noise struct {
	name           string
	cv, rho        float64
	out, outBy     float64
	spell, spellBy float64
	spellSteps     float64
	between        float64
}

var noises = []noise{
	{name: "2 %, correlated 0.3 (profiler/stats)", cv: .02, rho: .3, out: .03, outBy: 1.15},
	{name: "the same, runs differ by 1 %", cv: .02, rho: .3, out: .03, outBy: 1.15, between: .01},
	{name: "10 %, correlated 0.6", cv: .10, rho: .6, out: .05, outBy: 1.5},
	{name: "30 %, correlated 0.3", cv: .30, rho: .3, out: .05, outBy: 2},
	{name: "10 %, correlated 0.9", cv: .10, rho: .9, out: .05, outBy: 1.5},
	{name: "a third of the time 40 % slower", cv: .03, rho: .3, out: .03, outBy: 1.15, spell: .02, spellBy: 1.4, spellSteps: 25},
	{name: "the first, runs differ by 3 %", cv: .02, rho: .3, out: .03, outBy: 1.15, between: .03},
}

// steps are those of a run whose steps take so long in the middle; the first five are slower.
func (z noise) steps(r *rand.Rand, n int, mean float64) *steps {
	s := &steps{}
	e := r.NormFloat64()
	mean *= math.Exp(z.between * r.NormFloat64())
	slow := r.Float64() < z.spell*z.spellSteps/(1+z.spell*z.spellSteps)
	for i := range n {
		e = z.rho*e + math.Sqrt(1-z.rho*z.rho)*r.NormFloat64()
		x := mean * math.Exp(z.cv*e)
		if r.Float64() < z.out {
			x *= z.outBy
		}
		if slow {
			x *= z.spellBy
			slow = r.Float64() > 1/z.spellSteps
		} else {
			slow = r.Float64() < z.spell
		}
		if i < 5 {
			x *= 1 + float64(5-i)/10
		}
		s.seconds, s.tokens = append(s.seconds, x), append(s.tokens, 1)
	}
	return s
}

// stopped is after how many steps the rule ends a run, looking whenever it may; 0: it does not.
func stopped(mine *steps, others []*paced) int {
	all := mine.seconds
	looks := *mine
	for n := 1; n <= len(all); n++ {
		if looks.seconds = all[:n]; !looks.due() {
			continue
		}
		looks.looked = n
		best, upTo := fastest(others, n)
		if _, is := slowerThan(looks.kept(upTo), best, others, upTo); is {
			return n
		}
	}
	return 0
}

// TestSlowerErrors: how often runs are stopped that are not slower, over all looks at them, and how soon those that are.
func TestSlowerErrors(t *testing.T) {
	trials := *slowerTrials
	for i, z := range noises {
		for _, length := range []int{60, 300} {
			for _, ratio := range []float64{1, 1.05, 1.2, 1.3, 1.5, 2, 4} {
				r := rand.New(rand.NewPCG(uint64(i), uint64(length)))
				ends, steps := 0, 0
				for range trials {
					var others []*paced
					for range 10 {
						others = append(others, newPaced("", "", z.steps(r, length, 1)))
					}
					if n := stopped(z.steps(r, length, ratio), others); n > 0 {
						ends++
						steps += n
					}
				}
				share := float64(ends) / float64(trials)
				t.Logf("%-40s %3d steps, %.2f times: %6.2f %%, after %3.0f steps", z.name, length, ratio, 100*share, float64(steps)/math.Max(1, float64(ends)))
				long := length == 300
				switch {
				case ratio <= 1.05 && i < 5 && share > 0.01:
					t.Errorf("%s: %.2f times as slow, %.2f %% are stopped", z.name, ratio, 100*share)
				case ratio >= 2 && long && share < 0.99, ratio == 4 && i < 3 && steps != ends*slowerFrom:
					t.Errorf("%s: %.0f times as slow, %.1f %% are stopped, after %d steps", z.name, ratio, 100*share, steps/max(1, ends))
				}
			}
		}
	}
}

// TestSlowerAgainstWhom: the best is chosen by all of its steps, of those that have come as far, of the same class.
func TestSlowerAgainstWhom(t *testing.T) {
	series := func(n int, seconds, early float64) *steps {
		s := &steps{}
		for i := range n {
			x := seconds
			if i < 50 {
				x = early
			}
			s.seconds, s.tokens = append(s.seconds, x), append(s.tokens, 1)
		}
		return s
	}
	lucky, steady, short := newPaced("lucky", "a", series(200, 3, 1)), newPaced("steady", "a", series(200, 2, 2)), newPaced("short", "a", series(40, 1, 1))
	other, silent := newPaced("other", "b", series(200, 1, 1)), newPaced("silent", "a", nil)
	list := []*paced{lucky, steady, short, other, silent}
	for _, c := range []struct {
		n    int
		list []*paced
		want *paced
		upTo int
	}{
		{30, list, short, 30}, {100, list, steady, 100}, {500, list, steady, 200}, {100, []*paced{short, other}, short, 40},
		{100, []*paced{other, silent}, nil, 0}, {100, []*paced{newPaced("", "a", series(16, 1, 1))}, nil, 0},
	} {
		if best, upTo := fastest(alike(c.list, "a"), c.n); best != c.want || upTo != c.upTo {
			t.Errorf("%d steps: %+v up to %d", c.n, best, upTo)
		}
	}
	// A run is not ended for what the best one went through as well: its 50 slow steps say that such things happen.
	spell := series(300, 1, 1)
	for i := 200; i < 250; i++ {
		spell.seconds[i] = 2
	}
	spelled := newPaced("", "", spell)
	if _, is := slowerThan(series(17, 2.1, 2.1).kept(17), spelled, []*paced{spelled}, 17); is {
		t.Error("stopped for what the best run went through as well")
	}
	if x, is := slowerThan(series(17, 4, 4).kept(17), spelled, []*paced{spelled}, 17); !is || x.ratio < 3.9 || x.lo > x.ratio || x.hi < x.ratio {
		t.Errorf("%+v, %v", x, is)
	}
}

// TestNotArmed: the rule says once why it does not judge.
func TestNotArmed(t *testing.T) {
	for name, c := range map[string]struct {
		steps, atOnce int
		want          string
	}{
		"the first": {60, 1, unarmedAlone}, "short": {16, 1, unarmedShort}, "side by side": {60, 2, unarmedBeside},
	} {
		t.Run(name, func(t *testing.T) {
			b := pointsOf(t, t.TempDir(), c.steps, 3, func(o *sweeps.Options) { o.StopSlower, o.AtOnce = true, c.atOnce })
			b.fakes("* long")
			for range 2 {
				ctx, cancel := context.WithCancel(t.Context())
				wait := b.begin(ctx)
				b.eventually("a note", func(st *sweeps.State) bool { return len(st.Notes) > 0 && running(c.atOnce)(st) })
				time.Sleep(judgeEvery + 2*lookEvery)
				cancel()
				_ = wait()
			}
			if st := b.state(); len(st.Notes) != 1 || st.Notes[0].Text != c.want || !strings.HasPrefix(c.want, "stop-slower is not armed") {
				t.Errorf("%+v", st.Notes)
			}
		})
	}
}

// TestSlowerBesideAnotherRun: a run is not ended for what another one of the store, of no sweep at all, does to it.
func TestSlowerBesideAnotherRun(t *testing.T) {
	b := pointsOf(t, t.TempDir(), 60, 2, func(o *sweeps.Options) { o.StopSlower = true })
	b.fakes("1 paced 4 60", "2 paced 40 forever", "7 long")
	_, x := b.space(7, 7)
	e, err := x.Points[0].Experiment(x.Base)
	if err != nil {
		t.Fatal(err)
	}
	h, err := runner.Launch(t.Context(), b.runs, e, runner.LaunchOptions{Detach: true})
	if err != nil {
		t.Fatal(err)
	}
	wait := b.begin(t.Context())
	st := b.eventually("the note", func(st *sweeps.State) bool { return len(st.Notes) > 0 || st.Count(sweeps.Stopped) > 0 })
	for _, run := range []string{h.Run.ID, seed(st, 2).Run()} {
		if _, err := runner.Cancel(t.Context(), b.runs, run, "by ada"); err != nil {
			t.Fatal(err)
		}
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if st = b.state(); seed(st, 2).Status != sweeps.Cancelled || len(st.Notes) != 1 || st.Notes[0].Text != unarmedBeside {
		t.Errorf("%+v, notes %+v", seed(st, 2), st.Notes)
	}
}

// TestAgainWhileItRuns: a finished point is run again by whoever looks after the sweep, and others are held against its new run.
func TestAgainWhileItRuns(t *testing.T) {
	b := pointsOf(t, t.TempDir(), 60, 3, func(o *sweeps.Options) { o.StopSlower = true })
	b.fakes("1 ok", "2 long", "3 ok")
	wait := b.begin(t.Context())
	st := b.eventually("the second run", func(st *sweeps.State) bool { return st.Count(sweeps.Finished) == 1 && running(1)(st) })
	if err := b.sweep.RetryAgain([]string{seed(st, 1).ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Cancel(t.Context(), b.runs, seed(st, 2).Run(), "by ada"); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	st = b.state()
	p := seed(st, 1)
	if p.Status != sweeps.Finished || len(p.Attempts) != 2 || p.Attempts[0].Run == p.Run() || !p.Attempts[0].Replaced || st.Count(sweeps.Finished) != 2 {
		t.Errorf("%+v, %d finished", p, st.Count(sweeps.Finished))
	}
	e := &engine{o: b.o, st: st, paces: map[string]*paced{p.Attempts[0].Run: {}}}
	for _, f := range e.finished() {
		if f.run != p.Run() && f.run != seed(st, 3).Run() || len(f.whole) == 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestExcuse: what other programs take of the machine explains as much of a slow run.
func TestExcuse(t *testing.T) {
	b := points(t, 1, nil)
	r, dir, err := b.runs.Create(experiment.Default(), runner.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{o: b.o}
	is := func(age time.Duration, times float64, known bool) {
		t.Helper()
		if x, ok := e.excuse(&attempt{run: r.ID, began: time.Now().Add(-age)}); math.Abs(x-times) > 1e-9 || ok != known {
			t.Errorf("%g, %v", x, ok)
		}
	}
	is(0, 1, false) // there are no samples yet
	is(time.Minute, 1, true)
	w, err := record.OpenWriter(record.HealthPath(dir, r.Hosts[0]))
	if err != nil {
		t.Fatal(err)
	}
	sample := func(host, rank float64) {
		t.Helper()
		for kind, percent := range map[string]float64{record.KindHost: host, record.KindCPU: rank} {
			l := record.NewHealthLine(kind, time.Now().UnixNano())
			if l.CPUPercent = percent; kind == record.KindCPU {
				l.Rank = 0
			}
			if err := w.Health(&l); err != nil {
				t.Fatal(err)
			}
		}
	}
	core := 100 / float64(runtime.NumCPU())
	sample(math.NaN(), math.NaN()) // the first one
	is(0, 1, false)
	sample(core/2, 50) // the rank is all there is
	is(0, 1, true)
	sample(50+core/2, 50)
	is(0, 1/(1-0.25), true) // of the time on average
	sample(100, 0)
	sample(100, 0)
	is(0, 1/(1-2.5/4), true)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	b = pointsOf(t, t.TempDir(), 60, 2, func(o *sweeps.Options) { o.StopSlower = true })
	b.fakes("1 paced 4 60", "2 paced 14 forever")
	b.o.others = func(string) (float64, bool) { return 0.7, true }
	wait := b.begin(t.Context())
	st := b.eventually("the note", func(st *sweeps.State) bool { return len(st.Notes) > 0 || st.Count(sweeps.Stopped) > 0 })
	if st.Count(sweeps.Stopped) > 0 || st.Notes[0].Text != unarmedBusy {
		t.Errorf("%+v, notes %+v", seed(st, 2), st.Notes)
	}
	if _, err := runner.Cancel(t.Context(), b.runs, seed(st, 2).Run(), "by ada"); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}
