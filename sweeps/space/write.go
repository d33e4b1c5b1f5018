package space

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"boost-tui/experiment"
)

// TOML writes the file that ParseTOML reads back to the same.
func (f File) TOML() []byte {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%s = %s\n", key, value) }
	if f.Name != "" {
		line("name", experiment.QuoteTOML(f.Name))
	}
	if f.Repeats > 0 {
		line("repeats", strconv.Itoa(f.Repeats))
	}
	if f.Twins {
		line("twins", "true")
	}
	f.Options.write(line)
	if len(f.Constraints) > 0 {
		line("constraints", quotedList(f.Constraints))
	}
	if len(f.Set) > 0 {
		b.WriteString("\n[set]\n")
		for _, a := range f.Set {
			line(a.Key, literal(a.Key, a.Value))
		}
	}
	f.writeAxes(&b, line)
	return []byte(strings.TrimLeft(b.String(), "\n"))
}

func (o FileOptions) write(line func(key, value string)) {
	if o.Order != nil {
		line("order", experiment.QuoteTOML(*o.Order))
	}
	number := func(key string, n *int) {
		if n != nil {
			line(key, strconv.Itoa(*n))
		}
	}
	toggle := func(key string, on *bool) {
		if on != nil {
			line(key, strconv.FormatBool(*on))
		}
	}
	number("at-once", o.AtOnce)
	if o.MaxTime != nil {
		line("max-time", experiment.QuoteTOML(o.MaxTime.Round(time.Nanosecond).String()))
	}
	if o.MaxDeviceHours != nil {
		line("max-device-hours", float(*o.MaxDeviceHours))
	}
	number("max-failures", o.MaxFailures)
	number("retries", o.Retries)
	toggle("stop-diverged", o.StopDiverged)
	toggle("stop-slower", o.StopSlower)
}

// writeAxes writes plain axes into [axes] and, from the first that is zipped or has a condition on, one [[axis]] each: their
// order counts.
func (f File) writeAxes(b *strings.Builder, line func(key, value string)) {
	plain := 0
	used := map[string]bool{}
	for plain < len(f.Axes) {
		a := f.Axes[plain]
		if len(a.Keys) != 1 || !a.always() || used[a.Keys[0]] {
			break
		}
		used[a.Keys[0]] = true
		plain++
	}
	if plain > 0 {
		b.WriteString("\n[axes]\n")
	}
	for _, a := range f.Axes[:plain] {
		line(a.Keys[0], a.literal())
	}
	for _, a := range f.Axes[plain:] {
		b.WriteString("\n[[axis]]\n")
		line("keys", quotedList(a.Keys))
		line("values", a.literal())
		if !a.always() {
			line("when", experiment.QuoteTOML(a.When))
		}
	}
}

// literal is the axis's values: as people wrote them, or a list.
func (a Axis) literal() string {
	if a.Text != "" {
		return experiment.QuoteTOML(a.Text)
	}
	items := make([]string, len(a.Values))
	for i, v := range a.Values {
		parts := make([]string, len(v))
		for j := range v {
			parts[j] = literal(a.Keys[min(j, len(a.Keys)-1)], v[j])
		}
		items[i] = strings.Join(parts, ", ")
		if len(a.Keys) > 1 {
			items[i] = "[" + items[i] + "]"
		}
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// literal writes a value of a key as Key.FromTOML reads it back.
func literal(key, value string) string {
	k, ok := experiment.KeyOf(key)
	if !ok {
		return experiment.QuoteTOML(value)
	}
	switch k.Kind {
	case experiment.Int:
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case experiment.Float:
		if f, err := real(strings.TrimSpace(value)); err == nil {
			return float(f)
		}
	case experiment.List:
		var words []string
		for _, w := range strings.Split(value, ",") {
			if w = strings.TrimSpace(w); w != "" {
				words = append(words, w)
			}
		}
		return quotedList(words)
	}
	return experiment.QuoteTOML(value)
}

// float writes a number as TOML tells it from a whole one.
func float(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func quotedList(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = experiment.QuoteTOML(w)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
