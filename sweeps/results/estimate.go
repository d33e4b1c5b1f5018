package results

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/stats"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// Estimate is how long what is left of a sweep will take. It rests on measured runs only; where there is none to
// rest on it stays unknown.
type Estimate struct {
	Seconds     *float64 `json:"seconds,omitempty"`      // until the last of the covered points is over; nil: unknown
	DeviceHours *float64 `json:"device_hours,omitempty"` // ranks x hours of the covered points
	Points      int      `json:"points"`                 // that are not over
	Covered     int      `json:"covered"`                // of those, the points that something was measured for
	Basis       string   `json:"basis"`                  // what the figures rest on, in words
}

// AtLeast reports whether the figures are a lower bound, because some points are not in them.
func (e Estimate) AtLeast() bool { return e.Seconds != nil && e.Covered < e.Points }

// pace is a measured run.
type pace struct {
	experiment    experiment.Experiment
	configuration string
	flops         float64
	ranks         int
	seconds       float64
}

// work is a point that is not over.
type work struct {
	pace            // its seconds are 0
	running bool    //
	left    float64 // seconds that a running one still takes by its own steps; NaN: not known
	since   float64 // seconds that a running one has run
}

// basis is why an estimate of a point is believed, the best first.
type basis int

const (
	byItself  basis = iota // the rest of its steps at its own pace
	byRepeat               // runs of the same configuration
	byScheme               // runs of the same variant, scheme and ranks, scaled by FLOPs
	bySweep                // other runs of the sweep, scaled by FLOPs
	byStore                // other runs of this machine, scaled by FLOPs
	byNothing              //
)

var basisWords = [...]string{
	byItself: "the steps that it has made", byRepeat: "runs of the same configuration", byScheme: "runs of the same variant, scheme and ranks, scaled by FLOPs",
	bySweep: "other runs of the sweep, scaled by FLOPs", byStore: "earlier runs on this machine, scaled by FLOPs",
}

// estimateState is about the points of a sweep that are not over. past is asked for only where the sweep has measured nothing itself.
func estimateState(st *sweeps.State, rows map[string]*Row, past func() History, now time.Time) Estimate {
	var own []pace
	for _, p := range st.Pace {
		if r := rows[p.Point]; r != nil && p.Seconds > 0 {
			own = append(own, pace{r.Experiment, r.configuration, p.FLOPs, p.Ranks, p.Seconds})
		}
	}
	var left []work
	take := func(p *sweeps.PointState) {
		r := rows[p.ID]
		if r == nil {
			return
		}
		w := work{pace: pace{experiment: r.Experiment, configuration: r.configuration, flops: p.FLOPs, ranks: p.Ranks}, left: math.NaN()}
		if p.Status == sweeps.Running {
			w.running = true
			if mean := r.Figures.StepTimeMean; mean != nil && r.Figures.Steps > 0 {
				w.left = *mean * float64(max(0, r.Steps-r.Figures.Steps))
			}
			if n := len(p.Attempts); n > 0 {
				w.since = max(0, now.Sub(p.Attempts[n-1].Begun).Seconds())
			}
		}
		left = append(left, w)
	}
	for _, p := range st.Points {
		if p.Status == sweeps.Running {
			take(p)
		}
	}
	for _, p := range st.Queue {
		take(p)
	}
	if len(left) == 0 {
		return Estimate{Basis: "nothing is left"}
	}
	var h History
	if len(own) == 0 {
		h = past()
	}
	e := estimate(left, own, h, st.Options.AtOnce)
	e.Basis += limits(e, st)
	if st.Phase == sweeps.PhasePaused || st.Phase == sweeps.PhaseStopped || st.Phase == sweeps.PhaseInterrupted {
		e.Basis = "once it goes on: " + e.Basis
	}
	return e
}

// limits says which of the sweep's limits comes before the end.
func limits(e Estimate, st *sweeps.State) string {
	o := st.Options
	if o.MaxTime > 0 && e.Seconds != nil && *e.Seconds > (o.MaxTime-st.Worked).Seconds() {
		return fmt.Sprintf("; the limit of %s of work comes first", duration(o.MaxTime.Seconds()))
	}
	if o.MaxDeviceHours > 0 && e.DeviceHours != nil && *e.DeviceHours > o.MaxDeviceHours-st.DeviceHours {
		return fmt.Sprintf("; the limit of %s device hours comes first", digits(o.MaxDeviceHours))
	}
	return ""
}

// EstimatePoints is about points that nobody has started, such as those of a dry run. base is what they set their values on top of.
func EstimatePoints(base experiment.Experiment, points []space.Point, o sweeps.Options, h History) Estimate {
	if len(points) == 0 {
		return Estimate{Basis: "nothing is left"}
	}
	left := make([]work, 0, len(points))
	for _, p := range points {
		w := work{pace: pace{flops: p.FLOPs, ranks: p.Ranks}, left: math.NaN()}
		if !h.Empty() { // nothing is looked up without
			w.experiment, _ = p.Experiment(base) // what is wrong with a point is said where it is made
			w.configuration = configurationOf(w.experiment)
		}
		left = append(left, w)
	}
	return estimate(left, nil, h, o.AtOnce)
}

// estimate goes through the work in its order: what runs, then what is queued, each begun when one of the places is free.
func estimate(left []work, own []pace, h History, atOnce int) Estimate {
	e := Estimate{Points: len(left)}
	book := newPaceBook(own, h.runs)
	var used [byNothing + 1]int
	places := make([]float64, max(1, atOnce)) // seconds from now at which each is free
	hours := 0.0
	for _, w := range left {
		seconds, why := book.of(w)
		used[why]++
		if why == byNothing {
			continue
		}
		e.Covered++
		next := 0
		for i := range places {
			if places[i] < places[next] {
				next = i
			}
		}
		places[next] += seconds
		hours += seconds * float64(max(1, w.ranks)) / 3600
	}
	e.Basis = basisOf(used, len(left), len(own), atOnce)
	if e.Covered > 0 {
		total := slices.Max(places)
		e.Seconds, e.DeviceHours = &total, &hours
	}
	return e
}

func basisOf(used [byNothing + 1]int, points, own, atOnce int) string {
	if used[byNothing] == points {
		return "unknown: no run that its points could be measured by has finished yet"
	}
	var parts []string
	for b, n := range used[:byNothing] {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s by %s", counted(n, "point"), basisWords[b]))
		}
	}
	s := strings.Join(parts, ", ")
	if own > 0 {
		s += fmt.Sprintf("; %s measured so far", counted(own, "run"))
	}
	if atOnce > 1 {
		s += fmt.Sprintf("; %d at a time", atOnce)
	}
	if n := used[byNothing]; n > 0 {
		s = fmt.Sprintf("at least: nothing was measured for %s; %s", counted(n, "point"), s)
	}
	return s
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// paceBook finds the measured runs that are nearest to a point.
type paceBook struct {
	repeats map[string][]float64 // seconds, by configuration
	scheme  map[string][]float64 // seconds per FLOP, by variant, scheme and ranks
	sweep   []float64
	store   []float64
	middle  map[string]float64 // medians that were asked for
}

func newPaceBook(own, past []pace) *paceBook {
	b := &paceBook{repeats: map[string][]float64{}, scheme: map[string][]float64{}, middle: map[string]float64{}}
	for i, p := range slices.Concat(own, past) {
		b.repeats[p.configuration] = append(b.repeats[p.configuration], p.seconds)
		rate := p.rate()
		if !(rate > 0) || math.IsInf(rate, 0) {
			continue
		}
		b.scheme[p.kind()] = append(b.scheme[p.kind()], rate)
		if i < len(own) {
			b.sweep = append(b.sweep, rate)
		} else {
			b.store = append(b.store, rate)
		}
	}
	return b
}

// kind is what has one speed, about: the same way of computing on as many ranks.
func (p *pace) kind() string {
	e := &p.experiment
	return fmt.Sprintf("%s %s tp%d pp%d dp%d %s %s", e.Model.Variant, e.Parallel.Scheme, e.Parallel.TP, e.Parallel.PP, e.Parallel.DP, e.Step.Device, e.Step.DType)
}

// rate is the seconds that a FLOP takes. Ranks on the cpu share the machine's cores; ranks on devices have one each.
func (p *pace) rate() float64 {
	if p.experiment.Step.Device == experiment.DeviceCPU {
		return p.seconds / p.flops
	}
	return p.seconds * float64(p.ranks) / p.flops
}

// scaled is how long the work takes at a rate.
func (w *work) scaled(rate float64) float64 {
	if w.experiment.Step.Device == experiment.DeviceCPU {
		return rate * w.flops
	}
	return rate * w.flops / float64(max(1, w.ranks))
}

// of is how long a point still takes, and why that is believed.
func (b *paceBook) of(w work) (float64, basis) {
	if w.running && !math.IsNaN(w.left) {
		return w.left, byItself
	}
	seconds, why := b.whole(w)
	if w.running {
		seconds = max(0, seconds-w.since)
	}
	return seconds, why
}

// whole is how long a point takes from its start.
func (b *paceBook) whole(w work) (float64, basis) {
	if s := b.repeats[w.configuration]; len(s) > 0 && w.configuration != "" {
		return b.median("repeats "+w.configuration, s), byRepeat
	}
	if !(w.flops > 0) {
		return 0, byNothing
	}
	if s := b.scheme[w.kind()]; len(s) > 0 {
		return w.scaled(b.median("scheme "+w.kind(), s)), byScheme
	}
	if len(b.sweep) > 0 {
		return w.scaled(b.median("sweep", b.sweep)), bySweep
	}
	if len(b.store) > 0 {
		return w.scaled(b.median("store", b.store)), byStore
	}
	return 0, byNothing
}

func (b *paceBook) median(name string, of []float64) float64 {
	m, ok := b.middle[name]
	if !ok {
		m = stats.Median(of).Value
		b.middle[name] = m
	}
	return m
}

// past is the store's history, read at most once a minute.
func (c *Cache) past(ctx context.Context, runs *runner.Store) History {
	const fresh = time.Minute
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() || time.Since(c.asked) > fresh {
		c.history, c.asked = ReadHistory(ctx, runs), time.Now()
	}
	return c.history
}
