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
	for _, a := range []struct {
		kind Kind
		view kernels.View
	}{{FirstMoment, s.m}, {SecondMoment, s.v}} {
		for _, p := range params {
			out = s.moments(out, a.kind, a.view, p)
		}
	}
	return out
}

// Sliced reports whether data-parallel ranks share the optimizer's work, each with slices of every region: moments are of those, and
// gradients are complete there.
func (s *Step) Sliced() bool { return s.slices() > 1 }

// moments appends a parameter's moments of a kind: of its elements those that lie in stretches of this rank.
func (s *Step) moments(out []Slot, kind Kind, view kernels.View, p model.Param) []Slot {
	if p.Grad.IsZero() {
		return out // not trained
	}
	first := int((p.Weight.Offset - s.model.Weights().Offset) / kernels.F32.Bytes())
	for _, u := range s.updates {
		for _, r := range u.stretches {
			from, to := max(first, r.lo), min(first+int(p.Weight.Len()), r.hi)
			if from < to {
				out = append(out, Slot{kind, p, int64(from - first), r.moments(view).ColRange(from-r.lo, to-r.lo), s.Sliced()})
			}
		}
	}
	return out
}
