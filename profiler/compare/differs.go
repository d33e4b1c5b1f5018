package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"boost-tui/experiment"
)

// Difference is a property in which two runs differ. The names are those of flags and files.
type Difference struct {
	Name    string  `json:"name"`
	Base    string  `json:"base"`
	Run     string  `json:"run"`
	Changes Changes `json:"changes"`
}

// Changes is what a difference can change besides what the comparison is about.
type Changes string

// What a difference changes (docs/numbers.md, "Comparable or not").
const (
	Choice   Changes = "choice"    // what comparisons are made for: the runs stay comparable
	StepTime Changes = "step time" // and mostly the loss too: the runs are not comparable
	Loss     Changes = "loss"      // the time of a step cannot change, the loss does
	Nothing  Changes = "nothing"   // neither
)

// property of a run that comparisons look at.
type property struct {
	name    string
	changes Changes
	loss    bool // a StepTime property that changes the loss as well
	of      func(*Run) string
}

var properties = []property{
	{"variant", Choice, false, func(r *Run) string { return r.Plan.Variant }},
	{"scheme", Choice, false, func(r *Run) string { return r.Plan.Scheme }},
	{"norm", Choice, false, func(r *Run) string { return r.Plan.Norm }},
	{"grouping", Choice, false, func(r *Run) string { return strconv.FormatBool(r.Plan.Grouped) }},
	{"recompute", Choice, false, func(r *Run) string { return r.Plan.Ckpt }},
	{"rank-attn", Choice, false, func(r *Run) string { return number(r.Model.RankAttn) }},
	{"rank-mlp", Choice, false, func(r *Run) string { return number(r.Model.RankMLP) }},
	{"d", StepTime, true, func(r *Run) string { return number(r.Model.D) }},
	{"layers", StepTime, true, func(r *Run) string { return number(r.Model.Layers) }},
	{"heads", StepTime, true, func(r *Run) string { return number(r.Model.Heads) }},
	{"ff", StepTime, true, func(r *Run) string { return number(r.Model.FF) }},
	{"vocab", StepTime, true, func(r *Run) string { return number(r.Model.Vocab) }},
	{"tp", StepTime, false, func(r *Run) string { return number(max(1, r.Plan.TP)) }},
	{"pp", StepTime, false, func(r *Run) string { return number(max(1, r.Plan.PP)) }},
	{"dp", StepTime, true, func(r *Run) string { return number(max(1, r.Plan.DP)) }},
	{"zero", StepTime, false, func(r *Run) string { return number(r.Plan.Zero) }},
	{"sp", StepTime, false, func(r *Run) string { return strconv.FormatBool(r.Plan.SP) }},
	{"link", StepTime, false, func(r *Run) string { return cmp.Or(r.Plan.Link, noLink) }},
	{"micro-batch", StepTime, true, func(r *Run) string { return number(r.Plan.MBS) }},
	{"accumulate", StepTime, true, func(r *Run) string { return number(r.Plan.Acc) }},
	{"seq", StepTime, true, func(r *Run) string { return number(r.Plan.Seq) }},
	{"dtype", StepTime, false, func(r *Run) string { return r.Plan.DType }},
	{"device", StepTime, false, func(r *Run) string { return r.Plan.Device }},
	{"hardware", StepTime, false, hardware},
	{"blas", StepTime, false, func(r *Run) string { return r.Versions.BLAS }},
	{"binary", StepTime, false, func(r *Run) string { return r.Versions.Binary }},
}

// noLink is the link of a run whose messages were as fast as they could be.
const noLink = "none"

// apart are keys that are no difference by themselves: names of a run, and what properties hold resolved.
var apart = []string{"name", "tags", "size", "rank"}

// cannotChangeTime says what the keys change that leave the time of a step alone: the operations of a step
// and their shapes are the same under all of their values. A key that stands in neither list is taken
// to change the time.
var cannotChangeTime = map[string]Changes{
	"norm-eps": Loss, "rope-theta": Loss,
	"steps": Loss, "warmup": Loss, "lr": Loss, "schedule": Loss, "weight-decay": Loss, "beta1": Loss, "beta2": Loss, "eps": Loss, "clip": Loss,
	"relora-alpha": Loss, "sltrain-alpha": Loss, "restart-warmup": Loss, "seed": Loss, "stop-after": Loss, "resume": Loss, "init-from": Loss, "documents": Loss, "document-token": Loss, "on-nonfinite": Loss,
	// What is evaluated may be held out of what is trained on. Steps that evaluate or write a checkpoint do not count.
	"eval-data": Loss, "eval-every": Loss,
	"eval-batches": Nothing, "checkpoint-every": Nothing, "keep-last": Nothing, "update-ratio": Nothing,
	"account": Nothing, "partition": Nothing, "time": Nothing, "hosts": Nothing,
}

// keyDifferences are the differences in keys of the experiment that no property holds.
func keyDifferences(base, run *Run) (out []Difference, loss bool) {
	if base.Experiment == nil || run.Experiment == nil {
		return nil, false
	}
	for _, k := range experiment.Keys() {
		a, b := base.Experiment.Get(k.Name), run.Experiment.Get(k.Name)
		if a == b || heldElsewhere(k.Name) {
			continue
		}
		c, known := cannotChangeTime[k.Name]
		switch {
		case ofVariant(k, base.Experiment.Model.Variant, run.Experiment.Model.Variant):
			c = Choice
		case k.Name == "data" && kindOfData(a) == kindOfData(b):
			c = Loss
		case !known:
			c = StepTime
		}
		out, loss = append(out, Difference{k.Name, a, b, c}), loss || c == Loss || c == StepTime
	}
	return out, loss
}

// ofVariant reports whether two experiments differ in a key because their variants do.
func ofVariant(k experiment.Key, a, b experiment.Variant) bool {
	return a != b && (k.Name == "keep-silu" || k.For != nil)
}

// heldElsewhere reports whether a key of the experiment is no difference by itself, or a property.
func heldElsewhere(key string) bool {
	return slices.Contains(apart, key) || slices.ContainsFunc(properties, func(p property) bool { return p.name == key })
}

// kindOfData tells text, whose bytes are tokens, from files of tokens.
func kindOfData(text string) string {
	parts, err := experiment.ParseData(text)
	tokens := func(p experiment.DataPart) bool {
		return strings.HasSuffix(p.Path, ".bin") || strings.HasSuffix(p.Path, ".npy")
	}
	if err == nil && slices.ContainsFunc(parts, tokens) {
		return "tokens"
	}
	return "text"
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

// Differences of a run from a base: all of them, and those that make their step times incomparable. Low
// ranks of a full-rank model say nothing and count as no difference.
func Differences(base, run *Run) (all, against []Difference) {
	d := difference(base, run)
	return d.all, d.of(StepTime)
}

// differing is how two runs differ.
type differing struct {
	all  []Difference
	loss bool // their losses cannot be compared
}

func difference(base, run *Run) differing {
	var d differing
	for _, p := range properties {
		a, b := p.of(base), p.of(run)
		if a == b {
			continue
		}
		if ofRank(p.name) && (base.Plan.Variant == variantFull || run.Plan.Variant == variantFull) {
			continue
		}
		d.all = append(d.all, Difference{p.name, a, b, p.changes})
		d.loss = d.loss || p.loss
	}
	keys, loss := keyDifferences(base, run)
	d.all, d.loss = append(d.all, keys...), d.loss || loss
	return d
}

// of are the differences that change something.
func (d differing) of(what Changes) (out []Difference) {
	for _, x := range d.all {
		if x.Changes == what {
			out = append(out, x)
		}
	}
	return out
}

// names of all differences that no comparison is made for.
func (d differing) names() []string {
	names := []string{}
	for _, x := range d.all {
		if x.Changes != Choice {
			names = append(names, x.Name)
		}
	}
	return names
}

// lossMatches reports whether the losses of two runs can be compared.
func (d differing) lossMatches(a, b *loaded) bool { return !d.loss && a.m.lastStep == b.m.lastStep }

// timed reports whether two runs did the same work in every step.
func (d differing) timed() bool { return len(d.of(StepTime)) == 0 }

// Words of the plan that decide who is the baseline.
const (
	variantFull    = "full"
	schemeFullRank = "full-rank"
	schemeVanilla  = "vanilla"
)
