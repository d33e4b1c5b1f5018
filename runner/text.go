package runner

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLineRunes is how much of a foreign line is shown or kept.
const maxLineRunes = 400

// Clean makes foreign text (a log line, a file of another user) safe for a terminal: escape sequences
// and control characters vanish, invalid bytes and characters that reorder text become "?", and the text is cut to limit runes.
func Clean(s string) string { return clean(s, maxLineRunes) }

func clean(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i += escapeLen(s[i:])
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == '\t', r == '\n':
			r = ' '
		case r == utf8.RuneError, unicode.Is(unicode.Bidi_Control, r):
			r = '?'
		case !unicode.IsPrint(r) && r != ' ':
			continue
		}
		if n == limit {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimRight(b.String(), " ")
}

// escapeLen is the length of the escape sequence that s starts with: CSI, a string up to BEL or ST (OSC,
// DCS, …), or two bytes.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b {
				return min(i+2, len(s))
			}
		}
		return len(s)
	}
	return 2
}
