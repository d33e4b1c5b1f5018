package launch

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/pick"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// preflight is the latest look at the machines, which is a run of the store.
type preflight struct {
	id       string // of the run; "" none
	starting bool
	asked    bool // it was started here: its result is shown when it comes
	over     bool
	reading  bool
	found    *protocol.Preflight
	failure  string // why there is no result
}

type (
	preflightStarted struct {
		id  string
		err error
	}
	preflightRead struct {
		id    string
		found protocol.Preflight
		err   error
	}
)

// askPreflight shows the latest result, or asks before it looks at the machines.
func (m *Model) askPreflight() tea.Cmd {
	p := &m.preflight
	switch {
	case m.env.Preflight == nil:
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is no preflight in this build"})
	case p.starting || p.id != "" && !p.over:
		return msg.Send(msg.Toast{Text: "a preflight is under way: its result is shown here; 5 lists it"})
	case p.over && (p.found != nil || p.failure != ""):
		return m.showPreflight()
	}
	return m.confirmPreflight()
}

func (m *Model) confirmPreflight() tea.Cmd {
	if faults := m.draft.obstacles(); len(faults) > 0 {
		return refuse("cannot run: " + faults[0].String())
	}
	e := m.draft.resolved
	lines := []string{placeText(e, m.draft.named, m.env.Host), "", "Clocks, program, memory, GPUs, the folder of the runs, products, all-reduce within and between nodes, and reference " +
		"cases are looked at for about a minute, by the ranks of this configuration. Nothing is trained."}
	if others, _, _ := m.besides(); len(others) > 0 {
		lines = append(lines, "", "! other runs of this machine go on: what is measured beside them is too slow")
	}
	return confirm(msg.Open{Modal: modal.Confirm{Title: "Look at the machines?", Lines: lines, Yes: "look"}, Then: func(answer any) tea.Cmd {
		if answer != true {
			return nil
		}
		return m.startPreflight(e)
	}})
}

func (m *Model) startPreflight(e experiment.Experiment) tea.Cmd {
	m.preflight = preflight{starting: true}
	start := m.env.Preflight
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), deadline(e.Where))
		defer cancel()
		id, err := start(ctx, e)
		return preflightStarted{id, err}
	}
}

func (m *Model) preflightRuns(in preflightStarted) tea.Cmd {
	if in.err != nil {
		m.preflight = preflight{failure: firstLine(in.err.Error())}
		return msg.Send(msg.Toast{Level: msg.Bad, Text: "the preflight did not start: " + firstLine(in.err.Error())})
	}
	m.preflight = preflight{id: in.id, asked: true}
	return tea.Batch(msg.Send(msg.RunsChanged{}), msg.Send(msg.Toast{Text: "looking at the machines: " + pick.Short(in.id)}))
}

// watchPreflight reads the result when the look is over.
func (m *Model) watchPreflight(infos []runner.Info) tea.Cmd {
	p := &m.preflight
	if p.id == "" || p.over || p.reading || m.env.ReadPreflight == nil {
		return nil
	}
	for i := range infos {
		in := &infos[i]
		if in.ID != p.id || !in.State.Over() {
			continue
		}
		p.reading = true
		id, dir, read, state, cause := in.ID, in.Dir, m.env.ReadPreflight, in.State, in.Cause
		return func() tea.Msg {
			found, err := read(dir)
			if state != runner.Finished {
				found.Checks = append(found.Checks, protocol.Check{What: "start", Verdict: protocol.VerdictFailed, Found: cause, Advice: "boost-tui show and boost-tui logs of " + id + " say more"})
				found.Verdict = protocol.VerdictFailed
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
			}
			return preflightRead{id, found, err}
		}
	}
	return nil
}

func (m *Model) takePreflight(in preflightRead) tea.Cmd {
	p := &m.preflight
	if in.id != p.id {
		return nil
	}
	p.reading, p.over = false, true
	if in.err != nil {
		p.failure = firstLine(in.err.Error())
	} else {
		p.found = &in.found
	}
	if !p.asked {
		return nil
	}
	replan := m.replan() // the planner may know more of the machines now
	if m.visible {
		return tea.Batch(replan, m.showPreflight())
	}
	level, text := msg.Good, "preflight: every check holds"
	if p.found == nil || p.found.Verdict != protocol.VerdictOK {
		level, text = msg.Warn, "preflight: not every check holds; p on Launch shows them"
	}
	return tea.Batch(replan, msg.Send(msg.Toast{Level: level, Text: text}))
}

// showPreflight shows the latest result; R looks again.
func (m *Model) showPreflight() tea.Cmd {
	text := m.preflight.failure
	if m.preflight.found != nil {
		text = strings.Join(screen.PreflightLines(m.env.Theme, *m.preflight.found), "\n")
	}
	return msg.Send(msg.Open{Modal: newReading("Preflight "+pick.Short(m.preflight.id), text, "R", "look again"), Then: func(answer any) tea.Cmd {
		if answer != "R" || m.env.ReadOnly {
			return nil
		}
		return m.confirmPreflight()
	}})
}

// preflightLine is the status of a look that is under way; "" where there is none.
func (m *Model) preflightLine() string {
	p, t := &m.preflight, m.env.Theme
	switch {
	case p.id == "" && p.failure != "":
		return t.Bad.Paint(t.Glyphs.Cross + " the last preflight did not start: " + p.failure)
	case p.starting:
		return t.Accent.Paint("starting a preflight " + t.Glyphs.Ellipsis)
	case p.id != "" && !p.over && p.asked:
		text := "looking at the machines " + t.Glyphs.Ellipsis + " " + pick.Short(p.id)
		for i := len(m.infos) - 1; i >= 0; i-- {
			if in := &m.infos[i]; in.ID == p.id && in.State == runner.Pending && in.Cause != "" {
				text += " pending: " + layout.Clean(in.Cause)
			}
		}
		return t.Accent.Paint(text)
	}
	return ""
}
