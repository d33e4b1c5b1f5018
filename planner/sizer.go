package planner

import (
	"maps"
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
	model model.Config
	tp    int
}

// sized is the recording of a shape, made by whoever asks first.
type sized struct {
	once   sync.Once
	memory map[string]int64
	err    error
}

// shapeOf leaves out what does not change what is allocated.
func shapeOf(e experiment.Experiment) shape {
	c := model.ConfigOf(e)
	c.Seed, c.Eps, c.Theta = 0, 0, 0
	c.Micros = min(c.Micros, 2)
	return shape{c, e.Parallel.TP}
}

// NeedBytes is the memory of all ranks of a valid, resolved experiment.
func (z *Sizer) NeedBytes(e experiment.Experiment) (int64, error) {
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
	s.once.Do(func() {
		cfg := step.ConfigOf(e)
		cfg.Model = key.model
		var r recording
		if _, s.err = r.allocate(cfg, key.tp); s.err == nil {
			s.memory = maps.Clone(r.memory)
		}
	})
	if s.err != nil {
		return 0, s.err
	}
	return priceOf(e).memory(s.memory).Total * int64(e.World()), nil
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
	on := experiment.Machine{MemBytes: m.MemBytes, Cores: m.Cores}
	vs := e.Broken(on)
	if m.MemBytes == 0 || experiment.Invalid(vs) != nil {
		return vs
	}
	need, err := z.NeedBytes(e)
	if err != nil {
		return append(vs, unplanned(e, err))
	}
	if need <= m.MemBytes {
		return vs
	}
	on.NeedBytes = need
	return e.Broken(on)
}

// RunFLOPs are the model FLOPs of a whole run of a valid, resolved experiment, all ranks: those of a step (DESIGN.md:
// 3 x forward) times the steps that it trains. 0: beyond what can be counted.
func RunFLOPs(e experiment.Experiment) float64 {
	c := model.ConfigOf(e)
	sequences := float64(c.Batch) * float64(c.Micros) // beyond 64 bits sooner than one sequence's FLOPs
	c.Batch, c.Micros = 1, 1
	return max(0, float64(model.FLOPs(c))) * sequences * float64(e.StepsToRun())
}
