package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Difference is a property in which two runs differ. The names are those of flags and files.
type Difference struct {
	Name string `json:"name"`
	Base string `json:"base"`
	Run  string `json:"run"`
}

// property of a run that comparisons look at.
type property struct {
	name string
	// choice: what comparisons are made for. Two runs that differ in choices alone are comparable.
	choice bool
	of     func(*Run) string
}

var properties = []property{
	{"variant", true, func(r *Run) string { return r.Plan.Variant }},
	{"scheme", true, func(r *Run) string { return r.Plan.Scheme }},
	{"norm", true, func(r *Run) string { return r.Plan.Norm }},
	{"grouping", true, func(r *Run) string { return strconv.FormatBool(r.Plan.Grouped) }},
	{"recompute", true, func(r *Run) string { return r.Plan.Ckpt }},
	{"rank-attn", true, func(r *Run) string { return number(r.Model.RankAttn) }},
	{"rank-mlp", true, func(r *Run) string { return number(r.Model.RankMLP) }},
	{"d", false, func(r *Run) string { return number(r.Model.D) }},
	{"layers", false, func(r *Run) string { return number(r.Model.Layers) }},
	{"heads", false, func(r *Run) string { return number(r.Model.Heads) }},
	{"ff", false, func(r *Run) string { return number(r.Model.FF) }},
	{"vocab", false, func(r *Run) string { return number(r.Model.Vocab) }},
	{"tp", false, func(r *Run) string { return number(max(1, r.Plan.TP)) }},
	{"pp", false, func(r *Run) string { return number(max(1, r.Plan.PP)) }},
	{"dp", false, func(r *Run) string { return number(max(1, r.Plan.DP)) }},
	{"zero", false, func(r *Run) string { return number(r.Plan.Zero) }},
	{"sp", false, func(r *Run) string { return strconv.FormatBool(r.Plan.SP) }},
	{"micro-batch", false, func(r *Run) string { return number(r.Plan.MBS) }},
	{"accumulate", false, func(r *Run) string { return number(r.Plan.Acc) }},
	{"seq", false, func(r *Run) string { return number(r.Plan.Seq) }},
	{"dtype", false, func(r *Run) string { return r.Plan.DType }},
	{"device", false, func(r *Run) string { return r.Plan.Device }},
	{"hardware", false, hardware},
	{"blas", false, func(r *Run) string { return r.Versions.BLAS }},
	{"binary", false, func(r *Run) string { return r.Versions.Binary }},
}

// hardware is what the runs ran on, not where: two nodes of a kind are the same hardware.
func hardware(r *Run) string {
	s := fmt.Sprintf("%s, %d cores", r.CPU, r.Cores)
	if n := len(r.Hosts); n > 1 {
		s = fmt.Sprintf("%d x %s", n, s)
	}
	kinds := map[string]int{}
	for _, g := range r.GPUs {
		kinds[g.Name]++
	}
	var names []string
	for k, n := range kinds {
		names = append(names, fmt.Sprintf("%d x %s", n, k))
	}
	slices.Sort(names)
	return strings.Join(append([]string{s}, names...), ", ")
}

func number(n int) string { return strconv.Itoa(n) }

// Differences of a run from a base: all of them, and those that make the two incomparable. Low ranks
// of a full-rank model say nothing and count as no difference.
func Differences(base, run *Run) (all, against []Difference) {
	for _, p := range properties {
		a, b := p.of(base), p.of(run)
		if a == b {
			continue
		}
		if strings.HasPrefix(p.name, "rank-") && (base.Plan.Variant == variantFull || run.Plan.Variant == variantFull) {
			continue
		}
		d := Difference{p.name, a, b}
		all = append(all, d)
		if !p.choice {
			against = append(against, d)
		}
	}
	return all, against
}

// Words of the plan that decide who is the baseline.
const (
	variantFull    = "full"
	schemeFullRank = "full-rank"
	schemeVanilla  = "vanilla"
)
