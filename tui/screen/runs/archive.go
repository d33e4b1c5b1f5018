package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"

	tea "github.com/charmbracelet/bubbletea"
)

// archive says which runs are left out of the list.
type archive int

// What can be left out.
const (
	hideArchived archive = iota
	onlyArchived
	hideNothing
	archives // how many there are
)

// passes reports whether a run is in the list; a filter that asks for archived ones sees them all.
func (a archive) passes(archived bool, filter string) bool {
	switch {
	case a == hideNothing || strings.Contains(filter, "archived"):
		return true
	case a == onlyArchived:
		return archived
	}
	return !archived
}

func (a archive) title() string {
	return [...]string{"", ", archived", ", with archived"}[layout.Clamp(int(a), 0, int(archives)-1)]
}

// toggleArchived shows other runs: archived ones, all, those that are not.
func (m *Model) toggleArchived() tea.Cmd {
	m.hidden = (m.hidden + 1) % archives
	m.rebuild()
	return m.readMore()
}

// archive archives the marked runs, or this one; where the one under the cursor is archived, it puts them back.
func (m *Model) archive() tea.Cmd {
	r, ok := m.Selected()
	if !ok {
		return nil
	}
	on, ids := !r.Archived, []string{}
	for _, id := range m.targets() {
		switch other, ok := m.shownAs(id); {
		case !ok || other.Archived == on:
		case on && running(other.State):
			return msg.Send(msg.Toast{Level: msg.Warn, Text: id + " is " + string(other.State) + ": what goes on is not archived"})
		default:
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	store, done := m.env.Store, "archived "
	if !on {
		done = "put back "
	}
	return func() tea.Msg {
		changedOnes, err := archiveAll(store, ids, on)
		out := changed{done: done + what(changedOnes) + "; u takes it back", err: err}
		if len(changedOnes) > 0 {
			out.undo = &undo{what: "archiving", ids: changedOnes, archived: !on}
		}
		return out
	}
}

// what names one run, and counts more.
func what(ids []string) string {
	if len(ids) == 1 {
		return ids[0]
	}
	return format.Many(len(ids), "run")
}

// archiveAll says which of the runs it archived or put back.
func archiveAll(store screen.Store, ids []string, on bool) (done []string, err error) {
	var errs []error
	for _, id := range ids {
		if err := store.Archive(id, on); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, id)
	}
	return done, errors.Join(errs...)
}

// takeBack brings deleted runs back, or makes archived what was, and the other way round.
func (u undo) takeBack(store screen.Store) tea.Msg {
	if !u.deleted {
		done, err := archiveAll(store, u.ids, u.archived)
		if u.archived {
			return changed{done: "archived " + what(done) + " again", err: err}
		}
		return changed{done: "put back " + what(done), err: err}
	}
	ctx, stop := context.WithTimeout(context.Background(), cancelDeadline)
	defer stop()
	done, err := store.Undo(ctx, u.ids...)
	if err != nil {
		err = fmt.Errorf("%d of %d brought back: %w", len(done), len(u.ids), err)
	}
	return changed{done: "brought back " + what(done), err: err}
}
