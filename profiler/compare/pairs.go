package compare

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"boost-tui/internal/parallel"
	"boost-tui/profiler/stats"
)

// keptPair is what was worked out for a pair, with the readings that it rests on.
type keptPair struct {
	tested [2]uint64 // readings that p is of; zero: no test was made
	p      float64   // as it is, not corrected
	differ [2]uint64 // readings that d is of
	d      differing
	used   uint64
	wanted uint64 // the call that is testing it
}

// Compare reads the runs of the directories, those that changed, and compares the pairs, whose directories must be
// among them. Speed-ups, intervals, tests, what makes a verdict impossible, and the pooling of repeats are those of a
// Table; Holm's correction is over all pairs of the call. A run that cannot be read has its Err and takes part in nothing.
// The error is about the comparison as a whole.
func (c *Cache) Compare(ctx context.Context, dirs []string, pairs []Pair) (Comparison, error) {
	return c.CompareWhole(ctx, dirs, pairs, func(int, *Summary) bool { return true })
}

// CompareWhole is Compare for somebody who knows which runs have done all of their work: whole says so of a run by its
// place among the directories. One that has not has figures and speed-ups, but no verdict, and is nobody's repeat.
func (c *Cache) CompareWhole(ctx context.Context, dirs []string, pairs []Pair, whole func(int, *Summary) bool) (Comparison, error) {
	if err := c.enter(ctx); err != nil {
		return Comparison{}, err
	}
	defer c.leave()
	clean := make([]string, len(dirs))
	place := map[string]int{} // of a directory, as given and as it is
	for i, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return Comparison{}, fmt.Errorf("folder of a run, %s: %w", d, err)
		}
		clean[i] = abs
		for _, name := range []string{d, abs} {
			if _, there := place[name]; !there {
				place[name] = i
			}
		}
	}
	s := &session{c: c, place: place, clean: clean, whole: whole}
	if err := s.load(ctx); err != nil {
		return Comparison{}, err
	}
	out := Comparison{Runs: s.measured(), Pairs: make([]Paired, len(pairs))}
	if err := s.compare(ctx, pairs, out.Pairs); err != nil {
		return Comparison{}, err
	}
	return out, nil
}

// session is one call of Compare.
type session struct {
	c     *Cache
	place map[string]int
	clean []string
	whole func(int, *Summary) bool
	kept  []*kept
	errs  []error
	runs  []*loaded         // copies of this call: what ran beside is its own; nil where there is an error
	of    map[*loaded]*kept // back
	pools *pools
}

func (s *session) load(ctx context.Context) error {
	s.kept, s.errs = s.c.load(ctx, s.unique())
	if err := ctx.Err(); err != nil {
		return err
	}
	s.runs, s.of = make([]*loaded, len(s.kept)), map[*loaded]*kept{}
	var there []*loaded
	for i, k := range s.kept {
		if s.errs[i] != nil || k == nil {
			continue
		}
		l := *k.l
		s.runs[i], s.of[&l] = &l, k
		there = append(there, &l)
	}
	if err := findOverlaps(ctx, there, s.c.look); err != nil {
		return err
	}
	for i, d := range s.clean {
		if l := s.runs[s.place[d]]; l != nil && !s.whole(i, &l.summary) {
			l.partial = true
		}
	}
	s.pools = poolsOf(there, func(l *loaded) uint64 { return s.of[l].n })
	return nil
}

// unique are the directories without those that are named again, in whose places nothing is read: place leads to the first.
func (s *session) unique() []string {
	var dirs []string
	at := map[string]int{}
	for i, d := range s.clean {
		first := s.place[d]
		if first == i {
			at[d] = len(dirs)
			dirs = append(dirs, d)
		}
	}
	for name, i := range s.place {
		s.place[name] = at[s.clean[i]]
	}
	return dirs
}

func (s *session) measured() []Measured {
	out := make([]Measured, len(s.clean))
	for i, d := range s.clean {
		k := s.place[d]
		l := s.runs[k]
		if l == nil {
			out[i] = Measured{Err: s.errs[k]}
			continue
		}
		out[i] = Measured{Summary: l.summary, Run: l.run, LastStep: l.m.lastStep, Overlapped: l.overlapped}
	}
	return out
}

// job is a pair at work.
type job struct {
	pairing
	at           int // in the answer
	kp           *keptPair
	bases, cands *pool
	kept         *keptSpeed
}

func (s *session) compare(ctx context.Context, pairs []Pair, out []Paired) error {
	var jobs []*job
	for i, p := range pairs {
		b, okBase := s.place[p.Base]
		c, okCand := s.place[p.Candidate]
		if !okBase || !okCand {
			return fmt.Errorf("compare %s with %s: they are not both among the runs", p.Candidate, p.Base)
		}
		base, cand := s.runs[b], s.runs[c]
		if base == nil || cand == nil {
			continue
		}
		j := &job{pairing: pairing{base: base, cand: cand, p: math.NaN()}, at: i, kp: s.known(base, cand)}
		d := j.kp.d
		out[i] = Paired{Comparable: d.timed(), LossMatches: d.lossMatches(base, cand), Differences: d.all, Differs: d.names()}
		switch {
		case base.summary.Kept == 0 || cand.summary.Kept == 0:
		case base == cand:
			out[i].Speedup, out[i].Pooled = itself(), [2]int{1, 1}
		default:
			j.verdict = d.timed() && verdict(base) && verdict(cand)
			j.bases, j.cands = s.pools.of(base), s.pools.of(cand)
			jobs = append(jobs, j)
		}
	}
	if err := s.work(ctx, jobs); err != nil {
		return err
	}
	s.conclude(jobs, out)
	return nil
}

// known finds what is kept of a pair, and sees to it that the differences are those of these readings.
func (s *session) known(base, cand *loaded) *keptPair {
	b, c := s.of[base], s.of[cand]
	kp := c.pairs[b.dir]
	if kp == nil {
		kp = &keptPair{}
		c.pairs[b.dir] = kp
	}
	if now := [2]uint64{b.n, c.n}; kp.differ != now {
		kp.differ, kp.d = now, difference(&base.run, &cand.run)
	}
	kp.used = s.c.call
	return kp
}

// work fills in the speed-ups and p values, from what is kept where the readings are the same.
func (s *session) work(ctx context.Context, jobs []*job) error {
	var draw, divide, test []func()
	need := map[*kept]bool{}
	for _, j := range jobs {
		id := [2]string{j.bases.id, j.cands.id}
		if j.kept = s.c.speeds[id]; j.kept == nil {
			j.kept = &keptSpeed{}
			s.c.speeds[id] = j.kept
			bases, cands := s.side(j.bases, stats.Base, need, &draw), s.side(j.cands, stats.Candidate, need, &draw)
			divide = append(divide, func() { j.kept.speed = stats.Ratio(bases.medians, cands.medians) })
		}
		j.kept.used = s.c.call
		for _, of := range []sideOf{{j.bases.id, stats.Base}, {j.cands.id, stats.Candidate}} {
			if k := s.c.sides[of]; k != nil {
				k.used = s.c.call // a run that changes is compared with it again
			}
		}
		if now := s.readings(j); j.verdict && j.kp.tested != now && j.kp.wanted != s.c.call {
			j.kp.wanted = s.c.call
			test = append(test, func() { j.kp.tested, j.kp.p = now, stats.MannWhitney(j.base.m.kept, j.cand.m.kept) })
			need[s.of[j.base]], need[s.of[j.cand]] = true, true
		}
	}
	err := readAgain(ctx, slices.Collect(maps.Keys(need)))
	for _, work := range [][]func(){draw, divide, test} {
		if err == nil {
			err = parallel.Each(ctx, len(work), func(i int) { work[i]() })
		}
	}
	if err != nil { // some were not worked out
		clear(s.c.speeds)
		clear(s.c.sides)
		return err
	}
	for _, j := range jobs {
		if j.speed = j.kept.speed; j.verdict {
			j.p = j.kp.p
		}
	}
	return nil
}

// side is what is kept of a pool as a side of speed-ups; where it is nothing, drawing it is added to the work, and its runs to
// those whose step times are needed.
func (s *session) side(p *pool, side stats.Side, need map[*kept]bool, draw *[]func()) *keptSide {
	of := sideOf{p.id, side}
	k := s.c.sides[of]
	if k == nil {
		k = &keptSide{}
		s.c.sides[of] = k
		*draw = append(*draw, func() { k.medians = stats.Resample(p.series(), side) })
		for _, l := range p.runs {
			need[s.of[l]] = true
		}
	}
	return k
}

// readAgain brings back the step times of runs that were let go.
func readAgain(ctx context.Context, runs []*kept) error {
	errs := make([]error, len(runs))
	ended := parallel.Each(ctx, len(runs), func(i int) { errs[i] = runs[i].series(ctx) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ended
}

func (s *session) readings(j *job) [2]uint64 { return [2]uint64{s.of[j.base].n, s.of[j.cand].n} }

// conclude corrects the p values and writes the answers.
func (s *session) conclude(jobs []*job, out []Paired) {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool { return !finite(j.speed.Value) })
	ps := make([]pairing, len(jobs))
	for i, j := range jobs {
		ps[i] = j.pairing
	}
	correct(ps)
	for i, j := range jobs {
		v := &Speedup{Ratio: j.speed.Value, CI: pair(j.speed.Lo, j.speed.Hi)}
		if !math.IsNaN(ps[i].p) {
			v.conclude(ps[i].p)
		}
		out[j.at].Speedup, out[j.at].Pooled = v, [2]int{len(j.bases.runs), len(j.cands.runs)}
	}
}
