package results

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
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

// EstimateSweep is the Estimate of Measure by itself. Of runs it reads those alone that go on, so that it is cheap for
// a sweep of many points. The error is the context's.
func EstimateSweep(ctx context.Context, runs *runner.Store, st *sweeps.State, cache *Cache) (Estimate, error) {
	if cache == nil {
		cache = NewCache()
	}
	e := estimateState(st, func(p *sweeps.PointState) spelled {
		e, _ := p.Experiment(st.Base) // what is wrong with a point, its row says
		var figures compare.Summary
		if id := runOf(p); p.Status == sweeps.Running && isRun(id) {
			figures, _ = compare.SummarizeContext(ctx, runs.Dir(id)) // without figures it is taken to be like others
		}
		return spelled{e, &figures}
	}, func() History { return cache.past(ctx, runs) }, time.Now())
	return e, ctx.Err()
}

// spelled is what an estimate asks of a point.
type spelled struct {
	experiment experiment.Experiment
	figures    *compare.Summary // where it runs
}

// estimateState is about the points of a sweep that are not over. past is asked for only where the sweep has measured nothing itself.
func estimateState(st *sweeps.State, spell func(*sweeps.PointState) spelled, past func() History, now time.Time) Estimate {
	left := append(running(st), st.Queue...)
	if len(left) == 0 {
		return Estimate{Basis: "nothing is left"}
	}
	own := measured(st, spell)
	var h History
	if len(own) == 0 {
		h = past()
	}
	s := newEstimator(own, h, st.Options.AtOnce)
	for _, p := range left {
		w := work{pace: pace{flops: p.FLOPs, ranks: p.Ranks}, left: math.NaN()}
		if w.running = p.Status == sweeps.Running; w.running || !s.book.empty() { // else nothing is looked up
			at := spell(p)
			w.experiment = at.experiment
			if w.running {
				w.goesOn(p, at.figures, now)
			}
		}
		s.add(&w)
	}
	e := s.estimate()
	e.Basis += limits(e, st)
	if st.Phase != sweeps.PhaseRunning {
		e.Basis = "once it goes on: " + e.Basis
	}
	return e
}

func running(st *sweeps.State) (out []*sweeps.PointState) {
	for _, p := range st.Points {
		if p.Status == sweeps.Running {
			out = append(out, p)
		}
	}
	return out
}

// measured are the runs of the sweep that have finished.
func measured(st *sweeps.State, spell func(*sweeps.PointState) spelled) []pace {
	if len(st.Pace) == 0 {
		return nil
	}
	of := make(map[string]*sweeps.PointState, len(st.Points))
	for _, p := range st.Points {
		of[p.ID] = p
	}
	var own []pace
	for _, m := range st.Pace {
		if p := of[m.Point]; p != nil && m.Seconds > 0 {
			own = append(own, pace{spell(p).experiment, m.FLOPs, m.Ranks, m.Seconds})
		}
	}
	return own
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
	s := newEstimator(nil, h, o.AtOnce)
	for i := range points {
		p := &points[i]
		w := work{pace: pace{flops: p.FLOPs, ranks: p.Ranks}, left: math.NaN()}
		if !s.book.empty() { // else nothing is looked up
			w.experiment, _ = p.Experiment(base) // what is wrong with a point is said where it is made
		}
		s.add(&w)
	}
	return s.estimate()
}

// work is a point that is not over.
type work struct {
	pace            // its seconds are 0
	running bool    //
	left    float64 // seconds that a running one still takes by its own steps; NaN: not known
	since   float64 // seconds that a running one has run
}

// goesOn notes how far a running point is.
func (w *work) goesOn(p *sweeps.PointState, f *compare.Summary, now time.Time) {
	if f.StepTimeMean != nil && f.Steps > 0 {
		w.left = *f.StepTimeMean * float64(max(0, p.Steps-f.Steps))
	}
	if n := len(p.Attempts); n > 0 {
		w.since = max(0, now.Sub(p.Attempts[n-1].Begun).Seconds())
	}
}

// estimator goes through the work in its order: what runs, then what is queued, each begun when one of the places is free.
type estimator struct {
	book            *paceBook
	own             int       // runs of the sweep that the book rests on
	places          []float64 // seconds from now at which each is free
	used            [byNothing + 1]int
	points, covered int
	hours           float64
}

func newEstimator(own []pace, h History, atOnce int) *estimator {
	return &estimator{book: newPaceBook(own, h.runs), own: len(own), places: make([]float64, max(1, atOnce))}
}

func (s *estimator) add(w *work) {
	s.points++
	seconds, why := s.book.of(w)
	s.used[why]++
	if why == byNothing {
		return
	}
	s.covered++
	next := 0
	for i := range s.places {
		if s.places[i] < s.places[next] {
			next = i
		}
	}
	s.places[next] += seconds
	s.hours += seconds * float64(max(1, w.ranks)) / 3600
}

func (s *estimator) estimate() Estimate {
	e := Estimate{Points: s.points, Covered: s.covered, Basis: basisOf(s.used, s.points, s.own, len(s.places))}
	if s.covered > 0 {
		total := slices.Max(s.places)
		e.Seconds, e.DeviceHours = &total, &s.hours
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
