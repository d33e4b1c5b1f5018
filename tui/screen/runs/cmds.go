package runs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	cancelDeadline = 20 * time.Second
	// measureDeadline bounds the reading of a run's steps.
	measureDeadline = time.Minute
	// figuresAge is how old the figures of a running run may get.
	figuresAge = 5 * time.Second
)

type (
	// measured is a run's figures, nil when there are none yet.
	measured struct {
		id, state string
		fig       *compare.Summary
	}
	// changed is the end of an action on the store.
	changed struct {
		done string // for the toast
		err  error
		undo *undo
	}
	// undo restores tags, a note, what was archived or deleted.
	undo struct {
		id, what string
		tags     []string
		note     string
		isNote   bool
		ids      []string // that were deleted, or archived or put back
		deleted  bool
		archived bool // what they were before
	}
)

// undoLimit bounds how much can be taken back.
const undoLimit = 50

// readFigures measures one run that is worth it: the one under the cursor
// first, then those on the screen. One at a time: its message asks for the next.
func (m *Model) readFigures() tea.Cmd {
	if !m.visible || m.env.Summary == nil {
		return nil
	}
	for _, r := range m.nearby() {
		if r.Err != nil || r.State == runner.Pending || m.figuresOf(r.Info) != nil && r.State.Over() {
			continue
		}
		k, seen := m.figures[r.ID]
		fresh := seen && k.state == string(r.State) && (!running(r.State) || m.now().Sub(k.at) < figuresAge)
		if fresh {
			continue
		}
		// Noted at once, so that nobody asks for it again meanwhile.
		m.figures[r.ID] = known{fig: k.fig, state: string(r.State), at: m.now()}
		dir, state, read := r.Dir, string(r.State), m.env.Summary
		return func() tea.Msg {
			ctx, stop := context.WithTimeout(context.Background(), measureDeadline)
			defer stop()
			fig, err := read(ctx, dir)
			if err != nil {
				return measured{id: filepath.Base(dir), state: state}
			}
			return measured{filepath.Base(dir), state, &fig}
		}
	}
	return nil
}

// took reports the end of an action and has the store listed again.
func (m *Model) took(in changed) tea.Cmd {
	if in.undo != nil && in.err != nil && len(in.undo.ids) > 0 { // what was done of it can be taken back
		m.remember(*in.undo)
	}
	if in.err != nil {
		return tea.Batch(msg.Send(msg.RunsChanged{}), msg.Send(msg.Toast{Level: msg.Bad, Text: in.err.Error()}))
	}
	if in.undo != nil {
		m.remember(*in.undo)
	}
	return tea.Batch(msg.Send(msg.RunsChanged{}), msg.Send(msg.Toast{Level: msg.Good, Text: in.done}))
}

// title names a run for a dialog.
func title(r run) string {
	e := r.Run.Experiment
	s := r.ID
	if r.Run.Name != "" {
		s += " " + r.Run.Name
	}
	return layout.Clean(fmt.Sprintf("%s (%s %s, %s, %s)", s, e.Model.Size, e.Model.Variant, e.Parallel.Scheme, e.Parallel.Degrees()))
}

func (m *Model) askCancel() tea.Cmd {
	r, ok := m.Selected()
	if !ok {
		return nil
	}
	if r.State.Over() {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: r.ID + " is over: " + string(r.State)})
	}
	lines := []string{title(r), "on " + layout.Clean(r.Run.Host) + ", " + string(r.State), "", "Its ranks end; what it measured stays."}
	return m.confirm(modal.Confirm{Title: "Cancel the run?", Lines: lines, Yes: "cancel it"}, func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), cancelDeadline)
		defer stop()
		return changed{done: "cancelled " + r.ID, err: m.env.Cancel(ctx, r.ID)}
	})
}

func (m *Model) askDelete() tea.Cmd {
	var doomed []run
	for _, id := range m.targets() {
		r, ok := m.shownAs(id)
		if ok && running(r.State) {
			return msg.Send(msg.Toast{Level: msg.Warn, Text: id + " is " + string(r.State) + ": cancel it first (K)"})
		}
		if ok {
			doomed = append(doomed, r)
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	heading, lines := "Delete this run?", []string{}
	if marked := len(m.table.Marked()); marked > 0 {
		heading = "Delete " + format.Many(marked, "marked run") + "?"
		if id := m.table.Cursor(); !slices.Contains(m.table.Marked(), id) {
			lines = append(lines, Short(id)+" under the cursor is not marked: it stays.", "")
		}
	}
	for i, r := range doomed {
		if i == namedInDialog && len(doomed) > i+1 {
			lines = append(lines, fmt.Sprintf("and %d more", len(doomed)-i))
			break
		}
		lines = append(lines, title(r))
	}
	lines = append(lines, "", "All measurements and logs go with it. u brings it back, as does `boost-tui undo`, for "+format.Duration(runner.TrashAge)+".")
	store, ids := m.env.Store, make([]string, len(doomed))
	for i, r := range doomed {
		ids[i] = r.ID
	}
	return m.confirm(modal.Confirm{Title: heading, Lines: lines, Yes: "delete"}, func() tea.Msg {
		done, err := store.Trash(ids...)
		if err != nil {
			err = fmt.Errorf("%d of %d deleted: %w", len(done), len(ids), err)
		}
		out := changed{done: "deleted " + format.Many(len(done), "run") + "; u brings them back", err: err}
		if len(done) > 0 {
			out.undo = &undo{what: "deletion", ids: done, deleted: true}
		}
		return out
	})
}

// namedInDialog is how many runs a dialog names one by one.
const namedInDialog = 20

// confirm asks, and runs the Cmd on yes.
func (m *Model) confirm(c modal.Confirm, do tea.Cmd) tea.Cmd {
	return msg.Send(msg.Open{Modal: c, Then: func(answer any) tea.Cmd {
		if answer == nil {
			return nil
		}
		return do
	}})
}

func (m *Model) askTags() tea.Cmd {
	r, ok := m.Selected()
	if !ok {
		return nil
	}
	store := m.env.Store
	return msg.Send(msg.Open{
		Modal: modal.Prompt{Title: "Tags of " + layout.Clean(r.ID), Label: "words; an empty line takes all away", Line: input.New(strings.Join(r.Tags, " "))},
		Then: func(answer any) tea.Cmd {
			text, ok := answer.(string)
			if !ok {
				return nil
			}
			tags := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' })
			return func() tea.Msg {
				return changed{"tagged " + r.ID, retag(store, r.ID, r.Tags, tags), &undo{id: r.ID, what: "tags", tags: r.Tags}}
			}
		},
	})
}

func (m *Model) askNote() tea.Cmd {
	r, ok := m.Selected()
	if !ok {
		return nil
	}
	store := m.env.Store
	return msg.Send(msg.Open{
		Modal: modal.Prompt{Title: "Note on " + layout.Clean(r.ID), Label: "an empty line takes it away", Line: input.New(r.Note)},
		Then: func(answer any) tea.Cmd {
			text, ok := answer.(string)
			if !ok {
				return nil
			}
			return func() tea.Msg {
				return changed{"noted on " + r.ID, store.Note(r.ID, text), &undo{id: r.ID, what: "note", note: r.Note, isNote: true}}
			}
		},
	})
}

// remember keeps what can be taken back.
func (m *Model) remember(u undo) {
	m.undo = append(m.undo, u)
	m.undo = m.undo[max(0, len(m.undo)-undoLimit):]
}

// takeBack undoes the last thing that can be.
func (m *Model) takeBack() tea.Cmd {
	if len(m.undo) == 0 {
		return msg.Send(msg.Toast{Text: "nothing to take back in this session; `boost-tui undo` brings back what was deleted before"})
	}
	u := m.undo[len(m.undo)-1]
	m.undo = m.undo[:len(m.undo)-1]
	store := m.env.Store
	return func() tea.Msg {
		if len(u.ids) > 0 {
			return u.takeBack(store)
		}
		if u.isNote {
			return changed{done: "note of " + u.id + " is as before", err: store.Note(u.id, u.note)}
		}
		in, err := store.Load(u.id)
		if err == nil {
			err = retag(store, u.id, in.Tags, u.tags)
		}
		return changed{done: "tags of " + u.id + " are as before", err: err}
	}
}
