package golden

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"boost-tui/kernels"
	"boost-tui/kernels/reference"
	"boost-tui/step"
)

// In BF16 two devices that both compute rightly part ways: sums in another order end on the other side of a rounding now
// and then, the token that it happened to differs by roundings from there on, and AdamW makes a whole step of the sign of a
// gradient near zero. After a few steps their losses differ as much as those of a wrong program. So a device is not held
// against where a run ends, but against every step of a run on the reference device, which rounds where it rounds and is exact
// in between: before each step it is given that run's state. docs/verification.md tells what the tolerances come from.

// stride is one step of a rank.
type stride struct {
	before, after state
	grads         map[string]shard
}

// state is all that a step changes.
type state struct {
	working map[string][]float32 // weights as steps work with them
	held    []held               // in the order of step.State
}

// held is a slot with its numbers.
type held struct {
	step.Slot
	data []float32
}

// stateOf reads the rank's state.
func stateOf(ctx context.Context, s *step.Step) (state, error) {
	st := state{working: map[string][]float32{}}
	for _, p := range s.Model().Params() {
		w, err := s.Model().Read(ctx, p.Name, p.Weight)
		if err != nil {
			return st, err
		}
		st.working[p.Name] = w
	}
	for _, slot := range s.State() {
		x, err := s.Model().Read(ctx, slot.Param.Name, slot.View)
		if err != nil {
			return st, err
		}
		st.held = append(st.held, held{slot, x})
	}
	return st, nil
}

// give brings the state into the same rank of the same step on another device.
func (st state) give(ctx context.Context, d kernels.Device, s *step.Step) error {
	for _, p := range s.Model().Params() {
		if err := s.Model().LoadPart(ctx, p.Name, st.working[p.Name]); err != nil {
			return err
		}
	}
	for i, slot := range s.State() { // masters are finer than what was loaded
		if slot.View.DType != kernels.F32 || slot.View.Len() == 0 {
			continue
		}
		if len(st.held[i].data) != int(slot.View.Len()) {
			return fmt.Errorf("%s has %d elements on the reference device and %d here", slot.Param.Name, len(st.held[i].data), slot.View.Len())
		}
		h, err := d.Host(slot.View.Bytes())
		if err != nil {
			return err
		}
		for k, x := range st.held[i].data {
			binary.NativeEndian.PutUint32(h.Bytes[4*k:], math.Float32bits(x))
		}
		if err := d.Do(kernels.Call{}, &kernels.Upload{Src: h, Dst: slot.View}); err != nil {
			return err
		}
		if err := d.Sync(ctx, d.Compute()); err != nil {
			return err
		}
	}
	return nil
}

// weights are those of the state that are saved, by name.
func (st state) weights() map[string]shard {
	out := map[string]shard{}
	for _, h := range st.held {
		if h.Kind != step.Weight {
			continue
		}
		x, ok := out[h.Param.Name]
		if !ok {
			x = shard{param: h.Param, data: make([]float32, h.Param.Weight.Len())}
		}
		copy(x.data[h.From:], h.data)
		if h.Sliced {
			x.slices = append(x.slices, [2]int64{h.From, h.From + int64(len(h.data))})
		}
		out[h.Param.Name] = x
	}
	return out
}

// follower is a rank that records its steps and, where somebody leads, begins each where that one did.
type follower struct {
	dev  kernels.Device
	step *step.Step
	lead []stride // nil: nobody
	out  []stride
}

func (f *follower) before(ctx context.Context) error {
	var now stride
	var err error
	if i := len(f.out); f.lead != nil {
		now.before = f.lead[i].before
		err = now.before.give(ctx, f.dev, f.step)
	} else {
		now.before, err = stateOf(ctx, f.step)
	}
	f.out = append(f.out, now)
	return err
}

func (f *follower) after(ctx context.Context) (err error) {
	now := &f.out[len(f.out)-1]
	now.after, err = stateOf(ctx, f.step)
	return err
}

// end leaves the step where the leader's ended.
func (f *follower) end(ctx context.Context) error {
	if f.lead == nil {
		return nil
	}
	return f.lead[len(f.lead)-1].after.give(ctx, f.dev, f.step)
}

// lead runs the case on the reference device, for another to follow.
func (c Case) lead(ctx context.Context, o Options, w way) ([]outcome, error) {
	world := &reference.World{}
	o.Open = func(rank, _ int) (kernels.Device, error) { return reference.New(world, rank), nil }
	var r Report
	return c.run(ctx, o, w, &r, nil)
}
