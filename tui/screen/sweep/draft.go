package sweep

import (
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
)

// draft is a sweep as the grid has it: what its file would say, and which
// values are switched off.
type draft struct {
	Name        string         `json:"name,omitempty"`
	Axes        []axis         `json:"axes,omitempty"`
	Set         []space.Assign `json:"set,omitempty"`
	Constraints []string       `json:"constraints,omitempty"`
	Twins       bool           `json:"twins"`
	Repeats     int            `json:"repeats"`
	Options     sweeps.Options `json:"options"`
}

// newDraft is what a user begins with: nothing but the tiny model, and twins,
// for without them there is nothing to hold a figure against.
func newDraft() draft {
	return draft{Set: []space.Assign{{Key: "size", Value: "tiny"}}, Twins: true, Repeats: 1, Options: sweeps.DefaultOptions()}
}

// draftOf is a sweep that exists, with the options that are in force.
func draftOf(s space.Spec, o sweeps.Options) draft {
	d := draft{Name: s.Name, Set: slices.Clone(s.Set), Constraints: slices.Clone(s.Constraints), Twins: s.Twins, Repeats: max(1, s.Repeats), Options: o}
	for _, a := range s.Axes {
		d.Axes = append(d.Axes, axisOf(a))
	}
	return d
}

// words say what the draft is about, in short.
func (d draft) words() string {
	var parts []string
	if d.Name != "" {
		parts = append(parts, layout.Clean(d.Name))
	}
	for _, a := range d.Axes {
		parts = append(parts, layout.Clean(a.name())+" "+format.Many(a.count(), "value"))
	}
	if len(d.Axes) == 0 {
		parts = append(parts, "no axis yet")
	}
	return strings.Join(parts, ", ")
}

// clone copies what edits write to.
func (d draft) clone() draft {
	d.Axes, d.Set, d.Constraints = slices.Clone(d.Axes), slices.Clone(d.Set), slices.Clone(d.Constraints)
	return d
}

// spec is the space of the draft.
func (d draft) spec() space.Spec {
	s := space.Spec{Name: d.Name, Set: slices.Clone(d.Set), Constraints: slices.Clone(d.Constraints), Twins: d.Twins, Repeats: d.Repeats}
	for _, a := range d.Axes {
		s.Axes = append(s.Axes, a.space())
	}
	return s
}

// base is what every point starts from, resolved where that works.
func (d draft) base() experiment.Experiment {
	e := experiment.Default()
	for _, a := range d.Set {
		if set := e; set.Set(a.Key, a.Value) == nil {
			e = set
		}
	}
	if r, err := e.Resolve(); err == nil {
		return r
	}
	return e
}

// uses reports whether a key is on an axis already.
func (d draft) uses(key string) bool {
	return slices.ContainsFunc(d.Axes, func(a axis) bool { return slices.Contains(a.Keys, key) })
}

// set gives a key a value for every point; "" takes it away.
func (d *draft) set(key, value string) {
	at := slices.IndexFunc(d.Set, func(a space.Assign) bool { return a.Key == key })
	switch {
	case at < 0 && value != "":
		d.Set = append(d.Set, space.Assign{Key: key, Value: value})
	case at >= 0 && value == "":
		d.Set = slices.Delete(slices.Clone(d.Set), at, at+1)
	case at >= 0:
		d.Set = slices.Clone(d.Set)
		d.Set[at].Value = value
	}
}

// repaired leaves out what makes no sense: an earlier version, or an editor,
// may have written anything.
func (d draft) repaired() draft {
	axes := d.Axes
	d.Axes = nil
	for _, a := range axes {
		if a, ok := a.reread(); ok {
			d.Axes = append(d.Axes, a)
		}
	}
	d.Set = slices.DeleteFunc(d.Set, func(a space.Assign) bool { _, ok := experiment.KeyOf(a.Key); return !ok })
	d.Repeats = max(1, d.Repeats)
	if d.Options.AtOnce < 1 || !slices.Contains(orders, d.Options.Order) {
		d.Options = sweeps.DefaultOptions()
	}
	return d
}
