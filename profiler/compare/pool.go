package compare

import (
	"strconv"
	"strings"

	"boost-tui/experiment"
)

// likeness is what decides whether the steps of two runs do the very same: every property and key that a comparison
// is made for or that changes the time of a step.
type likeness struct {
	properties string
	keys       string // of the experiment; empty: run.json has none, and it counts as no difference
}

func likenessOf(r *Run) likeness {
	var b []byte
	for _, p := range properties {
		if p.changes != Choice && p.changes != StepTime || ofRank(p.name) && r.Plan.Variant == variantFull {
			continue
		}
		b = strconv.AppendQuote(b, p.of(r))
	}
	like := likeness{properties: string(b)}
	if r.Experiment == nil {
		return like
	}
	b = b[:0]
	for _, k := range experiment.Keys() {
		if _, known := cannotChangeTime[k.Name]; known || heldElsewhere(k.Name) {
			continue
		}
		v := r.Experiment.Get(k.Name)
		if k.Name == "data" {
			v = kindOfData(v)
		}
		b = strconv.AppendQuote(b, v)
	}
	like.keys = string(b)
	return like
}

// same reports whether two runs are repeats of each other as far as time goes.
func (a likeness) same(b likeness) bool {
	return a.properties == b.properties && (a.keys == "" || b.keys == "" || a.keys == b.keys)
}

// ofRank tells the properties that mean nothing for a full-rank model.
func ofRank(property string) bool { return strings.HasPrefix(property, "rank-") }

// pools are runs by what their steps do, to find repeats without comparing each run with each.
type pools map[string][]*loaded

func poolsOf(runs []*loaded) pools {
	p := pools{}
	for _, r := range runs {
		p[r.like.properties] = append(p[r.like.properties], r)
	}
	return p
}

// repeats are the run and, when there are at least two more runs whose steps do the very same, those:
// between-run variance is what the steps of one run cannot show.
func (p pools) repeats(l *loaded) []*loaded {
	same := []*loaded{l}
	for _, o := range p[l.like.properties] {
		if o != l && o.summary.Kept > 0 && len(o.overlapped) == 0 && o.like.same(l.like) {
			same = append(same, o)
		}
	}
	if len(same) < 3 {
		return same[:1]
	}
	return same
}

// seriesOf are the step times of runs, one series each.
func seriesOf(runs []*loaded) [][]float64 {
	out := make([][]float64, len(runs))
	for i, r := range runs {
		out[i] = r.m.kept
	}
	return out
}
