package experiment

import (
	"fmt"
	"slices"
)

// places checks pairs of values that must fit each other: variant and scheme, type and device.
func (c *checker) places() {
	p, s := c.e.Parallel, c.e.Step
	if fit := c.e.Model.Variant.Schemes(); !c.has("scheme", "variant") && !slices.Contains(fit, p.Scheme) {
		why := "needs a variant whose linears are two factors"
		if p.Scheme == FullRank {
			why = "is for the variants full, relora and sltrain"
		}
		c.add("scheme", "the scheme fits the variant", fmt.Sprintf("%s, not %s", why, c.e.Model.Variant), texts(fit)...)
	}
	if s.DType == BF16 && (s.Device == DeviceCPU || s.Device == DeviceEmu) {
		c.add("dtype", "the device computes in dtype", fmt.Sprintf("device %s computes in fp32 only", s.Device), FP32)
	}
}

// later refuses what has a name already and comes in a later version.
func (c *checker) later() {
	m, p, s, t, w := c.e.Model, c.e.Parallel, c.e.Step, c.e.Train, c.e.Where
	lowRankMeansNone := s.Recompute == "low-rank" && p.Scheme == FullRank
	for _, r := range []struct {
		key  string
		used bool
		near []string
	}{
		{"variant", m.Variant == LaX || m.Variant == LORO || m.Variant == ReLoRA || m.Variant == SLTrain, c.variantsFor()},
		{"pp", p.PP > 1, []string{"1"}},
		{"dp", p.DP > 1, []string{"1"}},
		{"zero", p.Zero > 0, []string{"0"}},
		{"sp", p.SP, []string{off}},
		{"recompute", s.Recompute != none && !lowRankMeansNone, []string{none}},
		{"device", s.Device == DeviceCUDA || s.Device == DeviceEmu, []string{DeviceCPU}},
		{"eval-data", t.EvalData != "", []string{none}},
		{"eval-every", t.EvalEvery > 0, []string{"0"}},
		{"checkpoint-every", t.CheckpointEvery > 0, []string{"0"}},
		{"resume", t.Resume != "", []string{none}},
		{"where", w.Where != WhereLocal, []string{WhereLocal}},
		{"nodes", w.Nodes > 1, []string{"1"}},
	} {
		if r.used && !c.has(r.key) {
			c.add(r.key, "in this version", "is not in this version yet", r.near...)
		}
	}
}

// variantsFor lists this version's variants that fit the chosen scheme.
func (c *checker) variantsFor() []string {
	if c.e.Parallel.Scheme == FullRank {
		return []string{string(Full)}
	}
	return []string{string(CoLA), string(SVD)}
}

// machine checks memory and cores of the host.
func (c *checker) machine(m Machine) {
	if m.MemBytes > 0 && m.NeedBytes > m.MemBytes {
		c.add(c.lever(), RuleMemory, fmt.Sprintf("the run needs %s of memory and this machine has %s; a smaller micro-batch (with more accumulation), seq, rank or size needs less",
			FormatBytes(m.NeedBytes), FormatBytes(m.MemBytes)))
	}
	if world := c.e.World(); m.Cores > 0 && world > m.Cores && !c.has("tp", "pp", "dp") {
		c.add("tp", "a core for every rank", fmt.Sprintf("%d ranks share %d cores: steps will be slower than they need be", world, m.Cores))
		c.out[len(c.out)-1].Warning = true
	}
}

// lever is the key that saves memory with the least harm.
func (c *checker) lever() string {
	switch {
	case c.e.Step.MicroBatch > 1:
		return "micro-batch"
	case c.e.Step.Seq > 1024:
		return "seq"
	default:
		return "size"
	}
}

func texts(list []Scheme) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
