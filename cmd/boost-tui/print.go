package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// printJSON writes the one JSON value of a command. Nothing else may write to stdout when --json is set.
func (a *app) printJSON(v any) error {
	data, err := jsonText(v)
	if err != nil {
		return fmt.Errorf("write JSON to stdout: %w", err)
	}
	if _, err := a.out.Write(data); err != nil {
		return fmt.Errorf("write JSON to stdout: %w", err)
	}
	return nil
}

// jsonText is a JSON value as commands print it, harmless to terminals.
func jsonText(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escape(b.Bytes()), nil
}

// escape writes as \u and four digits what JSON lets pass and a terminal may act on: DEL, C1 controls, and the characters that
// turn the direction of what follows. Such characters stand in strings alone.
func escape(data []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if steers(r) {
			out = fmt.Appendf(append(out, data[from:i]...), `\u%04x`, r)
			from = i + n
		}
		i += n
	}
	return append(out, data[from:]...)
}

func steers(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// print writes text for people to stdout.
func (a *app) print(format string, args ...any) error {
	if _, err := io.WriteString(a.out, calm(fmt.Sprintf(format, args...))); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// calm is text that a terminal takes without harm, whoever's words are in it: what steers it, other than the ends of
// lines and tabs, becomes a question mark.
func calm(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || steers(r) || r == utf8.RuneError) {
			return '?'
		}
		return r
	}, text)
}

// maxComplaint bounds an error or a note: who says a word of ten megabytes need not read it again.
const maxComplaint = 16 << 10

func bounded(text string) string {
	if len(text) <= maxComplaint {
		return text
	}
	return strings.ToValidUTF8(text[:maxComplaint], "") + "…"
}

// pipe is stdout. Whoever reads it may leave, as head does; that is no failure of the work, so the rest is dropped
// in silence.
type pipe struct {
	*os.File
	left atomic.Bool
}

func (p *pipe) Write(data []byte) (int, error) {
	n, err := p.File.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		p.left.Store(true)
		return len(data), nil
	}
	return n, err
}

// WriteString is Write: that of the file would not know of readers who leave.
func (p *pipe) WriteString(text string) (int, error) { return p.Write([]byte(text)) }

// readerLeft reports whether nobody reads stdout any more: what goes on only to be read can end.
func (a *app) readerLeft() bool {
	p, ok := a.out.(*pipe)
	return ok && p.left.Load()
}
