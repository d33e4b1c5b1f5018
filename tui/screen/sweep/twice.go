package sweep

import (
	"context"
	"fmt"

	"boost-tui/sweeps"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// sameFound is the answer to a question for a sweep of the same space.
type sameFound struct {
	gen  uint64 // of the count: the grid was edited since where it is another
	info screen.SweepInfo
	ok   bool
	err  error
}

// findSame looks, in a Cmd, whether the new sweep is there already; confirmRun
// asks then.
func (m *Model) findSame() tea.Cmd {
	if m.env.Sweeps == nil {
		return warn("there are no sweeps in this build")
	}
	gen, spec, ask := m.debounce.Gen(), m.draft.spec(), m.env.Sweeps
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), listDeadline)
		defer cancel()
		out := sameFound{gen: gen}
		out.info, out.ok, out.err = ask.Same(ctx, spec)
		return out
	}
}

// confirmRun asks before a new sweep starts. Of a space that has a sweep, it says
// so: nothing is to run twice by mistake.
func (m *Model) confirmRun(in sameFound) tea.Cmd {
	x := m.count.x
	if !m.debounce.Mine(m.debounce.Source, in.gen) || x == nil || m.shown.id != "" {
		return nil
	}
	dialog := modal.Confirm{Title: "Run a sweep", Yes: "start " + format.Many(len(x.Points), "run")}
	if in.err != nil {
		dialog.Lines = append(dialog.Lines, layout.Clean("whether there is one like it could not be found out: "+in.err.Error()), "")
	}
	goesOn := in.ok && in.info.Phase != sweeps.PhaseFinished
	switch {
	case goesOn:
		dialog.Lines = append(dialog.Lines, "The same sweep is there: "+m.infoText(in.info)+".", "It is not made a second time.")
		dialog.Yes, dialog.Alt = "let it go on", "look at it"
	case in.ok:
		dialog.Lines = append(dialog.Lines, "The same sweep has been run: "+m.infoText(in.info)+".", "To look at its results takes no time; this would run everything again:", "")
		dialog.Yes, dialog.Alt = "run "+format.Many(len(x.Points), "point")+" again", "look at the results"
	}
	if !goesOn {
		dialog.Lines = append(dialog.Lines, append(m.runLines(len(x.Points)), m.besides()...)...)
	}
	return m.open(dialog, func(answer any) tea.Cmd {
		switch answer {
		case modal.Alternative:
			return m.choose(in.info.ID)
		case true:
			return m.create()
		}
		return nil
	})
}

// infoText is a sweep of a list in words.
func (m *Model) infoText(in screen.SweepInfo) string {
	name := pick.Short(in.ID)
	if in.Name != "" {
		name = layout.Clean(in.Name) + " " + name
	}
	return fmt.Sprintf("%s of %s, %s, %d of %d over", name, format.When(in.Created.In(m.now().Location()), m.now()), layout.Clean(string(in.Phase)), in.Over, in.Total)
}

// create makes the sweep of the grid, or finds the one that another terminal has
// made meanwhile, and has it looked after.
func (m *Model) create() tea.Cmd {
	file, x, d := m.file(), m.count.x, m.draft
	return m.do("starting the sweep", func(ctx context.Context, s screen.Sweeps) (acted, error) {
		id, made, err := s.Create(ctx, file, x, d.Options)
		if err != nil {
			return acted{}, err
		}
		out := acted{done: "sweep " + pick.Short(id) + " is on; it goes on with the UI closed", show: id, begun: &d}
		if !made {
			out.done = "sweep " + pick.Short(id) + " of the same space was there already: it goes on"
		}
		return out, s.Start(ctx, id)
	})
}
