package space

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// Key is the identity of the space: a hash of all that Expand depends on. The same command again is the same sweep;
// another name or other tags do not make another.
func (s Spec) Key() string {
	type axis struct {
		Keys   []string
		Values [][]string
		When   string
	}
	said := struct {
		Set         []Assign
		Axes        []axis
		Constraints []string
		Repeats     int
		Twins       bool
	}{Repeats: max(s.Repeats, 1), Twins: s.Twins}
	base, bad := s.base()
	for _, key := range base.Given() { // no defaults: a key that a later version adds makes no other space
		if !unnamed(key) {
			said.Set = append(said.Set, Assign{key, base.Get(key)})
		}
	}
	said.Set = append(said.Set, bad...) // another wrong value is another space
	for _, a := range s.Axes {
		c := axis{Keys: a.Keys, When: strings.TrimSpace(a.When)}
		for _, v := range a.Values {
			c.Values = append(c.Values, canonical(a.Keys, v))
		}
		said.Axes = append(said.Axes, c)
	}
	for _, c := range s.Constraints {
		said.Constraints = append(said.Constraints, strings.TrimSpace(c))
	}
	text, err := json.Marshal(said)
	if err != nil { // nothing but strings and numbers: never
		text = fmt.Appendf(nil, "%+v", said)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// base is Default with Set, and what of it cannot be set.
func (s Spec) base() (e experiment.Experiment, bad []Assign) {
	e = experiment.Default()
	for _, a := range s.Set {
		if e.Set(a.Key, a.Value) != nil {
			bad = append(bad, a)
		}
	}
	return e, bad
}

// canonical writes values of keys in one way: 1e-3 and 0.001 are the same.
func canonical(keys, values []string) []string {
	out := slices.Clone(values)
	for i := range min(len(keys), len(values)) {
		if k, ok := experiment.KeyOf(keys[i]); ok {
			if text, err := written(k, values[i]); err == nil {
				out[i] = text
			}
		}
	}
	return out
}

// WithAxis is the space grown: by values, where it has an axis of the same keys (and, if a says one, of the same
// condition), else by an axis. What the space had stays as it was.
func (s Spec) WithAxis(a Axis) (Spec, error) {
	s.Axes = slices.Clone(s.Axes)
	for i, old := range s.Axes {
		if slices.Equal(old.Keys, a.Keys) && (a.When == "" || strings.TrimSpace(a.When) == strings.TrimSpace(old.When)) {
			s.Axes[i] = old.with(a)
			return s, s.Check()
		}
	}
	s.Axes = append(s.Axes, a)
	return s, s.Check()
}

// with adds the values of another axis that are not there yet.
func (a Axis) with(more Axis) Axis {
	a.Values = slices.Clone(a.Values)
	seen := map[string]bool{}
	key := func(v []string) string { return strings.Join(canonical(a.Keys, v), "\x00") }
	for _, v := range a.Values {
		seen[key(v)] = true
	}
	for _, v := range more.Values {
		if !seen[key(v)] {
			seen[key(v)] = true
			a.Values = append(a.Values, v)
			a.Text = "" // the list itself
		}
	}
	return a
}
