package compare

import (
	"encoding/binary"
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

// pool is a run, or all its repeats: what a speed-up rests on.
type pool struct {
	runs []*loaded
	id   string // of the readings; empty outside of a Cache
}

// pools finds the repeats of runs without comparing each run with each.
type pools struct {
	alike  map[string][]*loaded // by properties
	number func(*loaded) uint64 // of a run's reading; nil: there are none
	common map[likeness]*pool
	alone  map[*loaded]*pool
}

func poolsOf(runs []*loaded, number func(*loaded) uint64) *pools {
	p := &pools{alike: map[string][]*loaded{}, number: number, common: map[likeness]*pool{}, alone: map[*loaded]*pool{}}
	for _, r := range runs {
		p.alike[r.like.properties] = append(p.alike[r.like.properties], r)
	}
	return p
}

// of is the run and, when there are at least two more runs whose steps do the very same, those: between-run variance is
// what the steps of one run cannot show. A run that another one slowed is nobody's repeat, and one that has not done all
// of its work stands alone. The pool is in the order of the runs, so that it is one and the same for all repeats, and
// so is what rests on it.
func (p *pools) of(l *loaded) *pool {
	usual := l.repeats()
	if found := p.alone[l]; found != nil {
		return found
	}
	if usual {
		if found := p.common[l.like]; found != nil {
			return found
		}
	}
	if l.partial {
		found := p.make([]*loaded{l}, nil)
		p.alone[l] = found
		return found
	}
	var same []*loaded
	for _, o := range p.alike[l.like.properties] {
		if o == l || o.repeats() && o.like.same(l.like) {
			same = append(same, o)
		}
	}
	if len(same) < 3 || !usual {
		found := p.make([]*loaded{l}, same)
		p.alone[l] = found
		return found
	}
	found := p.make(same, same)
	p.common[l.like] = found
	return found
}

// repeats reports whether a run can be a repeat of others.
func (l *loaded) repeats() bool { return l.summary.Kept > 0 && len(l.overlapped) == 0 && !l.partial }

// make is the pool of all when those are three or more, else of the run.
func (p *pools) make(one, all []*loaded) *pool {
	if len(all) < 3 {
		all = one
	}
	out := &pool{runs: all}
	if p.number != nil {
		var b []byte
		for _, r := range all {
			b = binary.LittleEndian.AppendUint64(b, p.number(r))
		}
		out.id = string(b)
	}
	return out
}

// series are the step times, one series for each run.
func (p *pool) series() [][]float64 {
	out := make([][]float64, len(p.runs))
	for i, r := range p.runs {
		out[i] = r.m.kept
	}
	return out
}
