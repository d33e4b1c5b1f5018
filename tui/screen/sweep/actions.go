package sweep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/pick"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// actionDeadline bounds what a key asks for: a program that is slow to start,
// a file system that hangs.
const actionDeadline = time.Minute

// acted is the end of an action.
type acted struct {
	done  string // for the toast
	show  string // sweep to show
	begun *draft // it was made of this one
	err   error
}

// do runs an action in a Cmd, one at a time.
func (m *Model) do(what string, f func(context.Context, screen.Sweeps) (acted, error)) tea.Cmd {
	switch {
	case m.env.Sweeps == nil:
		return warn("there are no sweeps in this build")
	case m.busy != "":
		return warn("one thing at a time: " + m.busy)
	}
	m.busy, m.failure = what, ""
	ask := m.env.Sweeps
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), actionDeadline)
		defer cancel()
		out, err := f(ctx, ask)
		out.err = err
		return out
	}
}

// took shows how an action ended and looks at the sweep at once.
func (m *Model) took(in acted) tea.Cmd {
	m.busy = ""
	toast := msg.Toast{Level: msg.Good, Text: in.done}
	if in.err != nil {
		toast = msg.Toast{Level: msg.Bad, Text: in.err.Error()}
		m.failure = layout.Clean(in.err.Error())
	}
	var show tea.Cmd
	if in.show != "" && in.show != m.shown.id {
		at := m.cursor
		if in.begun != nil {
			m.begun = in.begun
		}
		show = m.choose(in.show)
		m.shown.cursor = at
	} else if m.shown.id != "" {
		show = m.watch()
	}
	return tea.Batch(msg.Send(toast), show, msg.Send(msg.RunsChanged{}))
}

func warn(text string) tea.Cmd { return msg.Send(msg.Toast{Level: msg.Warn, Text: text}) }

// sweepName is how the shown sweep is called.
func (m *Model) sweepName() string {
	if st := m.shown.state(); st != nil && st.Name != "" {
		return layout.Clean(st.Name) + " " + pick.Short(m.shown.id)
	}
	return pick.Short(m.shown.id)
}

// askExport asks for a folder and writes the results there.
func (m *Model) askExport(string) tea.Cmd {
	id := m.shown.id
	if id == "" {
		return warn("no sweep is shown: s chooses one")
	}
	check := func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("say a folder")
		}
		return nil
	}
	to := filepath.Join("exports", m.now().Format("2006-01-02T15-04-05"))
	return m.open(modal.Prompt{Title: "Export sweep " + m.sweepName(), Label: "one row per run with every axis and metric as CSV, and the table as Markdown, into a folder", Line: input.New(to), Check: check}, func(answer any) tea.Cmd {
		to, ok := answer.(string)
		if !ok {
			return nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(m.env.WorkDir, to)
		}
		return m.do("exporting", func(ctx context.Context, s screen.Sweeps) (acted, error) {
			files, err := s.Export(ctx, id, to)
			return acted{done: fmt.Sprintf("wrote %s to %s", format.Many(len(files), "file"), to)}, err
		})
	})
}

// points acts on points of the shown sweep.
func (m *Model) onPoints(what, done string, ids []string, f func(screen.Sweeps, context.Context, string, []string) error) tea.Cmd {
	id, ids := m.shown.id, slices.Clone(ids)
	if len(ids) != 1 {
		done = format.Many(len(ids), "point") + " " + done
	} else if p := m.shown.point(ids[0]); p != nil {
		done = layout.Clean(p.Label) + " " + done
	}
	return m.do(what, func(ctx context.Context, s screen.Sweeps) (acted, error) {
		return acted{done: done}, f(s, ctx, id, ids)
	})
}
