package space

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// ParseAxis reads an axis as people write it:
//
//	tp=1,2,4                    a list
//	rank=32..256*2              from .. to, times a factor: 32,64,128,256
//	lr=1e-4..1e-2/5log          five values, evenly spread over the logarithm
//	d,ff=512:1376,768:2048      keys that move together, a value for each joined by colons
//	rank=32,64 if scheme=="btp" an axis that is there only under a condition
//
// The ranges are lo..hi (steps of 1), lo..hi+step, lo..hi*factor, lo..hi/n and lo..hi/nlog, for keys that are numbers;
// a list may hold ranges between its values. The error names what is wrong and what is allowed, of the values and of the
// condition (a line each).
func ParseAxis(text string) (Axis, error) {
	keys, rest, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(keys) == "" {
		return Axis{}, fmt.Errorf("axis %s: write a key, = and its values, as in tp=1,2", quoted(text))
	}
	var when string
	if values, cond, found := strings.Cut(rest, " if "); found {
		rest, when = values, strings.TrimSpace(cond)
		if when == "" {
			return Axis{}, fmt.Errorf("axis %s: nothing stands behind if: write a condition, as in rank=32,64 if variant != \"full\"", quoted(text))
		}
	}
	var names []string
	for _, k := range strings.Split(keys, ",") {
		names = append(names, strings.TrimSpace(k))
	}
	a, err := axisOf(names, rest)
	if when != "" {
		if _, wrong := compile(when); wrong != nil {
			err = errors.Join(err, fmt.Errorf("condition %w", wrong))
		}
	}
	if err != nil {
		return Axis{}, fmt.Errorf("axis %s: %w", quoted(text), err)
	}
	a.When = when
	return a, nil
}

// axisOf reads the values of an axis, which moves over one key or several.
func axisOf(names []string, text string) (Axis, error) {
	keys, err := keysOf(names)
	if err != nil {
		return Axis{}, err
	}
	a := Axis{Keys: names}
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\n\r") {
		return Axis{}, fmt.Errorf("the values stand on one line")
	}
	if len(keys) > 1 {
		a.Values, err = zipped(keys, text)
	} else {
		var values []string
		var ranged bool
		values, ranged, err = parseValues(keys[0], text)
		for _, v := range values {
			a.Values = append(a.Values, []string{v})
		}
		if ranged {
			a.Text = text
		}
	}
	return a, err
}

// keysOf finds the keys of an axis.
func keysOf(names []string) ([]experiment.Key, error) {
	var out []experiment.Key
	for i, name := range names {
		k, err := axisKey(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("key %s stands there twice", name)
		}
		out = append(out, k)
	}
	return out, nil
}

// axisKey finds a key that runs can differ in.
func axisKey(name string) (experiment.Key, error) {
	k, ok := experiment.KeyOf(name)
	switch {
	case name == "":
		return k, fmt.Errorf("a key is missing")
	case !ok:
		return k, unknownKey(name)
	case unnamed(name):
		return k, fmt.Errorf("%s is no axis: what runs is the same under any %s", name, name)
	}
	return k, nil
}

// unnamed are the keys that do not change what runs.
func unnamed(key string) bool { return key == "name" || key == "tags" }

func unknownKey(name string) error {
	var names []string
	for _, k := range experiment.Keys() {
		names = append(names, k.Name)
	}
	return fmt.Errorf("key %s is unknown; nearest: %s", quoted(name), experiment.Closest(name, names))
}

// zipped reads "512:1376,768:2048".
func zipped(keys []experiment.Key, text string) ([][]string, error) {
	var out [][]string
	for _, item := range strings.Split(text, ",") {
		parts := strings.Split(item, ":")
		if len(parts) != len(keys) {
			return nil, fmt.Errorf("%s has %d values for %d keys that move together: join one for each by colons, as in d,ff=512:1376,768:2048",
				quoted(item), len(parts), len(keys))
		}
		entry := make([]string, len(keys))
		for i, k := range keys {
			v, err := value(k, parts[i])
			if err != nil {
				return nil, err
			}
			entry[i] = v
		}
		out = append(out, entry)
		if len(out) > MaxPoints {
			return nil, tooMany(float64(len(out)))
		}
	}
	return out, nil
}

// value checks one value as somebody wrote it.
func value(k experiment.Key, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", fmt.Errorf("a value of %s is missing; allowed: %s", k.Name, k.Allowed())
	}
	return written(k, text)
}

// String is the axis as ParseAxis reads it, as far as it can be written there: a list in a file may hold text with
// commas.
func (a Axis) String() string {
	s := strings.Join(a.Keys, ",") + "=" + a.ValueText()
	if a.When != "" {
		s += " if " + a.When
	}
	return s
}

// ValueText is the values alone, as people wrote them.
func (a Axis) ValueText() string {
	if a.Text != "" {
		return a.Text
	}
	items := make([]string, len(a.Values))
	for i, v := range a.Values {
		items[i] = strings.Join(v, ":")
	}
	return strings.Join(items, ",")
}

// quoted is a stranger's text, short and harmless on a terminal.
func quoted(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
