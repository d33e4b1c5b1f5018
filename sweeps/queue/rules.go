package queue

import (
	"fmt"
	"math"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/profiler/stats"
)

// Names of the stopping rules, as the journal has them.
const (
	ruleDiverged = "diverged"
	ruleSlower   = "slower"
)

const (
	judgeEvery = 500 * time.Millisecond
	stepBudget = 4 << 20 // bytes of step lines per look

	// A run has diverged when the mean of its last losses is so many times the first, after so many steps: a peak that
	// a warm-up causes is lower, and passes.
	divergedLast   = 10
	divergedFrom   = 20
	divergedFactor = 1.2
)

// steps follows the steps of rank 0.
type steps struct {
	tail    *record.Tailer
	first   float64               // loss; NaN: none yet
	last    [divergedLast]float64 // losses, as a ring
	n       int                   // losses so far
	broken  bool                  // loss or gradient norm is no number
	seconds []float64             // of each step that counts; at most judgedSteps
	tokens  []float64             // of the same steps
	looked  int                   // len(seconds) at the last comparison
}

func followSteps(dir string) *steps {
	return &steps{tail: record.NewTailer(record.StepsPath(dir, 0)), first: math.NaN()}
}

// read takes in what is new, up to a budget; more says that there is more. A file that cannot be read now is read later, or
// never: no rule ends a run for that.
func (s *steps) read() (more bool) {
	var line record.StepLine
	more, _ = s.tail.Poll(stepBudget, func(b []byte) {
		if line.Decode(b) == nil {
			s.add(&line)
		}
	})
	return more
}

// readJudged takes in all steps of a finished run that the rules look at.
func (s *steps) readJudged() {
	for s.read() && len(s.seconds) < judgedSteps {
	}
}

func (s *steps) add(l *record.StepLine) {
	if l.Flags&record.NonFinite != 0 {
		s.broken = true
		return
	}
	if !math.IsNaN(l.Loss) {
		if s.n == 0 {
			s.first = l.Loss
		}
		s.last[s.n%divergedLast] = l.Loss
		s.n++
	}
	if l.Flags&^record.Warmup == 0 && l.WallNanos > 0 && l.Tokens > 0 && len(s.seconds) < judgedSteps {
		s.seconds = append(s.seconds, float64(l.WallNanos)/1e9)
		s.tokens = append(s.tokens, float64(l.Tokens))
	}
}

// diverged says how the loss has diverged; empty: it has not.
func (s *steps) diverged() string {
	if s.broken {
		return "its loss or gradient norm is not finite"
	}
	if s.n < divergedFrom {
		return ""
	}
	if mean := stats.Mean(s.last[:]); mean > s.first*divergedFactor {
		return fmt.Sprintf("the mean of its last %d losses is %.4g, the first was %.4g", divergedLast, mean, s.first)
	}
	return ""
}

// notFinite reports whether the last step that a run wrote was none.
func notFinite(dir string) bool {
	last, err := record.LastSteps(record.StepsPath(dir, 0), 1)
	return err == nil && len(last) == 1 && last[0].Flags&record.NonFinite != 0
}

// judge applies the stopping rules to the runs that go on.
func (e *engine) judge() {
	o := e.st.Options
	if !o.StopDiverged && !o.StopSlower || time.Since(e.judged) < judgeEvery {
		return
	}
	e.judged = time.Now()
	for _, a := range e.live {
		if a.asked {
			continue
		}
		a.steps.read()
		if why := a.steps.diverged(); o.StopDiverged && why != "" && !a.steps.broken { // a broken one ends by itself
			e.cancel(a, ruleReason(ruleDiverged, why))
			continue
		}
		if !o.StopSlower {
			continue
		}
		if why := e.slower(a); why != "" {
			e.cancel(a, ruleReason(ruleSlower, why))
		}
	}
}
