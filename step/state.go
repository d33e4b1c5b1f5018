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
		if t.Kind == Weight {
			n += t.View.Len() * placeBytes
		}
		if !listed[t.Param.Name] {
			listed[t.Param.Name] = true
			n += t.Param.Weight.Len() * placeBytes
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
			bytes = 3 * p.Weight.Len() * kernels.F32.Bytes() // with two moments
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

// State lists the rank's tensors in a fixed order: of trained weights what the optimizer steps, F32 whatever the decoder works
// with. What is restored of those in a step that is Mixed, whole parts are: Model().LoadPart sets both. Views stay as they are for the life of the step.
func (s *Step) State() []Slot {
	var out []Slot
	params := s.model.Params()
	for _, p := range params {
		if s.Mixed() && !p.Grad.IsZero() {
			out = s.sliced(out, Weight, s.masterOf, p)
		} else {
			out = append(out, Slot{Kind: Weight, Param: p, View: p.Weight.Flat()})
		}
	}
	for _, a := range []struct {
		kind Kind
		view kernels.View
	}{{FirstMoment, s.m}, {SecondMoment, s.v}} {
		for _, p := range params {
			if !p.Grad.IsZero() {
				out = s.sliced(out, a.kind, func(r stretch) kernels.View { return r.moments(a.view) }, p)
			}
		}
	}
	return out
}

// Sliced reports whether data-parallel ranks share the optimizer's work, each with slices of every region: moments are of those, and
// gradients are complete there.
func (s *Step) Sliced() bool { return s.slices() > 1 }

// sliced appends what there is of a kind of a trained parameter: of its elements those that lie in stretches of this rank.
func (s *Step) sliced(out []Slot, kind Kind, of func(stretch) kernels.View, p model.Param) []Slot {
	first := s.model.First(p)
	for _, u := range s.updates {
		for _, r := range u.stretches {
			from, to := max(first, r.lo), min(first+int(p.Weight.Len()), r.hi)
			if from < to {
				out = append(out, Slot{kind, p, int64(from - first), of(r).ColRange(from-r.lo, to-r.lo), s.Sliced()})
			}
		}
	}
	return out
}
