package sweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"boost-tui/sweeps/space"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/pick"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// listDeadline bounds a listing on a file system that hangs.
const listDeadline = 30 * time.Second

// listed is the answer to a question for the sweeps that there are.
type listed struct {
	infos []screen.SweepInfo
	errs  []error
}

// askSweep lists the sweeps, in a Cmd; offer shows them.
func (m *Model) askSweep(string) tea.Cmd {
	if m.env.Sweeps == nil {
		return warn("there are no sweeps in this build")
	}
	ask := m.env.Sweeps
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), listDeadline)
		defer cancel()
		infos, errs := ask.List(ctx)
		return listed{infos, errs}
	}
}

// offer shows the sweeps, newest first, behind the new one.
func (m *Model) offer(in listed) tea.Cmd {
	infos := slices.Clone(in.infos)
	slices.Reverse(infos)
	items := []modal.Item{{Label: "the new one", Note: "the grid that is being made"}}
	at := 0
	for i, s := range infos {
		note := fmt.Sprintf("%s  %d of %d  %s  %s", layout.Clean(string(s.Phase)), s.Over, s.Total, format.When(s.Created.In(m.now().Location()), m.now()), layout.Clean(s.ID))
		label := pick.Short(s.ID)
		if s.Name != "" {
			label += " " + layout.Cut(layout.Clean(s.Name), 30, m.env.Theme.Glyphs.Ellipsis)
		}
		items = append(items, modal.Item{Label: label, Note: note})
		if s.ID == m.shown.id {
			at = i + 1
		}
	}
	for _, err := range in.errs {
		items = append(items, modal.Item{Label: m.env.Theme.Glyphs.Warn, Note: layout.Clean(err.Error()), Off: true})
	}
	return m.open(modal.Menu{Title: "Sweeps", Items: items, Find: true, At: at}, func(answer any) tea.Cmd {
		i, ok := answer.(int)
		switch {
		case !ok:
			return nil
		case i == 0:
			return m.choose("")
		case i <= len(infos):
			return m.choose(infos[i-1].ID)
		}
		return nil
	})
}

// askNew begins a new sweep. The one that was being made comes back with u.
func (m *Model) askNew(string) tea.Cmd {
	items := []modal.Item{{Label: "an empty grid", Note: "of the tiny model"}, {Label: "the schemes", Note: "vanilla and btp on 1 and 2 ranks at two ranks of the factors, with their twins"}}
	drafts := []draft{newDraft(), comparison()}
	if m.shown.id != "" {
		items = append(items, modal.Item{Label: "like this one", Note: "the grid of " + m.sweepName()})
		drafts = append(drafts, m.draft.clone())
	}
	return m.open(modal.Menu{Title: "A new sweep", Items: items, Find: true}, func(answer any) tea.Cmd {
		i, ok := answer.(int)
		switch {
		case !ok:
			return nil
		case m.unfinished() && !same(m.making(), drafts[i]):
			return m.askReplace(drafts[i])
		}
		return m.begin(drafts[i])
	})
}

// making is the new sweep, whether it is shown or not.
func (m *Model) making() draft {
	if m.shown.id != "" {
		return m.fresh
	}
	return m.draft
}

// unfinished reports whether somebody has made something of the new sweep and not
// started it.
func (m *Model) unfinished() bool {
	d := m.making()
	return !same(d, newDraft()) && (m.begun == nil || !same(d, *m.begun))
}

// askReplace asks before another draft takes the place of an unfinished one.
func (m *Model) askReplace(d draft) tea.Cmd {
	old := m.making()
	lines := []string{"A new sweep is being made and was not started: " + old.words() + ".", "Another one takes its place; u brings it back, until the UI is left."}
	return m.open(modal.Confirm{Title: "A new sweep", Lines: lines, Yes: "replace it", Alt: "go on with it"}, func(answer any) tea.Cmd {
		switch answer {
		case true:
			return m.begin(d)
		case modal.Alternative:
			return m.choose("")
		}
		return nil
	})
}

// begin puts a draft in the place of the new sweep.
func (m *Model) begin(d draft) tea.Cmd {
	cmd := m.choose("")
	m.edit(func(old *draft) { *old = d })
	m.cursor = cursor{}
	return tea.Batch(cmd, m.recount())
}

// comparison is the sweep that the program is about.
func comparison() draft {
	d := newDraft()
	d.set("variant", "cola")
	d.Axes = []axis{
		axisOf(space.Axis{Keys: []string{"scheme"}, Values: [][]string{{"vanilla"}, {"btp"}}}),
		axisOf(space.Axis{Keys: []string{"tp"}, Values: [][]string{{"1"}, {"2"}}}),
		axisOf(space.Axis{Keys: []string{"rank"}, Values: [][]string{{"32"}, {"64"}}}),
	}
	return d
}

// copyCommand copies the command that makes the same sweep.
func (m *Model) copyCommand(string) tea.Cmd {
	return msg.Send(msg.Copy{Text: format.Shell(command(m.draft)), What: "the command line"})
}
