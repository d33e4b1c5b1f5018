package space

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// Check says everything that is wrong with a space before any of its points is looked at: a *SpaceError, or nil. Expand
// begins with it.
func (s Spec) Check() error {
	_, err := s.prepare()
	return err
}

// maxName is the most characters of a sweep's name, as of a run's.
const maxName = 64

// maxValue is the most bytes of a value; the longest are paths.
const maxValue = 4096

func tooLong(key string) error { return fmt.Errorf("%s: has more than %d bytes", key, maxValue) }

// noRestarts is why runs of a sweep cannot restart: a point would have two that try again, and a run that nobody counted.
const noRestarts = "max-restarts: a sweep tries again by itself what a machine failed: leave it at 0"

// written is a value of a key in the one way that all who mean it write: 0.001 for 1e-3. Numbers out of range are for
// Validate to refuse, which knows its reasons.
func written(k experiment.Key, text string) (string, error) {
	if len(text) > maxValue {
		return "", tooLong(k.Name)
	}
	var e experiment.Experiment
	if err := k.Set(&e, text); err != nil {
		return "", err
	}
	switch v := k.Get(&e); {
	case v != "" || k.Kind == experiment.List:
		return v, nil
	case k.Open:
		return "auto", nil
	default:
		return text, nil
	}
}

// prepared is a space that can be walked.
type prepared struct {
	spec        Spec
	base        experiment.Experiment
	axes        []preparedAxis // repeats included, as an axis over seed
	constraints []*expression
	notes       []string
}

// preparedAxis is an axis with its keys found and its condition compiled.
type preparedAxis struct {
	Axis
	keys []experiment.Key
	when *expression // nil: always
	used bool        // its condition held at least once
}

// always reports whether the axis has no condition.
func (a Axis) always() bool { return strings.TrimSpace(a.When) == "" }

// prepare checks all that a user wrote.
func (s Spec) prepare() (*prepared, error) {
	var bad problems
	p := &prepared{spec: s, base: experiment.Default()}
	named := experiment.Default()
	if err := named.Set("name", s.Name); err != nil {
		bad.add("%v", err)
	} else if len([]rune(s.Name)) > maxName {
		bad.add("name: has more than %d characters", maxName)
	}
	for _, a := range s.Set {
		if err := p.base.Set(a.Key, a.Value); err != nil {
			bad.add("set: %v", err)
		} else if len(a.Value) > maxValue {
			bad.add("set: %v", tooLong(a.Key))
		}
	}
	if p.base.Where.MaxRestarts > 0 {
		bad.add("set: %s", noRestarts)
	}
	z := s.size()
	if z.least > MaxPoints { // said before any value is looked at: there may be very many
		bad = append(bad, z.tooLarge())
	}
	for i, a := range s.Axes {
		p.axis(i, a, z.least <= MaxPoints, &bad)
	}
	p.twice(&bad)
	for i, c := range s.Constraints {
		x, err := compile(strings.TrimSpace(c))
		if err != nil {
			bad.add("constraint %d: %v", i+1, err)
		}
		p.constraints = append(p.constraints, x)
	}
	p.repeats(z.least <= MaxPoints, &bad)
	if err := bad.err(); err != nil {
		return nil, err
	}
	p.overridden()
	return p, nil
}

// axis takes an axis, with a look at its values or without.
func (p *prepared) axis(i int, a Axis, look bool, bad *problems) {
	name := "axis " + strings.Join(a.Keys, ",")
	if len(a.Keys) == 0 {
		bad.add("axis %d has no key", i+1)
		return
	}
	keys, err := keysOf(a.Keys)
	if err != nil {
		bad.add("axis %d: %v", i+1, err)
		return
	}
	if slices.ContainsFunc(keys, func(k experiment.Key) bool { return k.Name == "max-restarts" }) {
		bad.add("%s: %s", name, noRestarts)
	}
	if len(a.Values) == 0 {
		bad.add("%s has no values: a space over it is empty", name)
	}
	if look {
		checkValues(name, keys, a.Values, bad)
	}
	pa := preparedAxis{Axis: a, keys: keys}
	if !a.always() {
		if pa.when, err = compile(strings.TrimSpace(a.When)); err != nil {
			bad.add("condition of %s: %v", name, err)
		}
	}
	p.axes = append(p.axes, pa)
}

func checkValues(name string, keys []experiment.Key, values [][]string, bad *problems) {
	var e experiment.Experiment
	for j, v := range values {
		if len(v) != len(keys) {
			bad.add("%s: entry %d has %d values for %d keys", name, j+1, len(v), len(keys))
			continue
		}
		for n, k := range keys {
			if err := k.Set(&e, v[n]); err != nil {
				bad.add("%s: %v", name, err)
			} else if len(v[n]) > maxValue {
				bad.add("%s: %v", name, tooLong(k.Name))
			}
		}
	}
}

// twice refuses a key on two axes, one of which is always there: what the other says would not count.
func (p *prepared) twice(bad *problems) {
	for i, a := range p.axes {
		for _, key := range a.Keys {
			for _, b := range p.axes[:i] {
				if slices.Contains(b.Keys, key) && (a.always() || b.always()) {
					bad.add("key %s is on two axes: give both a condition, or put their values on one", key)
				}
			}
		}
	}
}

// repeats are an axis over seed, the last and fastest. Of a space that is too large they are checked only.
func (p *prepared) repeats(make bool, bad *problems) {
	n := p.spec.Repeats
	if n < 0 {
		bad.add("repeats %d: must be at least 1", n)
	}
	if n <= 1 {
		return
	}
	for _, a := range p.axes {
		if slices.Contains(a.Keys, "seed") {
			bad.add("seed is an axis and repeats give every point seeds of its own: take one of them")
			return
		}
	}
	k, ok := experiment.KeyOf("seed")
	if !ok || !make {
		return
	}
	pa := preparedAxis{Axis: Axis{Keys: []string{k.Name}}, keys: []experiment.Key{k}}
	e := p.base
	for i := range n {
		e.Train.Seed = p.base.Train.Seed + uint64(i)
		pa.Values = append(pa.Values, []string{k.Get(&e)})
	}
	p.axes = append(p.axes, pa)
}

// overridden notes what is set and then never counts.
func (p *prepared) overridden() {
	for _, set := range p.spec.Set {
		for _, a := range p.axes[:len(p.spec.Axes)] {
			if a.always() && slices.Contains(a.Keys, set.Key) {
				p.notes = append(p.notes, "set "+set.Key+" does not count: it is an axis")
			}
		}
	}
}
