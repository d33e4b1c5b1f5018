package compare

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"boost-tui/profiler/stats"
)

// Options of Compare. Runs are named by id, a prefix of it that fits one run only, name, or directory.
type Options struct {
	Baseline string // "": the full-rank run of those given
	Vanilla  string // "": the vanilla run
}

// Speedup of a row over another run: above 1 when the row is faster.
type Speedup struct {
	Ratio float64   `json:"ratio"`
	CI    []float64 `json:"ci,omitempty"`
	// P is the Mann-Whitney p value, Holm-corrected over the table's pairs; nil: no verdict can be given.
	P *float64 `json:"p,omitempty"`
	// Verdict is "faster", "slower", "~" (no significant difference), or "" where none is given: the
	// two are not comparable, one is too short or ran beside another run, or it is the same run.
	Verdict string `json:"verdict,omitempty"`
}

// Row is one run of a table. The summary's figures stand beside it.
type Row struct {
	Summary
	CI          []float64    `json:"ci,omitempty"`
	VsFull      *Speedup     `json:"vs_full,omitempty"`
	VsVanilla   *Speedup     `json:"vs_vanilla,omitempty"`
	Comparable  bool         `json:"comparable"`            // its step time, with the baseline's
	LossMatches bool         `json:"loss_comparable"`       // its loss, with the baseline's
	Differs     []string     `json:"differs"`               // names of all differences that no comparison is made for
	Differences []Difference `json:"differences,omitempty"` // all differences from the baseline
	Overlapped  []string     `json:"overlapped,omitempty"`  // ids of runs of the same host that ran meanwhile and slowed it
	Unseen      []string     `json:"unseen,omitempty"`      // ids of runs of the same host whose steps cannot be read: they may have run meanwhile
}

// Table is DESIGN.md's `compare` object.
type Table struct {
	Baseline string `json:"baseline,omitempty"` // id
	Vanilla  string `json:"vanilla,omitempty"`
	Rows     []Row  `json:"rows"`
	pairs    []pairing
}

// pairing is a comparison of two runs: a row of compare.csv.
type pairing struct {
	base, cand *loaded
	speed      stats.Interval
	p          float64
	diff       []Difference
	verdict    bool // both are long enough and comparable
}

// Compare puts runs side by side.
func Compare(dirs []string, o Options) (Table, error) {
	return CompareContext(context.Background(), dirs, o)
}

// CompareContext is Compare that can be broken off.
func CompareContext(ctx context.Context, dirs []string, o Options) (Table, error) {
	var runs []*loaded
	seen := map[string]bool{}
	for _, d := range dirs {
		if abs, err := filepath.Abs(d); err == nil {
			if seen[abs] {
				continue
			}
			seen[abs] = true
		}
		l, err := load(ctx, d)
		if err != nil {
			return Table{}, err
		}
		runs = append(runs, l)
	}
	if err := findOverlaps(ctx, runs, lookAt); err != nil {
		return Table{}, err
	}
	base, err := pick(runs, o.Baseline, "baseline", func(r *Run) bool { return r.Plan.Variant == variantFull && r.Plan.Scheme == schemeFullRank })
	if err != nil {
		return Table{}, err
	}
	if base == nil { // relora and sltrain run full-rank too
		base, _ = pick(runs, "", "", func(r *Run) bool { return r.Plan.Scheme == schemeFullRank })
	}
	vanilla, err := pick(runs, o.Vanilla, "vanilla", func(r *Run) bool { return r.Plan.Scheme == schemeVanilla })
	if err != nil {
		return Table{}, err
	}
	return build(runs, base, vanilla), nil
}

// pick is the named run, else the best of those that fit; nil: none fits. The best is one on a real device,
// then the one that most of the runs can be compared with in step time, then in loss too, then one that can have a verdict, then the latest.
func pick(runs []*loaded, name, what string, fits func(*Run) bool) (*loaded, error) {
	if name != "" {
		return find(runs, name, what)
	}
	var best *loaded
	var bestWorth [5]int64
	for _, r := range runs {
		if !fits(&r.run) {
			continue
		}
		worth := [5]int64{0: one(!r.summary.EmulatedDevice), 4: r.run.Created.UnixNano()}
		for _, o := range runs {
			d := difference(&r.run, &o.run)
			worth[1] += one(d.timed())
			worth[2] += one(d.timed() && !d.loss)
		}
		worth[3] = one(verdict(r))
		if best == nil || slices.Compare(worth[:], bestWorth[:]) > 0 {
			best, bestWorth = r, worth
		}
	}
	return best, nil
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func find(runs []*loaded, name, what string) (*loaded, error) {
	var found []*loaded
	for _, r := range runs {
		if r.run.ID == name || r.run.Dir == name || filepath.Clean(r.run.Dir) == filepath.Clean(name) {
			return r, nil
		}
		if strings.HasPrefix(r.run.ID, name) || r.run.Name == name {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("%s %q is none of the runs compared: name one of them", what, name)
	}
	return nil, fmt.Errorf("%s %q fits %d of the runs compared: give more of its id", what, name, len(found))
}

func build(runs []*loaded, base, vanilla *loaded) Table {
	t := Table{Rows: []Row{}}
	ref := base
	if ref == nil {
		ref = vanilla
	}
	if ref == nil && len(runs) > 0 {
		ref = runs[0]
	}
	if base != nil {
		t.Baseline = base.run.ID
	}
	if vanilla != nil {
		t.Vanilla = vanilla.run.ID
	}
	p := poolsOf(runs, nil)
	for _, r := range runs {
		d := difference(&ref.run, &r.run)
		row := Row{Summary: r.summary, CI: r.summary.StepTimeCI, Differs: []string{}, Differences: d.all, Comparable: d.timed(),
			LossMatches: d.lossMatches(ref, r), Overlapped: r.overlapped, Unseen: r.unseen}
		row.Differs = append(row.Differs, d.names()...)
		row.VsFull, row.VsVanilla = t.speedup(p, base, r), t.speedup(p, vanilla, r)
		t.Rows = append(t.Rows, row)
	}
	t.judge(runs, base, vanilla)
	return t
}

// speedup compares a run with a base. It is nil where one of them has no figures.
func (t *Table) speedup(pools *pools, base, cand *loaded) *Speedup {
	if base == nil || len(base.m.kept) == 0 || len(cand.m.kept) == 0 {
		return nil
	}
	if base == cand {
		return itself()
	}
	d := difference(&base.run, &cand.run)
	p := pairing{base: base, cand: cand, diff: d.all, p: math.NaN()}
	p.speed = stats.SpeedUp(pools.of(base).series(), pools.of(cand).series())
	if !finite(p.speed.Value) {
		return nil
	}
	p.verdict = d.timed() && verdict(base) && verdict(cand)
	if p.verdict {
		p.p = stats.MannWhitney(base.m.kept, cand.m.kept)
	}
	t.pairs = append(t.pairs, p)
	return &Speedup{Ratio: p.speed.Value, CI: pair(p.speed.Lo, p.speed.Hi)}
}

// itself is the speed-up of a run over itself.
func itself() *Speedup { return &Speedup{Ratio: 1, CI: []float64{1, 1}} }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// verdict reports whether a run is long enough, ran alone, did its work, and took the times of a machine.
func verdict(l *loaded) bool {
	return !l.partial && !l.m.skip.Short && l.summary.Kept >= stats.VerdictSteps && len(l.overlapped) == 0 && !l.summary.EmulatedDevice
}

// correct replaces the p values of pairs by those corrected for the number of pairs. A pair that stands there both
// ways counts once; where no test was made there is nothing to correct.
func correct(pairs []pairing) {
	var ps []float64
	index := map[[2]*loaded]int{}
	for _, p := range pairs {
		_, there := index[[2]*loaded{p.base, p.cand}]
		_, back := index[[2]*loaded{p.cand, p.base}]
		if !there && !back && !math.IsNaN(p.p) {
			index[[2]*loaded{p.base, p.cand}] = len(ps)
			ps = append(ps, p.p)
		}
	}
	holm := stats.Holm(ps)
	for i := range pairs {
		p := &pairs[i]
		k, ok := index[[2]*loaded{p.base, p.cand}]
		if !ok {
			k, ok = index[[2]*loaded{p.cand, p.base}]
		}
		if ok {
			p.p = holm[k]
		}
	}
}

// judge gives the verdicts.
func (t *Table) judge(runs []*loaded, base, vanilla *loaded) {
	correct(t.pairs)
	for i := range t.pairs {
		p := &t.pairs[i]
		if math.IsNaN(p.p) {
			continue
		}
		row := &t.Rows[slices.Index(runs, p.cand)]
		if p.base == base && row.VsFull != nil {
			row.VsFull.conclude(p.p)
		}
		if p.base == vanilla && row.VsVanilla != nil {
			row.VsVanilla.conclude(p.p)
		}
	}
}

func (s *Speedup) conclude(p float64) {
	s.P = known(p)
	switch {
	case p >= stats.Alpha:
		s.Verdict = "~"
	case s.Ratio > 1:
		s.Verdict = "faster"
	default:
		s.Verdict = "slower"
	}
}
