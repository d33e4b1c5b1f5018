package layout

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean makes untrusted text (logs, other users' run directories) safe and
// measurable on one line: escape sequences and control characters go, tabs
// become spaces, line ends become spaces, and runes whose width terminals
// disagree on (combining, zero-width, direction marks, private use) are
// dropped. What is left has a known width.
func Clean(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	s = ansi.Strip(strings.ToValidUTF8(s, "?"))
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString("    ")
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x2028 || r == 0x2029:
			b.WriteByte(' ')
		case r == utf8.RuneError:
			b.WriteByte('?')
		case unicode.IsControl(r), unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Co, unicode.Cs), r == 0x115f, r == 0x1160, r == 0x3164:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain maps the signs that the screens use to their nearest ASCII; all are one
// cell wide on both sides.
var plain = map[rune]rune{'–': '-', '—': '-', '−': '-', '×': 'x', '…': '~', '·': '.', '←': '<', '→': '>', '↑': '^', '↓': 'v',
	'≠': '!', '━': '=', '╍': '-', '▀': '^', '▄': '_',
	'‹': '<', '›': '>', '▸': '>', '≥': '>', '≤': '<', '±': '~', '│': '|', '─': '-', '║': '|', '═': '=', '✓': '+', '✗': 'x', '▏': '_', '▒': '-', '█': '#'}

// ASCII replaces everything beyond 0x7e by its nearest ASCII sign or a
// question mark; escape sequences and line ends stay. It is the last safeguard
// of the ASCII glyph set.
func ASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] > 0x7e {
			return mapASCII(s)
		}
	}
	return s
}

func mapASCII(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch to, ok := plain[r]; {
		case r <= 0x7e:
			b.WriteRune(r)
		case ok:
			b.WriteRune(to)
		default:
			b.WriteString("??"[:layoutWidth(r)])
		}
	}
	return b.String()
}

// layoutWidth is 2 for wide runes and 1 for all others, so that a replacement
// keeps the line's width.
func layoutWidth(r rune) int {
	if ansi.StringWidth(string(r)) == 2 {
		return 2
	}
	return 1
}
