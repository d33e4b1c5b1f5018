package sweep

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"boost-tui/experiment"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/tui/format"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/modal"
)

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
	return m.findSame()
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
	for i := range m.infos {
		in := &m.infos[i]
		if where := in.Run.Experiment.Where.Where; where != experiment.WhereLocal && where != "" {
			continue // its ranks are on other machines
		}
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
		return warn(m.nothingLeft(st))
	}
	return m.do("going on", func(ctx context.Context, s screen.Sweeps) (acted, error) {
		return acted{done: "the sweep goes on"}, s.Start(ctx, id)
	})
}

// nothingLeft says what can be done with a sweep that has nothing left to do.
func (m *Model) nothingLeft(st *sweeps.State) string {
	n := len(st.Points) - st.Count(sweeps.Finished)
	if n == 0 {
		return "every point has finished: an edit of the grid adds points, N makes a new sweep like this one"
	}
	return "every point is over: r queues what did not finish again (" + format.Many(n, "point") + "), an edit of the grid adds points"
}

// pause pauses the shown sweep, or lets it go on.
func (m *Model) pause(string) tea.Cmd {
	id, st := m.shown.id, m.shown.state()
	switch {
	case st == nil:
		return warn("no sweep is shown, so that there is nothing to pause")
	case st.Phase == sweeps.PhaseFinished:
		return warn("the sweep has finished: there is nothing to pause")
	case st.Phase != sweeps.PhaseRunning:
		return m.goOn()
	}
	return m.do("pausing", func(ctx context.Context, s screen.Sweeps) (acted, error) {
		return acted{done: "paused: what runs goes on to its end, nothing new starts"}, s.Pause(ctx, id, false)
	})
}
