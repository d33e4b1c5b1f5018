package sweep

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
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
	done string // for the toast
	show string // sweep to show
	err  error
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
		show = m.choose(in.show)
		m.shown.cursor = at
	} else if m.shown.id != "" {
		show = m.watch()
	}
	return tea.Batch(msg.Send(toast), show, msg.Send(msg.RunsChanged{}))
}

func warn(text string) tea.Cmd { return msg.Send(msg.Toast{Level: msg.Warn, Text: text}) }

// askRun starts the new sweep, grows the shown one, or lets it go on.
func (m *Model) askRun(string) tea.Cmd {
	if m.shown.id != "" && m.shown.view == nil {
		return warn("the sweep has not been read yet")
	}
	if m.shown.id != "" && !m.changed() {
		return m.goOn()
	}
	c := m.count
	switch {
	case len(m.draft.Axes) == 0:
		return warn("the grid has no axis yet: a adds one")
	case c.busy:
		m.asked = true // the question comes with the count
		return nil
	case c.err != nil:
		return warn(faultsOf(c.err)[0])
	case c.x == nil || len(c.x.Points) == 0:
		return warn("no point is left to run: i says why")
	case m.shown.id != "":
		return m.askGrow()
	}
	lines := append(m.runLines(len(c.x.Points)), m.besides()...)
	file, x, o := m.file(), c.x, m.draft.Options
	return m.open(modal.Confirm{Title: "Run a sweep", Lines: lines, Yes: "start " + format.Many(len(x.Points), "run")}, func(answer any) tea.Cmd {
		if answer != true {
			return nil
		}
		return m.do("starting the sweep", func(ctx context.Context, s screen.Sweeps) (acted, error) {
			id, err := s.Create(ctx, file, x, o)
			if err != nil {
				return acted{}, err
			}
			return acted{done: "sweep " + pick.Short(id) + " is on; it goes on with the UI closed", show: id}, s.Start(ctx, id)
		})
	})
}

// runLines say what is about to happen to n points.
func (m *Model) runLines(n int) []string {
	x, o := m.count.x, m.draft.Options
	lines := []string{fmt.Sprintf("%s, %s at once, order %s", format.Many(n, "run"), format.Count(int64(o.AtOnce)), o.Order), "cost " + costText(m.count.cost)}
	if len(x.Pruned) > 0 {
		lines = append(lines, leftOut(len(x.Pruned)))
	}
	var limits []string
	if o.MaxTime > 0 {
		limits = append(limits, "time "+span(o.MaxTime))
	}
	if o.MaxDeviceHours > 0 {
		limits = append(limits, deviceHours(o.MaxDeviceHours))
	}
	if o.MaxFailures > 0 {
		limits = append(limits, format.Many(o.MaxFailures, "failure")+" in a row")
	}
	if len(limits) > 0 {
		lines = append(lines, "it stops after "+strings.Join(limits, " or "))
	}
	return lines
}

func leftOut(n int) string {
	if n == 1 {
		return "1 point cannot run and is left out (i says why)"
	}
	return format.Count(int64(n)) + " points cannot run and are left out (i lists them)"
}

// besides warns of runs of this machine that are going: they and the sweep's
// slow each other down.
func (m *Model) besides() []string {
	n := 0
	for _, in := range m.infos {
		if in.Err == nil && !in.State.Over() && in.Run.Host == m.env.Host {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	going := "runs of this machine are going: beside them the first figures give no verdict"
	if n == 1 {
		going = "run of this machine is going: beside it the first figures give no verdict"
	}
	return []string{"", "! " + format.Count(int64(n)) + " " + going}
}

func (m *Model) file() space.File { return fileOf(m.draft) }

// askGrow adds the points that the grid has and the sweep has not.
func (m *Model) askGrow() tea.Cmd {
	n, id, o := m.count.more, m.shown.id, m.draft.Options
	options := o != m.shown.own.Options
	if n == 0 && !options {
		return warn("every point of this grid is in the sweep already; points that are planned stay")
	}
	lines := []string{"sweep " + m.sweepName()}
	what := "change the queue"
	if n > 0 {
		what = "add " + format.Many(n, "run")
		lines = append(lines, m.runLines(n)...)
	}
	file, x := m.file(), m.count.x
	return m.open(modal.Confirm{Title: "Grow the sweep", Lines: lines, Yes: what}, func(answer any) tea.Cmd {
		if answer != true {
			return nil
		}
		return m.do("growing the sweep", func(ctx context.Context, s screen.Sweeps) (acted, error) {
			if options {
				if err := s.Change(ctx, id, o); err != nil {
					return acted{}, err
				}
			}
			if n == 0 {
				return acted{done: "the queue is changed"}, nil
			}
			added, err := s.Grow(ctx, id, file, x)
			if err != nil {
				return acted{}, err
			}
			return acted{done: "added " + format.Many(added, "run")}, s.Start(ctx, id)
		})
	})
}

// goOn lets the shown sweep go on where it was paused, has stopped or was left.
func (m *Model) goOn() tea.Cmd {
	id, st := m.shown.id, m.shown.state()
	switch {
	case st == nil:
		return warn("no sweep is shown: R on a grid starts one, s chooses one")
	case st.Phase == sweeps.PhaseRunning:
		return warn("it runs already: P pauses it, an edit of the grid makes it larger")
	case st.Phase == sweeps.PhaseFinished:
		return warn("every point is over: r runs one again, an edit of the grid adds points")
	}
	return m.do("going on", func(ctx context.Context, s screen.Sweeps) (acted, error) {
		return acted{done: "the sweep goes on"}, s.Start(ctx, id)
	})
}

// pause pauses the shown sweep, or lets it go on.
func (m *Model) pause(string) tea.Cmd {
	id, st := m.shown.id, m.shown.state()
	if st == nil || st.Phase != sweeps.PhaseRunning {
		return m.goOn()
	}
	return m.do("pausing", func(ctx context.Context, s screen.Sweeps) (acted, error) {
		return acted{done: "paused: what runs goes on to its end, nothing new starts"}, s.Pause(ctx, id, false)
	})
}

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
	to := filepath.Join("exports", m.now().Format("2006-01-02T15-04-05"))
	return m.open(modal.Prompt{Title: "Export sweep " + m.sweepName(), Label: "one row per run with every axis and metric as CSV, and the table as Markdown, into a folder", Line: input.New(to)}, func(answer any) tea.Cmd {
		to, ok := answer.(string)
		if !ok || strings.TrimSpace(to) == "" {
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
