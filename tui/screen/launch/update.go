package launch

import (
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/input"

	tea "github.com/charmbracelet/bubbletea"
)

type (
	planned struct {
		gen  uint64
		at   int // -1: the draft, else the rival
		plan plan
	}
	launched struct {
		id  string
		err error
	}
)

// Update handles keys and messages.
func (m *Model) Update(in tea.Msg) (tea.Cmd, bool) {
	switch in := in.(type) {
	case keys.Event:
		return m.key(in)
	case msg.Theme:
		m.env.Theme = in.Theme
	case msg.Hidden:
		m.visible = m.visible && in.Screen != ID
	case msg.Shown:
		if in.Screen == ID {
			m.visible = true
			m.doubt()
			return m.replan(), false
		}
	case msg.EditExperiment:
		m.draft.set, m.draft.aside = again(in.Experiment), aside{}
		return m.changed(), false
	case machineKnown:
		m.takeMachine(in)
	case started:
		return m.takeStart(in), false
	case devicesKnown:
		return m.takeDevices(in), false
	case placeChecked:
		m.takePlace(in)
	case partitionsHeard:
		m.takePartitions(in)
	case scriptRead:
		return m.showScript(in), false
	case preflightStarted:
		return m.preflightRuns(in), false
	case preflightRead:
		return m.takePreflight(in), false
	case msg.Runs:
		m.infos = in.Infos
		return tea.Batch(m.watch(in.Infos), m.watchPreflight(in.Infos)), false
	case msg.Tick:
		if m.launch.loop.Mine(in.Owner, in.Gen) {
			return m.count(), false
		}
		if m.debounce.Mine(in.Owner, in.Gen) {
			return m.readPlans(), false
		}
	case planned:
		m.take(in)
	case refreshed:
		return m.ask(in), false
	case launched:
		return m.launchedRun(in), false
	case launchedThree:
		return m.startedThree(in), false
	}
	return nil, false
}

func (m *Model) key(e keys.Event) (tea.Cmd, bool) {
	if m.find != nil {
		return m.findKey(e), true
	}
	if !m.form.Typing() {
		if entry, ok := m.table.Find(e); ok && entry.Do != nil {
			return entry.Do(m), true
		}
	}
	change, used := m.form.Update(e)
	if change == nil {
		return nil, used
	}
	return m.set(change.ID, change.Value), true
}

// again is an earlier run's experiment for another one: what it says, without
// the tag of the three that it was one of. The run may be somebody else's, and hold anything.
func again(e experiment.Experiment) experiment.Experiment {
	tame(&e)
	e = e.Minimal()
	e.Tags = slices.DeleteFunc(slices.Clone(e.Tags), func(tag string) bool { return strings.HasPrefix(tag, threePrefix) })
	return e
}

// set changes a key and plans anew.
func (m *Model) set(key, value string) tea.Cmd {
	if err := m.draft.change(key, value); err != nil {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: err.Error()})
	}
	if m.draft.note != "" {
		return tea.Batch(m.changed(), msg.Send(refused), msg.Send(msg.Toast{Text: m.draft.note}))
	}
	return tea.Batch(m.changed(), msg.Send(refused))
}

// refused takes away what was said against an earlier draft.
var refused = msg.Outdated{Of: ID}

// refuse says why the draft cannot run, until it is another or can.
func refuse(text string) tea.Cmd {
	return msg.Send(msg.Toast{Level: msg.Bad, Text: text, Of: ID})
}

// confirm asks before a draft runs: nothing stands against it any more.
func confirm(question msg.Open) tea.Cmd { return tea.Batch(msg.Send(refused), msg.Send(question)) }

// changed shows the draft and asks for a plan.
func (m *Model) changed() tea.Cmd {
	m.draft.machine.NeedBytes, m.draft.machine.GPUs.NeedBytes, m.launch.failure = 0, 0, ""
	m.doubt()
	m.draft.settle()
	m.form.SetFields(m.draft.fields())
	m.scroll = 0
	return m.replan()
}

// findKey looks for a field by its name.
func (m *Model) findKey(e keys.Event) tea.Cmd {
	switch e.Name {
	case "esc", "enter":
		m.find = nil
		return nil
	}
	line, changed, _ := m.find.Update(e)
	m.find = &line
	if changed {
		m.focusOn(line.Text())
	}
	return nil
}

// focusOn puts the cursor on the first field that fits the text, showing all
// fields when none of the main ones does.
func (m *Model) focusOn(text string) {
	for _, all := range []bool{m.draft.all, true} {
		if all != m.draft.all {
			m.draft.all = all
			m.form.SetFields(m.draft.fields())
		}
		for _, f := range m.form.Fields() {
			if matches(f.ID, f.Label, text) {
				m.form.Select(f.ID)
				return
			}
		}
	}
}

func (m *Model) openFind() tea.Cmd {
	line := input.New("")
	m.find = &line
	return nil
}
