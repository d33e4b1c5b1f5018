package sweep

import (
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/layout"
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

// grammar is how values are written, in one line.
const grammar = "8,16,32   1..4   32..256*2   0..1/5   1e-4..1e-2/5log"

// askValues asks for the values of keys: of the axis at, or of a new one.
func (m *Model) askValues(names []string, text string, at int) tea.Cmd {
	label := grammar
	if len(names) > 1 {
		label = "one for each key: " + strings.Repeat("a:", len(names)-1) + "b,…"
	} else if k, ok := experiment.KeyOf(names[0]); ok {
		label += "   allowed: " + k.Allowed()
	}
	check := func(s string) error { _, err := parseAxis(names, s); return err }
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
	check := func(s string) error { _, err := parseAxis(nil, s); return err }
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
	m.edit(func(d *draft) {
		if at < 0 || at >= len(d.Axes) {
			at = len(d.Axes)
			d.Axes = append(d.Axes, a)
			return
		}
		old := d.Axes[at]
		if a.When == "" {
			a.When = old.When
		}
		a.keep(old)
		d.Axes[at] = a
	})
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
		return m.askExpression("Only points that meet", m.draft.Constraints[l.i], func(d *draft, s string) { d.Constraints[l.i] = s }, func() { m.edit(func(d *draft) { d.remove(l) }) })
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
	check := func(s string) error { d := m.draft; return o.set(&d, s) }
	return m.open(modal.Prompt{Title: strings.ToUpper(o.label[:1]) + o.label[1:], Label: o.help, Line: input.New(o.get(&m.draft)), Check: check}, func(answer any) tea.Cmd {
		text, ok := answer.(string)
		if !ok {
			return nil
		}
		m.edit(func(d *draft) { _ = o.set(d, text) }) // checked already
		return m.recount()
	})
}

// askSet asks for a key and the value that it has in every point.
func (m *Model) askSet(string) tea.Cmd {
	return m.askKey("A value of every point: which key?", false, m.askValue)
}

func (m *Model) askValue(k experiment.Key) tea.Cmd {
	put := func(v string) tea.Cmd {
		m.edit(func(d *draft) { d.set(k.Name, strings.TrimSpace(v)) })
		for i, a := range m.draft.Set {
			if a.Key == k.Name {
				m.pointAt(line{lineSet, i})
			}
		}
		return m.recount()
	}
	base := m.draft.base()
	if choices := choicesOf(k); len(choices) > 0 {
		var items []modal.Item
		at := 0
		for i, c := range choices {
			items = append(items, modal.Item{Label: c})
			if c == base.Get(k.Name) {
				at = i
			}
		}
		return m.open(modal.Menu{Title: k.Name + ": " + k.Help, Items: items, At: at}, func(answer any) tea.Cmd {
			if i, ok := answer.(int); ok {
				return put(choices[i])
			}
			return nil
		})
	}
	check := func(s string) error {
		if strings.TrimSpace(s) == "" {
			return nil
		}
		e := experiment.Default()
		return e.Set(k.Name, s)
	}
	return m.open(modal.Prompt{Title: k.Name + " of every point", Label: layout.Clean(k.Help) + "; " + k.Allowed() + "; nothing: its default", Line: input.New(base.Get(k.Name)), Check: check}, func(answer any) tea.Cmd {
		if text, ok := answer.(string); ok {
			return put(text)
		}
		return nil
	})
}

func (m *Model) askConstraint(string) tea.Cmd {
	add := func(d *draft, s string) { d.Constraints = append(d.Constraints, s) }
	return m.askExpression("Only points that meet", "", add, nil)
}

// askWhen asks for the condition of the axis under the cursor.
func (m *Model) askWhen(string) tea.Cmd {
	l := m.line()
	if l.kind != lineAxis {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "put the cursor on an axis first"})
	}
	put := func(d *draft, s string) { d.Axes[l.i].When = s }
	return m.askExpression("Values of "+m.draft.Axes[l.i].name()+" only if", m.draft.Axes[l.i].When, put, func() { m.edit(func(d *draft) { put(d, "") }) })
}

// askExpression asks for an expression over the keys; an empty one clears.
func (m *Model) askExpression(title, text string, put func(*draft, string), clear func()) tea.Cmd {
	label := `an expression over the keys, a hyphen written _: variant != "full", rank * tp <= d, micro_batch in [4, 8]`
	return m.open(modal.Prompt{Title: title, Label: label, Line: input.New(text)}, func(answer any) tea.Cmd {
		s, ok := answer.(string)
		s = strings.TrimSpace(s)
		switch {
		case !ok, s == "" && clear == nil:
			return nil
		case s == "":
			clear()
		default:
			m.edit(func(d *draft) { put(d, s) })
		}
		return m.recount()
	})
}
