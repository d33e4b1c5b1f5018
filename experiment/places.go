package experiment

import (
	"fmt"
	"slices"
	"strconv"
)

// places checks pairs of values that must fit each other: variant and scheme, type and device.
func (c *checker) places() {
	p, s := c.e.Parallel, c.e.Step
	if fit := c.e.Model.Variant.Schemes(); !c.has("scheme", "variant") && !slices.Contains(fit, p.Scheme) {
		c.add("scheme", "the scheme fits the variant", misfit(p.Scheme, c.e.Model.Variant), texts(fit)...)
	}
	if s.DType == BF16 && s.Device == DeviceCPU {
		c.add("dtype", "the device computes in dtype", fmt.Sprintf("device %s computes in fp32 only", s.Device), FP32)
	}
	if s.Device == DeviceEmu && c.e.Where.Nodes > 1 && !c.has("device", "nodes", "where") {
		c.add("device", "the device reaches other machines", "is for one machine: its ranks meet in the memory of one host; the cpu device reaches others", DeviceCPU)
	}
}

// misfit says why a scheme does not suit a variant (METHOD.md §3.1).
func misfit(s Scheme, v Variant) string {
	switch {
	case s == FullRank:
		return fmt.Sprintf("is for the variants full, relora and sltrain, whose linears hold a dense matrix, not %s", v)
	case v == Full:
		return "needs a variant whose linears are two factors, not full"
	default:
		return fmt.Sprintf("needs a variant whose linears are two factors and nothing else; %s holds a dense matrix beside them, "+
			"whose output it would have to sum over the ranks as a whole", v)
	}
}

// cycles checks the periods of LORO and ReLoRA against each other.
func (c *checker) cycles() {
	t := c.e.Train
	if t.LOROEvery > 0 && t.LORORefresh > 0 && t.LOROEvery%t.LORORefresh != 0 && !c.has("loro-every", "loro-refresh") {
		c.add("loro-refresh", "the moments are cleared after every exact step",
			fmt.Sprintf("must divide loro-every (%d): an exact step gives the factors another basis, in which older moments are wrong", t.LOROEvery),
			divisors(t.LORORefresh, t.LOROEvery)...)
	}
	if every := t.Cycle(); every > 0 && t.RestartWarmup > every && !c.has("loro-every", "relora-every", "restart-warmup") {
		c.add("restart-warmup", "a cycle's warm-up ends within it", fmt.Sprintf("is longer than a cycle (%d steps)", every), strconv.Itoa(every))
	}
}

// sparse checks that a sparse part holds something.
func (c *checker) sparse() {
	m := c.e.Model
	if m.Variant != SLTrain || c.has("sltrain-delta", "d", "ff") {
		return
	}
	if least := float64(m.D) * float64(min(m.D, m.FF)); m.SLTrainDelta*least < 1 {
		c.add("sltrain-delta", "the sparse part holds something", fmt.Sprintf("leaves no element of the smallest matrix (%.0f elements)", least), short(2/least))
	}
}

// hosts checks what is said of the machines. What a place itself asks for (names, limits) is checked where it is used.
func (c *checker) hosts() {
	w := c.e.Where
	if c.has("where", "nodes") {
		return
	}
	if w.Where == WhereLocal && w.Nodes > 1 {
		c.add("nodes", "this machine is one", "are other machines: ranks run there with where ssh or slurm", "1")
	}
	if world := c.e.World(); w.Nodes > world && !c.has("nodes", "tp", "pp", "dp") {
		c.add("nodes", "a rank for every machine", fmt.Sprintf("are more than the %d ranks of tp x pp x dp", world), strconv.Itoa(world))
	}
	if w.Where == WhereSSH && w.Hosts == "" {
		c.add("hosts", "ssh knows its machines", "must name machines: say --hosts with their names, separated by commas, or a file that has them")
	}
}

// machine checks memory and cores of the hosts, and their GPUs where ranks compute on these.
func (c *checker) machine(m Machine) {
	if m.OnGPUs(c.e) {
		c.gpus(m)
	} else if m.MemBytes > 0 && m.NeedBytes > m.MemBytes {
		c.add(c.lever(), RuleMemory, fmt.Sprintf("the run needs %s of memory and this machine has %s; %s",
			FormatBytes(m.NeedBytes), FormatBytes(m.MemBytes), lessMemory))
	}
	if world := c.e.World(); m.Cores > 0 && world > m.Cores && !c.has("tp", "pp", "dp") {
		key, made := c.degrees()
		c.add(key, "a core for every rank", fmt.Sprintf("%s%d ranks share %d cores: steps will be slower than they need be", made, world, m.Cores))
		c.out[len(c.out)-1].Warning = true
	}
}

// lessMemory is what helps where memory lacks.
const lessMemory = "a smaller micro-batch (with more accumulation), seq, rank or size needs less"

// gpus checks that every rank has a GPU, and that a rank fits it.
func (c *checker) gpus(m Machine) {
	g := m.GPUs
	if g.None {
		c.add("device", RuleGPUs, "this machine has no GPU", DeviceCPU)
		return
	}
	if n, ranks := m.GPUsPerNode(c.e), m.RanksPerNode(c.e); n > 0 && ranks > n && !c.has("tp", "pp", "dp", "nodes") {
		key, made := c.degrees()
		c.add(key, RuleGPUs, fmt.Sprintf("%s%d ranks on a machine need a GPU each and get %d: take more machines, or fewer ranks", made, ranks, n))
	}
	switch {
	case g.MemBytes <= 0 || g.NeedBytes <= 0:
	case g.NeedBytes > g.MemBytes:
		c.add(c.lever(), RuleGPUMemory, fmt.Sprintf("a rank allocates %s of GPU memory and a GPU has %s; %s", FormatBytes(g.NeedBytes), FormatBytes(g.MemBytes), lessMemory))
	case g.NeedBytes+g.MarginBytes > g.MemBytes:
		c.add(c.lever(), RuleGPUMemory, fmt.Sprintf("a rank allocates %s of a GPU's %s; the CUDA context, cuBLASLt and NCCL take more beside it, how much is not known (%s is assumed): it may run out of memory",
			FormatBytes(g.NeedBytes), FormatBytes(g.MemBytes), FormatBytes(g.MarginBytes)))
		c.out[len(c.out)-1].Warning = true
	}
}

// degrees is the largest degree, which makes most of the ranks, and where there are others what they are in words.
func (c *checker) degrees() (key, made string) {
	p := c.e.Parallel
	most := 0
	var all []string
	for _, d := range []struct {
		key string
		n   int
	}{{"tp", p.TP}, {"dp", p.DP}, {"pp", p.PP}} {
		if d.n > most {
			key, most = d.key, d.n
		}
		if d.n > 1 {
			all = append(all, fmt.Sprintf("%s %d", d.key, d.n))
		}
	}
	if len(all) > 1 {
		made = "with " + and(all) + " "
	}
	return key, made
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
