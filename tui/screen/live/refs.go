package live

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"boost-tui/profiler/compare"
	"boost-tui/profiler/stats"
	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/feed"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/stepbar"

	tea "github.com/charmbracelet/bubbletea"
)

// reference is a run that the shown one is held against. Its bar is a mean
// over its kept steps; the speed-up is the ratio of medians that Compare gives.
type reference struct {
	id, name, head string // name: "full-rank #ab12"; head: "full"
	kept           int
	mean           float64 // seconds of a step over the kept steps; NaN unknown
	parts          stepbar.Parts
	loss           chart.Points // a sample
	speed          *compare.Speedup
	why            string // there is no speed-up
	doubt          string // why the speed-up is no verdict
}

// comparing is what a comparison was about: another one is due when it changes.
type comparing struct {
	run, baseline, vanilla string
	states                 [3]runner.State
	steps                  int64 // of the shown run, rounded so that it grows seldom
}

// referencesRead brings what references were asked for.
type referencesRead struct {
	gen  uint64
	refs []reference
	err  error
}

// referencePatience bounds the reading of references.
const referencePatience = time.Minute

// readReferences compares the shown run with its references, as Compare does,
// unless that was done for their present states.
func (m *Model) readReferences() tea.Cmd {
	if !m.visible || m.run.Dir == "" {
		return nil
	}
	ids := m.beside()
	about := comparing{run: m.run.ID, baseline: ids[0], vanilla: ids[1], steps: rounded(m.latest.last)}
	infos := []runner.Info{}
	for i, id := range ids {
		if in, ok := m.find(id); ok && id != m.run.ID {
			infos = append(infos, in)
			about.states[i] = in.State
		} else {
			infos = append(infos, runner.Info{})
		}
	}
	if about.states[2] = m.run.State; about == m.compared {
		return nil
	}
	m.compared = about
	m.refGen++
	gen, run := m.refGen, m.run
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), referencePatience)
		defer stop()
		refs, err := readReferences(ctx, run, infos)
		return referencesRead{gen, refs, err}
	}
}

// rounded is n with one significant binary digit and a half: a comparison of a
// run that goes on is made anew when it has grown by a third or more.
func rounded(n int64) int64 {
	step := int64(20)
	for step*4 <= n {
		step *= 2
	}
	return max(0, n) / step * step
}

func (m *Model) takeReferences(in referencesRead) {
	if in.gen == m.refGen {
		m.refData, m.refErr = in.refs, in.err
	}
}

// readReferences compares run with infos: the baseline, the vanilla run; those
// without an ID are left out.
func readReferences(ctx context.Context, run runner.Info, infos []runner.Info) (out []reference, err error) {
	var dirs []string
	for i, in := range infos {
		if in.ID != "" && (i == 0 || in.ID != infos[0].ID) {
			dirs = append(dirs, in.Dir)
		}
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	table, err := compare.CompareContext(ctx, append(dirs, run.Dir), compare.Options{Baseline: infos[0].ID, Vanilla: infos[1].ID})
	if err != nil {
		return nil, err
	}
	rows := map[string]*compare.Row{}
	for i := range table.Rows {
		rows[table.Rows[i].ID] = &table.Rows[i]
	}
	own := rows[run.ID]
	for i, in := range infos {
		row := rows[in.ID]
		if row == nil || i > 0 && in.ID == infos[0].ID {
			continue
		}
		role, scheme := pick.Role(i), row.Scheme
		r := reference{id: in.ID, name: pick.Against(role, scheme, pick.Short(in.ID)), head: pick.Head(role, scheme), kept: row.Kept, mean: math.NaN(), parts: stepbar.Of(row.Breakdown)}
		if r.parts.Known() {
			r.mean = r.parts.Sum()
		} else if row.StepTimeMean != nil {
			r.mean = *row.StepTimeMean
		}
		if own != nil {
			r.speed = [2]*compare.Speedup{own.VsFull, own.VsVanilla}[i]
			r.why = unproven(in, run, row, own)
			switch {
			case r.why != "":
			case len(own.Overlapped)+len(row.Overlapped) > 0:
				r.doubt = "beside others"
			case own.Short || row.Short:
				r.doubt = "short"
			case r.speed != nil && r.speed.Verdict == "~":
				r.doubt = "no difference"
			}
		}
		if r.loss, err = sampleLoss(in.Dir); err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// unproven says why a run's speed-up over a reference is not given; "" where
// it is.
func unproven(in, run runner.Info, ref, own *compare.Row) string {
	if _, against := pick.Differences(in, run); len(against) > 0 {
		for name := range against {
			if len(against) == 1 {
				return "not comparable: " + name + " differs"
			}
		}
		return fmt.Sprintf("not comparable: %d settings differ", len(against))
	}
	for _, r := range []struct {
		who string
		row *compare.Row
	}{{"", own}, {"reference: ", ref}} {
		if r.row.Kept < stats.VerdictSteps {
			return fmt.Sprintf("%stoo few steps (%d kept)", r.who, r.row.Kept)
		}
	}
	return ""
}

// words of the speed-up: "2.04× [2.01, 2.07]", marked as on all screens where it
// proves nothing, or a dash.
func (r *reference) words(times, dash string) string {
	if r.why != "" || r.speed == nil {
		return dash
	}
	text, _ := pick.Ratio(r.speed, false, times, dash)
	if ci := r.speed.CI; len(ci) == 2 {
		text += fmt.Sprintf(" [%.2f, %.2f]", ci[0], ci[1])
	}
	return text
}

// speedLines give the speed-ups over the references: a line each, or all on
// one where room is short.
func (m *Model) speedLines(refs []reference, wide bool, w int) (lines []string) {
	t := m.env.Theme
	if m.refErr != nil && wide {
		return []string{t.Warn.Paint(layout.Cut(t.Glyphs.Warn+" the references cannot be read: "+layout.Clean(m.refErr.Error()), w, t.Glyphs.Ellipsis))}
	}
	if !wide {
		var b []string
		for i := range refs {
			text, _, _ := strings.Cut(refs[i].words(t.Glyphs.Times, t.Glyphs.Dash), " [")
			b = append(b, text+" vs "+refs[i].head)
		}
		if len(b) == 0 {
			return nil
		}
		return words("medians "+strings.Join(b, ", "), w, speedRows)
	}
	for i := range refs {
		r := &refs[i]
		head := "medians"
		if r.doubt != "" {
			head += ", " + r.doubt
		}
		line := head + ": " + r.words(t.Glyphs.Times, t.Glyphs.Dash) + " vs " + r.name
		switch {
		case r.why == "":
			lines = append(lines, words(line, w, speedRows)...)
		case layout.Width(line)+2+layout.Width(r.why) <= w:
			lines = append(lines, line+t.Dim.Paint("  "+r.why))
		default:
			lines = append(lines, words(line, w, speedRows)...)
			for _, part := range words(r.why, max(1, w-2), speedRows) {
				lines = append(lines, "  "+t.Dim.Paint(part))
			}
		}
	}
	return lines
}

// speedRows is how many lines a speed-up, and the reason why there is none, may
// each take.
const speedRows = 2

// origin says who chose the references: the user, nobody (those that fit were
// picked), or both one each.
func (m *Model) origin() string {
	mine, all := 0, m.references()
	for _, r := range all {
		if r.id == m.refs.Baseline || r.id == m.refs.Vanilla {
			mine++
		}
	}
	switch mine {
	case 0:
		return "picked"
	case len(all):
		return "chosen"
	}
	return "picked and chosen"
}

// sampleLoss is a run's loss as an overlay needs it.
func sampleLoss(dir string) (p chart.Points, err error) {
	cols, err := feed.Sample(dir)
	for _, c := range cols {
		if c.Count > 0 && chart.Finite(c.LossMean) {
			p.X, p.Y = append(p.X, float64(c.Last)), append(p.Y, c.LossMean)
		}
	}
	return p, err
}

// references lists those that are known, the baseline first.
func (m *Model) references() []reference { return m.refData }

// beside is the baseline and the vanilla run to hold the shown one against:
// the marked ones, else the latest that can be compared with it.
func (m *Model) beside() [2]string {
	ids := [2]string{m.refs.Baseline, m.refs.Vanilla}
	for i := range ids {
		if ids[i] == "" {
			ids[i] = m.auto[i]
		}
	}
	return ids
}
