package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	profile "boost-tui/profiler/compare"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/feed"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"

	tea "github.com/charmbracelet/bubbletea"
)

// computed is a result with the generation it was asked in.
type computed struct {
	gen    uint64
	result result
}

// compute compares the chosen runs, or the default set, in a Cmd. An earlier
// computation that is under way is broken off; its answer would be ignored.
func (m *Model) compute() tea.Cmd {
	if !m.visible {
		return nil
	}
	if m.cancel != nil {
		m.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.busy = cancel, true
	gen := m.loop.Start()
	infos, chosen, refs := slices.Clone(m.infos), slices.Clone(m.chosen), m.refs
	return func() tea.Msg {
		defer cancel()
		auto := len(chosen) == 0
		if auto {
			chosen = pick.Default(infos)
		}
		out := compareRuns(ctx, infos, withReferences(infos, chosen, refs.Baseline, refs.Vanilla), refs.Baseline, refs.Vanilla)
		out.auto = auto
		return computed{gen, out}
	}
}

// withReferences puts the references that are there in front of the chosen runs.
func withReferences(infos []runner.Info, chosen []string, refs ...string) []string {
	if len(chosen) == 0 {
		return nil
	}
	var ids []string
	for _, id := range append(slices.Clone(refs), chosen...) {
		there := slices.ContainsFunc(infos, func(in runner.Info) bool { return in.ID == id })
		if id != "" && (there || slices.Contains(chosen, id)) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids[:min(len(ids), maxRuns)]
}

// compareRuns computes the table. Runs that cannot be read are left out and
// named: one damaged run must not hide the others.
func compareRuns(ctx context.Context, infos []runner.Info, ids []string, baseline, vanilla string) result {
	var out result
	var dirs []string
	kept := map[string]string{}
	for _, id := range ids {
		i := slices.IndexFunc(infos, func(in runner.Info) bool { return in.ID == id })
		if i < 0 {
			out.missing = append(out.missing, id+" is not in the store any more")
			continue
		}
		dirs = append(dirs, infos[i].Dir)
		kept[id] = infos[i].Dir
	}
	options := func() profile.Options {
		var o profile.Options
		if _, ok := kept[baseline]; ok {
			o.Baseline = baseline
		}
		if _, ok := kept[vanilla]; ok {
			o.Vanilla = vanilla
		}
		return o
	}
	out.table, out.err = profile.CompareContext(ctx, dirs, options())
	if out.err != nil && ctx.Err() == nil && len(dirs) > 1 {
		dirs = dirs[:0]
		for _, id := range ids {
			dir, ok := kept[id]
			if !ok {
				continue
			}
			if _, err := profile.SummarizeContext(ctx, dir); err != nil {
				out.missing = append(out.missing, fmt.Sprintf("%s is left out: %v", id, err))
				delete(kept, id)
				continue
			}
			dirs = append(dirs, dir)
		}
		out.table, out.err = profile.CompareContext(ctx, dirs, options())
	}
	if out.err != nil {
		return out
	}
	out.curves, out.comm = map[string]curves{}, map[string]feed.Collectives{}
	for id, dir := range kept {
		cols, err := feed.Sample(dir)
		if err != nil {
			out.missing = append(out.missing, fmt.Sprintf("%s has no curve: %v", id, err))
			continue
		}
		out.curves[id] = curvesOf(cols)
		comm, err := feed.ReadCollectives(dir)
		if err != nil {
			out.missing = append(out.missing, fmt.Sprintf("%s has no collectives: %v", id, err))
		}
		comm.Matched = nil // large, and summed already
		out.comm[id] = comm
	}
	return out
}

func curvesOf(cols []record.Column) (c curves) {
	for i := range cols {
		if cols[i].Count == 0 {
			continue
		}
		x := float64(cols[i].First+cols[i].Last) / 2
		if v := cols[i].WallMean; chart.Finite(v) {
			c.step.X, c.step.Y = append(c.step.X, x), append(c.step.Y, v*1e3)
		}
		if v := cols[i].LossMean; chart.Finite(v) || cols[i].NonFinite >= 0 {
			c.loss.X, c.loss.Y = append(c.loss.X, x), append(c.loss.Y, v)
		}
	}
	return c
}

// defaultsOf is from how many of the latest finished runs the default is chosen: more than pick looks at.
const defaultsOf = 256

// signature tells whether a computation would have another answer: the runs,
// the references, and the states of the runs.
func (m *Model) signature() string {
	var b strings.Builder
	if len(m.chosen) == 0 {
		b.WriteString("default\n")
		for i, latest := len(m.infos)-1, 0; i >= 0 && latest < defaultsOf; i-- {
			if in := &m.infos[i]; in.State == runner.Finished && !in.Archived {
				b.WriteString(in.ID + "\n")
				latest++
			}
		}
	}
	for _, id := range append(slices.Clone(m.chosen), m.refs.Baseline, m.refs.Vanilla) {
		in, _ := m.info(id)
		b.WriteString(id + " " + string(in.State) + "\n")
	}
	b.WriteString(m.refs.Baseline + "|" + m.refs.Vanilla)
	return b.String()
}

// going reports whether any of the compared runs may still write.
func (m *Model) going() bool {
	for _, r := range m.result.table.Rows {
		if in, ok := m.info(r.ID); ok && !in.State.Over() {
			return true
		}
	}
	return false
}

// cleanAll makes lines safe for the screen.
func cleanAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = layout.Clean(line)
	}
	return out
}
