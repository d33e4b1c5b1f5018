package planner

import (
	"sync"

	"boost-tui/experiment"
	"boost-tui/model"
	"boost-tui/step"
)

// Sizer sizes many experiments: each distinct shape is recorded once, whatever seeds, learning rates and
// steps come with it. Its zero value is ready, and it may be used by many goroutines.
type Sizer struct {
	mu     sync.Mutex
	shapes map[shape]*sized
}

// shape is what the memory of a step depends on.
type shape struct {
	step     step.Config
	parallel experiment.Parallel
	saves    bool // checkpoints are kept
}

// sized is the recording of a shape, made by whoever asks first.
type sized struct {
	once  sync.Once
	loads loads
	err   error
}

// shapeOf leaves out what does not change what is allocated: numbers that operations take, and when they happen.
func shapeOf(e experiment.Experiment) shape {
	c, p := step.ConfigOf(e), e.Parallel
	c = step.Config{Model: c.Model, Zero: c.Zero, Cycles: step.Cycles{Exact: min(c.Cycles.Exact, 1)}}
	c.Model.Seed, c.Model.Eps, c.Model.Theta = 0, 0, 0
	if c.Model.Alpha > 0 {
		c.Model.Alpha = 1
	}
	p.Link = ""
	return shape{fewer(c, p), p, e.Train.KeepLast > 0}
}

// NeedBytes is the memory of all ranks of a valid, resolved experiment.
func (z *Sizer) NeedBytes(e experiment.Experiment) (int64, error) {
	l, err := z.loads(e)
	return l.total, err
}

// loads is what the ranks of a valid, resolved experiment need.
func (z *Sizer) loads(e experiment.Experiment) (loads, error) {
	key := shapeOf(e)
	z.mu.Lock()
	if z.shapes == nil {
		z.shapes = map[shape]*sized{}
	}
	s := z.shapes[key]
	if s == nil {
		s = &sized{}
		z.shapes[key] = s
	}
	z.mu.Unlock()
	s.once.Do(func() { s.loads, s.err = loadsOf(key.step, key.parallel, key.saves) })
	return s.loads, s.err
}

// Shapes is the number of distinct shapes that were recorded.
func (z *Sizer) Shapes() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return len(z.shapes)
}

// Check is the Check of the package without its search for ways out: what a resolved experiment breaks, the
// memory of the machine included, and nothing about what would mend it.
func (z *Sizer) Check(e experiment.Experiment, m Machine) []experiment.Violation {
	vs := e.Broken(m.rules(e, loads{}))
	if !m.measures(e) || experiment.Invalid(vs) != nil {
		return vs
	}
	need, err := z.loads(e)
	switch {
	case err != nil:
		return append(vs, unplanned(e, err))
	case m.roomy(e, need):
		return vs
	}
	return e.Broken(m.rules(e, need))
}

// RunFLOPs are the model FLOPs of a whole run of a valid, resolved experiment, all ranks: those of a step (DESIGN.md:
// 3 x forward) times the steps that it trains. 0: beyond what can be counted.
func RunFLOPs(e experiment.Experiment) float64 {
	c := model.ConfigOf(e)
	sequences := float64(c.Batch) * float64(c.Micros) * float64(e.Parallel.DP) // beyond 64 bits sooner than one sequence's FLOPs
	c.Batch, c.Micros = 1, 1
	return max(0, float64(model.FLOPs(c))) * sequences * float64(e.StepsToRun())
}
