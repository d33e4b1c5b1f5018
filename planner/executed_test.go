package planner

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/reference"
	"boost-tui/step"
)

// counter counts what a rank's device is asked for.
type counter struct {
	kernels.Device
	allocated              int64
	uses                   map[string]int64 // of it, by the buffers' names
	collectives, transfers int64
	payload, wire          int64
}

func (c *counter) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	b, err := c.Device.Alloc(name, bytes, symmetric)
	if err == nil {
		c.allocated += b.Bytes
		c.uses[name] += b.Bytes
	}
	return b, err
}

func (c *counter) Do(at kernels.Call, op kernels.Op) error {
	if m, ok := op.(kernels.Message); ok {
		c.payload += m.Payload()
		c.wire += m.WireBytes()
		switch op.(type) {
		case *kernels.Collective:
			c.collectives++
		case *kernels.Send:
			c.transfers++
		}
	}
	return c.Device.Do(at, op)
}

// onReference and onCPU open the devices of all ranks.
func onReference(_ *testing.T, world int) []kernels.Device {
	w, out := &reference.World{}, make([]kernels.Device, world)
	for r := range out {
		out[r] = reference.New(w, r)
	}
	return out
}

func onCPU(t *testing.T, world int) []kernels.Device {
	segment, err := cpu.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = segment.Close() })
	out := make([]kernels.Device, world)
	for r := range out {
		d, err := cpu.Open(cpu.Options{Segment: segment, World: world, Rank: r})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		out[r] = d
	}
	return out
}

// execute runs an ordinary step on every rank and gives what the first rank of each stage did.
func execute(t *testing.T, e experiment.Experiment, open func(*testing.T, int) []kernels.Device) []*counter {
	t.Helper()
	p, cfg := e.Parallel, step.ConfigOf(e)
	devices, ids := open(t, e.World()), map[string]kernels.UID{}
	for _, axis := range []string{"tp", "dp", "pp"} {
		for i := range e.World() {
			id, err := devices[0].UID()
			if err != nil {
				t.Fatal(err)
			}
			ids[fmt.Sprint(axis, i)] = id
		}
	}
	out := make([]*counter, p.PP)
	var run errgroup.Group
	for r := range e.World() {
		run.Go(func() error {
			tp, dp, pp := r%p.TP, r/p.TP%p.DP, r/(p.TP*p.DP)
			dev := &counter{Device: devices[r], uses: map[string]int64{}}
			if tp == 0 && dp == 0 {
				out[pp] = dev
			}
			var g step.Groups
			for _, a := range []struct {
				name        string
				n, place, i int
				to          *kernels.Comm
			}{{"tp", p.TP, tp, dp + p.DP*pp, &g.TP}, {"dp", p.DP, dp, tp + p.TP*pp, &g.DP}, {"pp", p.PP, pp, tp + p.TP*dp, &g.PP}} {
				if a.n == 1 {
					continue
				}
				var err error
				if *a.to, err = dev.Join(t.Context(), ids[fmt.Sprint(a.name, a.i)], a.n, a.place, a.name); err != nil {
					return err
				}
			}
			s, err := step.New(cfg, dev, g)
			if err != nil {
				return err
			}
			tokens := make([]int32, cfg.Model.Micros*cfg.Model.Batch*(cfg.Model.Seq+1))
			if _, err = s.Run(t.Context(), step.Input{Tokens: tokens, LR: 1e-3, Index: ordinary(cfg.Cycles)}); err != nil {
				return fmt.Errorf("rank %d: %w", r, err)
			}
			return nil
		})
	}
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	return out
}

// small is an experiment whose every dimension can be divided. It keeps no checkpoints, whose copies no device allocates.
const small = "dtype=fp32 d=32 heads=4 ff=48 layers=4 vocab=64 seq=6 micro-batch=2 accumulate=4 keep-last=0 "

// sizedWords is the experiment with ranks where the variant has any.
func sizedWords(words string) string {
	if firstVariant(words) == "full" {
		return small + words
	}
	return small + "rank=8 rank-mlp=12 " + words
}

// agree compares what was planned with what a rank of every stage did.
func agree(t *testing.T, words string, open func(*testing.T, int) []kernels.Device) {
	t.Helper()
	e, p := resolve(t, words), plan(t, words)
	ran := execute(t, e, open)
	c := ran[p.Stage]
	if p.Collectives != c.collectives || p.Transfers != c.transfers || p.StepBytes != c.payload || p.WireBytes != c.wire {
		t.Errorf("%q: planned %d calls, %d transfers, %d and %d bytes; a rank of stage %d did %d, %d, %d and %d", words,
			p.Collectives, p.Transfers, p.StepBytes, p.WireBytes, p.Stage, c.collectives, c.transfers, c.payload, c.wire)
	}
	total, most := int64(0), int64(0)
	for _, o := range ran {
		most = max(most, o.payload)
		total += o.allocated * int64(e.Parallel.TP*e.Parallel.DP)
		if o.allocated > c.allocated {
			t.Errorf("%q: stage %d is said to need most", words, p.Stage)
		}
	}
	if p.MostBytes != most && (p.Exact == nil || e.Train.Steps < p.Exact.Every) {
		t.Errorf("%q: planned %d bytes of the rank that communicates most, it did %d", words, p.MostBytes, most)
	}
	if p.Memory.Total != c.allocated || p.NeedBytes != total {
		t.Errorf("%q: planned %d bytes of a rank and %d of all, allocated %d and %d", words, p.Memory.Total, p.NeedBytes, c.allocated, total)
	}
	m := p.Memory
	for use, bytes := range map[string]int64{kernels.MemGradients: m.Gradients, kernels.MemOptimizer: m.Optimizer, kernels.MemActivations: m.Activations,
		kernels.MemLogits: m.Logits, kernels.MemBuffers: m.Buffers} {
		if c.uses[use] != bytes {
			t.Errorf("%q: planned %d bytes of %s, allocated %d", words, bytes, use, c.uses[use])
		}
	}
	if w := c.uses[kernels.MemWeights] + c.uses[kernels.MemIndices]; w != m.Weights {
		t.Errorf("%q: planned %d bytes of weights, allocated %d", words, m.Weights, w)
	}
}

// What is planned is what ranks do: calls, payload, what goes over a wire, and memory to the byte, of every dimension.
func TestPlannedIsExecuted(t *testing.T) {
	for _, words := range []string{
		"dp=2", "dp=2 zero=1", "dp=3 zero=1 tp=2", "pp=2", "pp=4", "pp=4 accumulate=3", "pp=2 tp=2 dp=2 zero=1", "pp=2 scheme=vanilla tp=2",
		"variant=full tp=2 sp=on", "variant=full tp=2 sp=on pp=2 dp=2 zero=1", "variant=relora tp=2 sp=on dp=2", "variant=sltrain tp=2 sp=on pp=2 recompute=full",
		"variant=lax lax-gate=vector pp=4", "variant=lax lax-gate=dense lax-base=cola scheme=vanilla tp=2 pp=2 dp=2 zero=1 recompute=low-rank",
		"variant=loro dp=2 zero=1", "variant=loro tp=2 dp=2 pp=2", "variant=relora dp=2 zero=1 pp=2 recompute=full",
	} {
		agree(t, sizedWords(words), onReference)
	}
}

// The device that trains allocates what is planned, use by use, under every scheme, recomputation and combination of dimensions.
func TestPlannedIsAllocated(t *testing.T) {
	for _, scheme := range []string{"variant=full ", "variant=relora ", "variant=cola scheme=vanilla ", "variant=cola ", "variant=lax lax-gate=dense "} {
		meshes := []string{"", "tp=2", "dp=2", "dp=2 zero=1", "pp=2", "tp=2 dp=2", "tp=2 pp=2", "dp=2 pp=2 zero=1", "tp=2 dp=2 pp=2 zero=1"}
		if scheme == "variant=full " || scheme == "variant=relora " {
			meshes = append(meshes, "tp=2 sp=on", "tp=2 sp=on dp=2 pp=2 zero=1")
		}
		for _, recompute := range []string{"none", "low-rank", "full"} {
			for _, mesh := range meshes {
				agree(t, sizedWords(scheme+mesh+" recompute="+recompute), onCPU)
			}
		}
	}
}

func firstVariant(words string) string {
	var v string
	if _, err := fmt.Sscanf(words, "variant=%s", &v); err != nil {
		return ""
	}
	return v
}
