package results

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"boost-tui/experiment"
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

// work is a point that is not over.
type work struct {
	pace            // its seconds are 0
	running bool    //
	left    float64 // seconds that a running one still takes by its own steps; NaN: not known
	since   float64 // seconds that a running one has run
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
