package space

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"boost-tui/experiment"
)

// axes reads [axes], where each key has a list of values or a string as on the command line.
func (p *fileParser) axes(prim toml.Primitive, v any, line int) {
	in, keys := p.table("axes", prim, v, line)
	for _, key := range keys {
		v, line := experiment.ReadTOML(p.md, in[key])
		a, err := axisFromTOML([]string{key}, v)
		if err != nil {
			p.fail(line, "[axes]: %v", err)
			continue
		}
		p.f.Axes = append(p.f.Axes, a)
	}
}

// axisTables reads every [[axis]]: keys, values, when.
func (p *fileParser) axisTables(prim toml.Primitive, v any, line int) {
	var tables []map[string]toml.Primitive
	if err := p.md.PrimitiveDecode(prim, &tables); err != nil || !isTables(v) {
		p.fail(line, "axis: must be tables [[axis]] with keys, values and, if it has a condition, when")
		return
	}
	for _, t := range tables {
		p.axisTable(t, line)
	}
}

func isTables(v any) bool {
	switch list := v.(type) {
	case []map[string]any:
		return true
	case []any:
		for _, x := range list {
			if _, ok := x.(map[string]any); !ok {
				return false
			}
		}
		return true
	}
	return false
}

func (p *fileParser) axisTable(t map[string]toml.Primitive, line int) {
	read := func(key string) (any, int, bool) {
		prim, ok := t[key]
		if !ok {
			return nil, line, false
		}
		v, at := experiment.ReadTOML(p.md, prim)
		return v, at, true
	}
	for key, prim := range t {
		if key != "keys" && key != "values" && key != "when" {
			_, at := experiment.ReadTOML(p.md, prim)
			p.fail(at, "[[axis]]: key %s is unknown; nearest: %s", quoted(key), experiment.Closest(key, []string{"keys", "values", "when"}))
		}
	}
	v, at, _ := read("keys")
	keys, err := keysFromTOML(v)
	if err != nil {
		p.fail(at, "[[axis]]: %v", err)
		return
	}
	v, at, ok := read("values")
	if !ok {
		p.fail(at, "[[axis]] of %s: values are missing", strings.Join(keys, ","))
		return
	}
	a, err := axisFromTOML(keys, v)
	if err != nil {
		p.fail(at, "[[axis]]: %v", err)
		return
	}
	if v, at, ok = read("when"); ok {
		a.When = take[string](p, "when", v, at, "a string")
		if _, err := compile(strings.TrimSpace(a.When)); err != nil {
			p.fail(at, "when %v", err)
			a.When = ""
		}
	}
	p.f.Axes = append(p.f.Axes, a)
}

// keysFromTOML reads keys: a list of names, or one name.
func keysFromTOML(v any) ([]string, error) {
	var names []string
	switch list := v.(type) {
	case string:
		names = []string{list}
	case []any:
		for _, x := range list {
			s, ok := x.(string)
			if !ok {
				return nil, fmt.Errorf("keys: must be strings, as in [\"d\", \"ff\"]")
			}
			names = append(names, s)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("keys are missing, as in keys = [\"d\", \"ff\"]")
	}
	_, err := keysOf(names)
	return names, err
}

// axisFromTOML reads values: a string as on the command line, or a list with a value, or one for each key.
func axisFromTOML(names []string, v any) (Axis, error) {
	keys, err := keysOf(names)
	if err != nil {
		return Axis{}, err
	}
	if s, ok := v.(string); ok {
		return axisOf(names, s)
	}
	list, ok := v.([]any)
	if !ok {
		return Axis{}, fmt.Errorf("%s: must be a list of values, or a string as in \"32..256*2\"", strings.Join(names, ","))
	}
	if len(list) == 0 {
		return Axis{}, fmt.Errorf("%s: has no values: a space over it is empty", strings.Join(names, ","))
	}
	a := Axis{Keys: names}
	for _, item := range list {
		entry, ok := item.([]any)
		if !ok {
			entry = []any{item}
		}
		if len(entry) != len(keys) {
			return Axis{}, fmt.Errorf("%s: an entry has %d values for %d keys", strings.Join(names, ","), len(entry), len(keys))
		}
		texts := make([]string, len(keys))
		for i, k := range keys {
			text, err := k.FromTOML(entry[i])
			if err != nil {
				return Axis{}, err
			}
			if texts[i], err = written(k, text); err != nil {
				return Axis{}, err
			}
		}
		a.Values = append(a.Values, texts)
	}
	return a, nil
}
