package launch

import (
	"boost-tui/experiment"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"

	tea "github.com/charmbracelet/bubbletea"
)

// start is what is known of what the draft's weights start from.
type start struct {
	of    string                 // value of resume that base is of; "" none
	base  *experiment.Experiment // what the checkpoint continues; nil: not known
	fault *experiment.Violation  // what stands against going on from it; nil: nothing
	asked bool                   // the answer is under way
	take  bool                   // the form takes base over when it comes
}

// started is the answer to what a draft starts from.
type started struct {
	gen uint64
	of  string
	screen.Start
}

// readStart asks about what the draft's weights start from; nil: about nothing.
func (m *Model) readStart() tea.Cmd {
	e, ask, gen := m.draft.resolved, m.env.Start, m.debounce.Gen()
	if ask == nil || !starts(e) {
		return nil
	}
	return func() tea.Msg { return started{gen, e.Train.Resume, ask(e)} }
}

// starts reports whether an experiment's weights are not drawn.
func starts(e experiment.Experiment) bool { return e.Train.Resume != "" || e.Train.InitFrom != "" }

// doubt begins anew to find out what the draft starts from.
func (m *Model) doubt() {
	s := &m.draft.start
	s.fault, s.asked = nil, m.env.Start != nil && starts(m.draft.set)
	if s.of != m.draft.set.Train.Resume {
		s.of, s.base = "", nil
	}
	s.take = s.take && m.draft.set.Train.Resume != ""
}

// takeStart keeps the answer. Where the user has just named what to resume, the form takes over what is continued, as
// `run --resume` does.
func (m *Model) takeStart(in started) tea.Cmd {
	if in.gen != m.debounce.Gen() {
		return nil
	}
	s := &m.draft.start
	s.asked, s.of, s.base = false, in.of, in.Continued
	if s.take && s.base != nil {
		s.take = false
		e := *s.base
		tame(&e)
		e.Train.Resume = in.of
		m.draft.set, m.draft.aside = e.Minimal(), aside{}
		return tea.Batch(m.changed(), msg.Send(msg.Toast{Text: "the form is the experiment of the checkpoint now, which goes on"}))
	}
	s.take = false // there is nothing to take
	if in.Err != nil {
		key, value := "resume", m.draft.set.Train.Resume
		if value == "" {
			key, value = "init-from", m.draft.set.Train.InitFrom
		}
		s.fault = &experiment.Violation{Key: key, Value: value, Rule: "weights start from what fits", Reason: firstLine(in.Err.Error())}
	}
	m.draft.settle()
	m.form.SetFields(m.draft.fields())
	return nil
}
