package model

import (
	"fmt"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// Stage is a stretch of the blocks that one rank of a pipeline holds: number Index of Count. The zero value is the whole
// decoder. The embedding belongs to the first stage; the final norm, the head and the loss to the last.
type Stage struct{ Index, Count int }

// First and Last report whether the stage has the embedding, and the head.
func (s Stage) First() bool { return s.Index == 0 }

// Last reports whether the stage has the head.
func (s Stage) Last() bool { return s.Index+1 >= s.Count }

// piped reports whether there are other stages.
func (s Stage) piped() bool { return s.Count > 1 }

// validate says what keeps a decoder from being cut so.
func (s Stage) validate(layers int) error {
	switch {
	case s.Count < 0 || s.Index < 0 || s.Index >= max(s.Count, 1):
		return fmt.Errorf("model: stage %d of %d", s.Index, s.Count)
	case s.Count > 1 && layers%s.Count != 0:
		return fmt.Errorf("model: layers %d is not divisible by pp %d", layers, s.Count)
	}
	return nil
}

// blocks are the blocks [lo, hi) of the stage.
func (s Stage) blocks(layers int) (lo, hi int) {
	n := max(s.Count, 1)
	return s.Index * layers / n, (s.Index + 1) * layers / n
}

// InFlight is how many of a step's micro-batches the stage holds at most: those whose backward has not come back from
// the stages behind it (METHOD.md §4, 1F1B).
func (s Stage) InFlight(micros int) int { return min(max(s.Count, 1)-s.Index, micros) }

// flight is what a stage keeps of one micro-batch between its forward and its backward.
type flight struct {
	blocks       []kept
	ids, targets kernels.View // tokens, [T, 1]
	finalStat    kernels.View
}

// handed is what one stage hands to another for a micro-batch: a residual stream and, between blocks that lax
// crosses, the latents that go with it; or the gradients of both.
type handed struct {
	x       kernels.View
	latents lanes
}

// turns are the memory of the micro-batches in turn. Micro-batch i takes element i mod length of each list: a forward
// has as many in flight, and one more that arrives meanwhile; of results and gradients one leaves while the next is made.
type turns struct {
	flights   []flight
	arrivals  []handed // input of the first block, and latents of the block before it; not on the first stage
	results   []handed // output of the last block; its latents are the block's own
	gradients []handed // of the output, then in place of the input
}

// views lists what travels.
func (h handed) views() []kernels.View {
	out := []kernels.View{h.x}
	for _, b := range h.latents {
		if !b.all.IsZero() {
			out = append(out, b.all)
		}
	}
	return out
}

// turn brings the memory of a micro-batch to where blocks and head look for theirs.
func (d *Decoder) turn(micro int) {
	t := &d.turns
	f := &t.flights[micro%len(t.flights)]
	for l := range d.blocks {
		d.blocks[l].kept = f.blocks[l]
	}
	d.ids, d.targets, d.finalStat = f.ids, f.targets, f.finalStat
	if !d.stage.First() {
		a := t.arrivals[micro%len(t.arrivals)]
		d.blocks[0].kept.x, d.behind.kept.latents = a.x, a.latents
	}
	d.last = t.results[micro%len(t.results)].x
	g := t.gradients[micro%len(t.gradients)]
	d.work.dx, d.work.carry = g.x, g.latents
}

// Stage is the decoder's place in a pipeline.
func (d *Decoder) Stage() Stage { return d.stage }

// Arriving is where the result of the stage before is put for the forward of a micro-batch. It is free from the start of
// the forward of the micro-batch before.
func (d *Decoder) Arriving(micro int) []kernels.View {
	return d.turns.arrivals[micro%len(d.turns.arrivals)].views()
}

// Leaving is what the forward of a micro-batch hands to the next stage. It must have left before the forward of the second
// micro-batch after it.
func (d *Decoder) Leaving(micro int) []kernels.View {
	h := d.turns.results[micro%len(d.turns.results)]
	if d.crosses() {
		f := &d.turns.flights[micro%len(d.turns.flights)]
		h.latents = f.blocks[len(d.blocks)-1].latents
	}
	return h.views()
}

// Gradients of a micro-batch's output arrive where those of its input leave from after its backward. They must have left
// before those of the second micro-batch after it arrive.
func (d *Decoder) GradientsArriving(micro int) []kernels.View {
	return d.gradients(micro, !d.stage.Last())
}

// GradientsLeaving is what the backward of a micro-batch hands to the stage before.
func (d *Decoder) GradientsLeaving(micro int) []kernels.View {
	return d.gradients(micro, !d.stage.First())
}

func (d *Decoder) gradients(micro int, there bool) []kernels.View {
	if !there {
		return nil
	}
	return d.turns.gradients[micro%len(d.turns.gradients)].views()
}

// crosses reports whether latents go from block to block.
func (d *Decoder) crosses() bool { return d.cfg.Variant == experiment.LaX }
