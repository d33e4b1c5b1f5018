package sweep

import (
	"slices"
	"strings"

	"boost-tui/sweeps/space"
)

// axis is a line of the grid: keys that move together, the values they take as
// they were typed, and which of those are left out for now.
type axis struct {
	Keys   []string   `json:"keys"`
	Text   string     `json:"text"` // the values in the grammar of axes
	Values [][]string `json:"-"`    // what Text says
	When   string     `json:"when,omitempty"`
	Off    []string   `json:"off,omitempty"` // values that are switched off, as valueText writes them
}

// parseAxis reads the values of keys, or, without keys, a whole axis:
// "rank=32,64 if variant != \"full\"".
func parseAxis(keys []string, text string) (axis, error) {
	whole := strings.TrimSpace(text)
	if len(keys) > 0 {
		whole = strings.Join(keys, ",") + "=" + whole
	}
	a, err := space.ParseAxis(whole)
	if err != nil {
		return axis{}, err
	}
	return axisOf(a), nil
}

// axisOf is a space's axis as a line.
func axisOf(a space.Axis) axis {
	return axis{Keys: a.Keys, Text: a.ValueText(), Values: a.Values, When: a.When}
}

// space is the axis with the values that are on.
func (a axis) space() space.Axis {
	out := space.Axis{Keys: slices.Clone(a.Keys), When: a.When}
	for _, v := range a.Values {
		if a.on(v) {
			out.Values = append(out.Values, v)
		}
	}
	if len(a.Off) == 0 && out.ValueText() != a.Text { // a list needs no other text
		out.Text = a.Text
	}
	return out
}

func (a axis) name() string { return strings.Join(a.Keys, ",") }

func (a axis) on(v []string) bool { return len(a.Off) == 0 || !slices.Contains(a.Off, valueText(v)) }

// count is how many values are on.
func (a axis) count() (n int) {
	if len(a.Off) == 0 {
		return len(a.Values)
	}
	for _, v := range a.Values {
		if a.on(v) {
			n++
		}
	}
	return n
}

// toggle switches a value on or off.
func (a *axis) toggle(i int) {
	if i < 0 || i >= len(a.Values) {
		return
	}
	text := valueText(a.Values[i])
	if at := slices.Index(a.Off, text); at >= 0 {
		a.Off = slices.Delete(slices.Clone(a.Off), at, at+1)
		return
	}
	a.Off = append(slices.Clone(a.Off), text)
}

// keep takes over what was switched off from the axis as it was before an edit.
func (a *axis) keep(old axis) {
	for _, v := range a.Values {
		if text := valueText(v); slices.Contains(old.Off, text) {
			a.Off = append(a.Off, text)
		}
	}
}

// reread reads the values of an axis that was kept in an earlier session; false:
// they make no sense.
func (a axis) reread() (axis, bool) {
	out, err := parseAxis(a.Keys, a.Text)
	if err != nil || len(a.Keys) == 0 || len(out.Values) == 0 {
		return axis{}, false
	}
	out.When = a.When
	out.keep(a)
	return out, true
}

// valueText writes a value: those of keys that move together joined by colons.
func valueText(v []string) string { return strings.Join(v, ":") }
