package queue

import (
	"fmt"
	"math"

	"boost-tui/experiment"
	"boost-tui/profiler/stats"
	"boost-tui/sweeps"
)

const (
	// A run is clearly slower when the whole interval of its speed-up against the best lies below this.
	slowerBelow = 0.95
	// slowerGrowth is by how much a run must have grown since the last look: many looks would find something in noise.
	slowerGrowth = 1.25
)

// paced is a finished run that others are held against.
type paced struct {
	run   string
	class string
	steps *steps // nil: it says nothing, because others ran beside it
}

// slower says against which run this one is clearly slower; empty: none.
func (e *engine) slower(a *attempt) string {
	n := len(a.steps.seconds)
	if float64(n) < slowerGrowth*float64(a.steps.looked) {
		return ""
	}
	mine := perToken(a.steps, n)
	if mine == nil {
		return ""
	}
	a.steps.looked = n
	best, run := e.best(classOf(a.e), n)
	if best == nil {
		return ""
	}
	speed := stats.SpeedUp([][]float64{best}, [][]float64{mine})
	if !(speed.Hi < slowerBelow) {
		return ""
	}
	return fmt.Sprintf("after %d steps its time per token is %.3g times that of %s, 95%% interval %.3g to %.3g", n, 1/speed.Value, run, 1/speed.Hi, 1/speed.Lo)
}

// best is the fastest comparable run that has finished, up to the same step.
func (e *engine) best(class string, n int) (series []float64, run string) {
	least := math.Inf(1)
	for _, p := range e.st.Points {
		if p.Status != sweeps.Finished {
			continue
		}
		f := e.pace(p)
		if f.class != class || f.steps == nil {
			continue
		}
		s := perToken(f.steps, n)
		if s == nil {
			continue
		}
		if m := stats.Median(s).Value; m < least {
			least, series, run = m, s, f.run
		}
	}
	return series, run
}

// pace reads the steps of a finished run, once.
func (e *engine) pace(p *sweeps.PointState) paced {
	f, known := e.paces[p.ID]
	if known {
		return f
	}
	f.run = p.Run()
	if x, err := p.Experiment(e.st.Base); err == nil {
		f.class = classOf(x)
	}
	if !e.beside(p) {
		f.steps = followSteps(e.o.Runs.Dir(f.run))
		f.steps.read()
	}
	e.paces[p.ID] = f
	return f
}

// beside reports whether another run of the sweep went on beside the one that counts of a finished point.
func (e *engine) beside(p *sweeps.PointState) bool {
	mine := p.Attempts[len(p.Attempts)-1]
	for _, q := range e.st.Points {
		for _, a := range q.Attempts {
			if q.ID != p.ID && a.Run != "" && a.Begun.Before(mine.Ended) && (a.Ended.IsZero() || a.Ended.After(mine.Begun)) {
				return true
			}
		}
	}
	return false
}

// perToken are the seconds per token of the first n steps that count, without the warm-up that no figure includes;
// nil where too few are left for a verdict.
func perToken(s *steps, n int) []float64 {
	n = min(n, len(s.seconds))
	skip := stats.Skip(s.seconds[:n])
	if skip.Short || n-skip.Steps < stats.VerdictSteps {
		return nil
	}
	out := make([]float64, 0, n-skip.Steps)
	for i := skip.Steps; i < n; i++ {
		out = append(out, s.seconds[i]/s.tokens[i])
	}
	return out
}

// classOf tells experiments apart whose times per token cannot be set side by side: they train the same model but for its
// variant and ranks, in the same precision, on as many devices of a kind that say as fast what they have to say to each other.
func classOf(e experiment.Experiment) string {
	m := e.Model
	return fmt.Sprint(m.D, m.Layers, m.Heads, m.FF, m.Vocab, e.World(), e.Step.DType, e.Step.Device, e.Parallel.Link)
}
