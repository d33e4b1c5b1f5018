package planner

import (
	"fmt"

	"boost-tui/experiment"
)

// Verdicts of a Fit. Close is yes by what is counted, and no with what is assumed to come beside it.
const (
	FitYes     = "yes"
	FitClose   = "close"
	FitNo      = "no"
	FitUnknown = "unknown"
)

// Whose memory a Fit is about.
const (
	OfHost = "host" // all hosts together, for all ranks
	OfGPU  = "gpu"  // one GPU, for the rank that needs most
)

// Fit says whether a plan fits its machine.
type Fit struct {
	Verdict     string `json:"verdict"`
	Of          string `json:"of"`
	NeedBytes   int64  `json:"need_bytes"`
	HasBytes    int64  `json:"has_bytes"`                      // 0: unknown
	MarginBytes int64  `json:"assumed_margin_bytes,omitempty"` // GPUMarginBytes, where it counts
	Ranks       int    `json:"ranks_per_node"`                 // of the fullest node
	GPUs        int    `json:"gpus_per_node,omitempty"`        // 0: unknown
	Why         string `json:"why"`
}

// fit judges loads.
func (m Machine) fit(e experiment.Experiment, l loads) Fit {
	r := m.rules(e, l)
	f := Fit{Verdict: FitYes, Of: OfHost, NeedBytes: l.total, HasBytes: r.MemBytes, Ranks: r.RanksPerNode(e)}
	if r.OnGPUs(e) {
		f.Of, f.NeedBytes, f.HasBytes, f.MarginBytes, f.GPUs = OfGPU, l.rank, m.GPUMemBytes, GPUMarginBytes, r.GPUsPerNode(e)
		m.fitGPUs(&f)
		return f
	}
	by, has := m.by()
	switch {
	case f.HasBytes == 0:
		f.Verdict, f.Why = FitUnknown, by+" does not tell its memory"
		return f
	case r.NeedBytes > r.MemBytes:
		f.Verdict = FitNo
	}
	f.Why = fmt.Sprintf("all ranks need %s, %s %s %s", experiment.FormatBytes(f.NeedBytes), by, has, experiment.FormatBytes(f.HasBytes))
	return f
}

// fitGPUs judges memory and number of GPUs.
func (m Machine) fitGPUs(f *Fit) {
	need, has := experiment.FormatBytes(f.NeedBytes), experiment.FormatBytes(f.HasBytes)
	by := m.called()
	short := ""
	if f.GPUs > 0 && f.Ranks > f.GPUs {
		short = fmt.Sprintf("%d ranks on a node need a GPU each and get %d", f.Ranks, f.GPUs)
	}
	switch left := f.HasBytes - f.NeedBytes; {
	case m.NoGPUs:
		f.Verdict, f.Why = FitNo, fmt.Sprintf("%s has no GPU; a rank allocates %s of GPU memory", by, need)
		return
	case f.HasBytes == 0:
		f.Verdict, f.Why = FitUnknown, fmt.Sprintf("a rank allocates %s of GPU memory, and what a GPU of %s has is not known", need, by)
	case left < 0:
		f.Verdict, f.Why = FitNo, fmt.Sprintf("a rank allocates %s, a GPU of %s has %s", need, by, has)
	case left < f.MarginBytes:
		f.Verdict = FitClose
		f.Why = fmt.Sprintf("a rank allocates %s and a GPU of %s has %s, which leaves %s; the CUDA context, cuBLASLt and NCCL take more beside it, how much is not known (%s is assumed)",
			need, by, has, experiment.FormatBytes(left), experiment.FormatBytes(f.MarginBytes))
	default:
		f.Why = fmt.Sprintf("a rank allocates %s, a GPU of %s has %s", need, by, has)
	}
	switch {
	case short != "" && f.Verdict == FitNo:
		f.Why += "; " + short
	case short != "":
		f.Verdict, f.Why = FitNo, short+"; "+f.Why
	case f.GPUs > 0:
		f.Why += fmt.Sprintf("; %s a node, %s", many(f.Ranks, "rank"), many(f.GPUs, "GPU"))
	default:
		f.Why += fmt.Sprintf("; %s a node, how many GPUs it has is not known", many(f.Ranks, "rank"))
	}
}

// called is the machine's name in a sentence.
func (m Machine) called() string {
	if m.Name == thisMachine {
		return m.Name
	}
	return "machine " + m.Name
}

// by is all of the machine as the subject of a sentence, and its verb.
func (m Machine) by() (name, has string) {
	if m.Nodes > 1 {
		return fmt.Sprintf("%d of %s", m.Nodes, m.called()), "have"
	}
	return m.called(), "has"
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
