package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// debounce is the pause after a change before planning: keys held down
	// change many values.
	debounce = 150 * time.Millisecond
	// launchDeadline bounds the start of a run.
	launchDeadline = 30 * time.Second
	// awayDeadline is that of a run on other machines: hosts are reached, a program is copied, a job submitted.
	awayDeadline = 4 * time.Minute
)

// replan plans after the pause; what is planned now becomes outdated.
func (m *Model) replan() tea.Cmd {
	m.debounce.Start()
	m.planning = true
	if m.env.After == nil {
		return nil
	}
	return m.debounce.Wait(m.env.After, debounce)
}

// readPlans plans the draft and, beside it, the three schemes.
func (m *Model) readPlans() tea.Cmd {
	cmds := []tea.Cmd{m.readDevices(), m.readPlace(), m.readStart(), m.readPlan(-1, m.draft.set)}
	for i, e := range m.draft.three() {
		cmds = append(cmds, m.readPlan(i, e))
	}
	return tea.Batch(cmds...)
}

func (m *Model) readPlan(at int, e experiment.Experiment) tea.Cmd {
	gen, ask, largest := m.debounce.Gen(), m.env.Plan, m.env.LargestMicroBatch
	resolved, err := m.draft.resolve(e)
	return func() tea.Msg {
		out := planned{gen: gen, at: at}
		err := err
		if err == nil && ask == nil {
			err = errors.New("no planner")
		}
		if err == nil {
			out.plan.p, err = ask(resolved)
		}
		if largest != nil && at < 0 && err == nil && out.plan.p.Fits {
			out.plan.micro = largest(resolved)
		}
		out.plan.err = err
		return out
	}
}

// take keeps an answer unless the draft has changed since it was asked for.
func (m *Model) take(in planned) {
	if in.gen != m.debounce.Gen() {
		return
	}
	if in.at >= 0 {
		m.rivals[in.at] = in.plan
		return
	}
	m.plan, m.planning = in.plan, false
	if in.plan.p != nil {
		m.draft.machine.NeedBytes, m.draft.machine.GPUs.NeedBytes = in.plan.p.NeedBytes, in.plan.p.Memory.Total
		m.draft.settle()
		m.form.SetFields(m.draft.fields())
	}
}

// askLaunch asks before it starts the draft.
func (m *Model) askLaunch() tea.Cmd {
	if m.launch.busy() {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "a launch is under way"})
	}
	if faults := m.draft.obstacles(); len(faults) > 0 {
		return refuse("cannot run: " + faults[0].String())
	}
	if m.draft.start.asked {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "what it goes on from is still being looked at"})
	}
	if m.waits() {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "what it computes on is still being looked at"})
	}
	e := m.draft.resolved
	lines := []string{describe(e), format.Many(e.Train.Steps, "step") + ", " + placeText(e, m.draft.named, m.env.Host), "", "It goes on when the UI or the terminal is closed."}
	if text := restartText(e.Where); text != "" {
		lines = append(lines, text)
	}
	if e.Step.Device == experiment.DeviceEmu {
		lines = append(lines, "", "! "+emulatedNote)
	}
	if advice := m.stepsAdvice(e); advice != "" {
		lines = append(lines, "", "! "+advice)
	}
	others, wait, after := m.besides()
	return confirm(msg.Open{
		Modal: modal.Confirm{Title: "Launch", Lines: append(lines, others...), Yes: yesNow(wait), Alt: wait},
		Then: func(answer any) tea.Cmd {
			switch answer {
			case nil:
				return nil
			case modal.Alternative:
				return m.start(e, after)
			}
			return m.start(e, "")
		},
	})
}

// yesNow is the label of the choice that launches; it says "now" where waiting is the other way.
func yesNow(wait string) string {
	if wait != "" {
		return "launch now"
	}
	return "launch"
}

// describe names an experiment in few words.
func describe(e experiment.Experiment) string {
	s := fmt.Sprintf("%s %s, %s, %s", e.Model.Size, e.Model.Variant, e.Parallel.Scheme, e.Parallel.Degrees())
	if e.Model.Rank > 0 {
		s += fmt.Sprintf(", rank %d", e.Model.Rank)
	}
	if e.Step.Device == experiment.DeviceCUDA {
		s += ", " + e.Step.Device
	}
	if words := e.EmulatedWords(); words != "" {
		s += ", " + words
	}
	if e.Name != "" {
		s = layout.Clean(e.Name) + ": " + s
	}
	return s
}

func (m *Model) launchedRun(in launched) tea.Cmd {
	if in.err != nil {
		m.end(in.err)
		return msg.Send(msg.Toast{Level: msg.Bad, Text: "the launch failed: " + in.err.Error()})
	}
	m.end(nil, in.id)
	return tea.Batch(msg.Send(msg.RunsChanged{}), msg.Send(msg.OpenRun{ID: in.id}),
		msg.Send(msg.Toast{Level: msg.Good, Text: "started " + in.id}))
}

// askSave asks for a file name and writes the experiment there.
func (m *Model) askSave() tea.Cmd {
	name := m.draft.set.Name
	if name == "" {
		name = fmt.Sprintf("%s-%s-%s", m.draft.resolved.Model.Size, m.draft.resolved.Model.Variant, m.draft.resolved.Parallel.Scheme)
	}
	return m.askSaveFile("Save the experiment", strings.ReplaceAll(name, "/", "-")+".toml", m.draft.minimal().TOML(), "; boost-tui run --config runs it")
}

// askSaveFile asks for a file name and writes data there; done says what to do with it.
func (m *Model) askSaveFile(title, name string, data []byte, done string) tea.Cmd {
	return msg.Send(msg.Open{
		Modal: modal.Prompt{Title: title, Label: "file, below " + layout.Clean(m.env.WorkDir), Line: input.New(name)},
		Then: func(answer any) tea.Cmd {
			path, ok := answer.(string)
			if !ok || path == "" {
				return nil
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(m.env.WorkDir, path)
			}
			return func() tea.Msg { return saveFile(path, data, done) }
		},
	})
}

// saveFile writes a new file; it never replaces one.
func saveFile(path string, data []byte, done string) tea.Msg {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return msg.Toast{Level: msg.Bad, Text: path + " is there already: say another name"}
	}
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return msg.Toast{Level: msg.Bad, Text: err.Error()}
	}
	return msg.Toast{Level: msg.Good, Text: "wrote " + path + done}
}
