package sweep

import (
	"errors"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/format"
)

// check says what an edit of the draft would make wrong with the space: dialogs
// stay open with it. What was wrong before does not count.
func (m *Model) check(edit func(*draft) error) error {
	d := m.draft.clone()
	if err := edit(&d); err != nil {
		return err
	}
	before := m.draft.faults()
	fresh := slices.DeleteFunc(d.faults(), func(s string) bool { return slices.Contains(before, s) })
	switch n := len(fresh); {
	case n == 0:
		return nil
	case n > 1:
		return errors.New(fresh[0] + " (and " + format.Many(n-1, "more fault") + ")")
	}
	return errors.New(fresh[0])
}

// faults are what is wrong with the space before any of its points is looked at.
func (d draft) faults() []string {
	if err := d.spec().Check(); err != nil {
		return faultsOf(err)
	}
	return nil
}

// checkAxis is check for the values of keys, or without keys for a whole axis, in
// the place of the axis at or as a further one.
func (m *Model) checkAxis(keys []string, text string, at int) error {
	a, err := parseAxis(keys, text)
	if err != nil {
		return err
	}
	return m.check(func(d *draft) error { d.putAxis(a, at); return nil })
}

// putAxis puts an axis in the place of the one at, or at the end.
func (d *draft) putAxis(a axis, at int) {
	if at < 0 || at >= len(d.Axes) {
		d.Axes = append(d.Axes, a)
		return
	}
	old := d.Axes[at]
	if a.When == "" {
		a.When = old.When
	}
	a.keep(old)
	d.Axes[at] = a
}

// trySet gives a key a value in every point, unless it takes none such; "" is the
// default.
func (d *draft) trySet(k experiment.Key, value string) error {
	e := experiment.Default()
	if value = strings.TrimSpace(value); value != "" {
		if err := e.Set(k.Name, value); err != nil {
			return err
		}
	}
	d.set(k.Name, value)
	return nil
}
