package step

import (
	"math"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// update measures the gradient, clips it and moves the weights (METHOD.md §2).
func (s *Step) update(in Input) {
	s.x.Phase(kernels.Optimizer, 0)
	s.x.At(-1, "optimizer")
	s.measure()
	loro := s.cfg.Model.Variant == experiment.LORO
	var under []kernels.Pending
	for _, u := range s.updates {
		for _, r := range u.stretches {
			if loro {
				s.adam(r, in)
			} else {
				s.adamW(r, in)
			}
			s.round(r.name("weights.round"), r)
		}
		under = append(under, s.share(u, loro && due(in.Index, s.cfg.Cycles.Exact)))
	}
	for _, p := range under {
		p.Wait()
	}
	s.turnCycles(in)
}

// name of an operation on the stretch.
func (r stretch) name(op string) string {
	if r.rank > 0 {
		return op + ".factors"
	}
	return op
}

// count is the number of steps since the moments of a stretch were cleared, with this one. It follows from the step's
// index alone, so that a run that resumes needs no counter.
func (s *Step) count(r stretch, index int) int {
	c := s.cfg.Cycles
	switch {
	case s.cfg.Model.Variant == experiment.LORO && c.Refresh > 0:
		return (index-1)%c.Refresh + 1
	case s.cfg.Model.Variant == experiment.ReLoRA && r.rank > 0 && !c.KeepStep && c.Merge > 0:
		return (index-1)%c.Merge + 1
	default:
		return index
	}
}

func (s *Step) adamW(r stretch, in Input) {
	s.x.Do(r.name("adamw"), &kernels.AdamW{Param: s.masterOf(r), M: r.moments(s.m), V: r.moments(s.v), Grad: r.of(s.model.Gradients()), Scale: s.scale,
		LR: float32(in.LR), Beta1: float32(s.cfg.Beta1), Beta2: float32(s.cfg.Beta2), Eps: float32(s.cfg.Eps),
		WeightDecay: float32(s.cfg.WeightDecay), Step: s.count(r, in.Index)})
}

// adam is LORO's rule. Factors move by r/d of the rate in a lazy step, with the ranks and widths of the whole
// matrices, not of a rank's part; in an exact step their direction is left where their gradient was.
func (s *Step) adam(r stretch, in Input) {
	c, eta := s.cfg, s.eta(r, in)
	grad := r.of(s.model.Gradients())
	op := &kernels.Adam{Param: s.masterOf(r), M: r.moments(s.m), V: r.moments(s.v), Grad: grad, Scale: s.scale,
		Rate: float32(eta), Decay: float32(in.LR * c.WeightDecay), Beta1: float32(c.Beta1), Beta2: float32(c.Beta2), Eps: float32(c.Eps)}
	switch {
	case r.rank > 0 && due(in.Index, c.Cycles.Exact):
		op.Param, op.Out = kernels.View{}, grad
	case r.rank > 0:
		op.Rate, op.Decay = float32(eta*float64(r.rank)/float64(c.Model.D)), float32(eta*c.WeightDecay)
	}
	s.x.Do(r.name("adam"), op)
}

// eta is the rate of LORO's step: the learning rate with the corrections of both moments, of the betas that the device
// computes with.
func (s *Step) eta(r stretch, in Input) float64 {
	t, b1, b2 := float64(s.count(r, in.Index)), float64(float32(s.cfg.Beta1)), float64(float32(s.cfg.Beta2))
	return in.LR * math.Sqrt(1-math.Pow(b2, t)) / (1 - math.Pow(b1, t))
}

// turnCycles does what is due after the update.
func (s *Step) turnCycles(in Input) {
	c := s.cfg.Cycles
	switch s.cfg.Model.Variant {
	case experiment.LORO:
		if due(in.Index, c.Exact) {
			s.exact(float32(s.eta(stretch{}, in)))
			s.roundFactors()
		}
		if due(in.Index, c.Refresh) {
			s.clear(stretch{hi: s.m.Cols})
		}
	case experiment.ReLoRA:
		if !due(in.Index, c.Merge) {
			return
		}
		s.model.Merge(s.x, in.Index/c.Merge-1)
		s.x.At(-1, "optimizer")
		for _, u := range s.updates {
			for _, r := range u.stretches {
				if r.rank > 0 {
					s.clear(r)
					s.widen(r)
				}
			}
		}
	}
}

// clear forgets the moments of a stretch.
func (s *Step) clear(r stretch) {
	s.x.Do(r.name("moments.zero"), &kernels.Fill{X: r.moments(s.m)})
	s.x.Do(r.name("moments.zero"), &kernels.Fill{X: r.moments(s.v)})
}
