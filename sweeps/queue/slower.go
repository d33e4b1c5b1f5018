package queue

import (
	"fmt"
	"math"

	"boost-tui/experiment"
	"boost-tui/profiler/stats"
	"boost-tui/sweeps"
)

// paced is a finished run that others are held against.
type paced struct {
	run    string
	class  string
	steps  *steps    // nil: it says nothing, because others ran beside it
	whole  []float64 // seconds per token of all its steps that are kept
	median float64   // of these
}

// newPaced is a run of which all steps are known.
func newPaced(run, class string, s *steps) *paced {
	f := &paced{run: run, class: class, steps: s}
	if s != nil {
		f.whole = s.kept(len(s.seconds))
		f.median = stats.Percentile(f.whole, 0.5)
	}
	return f
}

// Why the rule against slow runs does not judge. Each is noted once for a sweep.
const (
	unarmed       = "stop-slower is not armed"
	unarmedBeside = unarmed + " for runs that others go on beside: they slow each other down"
	unarmedAlone  = unarmed + " yet: it takes a finished run of the same model on as many devices, of enough steps, which no other ran beside"
	unarmedBusy   = unarmed + " for runs that other programs of this machine may have slowed down"
)

// unarmedShort is about runs that are over before they can be judged.
var unarmedShort = fmt.Sprintf("%s for runs of fewer than %d steps: they are over before they can be judged", unarmed, slowerFrom)

// slower says against which run this one is clearly slower; empty: none.
func (e *engine) slower(a *attempt) string {
	switch {
	case a.point.Twin: // others are measured against it
		return ""
	case a.crowded:
		e.noteOnce(unarmedBeside)
		return ""
	case a.e.Train.Steps < slowerFrom:
		e.noteOnce(unarmedShort)
		return ""
	case !a.steps.due():
		return ""
	}
	like := alike(e.finished(), classOf(a.e))
	best, n := fastest(like, len(a.steps.seconds))
	if best == nil {
		e.noteOnce(unarmedAlone)
		return ""
	}
	x, is := slowerThan(a.steps.kept(n), best, like, n)
	if is {
		if a.crowded = e.disturbed(a); a.crowded {
			e.noteOnce(unarmedBeside)
			return ""
		}
		times, known := e.excuse(a)
		if !known {
			return "" // in a moment
		}
		if is = x.lo > slowerFactor*times; !is {
			e.noteOnce(unarmedBusy)
		}
	}
	a.steps.looked = len(a.steps.seconds)
	if !is {
		return ""
	}
	return fmt.Sprintf("after %d steps its time per token is %.3g times that of %s up to there, 99.8%% interval %.3g to %.3g", n, x.ratio, best.run, x.lo, x.hi)
}

// finished are the runs of the sweep that others can be held against.
func (e *engine) finished() []*paced {
	var list []*paced
	for _, p := range e.st.Points {
		if p.Status == sweeps.Finished {
			list = append(list, e.pace(p))
		}
	}
	return list
}

// alike are the runs of a class that say something.
func alike(list []*paced, class string) []*paced {
	var fit []*paced
	for _, f := range list {
		if f.class == class && f.steps != nil && len(f.steps.seconds) >= slowerFrom {
			fit = append(fit, f)
		}
	}
	return fit
}

// fastest is the run with the least time per token, of those that have made n steps or, where none has, of
// those that have made the most; upTo is how many steps both have. It is chosen by all of its steps: by the first few,
// the one that was lucky with them would be, and many would look slow beside it.
func fastest(list []*paced, n int) (best *paced, upTo int) {
	for _, f := range list {
		upTo = max(upTo, min(n, len(f.steps.seconds)))
	}
	least := math.Inf(1)
	for _, f := range list {
		if len(f.steps.seconds) >= upTo && f.median < least {
			least, best = f.median, f
		}
	}
	return best, upTo
}

// pace reads the steps of the run of a finished point, once.
func (e *engine) pace(p *sweeps.PointState) *paced {
	run := p.Run()
	if f, known := e.paces[run]; known {
		return f
	}
	class := ""
	if x, err := p.Experiment(e.st.Base); err == nil {
		class = classOf(x)
	}
	var s *steps
	if !e.beside(p) {
		s = followSteps(e.o.Runs.Dir(run))
		s.readJudged()
	}
	f := newPaced(run, class, s)
	e.paces[run] = f
	return f
}

// noteOnce is note for what need not be said of every run.
func (e *engine) noteOnce(text string) {
	if e.noted[text] {
		return
	}
	e.noted[text] = true
	for _, n := range e.st.Notes { // by an earlier sitting
		if n.Text == text {
			return
		}
	}
	e.note(text)
}

// classOf tells experiments apart whose times per token cannot be set side by side: they train the same model but for its
// variant and ranks, in the same precision, on as many devices of a kind that say as fast what they have to say to each other.
func classOf(e experiment.Experiment) string {
	m := e.Model
	return fmt.Sprint(m.D, m.Layers, m.Heads, m.FF, m.Vocab, e.World(), e.Step.DType, e.Step.Device, e.Parallel.Link)
}
