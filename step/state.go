package step

import (
	"boost-tui/kernels"
	"boost-tui/model"
)

// Kind is what a tensor of a rank's state is to its parameter.
type Kind uint8

// Kinds of tensors.
const (
	Weight Kind = iota
	FirstMoment
	SecondMoment
)

// Slot is a tensor of what a rank must find again to go on: together all that a step changes. What else a step depends on
// (counts of steps, generators) is a function of its index and of the seed.
type Slot struct {
	Kind  Kind
	Param model.Param
	From  int64        // the first element of the rank's part of the parameter that View holds, counted row by row
	View  kernels.View // the elements, one row
	// Sliced says that every data-parallel rank holds another stretch. Where it is not set, those ranks hold the same.
	Sliced bool
}

// State lists the rank's tensors in a fixed order. Views stay as they are for the life of the step.
func (s *Step) State() []Slot {
	var out []Slot
	params := s.model.Params()
	for _, p := range params {
		out = append(out, Slot{Kind: Weight, Param: p, View: p.Weight.Flat()})
	}
	lo, sliced := s.held()
	for _, a := range []struct {
		kind Kind
		view kernels.View
	}{{FirstMoment, s.m}, {SecondMoment, s.v}} {
		for _, p := range params {
			if p.Grad.IsZero() {
				continue // not trained
			}
			first := int((p.Weight.Offset - s.model.Weights().Offset) / kernels.F32.Bytes())
			from, to := max(first, lo), min(first+int(p.Weight.Len()), lo+a.view.Cols)
			if from < to {
				out = append(out, Slot{a.kind, p, int64(from - first), a.view.ColRange(from-lo, to-lo), sliced})
			}
		}
	}
	return out
}

// held says which stretch of the weights' arena the moments are of: the element that they begin with, and whether other data-parallel
// ranks hold other stretches. Their length is that of the views.
func (s *Step) held() (lo int, sliced bool) { return 0, false }
