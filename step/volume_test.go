package step

import (
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/record"
	"boost-tui/model"
)

// volume is elements and calls of collectives.
type volume struct{ elements, calls int64 }

func (v volume) times(n int64) volume   { return volume{v.elements * n, v.calls * n} }
func (v volume) plus(w volume) volume   { return volume{v.elements + w.elements, v.calls + w.calls} }
func (v *volume) add(elements, n int64) { v.elements, v.calls = v.elements+elements, v.calls+n }
func again(c *record.Call) bool         { return strings.HasPrefix(c.Label.Chunk, "again.") }
func latentsOf(c model.Config) int64    { return 4*int64(c.RankAttn) + 3*int64(c.RankMLP) }
func blocksOf(c model.Config) int64     { return int64(c.Layers) }
func crossingsOf(c model.Config) int64  { return int64(c.Layers - 1) }
func pick(c model.Config, g, n int64) int64 {
	if c.Grouped {
		return g
	}
	return n
}

func collectives(dev *record.Device, keep func(*record.Call) bool) (v volume) {
	calls := dev.Calls()
	for i := range calls {
		if calls[i].Class == kernels.Communication && keep(&calls[i]) {
			v.add(calls[i].Payload/4, 1)
		}
	}
	return v
}

func in(p kernels.Phase, blocks bool) func(*record.Call) bool {
	return func(c *record.Call) bool { return c.Label.Phase == p && (c.Label.Layer >= 0) == blocks && !again(c) }
}

// blockVolumes are METHOD.md §3.1-3.3 for one block and micro-batch, without crossings.
func blockVolumes(c model.Config) (fwd, bwd volume) {
	rows, d, f, r := int64(c.Rows()), int64(c.D), int64(c.FF), latentsOf(c)
	switch c.Scheme {
	case experiment.FullRank:
		return volume{2 * rows * d, 2}, volume{2 * rows * d, 2}
	case experiment.Vanilla:
		return volume{5*rows*d + 2*rows*f, pick(c, 4, 7)}, volume{pick(c, 3, 6)*rows*d + rows*f, pick(c, 4, 7)}
	}
	fwd, bwd = volume{r*rows + 2*rows, pick(c, 4, 7)}, volume{r * rows, pick(c, 4, 7)}
	if c.SyncNorm {
		fwd.calls, bwd.calls, bwd.elements = fwd.calls+2, bwd.calls+2, bwd.elements+2*rows
	}
	return fwd, bwd
}

// crossingVolume is what a dense gate gathers in a forward and scatters in a backward, under vanilla alone: 7·b·s·r (METHOD.md §3.6).
func crossingVolume(c model.Config) volume {
	if c.Gate != experiment.GateDense || c.Scheme != experiment.Vanilla {
		return volume{}
	}
	return volume{int64(c.Rows()) * latentsOf(c), pick(c, 4, 7)}
}

// TestCollectives holds every variant and scheme to METHOD.md §3.1-3.6: elements and calls, in blocks and outside.
func TestCollectives(t *testing.T) {
	every(func(name string, cfg Config) {
		c := cfg.Model
		dev, micros := recorded(t, cfg, 2), int64(c.Micros)
		rows, d := int64(c.Rows()), int64(c.D)
		fwd, bwd := blockVolumes(c)
		cross := crossingVolume(c).times(crossingsOf(c))
		factors := volume{}
		if c.Variant == experiment.ReLoRA || c.Variant == experiment.SLTrain {
			factors = volume{latentsOf(c) * d, 1}.times(blocksOf(c)) // 7rd, once a step
		}
		outF, outB := volume{rows*d + 3*rows, 3}, volume{rows * d, 1}
		if c.Scheme == experiment.BTP {
			outF, outB = volume{rows + rows*d + 3*rows, 4}, volume{rows*d + rows, 2}
		}
		for _, x := range []struct {
			what string
			keep func(*record.Call) bool
			want volume
		}{{"forward of blocks", in(kernels.Forward, true), fwd.times(blocksOf(c)).plus(cross).times(micros)},
			{"backward of blocks", in(kernels.Backward, true), bwd.times(blocksOf(c)).plus(cross).times(micros).plus(factors)},
			{"forward outside", in(kernels.Forward, false), outF.times(micros)}, {"backward outside", in(kernels.Backward, false), outB.times(micros)},
			{"optimizer", in(kernels.Optimizer, false), volume{1, 1}}, {"optimizer in blocks", in(kernels.Optimizer, true), volume{}},
			{"recomputation", again, volume{}}} {
			if got := collectives(dev, x.keep); got != x.want {
				t.Errorf("%s: %s: %+v, want %+v", name, x.what, got, x.want)
			}
		}
	})
}

// TestRecomputeCollectives counts what recomputation communicates again (METHOD.md §3.7): nothing under btp with low-rank; under
// vanilla the outputs of q, k, v, gate and up; in full recomputation the forward of a block but its last sum where that is the output's.
func TestRecomputeCollectives(t *testing.T) {
	everyRecompute(func(name string, cfg Config) {
		c := cfg.Model
		rows, d, f := int64(c.Rows()), int64(c.D), int64(c.FF)
		fwd, bwd := blockVolumes(c)
		want := volume{}
		switch {
		case c.Scheme == experiment.BTP && c.Recompute == experiment.RecomputeFull:
			want = fwd
		case c.Scheme == experiment.Vanilla && c.Recompute == experiment.RecomputeLowRank:
			want = volume{3*rows*d + 2*rows*f, pick(c, 2, 5)}
		case c.Scheme == experiment.Vanilla:
			want = volume{4*rows*d + 2*rows*f, pick(c, 3, 6)}
		case c.Scheme == experiment.FullRank && c.Recompute == experiment.RecomputeFull:
			want = volume{rows * d, 1}
		}
		cross := crossingVolume(c).times(crossingsOf(c))
		want = want.times(blocksOf(c)).plus(cross).times(int64(c.Micros))
		dev := recorded(t, cfg, 2)
		if got := collectives(dev, again); got != want {
			t.Errorf("%s: %+v again, want %+v", name, got, want)
		}
		all := func(p kernels.Phase) volume {
			return collectives(dev, func(c *record.Call) bool { return c.Label.Phase == p && c.Label.Layer >= 0 && !again(c) })
		}
		factors := volume{}
		if c.Variant == experiment.ReLoRA || c.Variant == experiment.SLTrain {
			factors = volume{latentsOf(c) * d, 1}.times(blocksOf(c))
		}
		if got, want := all(kernels.Backward), bwd.times(blocksOf(c)).plus(cross).times(int64(c.Micros)).plus(factors); got != want {
			t.Errorf("%s: backward %+v, want %+v", name, got, want)
		}
		for i := range dev.Calls() {
			call := &dev.Calls()[i]
			if again(call) && call.Label.Phase != kernels.Backward {
				t.Errorf("%s: %s is not in the backward", name, call.Label)
			}
		}
	})
}

// TestExactStepCollectives: every linear's factors and directions are gathered, and its result broadcast: 3·r·(in+out) elements (METHOD.md §4).
func TestExactStepCollectives(t *testing.T) {
	for _, s := range experiment.LORO.Schemes() {
		cfg := small(experiment.LORO, s)
		cfg.Cycles = Cycles{Exact: 1, Refresh: 1}
		c := cfg.Model
		d, f := int64(c.D), int64(c.FF)
		want := volume{3 * (8*d*int64(c.RankAttn) + 3*int64(c.RankMLP)*(d+f)), 2 * 7}.times(blocksOf(c))
		dev := recorded(t, cfg, 2)
		if got := collectives(dev, in(kernels.Optimizer, true)); got != want {
			t.Errorf("%s: %+v, want %+v", s, got, want)
		}
		steps := 0
		for _, call := range dev.Calls() {
			if call.Op == "low_rank_step" {
				steps++
			}
		}
		if all := c.Layers * 7; steps != all/2 {
			t.Errorf("%s: rank 1 of 2 does %d of %d steps", s, steps, all)
		}
	}
}

// TestFLOPs compares what a step does with model.FLOPs: all ranks together do just that, and what a scheme does on each.
func TestFLOPs(t *testing.T) {
	every(func(name string, cfg Config) {
		c := cfg.Model
		const ranks = 2
		rows, d, gates := int64(c.Rows()*c.Micros), int64(c.D), int64(0)
		if c.Gate == experiment.GateDense {
			a, m := int64(c.RankAttn), int64(c.RankMLP)
			gates = (4*a*a + 3*m*m) * crossingsOf(c)
		}
		want := model.FLOPs(c) + 2*rows*gates // crossed latents are made again for the backward, as activated ones are
		switch {
		case c.Scheme == experiment.Vanilla: // attention (METHOD.md §3.9)
			want += (ranks - 1) * 3 * 2 * blocksOf(c) * int64(c.Seq) * d * rows
		case c.Scheme == experiment.BTP: // the gates of latents that all ranks hold
			want += (ranks - 1) * 4 * 2 * rows * gates
		case c.Variant != experiment.Full: // the factors that all ranks hold (METHOD.md §3.1)
			want += (ranks - 1) * 3 * 2 * rows * latentsOf(c) * d * blocksOf(c)
		}
		var got int64
		for _, call := range recorded(t, cfg, ranks).Calls() {
			got += ranks * call.FLOPs
		}
		if got != want {
			t.Errorf("%s: two ranks do %d FLOPs, want %d", name, got, want)
		}
	})
}
