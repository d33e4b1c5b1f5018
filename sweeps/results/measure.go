package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// Measure reads the runs of a sweep, of which those that go on have figures too, and compares each with the twins of
// its point. A run that cannot be read is a row with an Err. A cache makes the next look cheap; nil: none.
// The error is the context's, or about the store as a whole.
func Measure(ctx context.Context, runs *runner.Store, st *sweeps.State, cache *Cache) (*Table, error) {
	if cache == nil {
		cache = NewCache()
	}
	t := &Table{ID: st.ID, Name: st.Name, Created: st.Created, State: st.Phase, Cause: st.Cause, Axes: append([]string{}, st.Axes...),
		Pruned: st.Pruned, base: st.Base, Rows: make([]*Row, 0, len(st.Points)), Worked: st.Worked.Seconds(), Hours: st.DeviceHours}
	byPoint := make(map[string]*Row, len(st.Points))
	for _, p := range st.Points {
		r := newRow(runs, st, p)
		t.Rows = append(t.Rows, r)
		byPoint[p.ID] = r
	}
	if t.Pruned == nil {
		t.Pruned = []space.Pruned{} // JSON readers want a list
	}
	t.count()
	if err := t.compare(ctx, st, byPoint, cache); err != nil {
		return nil, fmt.Errorf("measure sweep %s: %w", st.ID, err)
	}
	spell := func(p *sweeps.PointState) spelled {
		r := byPoint[p.ID]
		return spelled{r.Experiment, &r.Figures}
	}
	t.Estimate = estimateState(st, spell, func() History { return cache.past(ctx, runs) }, time.Now())
	return t, nil
}

// newRow is what the plan and the journal say of a point.
func newRow(runs *runner.Store, st *sweeps.State, p *sweeps.PointState) *Row {
	r := &Row{Point: p.ID, Label: p.Label, Twin: p.Twin, Status: p.Status, Cause: p.Cause, Partial: p.Status == sweeps.Running,
		Ranks: p.Ranks, Steps: p.Steps, Attempts: len(p.Attempts), axes: st.Axes}
	e, err := p.Experiment(st.Base)
	r.describe(e)
	if err != nil {
		r.Err = err
	}
	if n := len(p.Attempts); n > 0 {
		last := &p.Attempts[n-1]
		r.Rule, r.Seconds = last.Rule, last.Seconds
		if r.Cause == "" {
			r.Cause = last.Cause
		}
	}
	if id := runOf(p); id != "" {
		r.Attempt = attemptOf(p, id)
		r.runs(runs, id)
	}
	r.earlier(runs, p)
	return r
}

// runs notes the run of a row.
func (r *Row) runs(runs *runner.Store, id string) {
	if !isRun(id) {
		r.Err = errors.Join(r.Err, fmt.Errorf("the journal names a run %q, which cannot be one", id))
		return
	}
	r.Run, r.Dir = id, runs.Dir(id)
}

// attemptOf is the number of the attempt that a run is of.
func attemptOf(p *sweeps.PointState, run string) int {
	for i := range p.Attempts {
		if p.Attempts[i].Run == run {
			return p.Attempts[i].N
		}
	}
	return 0
}

// earlier makes rows of the attempts that became runs and do not count.
func (r *Row) earlier(runs *runner.Store, p *sweeps.PointState) {
	for i := range p.Attempts {
		a := &p.Attempts[i]
		if a.Run == "" || a.N == r.Attempt {
			continue
		}
		e := *r
		e.Earlier, e.Err, e.Run, e.Dir = nil, nil, "", ""
		e.Attempt, e.Status, e.Cause, e.Rule, e.Seconds = a.N, sweeps.Status(a.State), a.Cause, a.Rule, a.Seconds
		e.Partial, e.Unfinished = true, true
		if a.Rule != "" {
			e.Status = sweeps.Stopped
		}
		e.runs(runs, a.Run)
		r.Earlier = append(r.Earlier, &e)
	}
}

// runOf is the run of a point that counts; empty: there is none.
func runOf(p *sweeps.PointState) string {
	switch n := len(p.Attempts); {
	case p.Status == sweeps.Queued: // its last run does not count
		return ""
	case p.Status == sweeps.Running && n > 0:
		return p.Attempts[n-1].Run // which may be about to be created: the one before it does not count
	}
	return p.Run()
}

// isRun reports whether an id of a journal can be a run's.
func isRun(id string) bool { return filepath.Base(id) == id && filepath.IsLocal(id) && id != "." }

// describe takes over what an experiment says.
func (r *Row) describe(e experiment.Experiment) {
	r.Experiment = e
	r.Variant, r.Scheme, r.TP = string(e.Model.Variant), string(e.Parallel.Scheme), e.Parallel.TP
	if e.Model.RankAttn == e.Model.RankMLP {
		r.Rank = e.Model.RankAttn
	}
	r.Size, r.Tokens = sizeOf(e.Model), e.TokensPerStep()
}

// sizeOf names the preset that a model has the shape of, else the shape.
func sizeOf(m experiment.Model) string {
	if p, err := experiment.PresetOf(m.Size); err == nil && p.D == m.D && p.Layers == m.Layers && p.Heads == m.Heads && p.FF == m.FF && p.Vocab == m.Vocab {
		return m.Size
	}
	return fmt.Sprintf("d%d layers%d heads%d ff%d vocab%d", m.D, m.Layers, m.Heads, m.FF, m.Vocab)
}

func (t *Table) count() {
	c := &t.Counts
	*c = Counts{Points: len(t.Rows), Pruned: len(t.Pruned)}
	of := map[sweeps.Status]*int{sweeps.Queued: &c.Queued, sweeps.Running: &c.Running, sweeps.Finished: &c.Finished, sweeps.Failed: &c.Failed,
		sweeps.Stopped: &c.Stopped, sweeps.Cancelled: &c.Cancelled, sweeps.Skipped: &c.Skipped}
	for _, r := range t.Rows {
		if n := of[r.Status]; n != nil {
			*n++
		}
	}
}

// whole reports whether the row's run has done all of its work: the journal says that it finished, or state does, that of
// its result, because it may have ended since the journal was read.
func (r *Row) whole(state string) bool {
	return r.Status == sweeps.Finished || r.Status == sweeps.Running && state == string(runner.Finished)
}

// take takes over what the row's run measured.
func (r *Row) take(m *compare.Measured) {
	if errors.Is(m.Err, fs.ErrNotExist) {
		r.Err = errors.Join(r.Err, fmt.Errorf("its run %s is not in the store any more", r.Run))
	} else if m.Err != nil {
		r.Err = errors.Join(r.Err, m.Err)
	}
	r.Figures, r.Overlapped = m.Summary, m.Overlapped
	r.Partial = !r.whole(m.State)
	r.Unfinished = r.Partial && (r.Status != sweeps.Running || m.State != "")
}

// asked is a speed-up that a row wants.
type asked struct {
	row, twin *Row
	into      **Versus
}

func (t *Table) compare(ctx context.Context, st *sweeps.State, byPoint map[string]*Row, cache *Cache) error {
	var dirs []string
	var rows []*Row
	var pairs []compare.Pair
	var want []asked
	for i, r := range t.Rows {
		for _, e := range r.Earlier {
			if e.Dir != "" {
				dirs, rows = append(dirs, e.Dir), append(rows, e)
			}
		}
		if r.Dir == "" {
			continue
		}
		dirs, rows = append(dirs, r.Dir), append(rows, r)
		p := st.Points[i]
		for _, a := range []asked{{r, byPoint[p.Full], &r.VsFull}, {r, byPoint[p.Vanilla], &r.VsVanilla}} {
			if a.twin != nil && a.twin.Dir != "" {
				want, pairs = append(want, a), append(pairs, compare.Pair{Base: a.twin.Dir, Candidate: r.Dir})
			}
		}
	}
	c, err := cache.runs.CompareWhole(ctx, dirs, pairs, func(i int, s *compare.Summary) bool { return rows[i].whole(s.State) })
	if err != nil {
		return err
	}
	for i, r := range rows {
		r.take(&c.Runs[i])
	}
	for i, a := range want {
		if p := &c.Pairs[i]; p.Speedup != nil {
			*a.into = &Versus{Speedup: *p.Speedup, Run: a.twin.Run, Comparable: p.Comparable, LossMatches: p.LossMatches,
				Differs: p.Differs, Pooled: p.Pooled, Marks: a.row.Marks().or(a.twin.Marks())}
		}
	}
	return nil
}
