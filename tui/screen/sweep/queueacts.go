package sweep

import (
	"context"
	"fmt"
	"slices"

	"boost-tui/sweeps"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/pick"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// targets are the marked points, else the one under the cursor, of those with
// one of the statuses.
func (m *Model) targets(statuses ...sweeps.Status) []string {
	ids := m.queue.Marked()
	if m.focus == paneResults || m.focus == paneHeat {
		ids = m.resultPoints()
	}
	if len(ids) == 0 && m.queue.Cursor() != "" && m.focus == paneQueue {
		ids = []string{m.queue.Cursor()}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		p := m.shown.point(id)
		return p == nil || !slices.Contains(statuses, p.Status)
	})
}

func (m *Model) markPoint(string) tea.Cmd { m.queue.Toggle(); m.held[paneQueue] = true; return nil }
func (m *Model) markRange(string) tea.Cmd { m.queue.Range(); return nil }
func (m *Model) markAll(string) tea.Cmd   { m.queue.ToggleAll(); return nil }

func (m *Model) otherColumns(key string) tea.Cmd {
	n := m.queue.Sheets(max(1, m.queueWidth))
	by := 1
	if key == "left" {
		by = n - 1
	}
	m.queue.Sheet = (min(m.queue.Sheet, n-1) + by) % n
	return nil
}

func (m *Model) openRun(string) tea.Cmd {
	if p := m.shown.point(m.queue.Cursor()); p != nil {
		return m.live(p.Run())
	}
	return nil
}

func (m *Model) live(run string) tea.Cmd {
	if run == "" {
		return warn("it has no run yet")
	}
	return msg.Send(msg.OpenRun{ID: run})
}

func (m *Model) retry(string) tea.Cmd {
	ids := m.targets(sweeps.Failed, sweeps.Stopped, sweeps.Cancelled, sweeps.Skipped)
	if len(ids) == 0 {
		return warn("only what failed, was stopped, cancelled or skipped runs again: L starts a variation of a point")
	}
	goOn := m.shown.state().Phase != sweeps.PhasePaused
	return m.onPoints("queueing again", "queued again", ids, func(s screen.Sweeps, ctx context.Context, id string, points []string) error {
		if err := s.Retry(ctx, id, points); err != nil || !goOn {
			return err
		}
		return s.Start(ctx, id)
	})
}

func (m *Model) skip(string) tea.Cmd {
	ids := m.targets(sweeps.Queued)
	if len(ids) == 0 {
		return warn("only points that wait can be skipped; K ends a run")
	}
	return m.onPoints("skipping", "skipped", ids, screen.Sweeps.Skip)
}

func (m *Model) front(string) tea.Cmd {
	ids := m.targets(sweeps.Queued)
	if len(ids) == 0 {
		return warn("only points that wait can go to the front")
	}
	return m.onPoints("moving", "at the front of the queue", ids, screen.Sweeps.Front)
}

func (m *Model) askOrder(string) tea.Cmd {
	st := m.shown.state()
	if st == nil {
		return warn("no sweep is shown: the grid has the order of a new one")
	}
	notes := []string{"as it was planned, twins first", "fewest FLOPs first", "shuffled"}
	var items []modal.Item
	for i, o := range orders {
		items = append(items, modal.Item{Label: o, Note: notes[i]})
	}
	o, id := st.Options, m.shown.id
	return m.open(modal.Menu{Title: "Order of the queue", Items: items, At: max(0, slices.Index(orders, o.Order))}, func(answer any) tea.Cmd {
		i, ok := answer.(int)
		if !ok {
			return nil
		}
		o.Order = orders[i]
		return m.do("ordering", func(ctx context.Context, s screen.Sweeps) (acted, error) {
			return acted{done: "order: " + orders[i]}, s.Change(ctx, id, o)
		})
	})
}

// askCancel ends the run under the cursor, or everything.
func (m *Model) askCancel(string) tea.Cmd {
	st := m.shown.state()
	if st == nil {
		return warn("no sweep is shown")
	}
	ids := m.targets(sweeps.Running, sweeps.Queued)
	dialog := modal.Confirm{Title: "Cancel", Yes: "end the whole sweep"}
	_, running, queued, _, _ := m.shown.counts()
	if running+queued == 0 {
		return warn("nothing runs or waits")
	}
	if len(ids) > 0 {
		for _, id := range ids {
			p := m.shown.point(id)
			dialog.Lines = append(dialog.Lines, layout.Clean(fmt.Sprintf("%s %s %s", p.Label, p.Status, pick.Short(p.Run()))))
		}
		dialog.Yes, dialog.Alt = "end this point", "whole sweep"
		if len(ids) > 1 {
			dialog.Yes = "end these " + format.Many(len(ids), "point")
		}
	} else {
		dialog.Lines = []string{fmt.Sprintf("sweep %s: %d running, %d waiting", m.sweepName(), running, queued)}
	}
	dialog.Lines = append(dialog.Lines, "", "What was measured stays. r queues a point again.")
	return m.open(dialog, func(answer any) tea.Cmd {
		switch {
		case answer == true && len(ids) > 0:
			return m.end(ids)
		case answer == true, answer == modal.Alternative:
			return m.end(nil)
		}
		return nil
	})
}

// end ends points, or without any the whole sweep.
func (m *Model) end(ids []string) tea.Cmd {
	if ids == nil {
		id := m.shown.id
		return m.do("ending the sweep", func(ctx context.Context, s screen.Sweeps) (acted, error) {
			return acted{done: "the sweep is ended: r queues a point again"}, s.End(ctx, id, nil)
		})
	}
	return m.onPoints("ending", "ended", ids, screen.Sweeps.End)
}
