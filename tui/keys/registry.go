// Package keys turns what a terminal sends into key events and holds the
// bindings. One table of bindings serves dispatch, the hint line and the help
// overlay, so they cannot disagree.
package keys

import (
	"slices"
	"strings"
	"unicode"
)

// Binding says what keys do. Keys are event names as Event.Name gives them;
// several keys may share a binding.
type Binding struct {
	Keys  []string
	Hint  string // one or two words for the hint line; empty: only in the help
	Help  string // a sentence for the help overlay
	Group string // heading in the help overlay
	// Danger marks actions that end or delete something. They need a capital
	// letter, ask before they act, and are off in read-only mode.
	Danger bool
	// Writes marks actions that start or change something without ending
	// anything: off in read-only mode too.
	Writes bool
}

// Off reports whether read-only mode switches the binding off.
func (b Binding) Off(readOnly bool) bool { return readOnly && (b.Danger || b.Writes) }

// Label is the key as a reader types it; several are joined by "/", but by a
// blank where one of them is a sign: "[ ]", "+ -", "b/v".
func (b Binding) Label() string { return label(b.Keys) }

// HintLabel is Label for the hint line, where shift+tab goes without saying.
func (b Binding) HintLabel() string {
	names := slices.DeleteFunc(slices.Clone(b.Keys), func(k string) bool { return k == "shift+tab" })
	if len(names) == 0 {
		names = b.Keys
	}
	return label(names)
}

func label(keys []string) string {
	names, between := make([]string, len(keys)), "/"
	for i, k := range keys {
		names[i] = Display(k)
		if r := []rune(names[i]); len(r) == 1 && !unicode.IsLetter(r[0]) && !unicode.IsDigit(r[0]) {
			between = " "
		}
	}
	return strings.Join(names, between)
}

// Entry is a binding with what it does. Do is whatever the owner dispatches:
// usually func(*Model) tea.Cmd.
type Entry[F any] struct {
	Binding
	Do F
}

// Table is an ordered set of entries. The first entry that holds a key wins.
type Table[F any] []Entry[F]

// Find returns the entry for an event.
func (t Table[F]) Find(e Event) (Entry[F], bool) {
	if e.Paste {
		return Entry[F]{}, false
	}
	for _, entry := range t {
		for _, k := range entry.Keys {
			if k == e.Name {
				return entry, true
			}
		}
	}
	return Entry[F]{}, false
}

// Bindings lists the table for hints and help.
func (t Table[F]) Bindings() []Binding {
	out := make([]Binding, len(t))
	for i, e := range t {
		out[i] = e.Binding
	}
	return out
}

// Unsafe lists the bindings that break the rule that nothing destructive hangs
// on a single lower-case letter, a control key or an alt key.
func Unsafe(bindings []Binding) []string {
	var out []string
	for _, b := range bindings {
		for _, k := range b.Keys {
			lower := len(k) == 1 && k >= "a" && k <= "z"
			if strings.HasPrefix(k, "alt+") || (b.Danger && (lower || strings.HasPrefix(k, "ctrl+"))) {
				out = append(out, k+": "+b.Help)
			}
		}
	}
	return out
}

// Display writes a key's name for readers.
func Display(name string) string {
	switch name {
	case "left":
		return "←"
	case "right":
		return "→"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "pgup":
		return "PgUp"
	case "pgdown":
		return "PgDn"
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return "^" + strings.ToUpper(rest)
	}
	return name
}
