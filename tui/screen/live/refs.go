package live

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/feed"
	"boost-tui/tui/widget/stepbar"

	tea "github.com/charmbracelet/bubbletea"
)

// reference is a run that the shown one is held against.
type reference struct {
	id, label string
	state     runner.State
	median    float64 // seconds; NaN unknown
	parts     stepbar.Parts
	loss      chart.Points // a sample
	err       error
}

// referencesRead brings what references were asked for.
type referencesRead struct {
	gen  uint64
	refs []reference
}

// referencePatience bounds the reading of references.
const referencePatience = time.Minute

// readReferences reads the reference runs that are not known in their present
// state.
func (m *Model) readReferences() tea.Cmd {
	var wanted []runner.Info
	for _, id := range m.beside() {
		in, ok := m.find(id)
		if !ok || id == m.run.ID {
			continue
		}
		if old, known := m.refData[id]; !known || old.state != in.State {
			wanted = append(wanted, in)
		}
	}
	if len(wanted) == 0 || !m.visible {
		return nil
	}
	m.refGen++
	gen := m.refGen
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), referencePatience)
		defer stop()
		out := referencesRead{gen: gen}
		for _, in := range wanted {
			out.refs = append(out.refs, readReference(ctx, in))
		}
		return out
	}
}

func (m *Model) takeReferences(in referencesRead) {
	if in.gen != m.refGen {
		return
	}
	for _, r := range in.refs {
		m.refData[r.id] = r
	}
}

// readReference summarises a run: from its result where that has a summary,
// else from its steps.
func readReference(ctx context.Context, in runner.Info) reference {
	r := reference{id: in.ID, label: string(in.Run.Experiment.Parallel.Scheme), state: in.State, median: math.NaN(), parts: stepbar.Unknown()}
	var s compare.Summary
	if in.Result == nil || json.Unmarshal(in.Result.Summary, &s) != nil || s.StepTimeMedian == nil {
		if s, r.err = compare.SummarizeContext(ctx, in.Dir); r.err != nil {
			return r
		}
	}
	if s.StepTimeMedian != nil {
		r.median = *s.StepTimeMedian
	}
	r.parts = stepbar.Of(s.Breakdown)
	r.loss, r.err = sampleLoss(in.Dir)
	return r
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
func (m *Model) references() []reference {
	var out []reference
	ids := m.beside()
	for i, id := range ids {
		r, ok := m.refData[id]
		if !ok || id == m.run.ID || i == 1 && id == ids[0] {
			continue
		}
		out = append(out, r)
	}
	return out
}

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
