package keys

import (
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// Event is one key press, or one pasted text.
type Event struct {
	// Name is the key: a printable character as itself, "space", "enter",
	// "esc", "tab", "shift+tab", "backspace", "up", "ctrl+d", …
	Name string
	// Text is what the key types into a field; empty for others.
	Text  string
	Paste bool
}

// Normalize turns a message of bubbletea into events. Three things a terminal
// sends need it: alt+x is a fast escape followed by x (no key is bound to alt);
// characters typed faster than they are read arrive glued together; and the
// space bar is " ".
func Normalize(m tea.KeyMsg) []Event {
	if m.Paste {
		return []Event{{Name: "paste", Text: string(m.Runes), Paste: true}}
	}
	var out []Event
	if m.Alt {
		out = append(out, Event{Name: "esc"})
		m.Alt = false
		if m.Type == tea.KeyEsc {
			return append(out, Event{Name: "esc"})
		}
	}
	switch m.Type {
	case tea.KeyRunes:
		for _, r := range m.Runes {
			out = append(out, runeEvent(r))
		}
	case tea.KeySpace:
		out = append(out, Event{Name: "space", Text: " "})
	default:
		out = append(out, Event{Name: m.String()})
	}
	return out
}

// Press makes the event of a key by its name, as tests and the palette use it.
func Press(name string) Event {
	if name == "space" {
		return Event{Name: "space", Text: " "}
	}
	if utf8.RuneCountInString(name) == 1 {
		r, _ := utf8.DecodeRuneInString(name)
		return runeEvent(r)
	}
	return Event{Name: name}
}

func runeEvent(r rune) Event {
	if r == ' ' {
		return Event{Name: "space", Text: " "}
	}
	s := string(r)
	return Event{Name: s, Text: s}
}

// Motion maps arrows, vi keys and paging to a move: the number of rows, or
// whole pages and ends. ok is false for every other key.
func Motion(e Event, page int) (delta int, ok bool) {
	const far = 1 << 30
	switch e.Name {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup":
		return -max(1, page), true
	case "pgdown":
		return max(1, page), true
	case "ctrl+u":
		return -max(1, page/2), true
	case "ctrl+d":
		return max(1, page/2), true
	case "g", "home":
		return -far, true
	case "G", "end":
		return far, true
	}
	return 0, false
}
