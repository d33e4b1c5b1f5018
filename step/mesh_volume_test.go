package step

import (
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/record"
	"boost-tui/model"
)

// group is what a step communicates in one group.
func group(name string) func(*record.Call) bool {
	return func(c *record.Call) bool { return c.GroupName == name }
}

// TestReplicaVolume: a step reduces every gradient once over the replicas, and with ZeRO-1 gathers every weight once (METHOD.md §4),
// beside the loss and the norm; the reduction begins before the backward ends.
func TestReplicaVolume(t *testing.T) {
	each(func(name string, cfg Config) {
		for zero := range 2 {
			cfg.Zero = zero
			dev, s := recordedOn(t, cfg, mesh{2, 2, 1}, 3)
			n := int64(s.Model().Weights().Cols)
			reduced := collectives(dev, func(c *record.Call) bool { return group("dp")(c) && c.Label.Chunk == ChunkReplicas })
			if reduced.elements != n {
				t.Errorf("%s zero %d: %d elements of gradients are reduced, of %d", name, zero, reduced.elements, n)
			}
			rest := collectives(dev, group("dp")).elements - reduced.elements
			if want := int64(1) + int64(zero)*(1+n); rest != want {
				t.Errorf("%s zero %d: %d more elements over replicas, want %d", name, zero, rest, want)
			}
			if got, want := dev.Memory()[kernels.MemOptimizer], 2*4*n/int64(1+zero); got > want+64 || got < want {
				t.Errorf("%s zero %d: the optimizer has %d bytes, want %d", name, zero, got, want)
			}
		}
	})
}

// TestReplicaOverlap: buckets start while blocks are still to come, in models whose gradients fill more than one.
func TestReplicaOverlap(t *testing.T) {
	cfg := small(experiment.CoLA, experiment.BTP)
	cfg.Model.D, cfg.Model.FF, cfg.Model.Heads, cfg.Model.RankAttn, cfg.Model.RankMLP, cfg.Model.Layers = 256, 704, 4, 64, 64, 8
	dev, s := recordedOn(t, cfg, mesh{1, 2, 1}, 0)
	early, last := 0, 0
	for i, c := range dev.Calls() {
		if c.Class == kernels.Compute && c.Label.Phase == kernels.Backward {
			last = i
		}
	}
	for i, c := range dev.Calls() {
		if c.Label.Chunk == ChunkReplicas && i < last {
			early++
		}
	}
	if n := len(s.buckets); n < 3 || early < n-1 {
		t.Errorf("%d of %d buckets start during the backward", early, n)
	}
}

// TestStageVolume: a stage hands on the residual stream as it is sharded, and under lax the seven latents of its last block, for every
// micro-batch, and as much comes back (METHOD.md §4).
func TestStageVolume(t *testing.T) {
	parallels(func(name string, cfg Config, m mesh) {
		if m.pp == 1 {
			return
		}
		own := m.share(cfg).Model
		rows, d, tp := int64(own.Rows()), int64(own.D), int64(m.tp)
		each := rows * d
		if own.Scheme == experiment.BTP || own.SP {
			each /= tp
		}
		if own.Variant == experiment.LaX {
			latents := rows * latentsOf(own)
			if own.Scheme == experiment.Vanilla {
				latents /= tp
			}
			each += latents
		}
		for stage := range m.pp {
			dev, _ := recordedOn(t, cfg, m, stage*m.tp*m.dp)
			var sent, received int64
			for _, c := range dev.Calls() {
				if c.Peer >= 0 {
					sent += c.Payload / 4
					received += (c.Moved - c.Payload) / 4
				}
			}
			neighbours := int64(2)
			if stage == 0 || stage == m.pp-1 {
				neighbours = 1
			}
			if want := each * int64(own.Micros) * neighbours; sent != want || received != want {
				t.Errorf("%s stage %d: sends %d elements and receives %d, want %d", name, stage, sent, received, want)
			}
		}
	})
}

// TestSequenceVolume: each all-reduce of full-rank TP becomes a reduce-scatter and an all-gather of as many elements; the backward
// gathers the norms' outputs once more, and the norms' gradients are summed (METHOD.md §4).
func TestSequenceVolume(t *testing.T) {
	for _, v := range []experiment.Variant{experiment.Full, experiment.ReLoRA, experiment.SLTrain} {
		cfg := small(v, experiment.FullRank)
		variants()[string(v)](&cfg)
		cfg.Model.SP, cfg.Cycles = true, Cycles{}
		dev, _ := recordedOn(t, cfg, mesh{2, 1, 1}, 1)
		c := cfg.Model
		bsd, micros, blocks := int64(c.Rows()*c.D), int64(c.Micros), blocksOf(c)
		factors := volume{}
		if v != experiment.Full {
			factors = volume{latentsOf(c) * int64(c.D), 1}.times(blocks)
		}
		norms := volume{(2*blocks + 1) * int64(c.D), 1}
		for _, x := range []struct {
			what string
			keep func(*record.Call) bool
			want volume
		}{{"forward", in(kernels.Forward, true), volume{4 * bsd, 4}.times(blocks * micros)},
			{"backward", in(kernels.Backward, true), volume{6 * bsd, 6}.times(blocks * micros).plus(factors)},
			{"forward outside", in(kernels.Forward, false), volume{2*bsd + 3*int64(c.Rows()), 4}.times(micros)},
			{"backward outside", in(kernels.Backward, false), volume{2 * bsd, 2}.times(micros).plus(norms)}} {
			if got := collectives(dev, x.keep); got != x.want {
				t.Errorf("%s: %s %+v, want %+v", v, x.what, got, x.want)
			}
		}
	}
}

// TestMemoryInFlight: stage p of P keeps as many micro-batches as are in flight, at most P−p, and as much of each.
func TestMemoryInFlight(t *testing.T) {
	each(func(name string, cfg Config) {
		cfg.Model.Layers, cfg.Model.Micros, cfg.Model.Batch, cfg.Model.Seq, cfg.Cycles = 8, 4, 4, 16, Cycles{} // rows are whole cache lines
		const tp = 2
		block := kept(cfg, tp) // per token
		input, rows := int64(cfg.Model.D), int64(cfg.Model.Rows())
		if cfg.Model.Scheme == experiment.BTP {
			input /= tp
		}
		crossing := int64(0)
		if cfg.Model.Variant == experiment.LaX {
			if crossing = latentsOf(cfg.Model); cfg.Model.Scheme == experiment.Vanilla {
				crossing /= tp
			}
		}
		gathered := func(stage int) int64 { // the first of all blocks has no crossing
			if cfg.Model.Gate == experiment.GateDense && cfg.Model.Scheme == experiment.Vanilla && stage == 0 {
				return latentsOf(cfg.Model)
			}
			return 0
		}
		for stage := range 4 {
			dev, s := recordedOn(t, cfg, mesh{tp, 1, 4}, stage*tp)
			n := int64(min(4-stage, cfg.Model.Micros))
			if got := s.Model().Stage().InFlight(cfg.Model.Micros); int64(got) != n {
				t.Errorf("%s stage %d: %d in flight, want %d", name, stage, got, n)
			}
			want := n*(2*block-gathered(stage)) + 2*input // two results under way
			if stage > 0 {
				want += input + (n+1)*crossing // one more arrives meanwhile
			}
			if stage == 3 {
				want += 1 - input // one result, which stays; the final norm's statistic
			}
			if got := dev.Memory()[kernels.MemActivations]; got != want*rows*4 {
				t.Errorf("%s stage %d: %d bytes of activations, want %d", name, stage, got, want*rows*4)
			}
		}
	})
}

// TestSchedule: every micro-batch goes forward and back once, in order, with at most as many in flight as a stage may hold.
func TestSchedule(t *testing.T) {
	for stages := 1; stages <= 5; stages++ {
		for micros := 1; micros <= 7; micros++ {
			for stage := range stages {
				ahead, back, most := 0, 0, 0
				for _, x := range oneForwardOneBackward(stage, stages, micros) {
					switch {
					case x.back && x.micro == back && back < ahead:
						back++
					case !x.back && x.micro == ahead:
						ahead++
					default:
						t.Fatalf("stage %d of %d, %d micro-batches: %+v after %d forward and %d back", stage, stages, micros, x, ahead, back)
					}
					most = max(most, ahead-back)
				}
				if allowed := (model.Stage{Index: stage, Count: stages}).InFlight(micros); ahead != micros || back != micros || most != allowed {
					t.Errorf("stage %d of %d, %d micro-batches: %d in flight, want %d", stage, stages, micros, most, allowed)
				}
			}
		}
	}
}
