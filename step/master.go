package step

import (
	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/model"
)

// A decoder that works in BF16 has rounded weights; the optimizer steps F32 masters of them, since most updates are smaller
// than what BF16 can add. After the update the masters are rounded again. With ZeRO-1 a rank has the masters of its own
// slices, as it has moments, and what the replicas gather is the rounded weights: half the bytes, and the same bits everywhere.
//
// LORO's exact step is from whole factors. There every rank has room for all masters; those of other ranks' slices are right
// from when an exact step gathers them until the next update, and nobody reads them otherwise.
//
// A decoder that works in F32 has no masters: its weights are stepped themselves.

// Mixed reports whether the optimizer steps other numbers than the decoder works with: the decoder's weights are rounded from
// what is saved of them.
func (s *Step) Mixed() bool { return s.cfg.Model.DType != kernels.F32 }

// wholeMasters reports whether masters have the places of the weights, not of the moments.
func (s *Step) wholeMasters() bool {
	return s.slices() == 1 || s.cfg.Model.Variant == experiment.LORO
}

func (s *Step) allocateMaster() error {
	if !s.Mixed() {
		s.master = s.model.Weights()
		return nil
	}
	n := s.m.Cols
	if s.wholeMasters() {
		n = s.model.Weights().Cols
	}
	var own kernels.Layout
	master := own.Add(1, n, kernels.F32)
	shared := s.cfg.Model.Variant == experiment.LORO && size(s.groups.DP) > 1
	if _, err := own.Commit(s.dev, kernels.MemOptimizer, shared); err != nil {
		return err
	}
	s.master = *master
	var list []model.Master
	for _, u := range s.updates {
		for _, r := range u.stretches {
			list = append(list, model.Master{Lo: r.lo, Hi: r.hi, View: s.masterOf(r)})
		}
	}
	s.model.KeepMasters(list)
	return nil
}

// masterOf is what the optimizer steps of a stretch.
func (s *Step) masterOf(r stretch) kernels.View {
	if s.Mixed() && !s.wholeMasters() {
		return r.moments(s.master)
	}
	return r.of(s.master)
}

// stepped is what the optimizer steps of a factor, where masters are whole.
func (s *Step) stepped(p model.Param) kernels.View {
	return matrix(s.master, s.model.First(p), p.Weight.Rows, p.Weight.Cols)
}

// round makes the weights of a stretch from their masters.
func (s *Step) round(name string, r stretch) {
	if s.Mixed() {
		s.x.Do(name, &kernels.Convert{X: s.masterOf(r), Out: r.of(s.model.Weights())})
	}
}

// widen makes the masters of a stretch from weights that were set otherwise.
func (s *Step) widen(r stretch) {
	if s.Mixed() {
		s.x.Do(r.name("masters.widen"), &kernels.Convert{X: r.of(s.model.Weights()), Out: s.masterOf(r)})
	}
}

// roundFactors makes all factors from their masters, which an exact step has left whole on every rank.
func (s *Step) roundFactors() {
	if !s.Mixed() {
		return
	}
	s.x.At(-1, "exact")
	for _, r := range s.model.Regions() {
		if r.Rank > 0 {
			s.round("factors.round", stretch{lo: r.Lo, hi: r.Hi})
		}
	}
}
