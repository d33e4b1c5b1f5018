package space

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"boost-tui/experiment"
)

// maxFileBytes bounds a sweep's file.
const maxFileBytes = 1 << 20

// File is a sweep as its file says it: the space, and how its queue is to be worked off.
type File struct {
	Spec
	Options FileOptions
}

// FileOptions are the queue's keys as a file says them; nil: it does not. What they mean is said at sweeps.Options.
type FileOptions struct {
	Order          *string        // order: one of Orders
	AtOnce         *int           // at-once: at least 1
	MaxTime        *time.Duration // max-time: "2h30m"; "0s": no limit
	MaxDeviceHours *float64       // max-device-hours: 0: no limit
	MaxFailures    *int           // max-failures: 0: no limit
	Retries        *int           // retries
	StopDiverged   *bool          // stop-diverged
	StopSlower     *bool          // stop-slower
}

// Orders are the values of order, the default first.
func Orders() []string { return []string{"given", "cheapest", "random"} }

// fileKeys are the keys at the top of a file, in the order that they are written in.
func fileKeys() []string {
	return []string{"name", "repeats", "twins", "order", "at-once", "max-time", "max-device-hours", "max-failures", "retries", "stop-diverged",
		"stop-slower", "constraints", "set", "axes", "axis"}
}

// ParseTOML reads a sweep's file. name is how errors call the file. All problems are reported at once, one per line, as
// "name:line: what is wrong; what is allowed or nearest".
func ParseTOML(data []byte, name string) (File, error) {
	if len(data) > maxFileBytes {
		return File{}, fmt.Errorf("%s: %d bytes are too many for a sweep's file (%d allowed)", name, len(data), maxFileBytes)
	}
	if err := experiment.CheckTOML(data, name); err != nil {
		return File{}, err
	}
	var top map[string]toml.Primitive
	md, err := toml.Decode(string(data), &top)
	if err != nil {
		return File{}, experiment.TOMLError(name, err)
	}
	p := fileParser{md: &md}
	for _, key := range order(&md) {
		if prim, ok := top[key]; ok {
			p.top(key, prim)
		}
	}
	var se *SpaceError
	if errors.As(p.f.Check(), &se) { // of what could be read; no line is known for these
		for _, text := range se.Problems {
			p.fail(0, "%s", text)
		}
	}
	return p.f, p.problems.Err(name)
}

// order is the order in which the keys at the top of a file first stand there.
func order(md *toml.MetaData) []string {
	var out []string
	for _, k := range md.Keys() {
		if len(k) > 0 && !slices.Contains(out, k[0]) {
			out = append(out, k[0])
		}
	}
	return out
}

type fileParser struct {
	md       *toml.MetaData
	f        File
	problems experiment.Problems
}

func (p *fileParser) fail(line int, format string, args ...any) {
	p.problems.Add(line, fmt.Sprintf(format, args...))
}

// top reads one key at the top of the file.
func (p *fileParser) top(key string, prim toml.Primitive) {
	v, line := experiment.ReadTOML(p.md, prim)
	o := &p.f.Options
	switch key {
	case "name":
		p.f.Name = take[string](p, key, v, line, "a string")
	case "repeats":
		p.f.Repeats = p.count(key, v, line, 1)
	case "twins":
		p.f.Twins = take[bool](p, key, v, line, "true or false")
	case "order":
		s := take[string](p, key, v, line, "a string")
		if o.Order = &s; !slices.Contains(Orders(), s) {
			p.fail(line, "order: %s is unknown; there are %s", quoted(s), strings.Join(Orders(), ", "))
		}
	case "at-once":
		o.AtOnce = ptr(p.count(key, v, line, 1))
	case "max-time":
		o.MaxTime = ptr(p.duration(key, v, line))
	case "max-device-hours":
		o.MaxDeviceHours = ptr(p.amount(key, v, line))
	case "max-failures":
		o.MaxFailures = ptr(p.count(key, v, line, 0))
	case "retries":
		o.Retries = ptr(p.count(key, v, line, 0))
	case "stop-diverged":
		o.StopDiverged = ptr(take[bool](p, key, v, line, "true or false"))
	case "stop-slower":
		o.StopSlower = ptr(take[bool](p, key, v, line, "true or false"))
	case "constraints":
		p.constraints(v, line)
	case "set":
		p.set(prim, v, line)
	case "axes":
		p.axes(prim, v, line)
	case "axis":
		p.axisTables(prim, v, line)
	default:
		p.fail(line, "%s", unknownTop(key))
	}
}

// unknownTop says where a key belongs that is none of a sweep's.
func unknownTop(key string) string {
	if _, ok := experiment.KeyOf(key); ok {
		return fmt.Sprintf("key %s is the experiment's: put it into [set], or into [axes] with its values", quoted(key))
	}
	return fmt.Sprintf("key %s is unknown; nearest: %s", quoted(key), experiment.Closest(key, fileKeys()))
}

func ptr[T any](v T) *T { return &v }

// take is a value of one of TOML's types.
func take[T any](p *fileParser, key string, v any, line int, want string) T {
	t, ok := v.(T)
	if !ok {
		p.fail(line, "%s: must be %s", key, want)
	}
	return t
}

func (p *fileParser) count(key string, v any, line int, least int64) int {
	n, ok := v.(int64)
	if !ok || n < least || n > 1<<31 {
		p.fail(line, "%s: must be a whole number of at least %d", key, least)
		return int(least)
	}
	return int(n)
}

func (p *fileParser) amount(key string, v any, line int) float64 {
	f, ok := v.(float64)
	if n, whole := v.(int64); whole {
		f, ok = float64(n), true
	}
	if !ok || !(f >= 0 && f < 1e12) {
		p.fail(line, "%s: must be a number of at least 0", key)
		return 0
	}
	return f
}

func (p *fileParser) duration(key string, v any, line int) time.Duration {
	s, ok := v.(string)
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 {
		p.fail(line, "%s: must be a time as in \"90m\" or \"2h30m\"", key)
		return 0
	}
	return d
}

// constraints are a list of expressions. Each is compiled here, where its line is known.
func (p *fileParser) constraints(v any, line int) {
	list, ok := v.([]any)
	if !ok {
		p.fail(line, "constraints: must be a list of strings, as in [\"rank < d\"]")
		return
	}
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			p.fail(line, "constraints: must be a list of strings, as in [\"rank < d\"]")
			continue
		}
		if _, err := compile(strings.TrimSpace(s)); err != nil {
			p.fail(line, "constraint %v", err)
			continue
		}
		p.f.Constraints = append(p.f.Constraints, s)
	}
}

// table decodes a table with the order of its keys.
func (p *fileParser) table(name string, prim toml.Primitive, v any, line int) (in map[string]toml.Primitive, keys []string) {
	if _, ok := v.(map[string]any); !ok {
		p.fail(line, "%s: must be a table [%s]", name, name)
		return nil, nil
	}
	if err := p.md.PrimitiveDecode(prim, &in); err != nil {
		p.fail(line, "[%s]: %v", name, err)
		return nil, nil
	}
	for _, k := range p.md.Keys() {
		if len(k) > 1 && k[0] == name && !slices.Contains(keys, k[1]) {
			keys = append(keys, k[1])
		}
	}
	return in, keys
}

// set reads [set].
func (p *fileParser) set(prim toml.Primitive, v any, line int) {
	in, keys := p.table("set", prim, v, line)
	for _, key := range keys {
		v, line := experiment.ReadTOML(p.md, in[key])
		k, ok := experiment.KeyOf(key)
		if !ok {
			p.fail(line, "[set]: %v", unknownKey(key))
			continue
		}
		text, err := k.FromTOML(v)
		if err == nil {
			text, err = written(k, text)
		}
		if err != nil {
			p.fail(line, "[set]: %v", err)
			continue
		}
		p.f.Set = append(p.f.Set, Assign{key, text})
	}
}
