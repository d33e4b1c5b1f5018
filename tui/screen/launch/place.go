package launch

import (
	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// machineKnown describes the machines that the ranks of the draft would be on.
type machineKnown struct {
	where   experiment.Where
	device  string
	machine planner.Machine
}

// placeChecked is what stands against starting runs at a place.
type placeChecked struct {
	where experiment.Where
	err   error
	// setups are the names that the user's own configuration has.
	setups []string
	named  named
}

// named is how many machines a value of the key hosts names. Only a look at a file of hosts tells.
type named struct {
	value string
	n     int // 0: nobody has looked, or none can be told
}

// of counts the machines of a place; 0: unknown.
func (k named) of(w experiment.Where) int {
	switch {
	case k.value == w.Hosts && k.n > 0:
		return k.n
	case w.Hosts == "" || strings.Contains(w.Hosts, "/"):
		return 0
	}
	return strings.Count(w.Hosts, ",") + 1
}

// readPlace asks about the draft's place: what its machines are, and whether runs can be started there at all.
func (m *Model) readPlace() tea.Cmd {
	w, resolved := m.draft.resolved.Where, m.draft.resolved
	var cmds []tea.Cmd
	if ask := m.env.Machine; ask != nil {
		cmds = append(cmds, func() tea.Msg { return machineKnown{w, resolved.Step.Device, ask(resolved)} })
	}
	if check := m.env.CheckPlace; check != nil {
		setups, hosts := m.env.Setups, m.env.Hosts
		cmds = append(cmds, func() tea.Msg {
			out := placeChecked{where: w, err: check(w)}
			if setups != nil {
				out.setups, _ = setups() // what is wrong with them is what stands against the place
			}
			if hosts != nil && w.Where == experiment.WhereSSH && w.Hosts != "" {
				if names, err := hosts(w.Hosts); err == nil { // else the check above says what is wrong with it
					out.named = named{w.Hosts, len(names)}
				}
			}
			return out
		})
	}
	return tea.Batch(append(cmds, m.askPartitions())...)
}

// takeMachine keeps what the machines of the draft's place are.
func (m *Model) takeMachine(in machineKnown) {
	if in.where != m.draft.resolved.Where || in.device != m.draft.resolved.Step.Device {
		return
	}
	need, rank := m.draft.machine.NeedBytes, m.draft.machine.GPUs.NeedBytes
	m.draft.machine = in.machine.Rules(m.draft.resolved, nil)
	m.draft.machine.NeedBytes, m.draft.machine.GPUs.NeedBytes = need, rank
	m.machine = in.machine
	m.draft.settle()
	m.form.SetFields(m.draft.fields())
}

// takePlace keeps what stands against the draft's place.
func (m *Model) takePlace(in placeChecked) {
	if in.where != m.draft.resolved.Where {
		return
	}
	m.draft.setups, m.draft.named, m.draft.place = in.setups, in.named, nil
	if in.err != nil {
		m.draft.place = []experiment.Violation{{Key: "where", Value: in.where.Where, Rule: "runs can be started there", Reason: firstLine(in.err.Error())}}
	}
	m.draft.settle()
	m.form.SetFields(m.draft.fields())
}

// machineNote says what machines the memory is held against.
func (m *Model) machineNote(text string) string {
	if isLocal(m.draft.resolved.Where) {
		return "this machine " + text
	}
	return layout.Clean(m.machine.Name) + " " + text
}

// scriptRead is the script of a job that the draft would be.
type scriptRead struct {
	text    []byte
	command []string
	err     error
}

// askScript shows the script that would be submitted.
func (m *Model) askScript() tea.Cmd {
	switch {
	case m.draft.resolved.Where.Where != experiment.WhereSlurm:
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "only a run on Slurm is a job with a script: set where to slurm"})
	case m.env.Script == nil:
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is no job script in this build; the folder of the run has it as job.sh"})
	}
	read, e := m.env.Script, m.draft.resolved
	return func() tea.Msg {
		text, command, err := read(e)
		return scriptRead{text, command, err}
	}
}

// showScript opens the script, from where w saves it.
func (m *Model) showScript(in scriptRead) tea.Cmd {
	if in.err != nil {
		return msg.Send(msg.Toast{Level: msg.Bad, Text: firstLine(in.err.Error())})
	}
	return msg.Send(msg.Open{Modal: newReading("The job's script", format.Shell(in.command)+"\n\n"+string(in.text), "w", "save"), Then: func(answer any) tea.Cmd {
		if answer != "w" {
			return nil
		}
		return m.askSaveFile("Save the job's script", "job.sh", in.text, "")
	}})
}

// going are the runs that are not over on the machines that the draft would use, as far as that is one machine, this one.
func (m *Model) going() []runner.Info {
	var out []runner.Info
	if !isLocal(m.draft.resolved.Where) {
		return nil
	}
	for _, in := range m.infos {
		if in.Err == nil && !in.State.Over() && in.Run.Host == m.env.Host && isLocal(in.Run.Experiment.Where) {
			out = append(out, in)
		}
	}
	return out
}
