package sweep

import (
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// askSet asks for a key and the value that it has in every point.
func (m *Model) askSet(string) tea.Cmd {
	return m.askKey("A value of every point: which key?", false, m.askValue)
}

func (m *Model) askValue(k experiment.Key) tea.Cmd {
	set := func(v string) func(*draft) error {
		return func(d *draft) error { return d.trySet(k, strings.TrimSpace(v)) }
	}
	put := func(v string) tea.Cmd {
		m.edit(func(d *draft) { _ = set(v)(d) }) // checked already
		for i, a := range m.draft.Set {
			if a.Key == k.Name {
				m.pointAt(line{lineSet, i})
			}
		}
		return m.recount()
	}
	base := m.draft.base()
	title := k.Name + " of every point"
	if choices := choicesOf(k); len(choices) > 0 {
		var items []modal.Item
		for _, c := range choices {
			items = append(items, modal.Item{Label: c})
		}
		at := max(0, slices.Index(choices, base.Get(k.Name)))
		return m.open(modal.Menu{Title: title, Label: layout.Clean(k.Help), Items: items, Find: true, At: at}, func(answer any) tea.Cmd {
			if i, ok := answer.(int); ok {
				return put(choices[i])
			}
			return nil
		})
	}
	label := layout.Clean(k.Help) + "; " + k.Allowed() + "; nothing: its default"
	check := func(s string) error { return m.check(set(s)) }
	return m.open(modal.Prompt{Title: title, Label: label, Line: input.New(base.Get(k.Name)), Check: check}, func(answer any) tea.Cmd {
		if text, ok := answer.(string); ok {
			return put(text)
		}
		return nil
	})
}

func (m *Model) askConstraint(string) tea.Cmd { return m.askConstraintAt(-1) }

// askConstraintAt asks for a constraint in the place of the one at, or for a
// further one.
func (m *Model) askConstraintAt(at int) tea.Cmd {
	old := ""
	if at >= 0 && at < len(m.draft.Constraints) {
		old = m.draft.Constraints[at]
	}
	put := func(d *draft, s string) line {
		i := slices.Index(d.Constraints, old)
		switch {
		case i < 0 || old == "":
			if s != "" {
				i, d.Constraints = len(d.Constraints), append(d.Constraints, s)
			}
		case s == "":
			d.remove(line{lineMust, i})
		default:
			d.Constraints[i] = s
		}
		return line{lineMust, i}
	}
	return m.askExpression("Only points that meet", old, put)
}

// askWhen asks for the condition of the axis under the cursor.
func (m *Model) askWhen(string) tea.Cmd {
	l := m.line()
	if l.kind != lineAxis {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "put the cursor on an axis first"})
	}
	a := m.draft.Axes[l.i]
	put := func(d *draft, s string) line {
		i := slices.IndexFunc(d.Axes, func(b axis) bool { return slices.Equal(a.Keys, b.Keys) })
		if i >= 0 {
			d.Axes[i].When = s
		}
		return line{lineAxis, i}
	}
	return m.askExpression("Values of "+a.name()+" only if", a.When, put)
}

// askExpression asks for an expression over the keys; an empty one clears. put
// says on which line it stands.
func (m *Model) askExpression(title, text string, put func(*draft, string) line) tea.Cmd {
	label := `an expression over the keys, a hyphen written _: variant != "full", rank * tp <= d, micro_batch in [4, 8]`
	if text != "" {
		label += "; nothing: none"
	}
	check := func(s string) error {
		return m.check(func(d *draft) error { put(d, strings.TrimSpace(s)); return nil })
	}
	return m.open(modal.Prompt{Title: title, Label: label, Line: input.New(text), Check: check}, func(answer any) tea.Cmd {
		s, ok := answer.(string)
		if s = strings.TrimSpace(s); !ok || s == text {
			return nil
		}
		var at line
		m.edit(func(d *draft) { at = put(d, s) })
		m.pointAt(at)
		return m.recount()
	})
}
