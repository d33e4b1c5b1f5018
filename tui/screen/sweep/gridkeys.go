package sweep

import (
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"

	tea "github.com/charmbracelet/bubbletea"
)

// gridBindings are the keys of the grid.
func gridBindings() table {
	const group = "Sweep: grid"
	return table{
		bind(group, "add axis", "add an axis: a key, then its values", (*Model).askAxis, "a"),
		bind(group, "on/off", "switch the value under the cursor on or off", (*Model).toggle, "space"),
		bind(group, "edit", "edit the line", (*Model).editLine, "enter"),
		bind(group, "value", "another value of the line", (*Model).otherValue, "left", "right"),
		bind(group, "remove", "take the line out of the draft; u takes that back", (*Model).removeLine, "x"),
		bind(group, "if", "a condition for the axis: an expression over what stands before it", (*Model).askWhen, "w"),
		bind(group, "base value", "a key that has one value in every point", (*Model).askSet, "b"),
		bind(group, "constraint", "an expression that every point must meet", (*Model).askConstraint, "c"),
		bind(group, "zip", "let another key move together with the axis; take the last such key out", (*Model).zip, "+", "-"),
		bind(group, "", "zip, as + without shift", (*Model).zip, "="),
		bind(group, "undo", "take the last edit back", (*Model).undo, "u"),
		bind(group, "", "move the axis up or down: a condition sees what stands before it", (*Model).moveAxis, "<", ">"),
		bind(group, "", "copy the command that makes the same sweep", (*Model).copyCommand, "y"),
	}
}

// gridKey handles a key that the bindings do not: moving.
func (m *Model) gridKey(e keys.Event) bool {
	if delta, ok := keys.Motion(e, max(1, m.drawn.H/3)); ok {
		m.moveLine(delta)
		return true
	}
	return false
}

// toggle switches a value, or an option that is on or off.
func (m *Model) toggle(string) tea.Cmd {
	l := m.line()
	switch {
	case l.kind == lineAxis:
		m.edit(func(d *draft) {
			a := d.Axes[l.i]
			a.toggle(m.cursor.value)
			d.Axes[l.i] = a
		})
	case l.kind == lineOption && len(options[l.i].choices) > 0:
		return m.stepOption(l.i, 1)
	default:
		return m.editLine("")
	}
	return m.recount()
}

// otherValue moves among the values of an axis, or changes an option.
func (m *Model) otherValue(key string) tea.Cmd {
	by := 1
	if key == "left" {
		by = -1
	}
	l := m.line()
	if l.kind == lineOption {
		return m.stepOption(l.i, by)
	}
	m.cursor.value += by
	m.settleCursor()
	return nil
}

func (m *Model) stepOption(i, by int) tea.Cmd {
	o := options[i]
	if n := len(o.choices); n > 0 {
		at := slices.Index(o.choices, o.get(&m.draft))
		m.edit(func(d *draft) { _ = o.set(d, o.choices[(at+by+n)%n]) }) // a choice is never refused
		return m.recount()
	}
	return nil
}

func (m *Model) removeLine(string) tea.Cmd {
	l := m.line()
	if l.kind != lineAxis && l.kind != lineSet && l.kind != lineMust {
		return nil
	}
	m.edit(func(d *draft) { d.remove(l) })
	return m.recount()
}

func (m *Model) undo(string) tea.Cmd {
	n := len(m.history)
	if n == 0 {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is nothing to take back"})
	}
	last := m.history[n-1]
	m.draft, m.history = last.draft, m.history[:n-1]
	m.cursor.at, m.cursor.value = last.cursor.at, last.cursor.value // where the edit was made
	m.settleCursor()
	return m.recount()
}

func (m *Model) moveAxis(key string) tea.Cmd {
	l, to := m.line(), 0
	if to = l.i - 1; key == ">" {
		to = l.i + 1
	}
	if l.kind != lineAxis || to < 0 || to >= len(m.draft.Axes) {
		return nil
	}
	m.edit(func(d *draft) { d.Axes[l.i], d.Axes[to] = d.Axes[to], d.Axes[l.i] })
	m.pointAt(line{lineAxis, to})
	return m.recount()
}

// zip lets another key move with the axis, or takes the last one out again.
func (m *Model) zip(key string) tea.Cmd {
	l := m.line()
	if l.kind != lineAxis {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "put the cursor on an axis first"})
	}
	a := m.draft.Axes[l.i]
	if key != "-" {
		return m.askKey("A key that moves together with "+a.name(), false, func(k experiment.Key) tea.Cmd {
			return m.askValues(append(slices.Clone(a.Keys), k.Name), zipped(a, k, m.draft), l.i)
		})
	}
	if len(a.Keys) < 2 {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "only one key is on this axis; x takes it out"})
	}
	m.edit(func(d *draft) { d.Axes[l.i] = unzipped(a) })
	return m.recount()
}

// zipped suggests values for an axis that gets another key: its own, each with
// the value that the key has now.
func zipped(a axis, k experiment.Key, d draft) string {
	now := d.base().Get(k.Name)
	if now == "" {
		now = "auto"
	}
	out := make([]string, len(a.Values))
	for i, v := range a.Values {
		out[i] = valueText(v) + ":" + now
	}
	return strings.Join(out, ",")
}

// unzipped is an axis without its last key; what becomes the same is there once.
func unzipped(a axis) axis {
	n := len(a.Keys) - 1
	out := axis{Keys: slices.Clone(a.Keys[:n]), When: a.When}
	var texts []string
	for _, v := range a.Values {
		if text := valueText(v[:n]); !slices.Contains(texts, text) {
			texts, out.Values = append(texts, text), append(out.Values, v[:n:n])
		}
	}
	out.Text = strings.Join(texts, ",")
	return out
}
