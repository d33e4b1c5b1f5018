package launch

import (
	"strings"

	"boost-tui/tui/format"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const group = "Launch"

// bindings are the keys of the screen. Those without a function belong to the
// form and stand here for the help.
func bindings() keys.Table[func(*Model) tea.Cmd] {
	type entry = keys.Entry[func(*Model) tea.Cmd]
	bind := func(names []string, hint, help string, writes bool, do func(*Model) tea.Cmd) entry {
		return entry{Binding: keys.Binding{Keys: names, Hint: hint, Help: help, Group: group, Writes: writes}, Do: do}
	}
	return keys.Table[func(*Model) tea.Cmd]{
		bind([]string{"enter"}, "edit", "type a value; esc leaves it as it was", false, nil),
		bind([]string{"left", "right"}, "change", "other value; h l too", false, nil),
		bind([]string{"L"}, "launch", "start the run; asks; it survives the UI", true, (*Model).freshLaunch),
		bind([]string{"A"}, "all three", "run full-rank, vanilla and btp of this configuration one after another; asks; they survive the UI", true, (*Model).freshThree),
		bind([]string{"v"}, "preview", "the command line, what stands against it, and earlier launches", false, (*Model).preview),
		bind([]string{"R"}, "", "start the run, as L", true, (*Model).freshLaunch),
		bind([]string{"x"}, "dry-run", "show what would run, start nothing", false, (*Model).dryRun),
		bind([]string{"p"}, "preflight", "look at the machines for a minute before anything runs there; asks; later: what was found", true, (*Model).askPreflight),
		bind([]string{"s"}, "script", "the script of the job that would be submitted to Slurm; w there saves it", false, (*Model).askScript),
		bind([]string{"tab"}, "field", "next field; shift+tab the one before, arrows and j k too", false, nil),
		bind([]string{"o"}, "options", "every key, or the main ones", false, (*Model).toggleAll),
		bind([]string{"backspace"}, "default", "the field's default", false, (*Model).reset),
		bind([]string{"ctrl+r"}, "", "all defaults", false, (*Model).resetAll),
		bind([]string{"w"}, "save", "write the experiment as a TOML file", false, (*Model).askSave),
		bind([]string{"/"}, "find", "find a field", false, (*Model).openFind),
		bind([]string{"y"}, "", "copy the command line", false, (*Model).copyCommand),
		bind([]string{"pgdown", "pgup"}, "", "scroll what is below", false, nil),
	}
}

// editKeys are those of a field that is being typed in.
func editKeys(digits bool) []keys.Binding {
	what := "letters"
	if digits {
		what = "digits"
	}
	return []keys.Binding{{Keys: []string{what}, Hint: "type anew"}, {Keys: []string{"left", "right"}, Hint: "edit"}, {Keys: []string{"enter"}, Hint: "take"},
		{Keys: []string{"esc"}, Hint: "leave as it was"}, {Keys: []string{"ctrl+u"}, Hint: "empty: default"}, {Keys: []string{"tab"}, Hint: "take, next field"}}
}

// findKeys are those of the search for a field.
func findKeys() []keys.Binding {
	return []keys.Binding{{Keys: []string{"letters"}, Hint: "find"}, {Keys: []string{"enter", "esc"}, Hint: "stay there"}}
}

func matches(id, label, text string) bool {
	text = strings.ToLower(text)
	return text != "" && (strings.Contains(id, text) || strings.Contains(strings.ToLower(label), text))
}

func (m *Model) toggleAll() tea.Cmd {
	m.draft.all = !m.draft.all
	m.form.SetFields(m.draft.fields())
	return nil
}

func (m *Model) reset() tea.Cmd { return m.set(m.form.Focus(), "") }

func (m *Model) resetAll() tea.Cmd {
	all := m.draft.all
	machine, devices := m.draft.machine, m.draft.devices
	m.draft = New().draft
	m.draft.all, m.draft.machine, m.draft.devices = all, machine, devices
	return m.changed()
}

func (m *Model) copyCommand() tea.Cmd {
	return msg.Send(msg.Copy{Text: format.Shell(m.draft.command()), What: "the command line"})
}

// preview shows what the lower pane of a large terminal shows.
func (m *Model) preview() tea.Cmd {
	lines := append([]string{format.Shell(m.draft.command()), ""}, m.checkLines()...)
	return msg.Send(msg.Open{Modal: modal.Text{Title: "What L runs", Lines: cleanAll(lines)}})
}

// dryRun shows the whole experiment, what it needs and whether it could run.
func (m *Model) dryRun() tea.Cmd {
	lines := []string{"Nothing was started. This would run:", "", format.Shell(m.draft.command()), ""}
	lines = append(lines, m.checkLines()...)
	lines = append(lines, "", "The experiment, as a file for --config:", "")
	lines = append(lines, strings.Split(strings.TrimRight(string(m.draft.minimal().TOML()), "\n"), "\n")...)
	return msg.Send(msg.Open{Modal: modal.Text{Title: "Dry run", Lines: cleanAll(lines)}})
}
