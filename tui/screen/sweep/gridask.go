package sweep

import (
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// askKey offers the keys of an experiment, found by typing. whole adds the way
// to write a whole axis.
func (m *Model) askKey(title string, whole bool, then func(experiment.Key) tea.Cmd) tea.Cmd {
	var items []modal.Item
	var found []experiment.Key
	for _, k := range experiment.Keys() {
		if k.Section == "" || m.draft.uses(k.Name) {
			continue // a name or a tag makes no other experiment
		}
		items = append(items, modal.Item{Label: k.Name, Note: k.Help, Words: k.Section})
		found = append(found, k)
	}
	if whole {
		items = append(items, modal.Item{Label: "write it", Note: `keys and values as text: d,ff=512:1376,768:2048 if variant != "full"`, Words: "zip several text"})
	}
	return m.open(modal.Menu{Title: title, Items: items, Find: true}, func(answer any) tea.Cmd {
		i, ok := answer.(int)
		switch {
		case !ok:
			return nil
		case i == len(found):
			return m.askWhole()
		}
		return then(found[i])
	})
}

// open shows a dialog; what its answer changes is drawn anew.
func (m *Model) open(dialog modal.Modal, then func(answer any) tea.Cmd) tea.Cmd {
	return msg.Send(msg.Open{Modal: dialog, Then: func(answer any) tea.Cmd {
		m.cache = ""
		return then(answer)
	}})
}

func (m *Model) askAxis(string) tea.Cmd {
	return m.askKey("An axis: which key has several values?", true, func(k experiment.Key) tea.Cmd {
		return m.askValues([]string{k.Name}, suggested(k, m.draft), -1)
	})
}

// How values are written: those of words, of numbers, and of several keys.
const (
	listGrammar   = "one or more, with commas between them"
	numberGrammar = "8,16,32 or 1..4 or 32..256*2 or 0..1/5 or 1e-4..1e-2/5log"
)

// askValues asks for the values of keys: of the axis at, or of a new one.
func (m *Model) askValues(names []string, text string, at int) tea.Cmd {
	label := "one for each key, joined by colons: " + strings.Repeat("a:", len(names)-1) + "b,…"
	if k, ok := experiment.KeyOf(names[0]); ok && len(names) == 1 {
		label = listGrammar
		if k.Kind == experiment.Int || k.Kind == experiment.Float {
			label = numberGrammar
		}
		label += "; allowed: " + k.Allowed()
	}
	check := func(s string) error { return m.checkAxis(names, s, at) }
	title := "Values of " + strings.Join(names, ", ")
	return m.open(modal.Prompt{Title: title, Label: label, Line: input.New(text), Check: check}, func(answer any) tea.Cmd {
		text, ok := answer.(string)
		if !ok {
			return nil
		}
		a, err := parseAxis(names, text)
		if err != nil {
			return nil // checked already
		}
		return m.putAxis(a, at)
	})
}

// askWhole asks for an axis as a command line has it.
func (m *Model) askWhole() tea.Cmd {
	check := func(s string) error { return m.checkAxis(nil, s, -1) }
	return m.open(modal.Prompt{Title: "An axis", Label: `key=values, several keys d,ff=512:1376,768:2048, and a condition: rank=32,64 if variant != "full"`, Check: check}, func(answer any) tea.Cmd {
		text, ok := answer.(string)
		if !ok {
			return nil
		}
		a, err := parseAxis(nil, text)
		if err != nil {
			return nil // checked already
		}
		return m.putAxis(a, -1)
	})
}

// putAxis puts an axis in the place of the one at, or at the end.
func (m *Model) putAxis(a axis, at int) tea.Cmd {
	m.edit(func(d *draft) { d.putAxis(a, at) })
	if at < 0 || at >= len(m.draft.Axes) {
		at, m.cursor.value = len(m.draft.Axes)-1, 0
	}
	m.pointAt(line{lineAxis, at})
	return m.recount()
}

// editLine asks for what the line under the cursor holds.
func (m *Model) editLine(string) tea.Cmd {
	l := m.line()
	switch l.kind {
	case lineAxis:
		a := m.draft.Axes[l.i]
		return m.askValues(a.Keys, a.Text, l.i)
	case lineNewAxis:
		return m.askAxis("")
	case lineSet:
		if k, ok := experiment.KeyOf(m.draft.Set[l.i].Key); ok {
			return m.askValue(k)
		}
	case lineNewSet:
		return m.askSet("")
	case lineMust:
		return m.askConstraintAt(l.i)
	case lineNewMust:
		return m.askConstraint("")
	case lineOption:
		return m.editOption(l.i)
	}
	return nil
}

func (m *Model) editOption(i int) tea.Cmd {
	o := options[i]
	if len(o.choices) > 0 {
		return m.stepOption(i, 1)
	}
	check := func(s string) error { return m.check(func(d *draft) error { return o.set(d, s) }) }
	return m.open(modal.Prompt{Title: strings.ToUpper(o.label[:1]) + o.label[1:], Label: o.help, Line: input.New(o.get(&m.draft)), Check: check}, func(answer any) tea.Cmd {
		text, ok := answer.(string)
		if !ok {
			return nil
		}
		m.edit(func(d *draft) { _ = o.set(d, text) }) // checked already
		m.pointAt(line{lineOption, i})
		return m.recount()
	})
}
