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

// WrittenBy reports whether a rank with these places among tensor-parallel and data-parallel ranks is the one that writes the slot
// into a checkpoint: the first of those that hold the same.
func (s *Slot) WrittenBy(tp, dp int) bool {
	return (tp == 0 || !s.Param.Replicated) && (dp == 0 || s.Sliced)
}

// SavedBytes is the size of what this rank, with these places, writes into a checkpoint, and so of the copy of it in host memory. A
// place of a sparse matrix takes 8 bytes in the list of places and in that of picked elements; before the supports are known
// it is an upper bound.
func (s *Step) SavedBytes(tp, dp int) int64 {
	n := int64(0)
	listed := map[string]bool{}
	for _, t := range s.State() {
		if !t.WrittenBy(tp, dp) {
			continue
		}
		n += t.View.Bytes()
		if !t.Param.Sparse() {
			continue
		}
		places := t.Param.Weight.Len() * placeBytes
		if t.Kind == Weight {
			n += places
		}
		if !listed[t.Param.Name] {
			listed[t.Param.Name] = true
			n += places
		}
	}
	return n
}

// placeBytes is the size of a place of a sparse matrix in a checkpoint.
const placeBytes = 8

// StageSavedBytes is the sum of SavedBytes over all ranks of this rank's stage.
func (s *Step) StageSavedBytes() int64 {
	n, tp, dp := int64(0), int64(size(s.groups.TP)), int64(1)
	if s.Sliced() {
		dp = int64(size(s.groups.DP))
	}
	for _, p := range s.model.Params() {
		bytes := p.Weight.Bytes()
		if !p.Grad.IsZero() {
			bytes *= 3 // two moments
		}
		if p.Sparse() {
			bytes += p.Weight.Len() * placeBytes * (1 + dp)
		}
		if !p.Replicated {
			bytes *= tp
		}
		n += bytes
	}
	return n
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
