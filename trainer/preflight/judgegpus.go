package preflight

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
)

func (j *judge) gpus() {
	count := map[int]int{}
	for _, n := range j.r.Nodes {
		count[len(n.GPUs)]++
	}
	usual := 0
	for k, c := range count {
		if c > count[usual] || c == count[usual] && k > usual {
			usual = k
		}
	}
	sound := "none (N/A: no driver or no card)"
	if j.r.GPUs {
		sound = fmt.Sprintf("%d a node, sound", usual)
		if g := j.r.Nodes[0].GPUs; len(g) > 0 {
			sound = fmt.Sprintf("%d x %s a node, %d MHz, %d °C", usual, g[0].Name, g[0].SMMHz, g[0].TempC)
		}
	}
	j.each(checkGPUs, func(n *protocol.Node) (string, string, string) {
		if n.NoGPUs != "" {
			return protocol.VerdictFailed, n.NoGPUs, "nvidia-smi on that node; a node that needs a reboot says so there"
		}
		if len(n.GPUs) != usual {
			return protocol.VerdictFailed, fmt.Sprintf("has %d GPUs, others have %d", len(n.GPUs), usual), "nvidia-smi on that node: a card may have fallen off its bus"
		}
		if v, found, advice := j.gpuMemory(n); v != protocol.VerdictOK {
			return v, found, advice
		}
		for _, g := range n.GPUs {
			switch {
			case g.ECCFatal > 0:
				return protocol.VerdictFailed, fmt.Sprintf("GPU %d had %d memory errors that could not be corrected", g.Index, g.ECCFatal), "have it reset or replaced; leave the node out meanwhile"
			case slices.ContainsFunc(g.Throttled, func(s string) bool { return s != "power cap" }) || g.TempC >= hot:
				return protocol.VerdictSlow, fmt.Sprintf("GPU %d runs at %d MHz and %d °C, held down by %s", g.Index, g.SMMHz, g.TempC, strings.Join(append(g.Throttled, "")[:max(1, len(g.Throttled))], ", ")),
					"leave the node out, or have its cooling and power looked at"
			case g.Busy > 0:
				return protocol.VerdictSlow, fmt.Sprintf("%d processes compute on GPU %d already", g.Busy, g.Index), "nvidia-smi names them; wait for them, or leave the node out"
			}
		}
		return protocol.VerdictOK, "", ""
	}, sound)
}

// gpuMemory holds what a rank allocates against a GPU of its node.
func (j *judge) gpuMemory(n *protocol.Node) (verdict, found, advice string) {
	need, has := j.spec.GPUBytes, gpuBytes(n)
	switch {
	case need == 0 || has == 0:
	case need > has:
		return protocol.VerdictFailed, fmt.Sprintf("a rank allocates %s and a GPU has %s", experiment.FormatBytes(need), experiment.FormatBytes(has)), "take more ranks, or a smaller micro-batch, seq or size"
	case need+j.spec.GPUMargin > has:
		return protocol.VerdictSlow, fmt.Sprintf("a rank allocates %s of a GPU's %s; CUDA, cuBLASLt and NCCL take more beside it (%s is assumed)", experiment.FormatBytes(need), experiment.FormatBytes(has), experiment.FormatBytes(j.spec.GPUMargin)),
			"it may run out of memory: take a smaller micro-batch, or see whether a short run goes through"
	}
	return protocol.VerdictOK, "", ""
}

// gpuBytes is what the smallest GPU of a node has: as the ranks' devices say, else as the driver's measurements do; 0: unknown.
func gpuBytes(n *protocol.Node) int64 {
	bytes := n.GPUBytes
	if bytes > 0 {
		return bytes
	}
	for _, g := range n.GPUs {
		bytes = least(bytes, g.MemTotal)
	}
	return bytes
}

// least is the smaller of two sizes; what is not above 0 is unknown.
func least(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}
