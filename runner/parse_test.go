package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/runner/protocol"
)

func FuzzParseRun(f *testing.F) {
	s := NewStore(f.TempDir())
	_, dir := create(f, s, "x")
	data, err := os.ReadFile(filepath.Join(dir, protocol.RunFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := ParseRun(data); err == nil && (r.World() < 1 || r.Schema < 1 || r.Schema > Schema) {
			t.Fatalf("accepted %+v", r)
		}
		if r, err := ParseResult(data); err == nil && !r.State.Over() {
			t.Fatalf("accepted %+v", r)
		}
		_, _ = parseNotes(data)
		_, _ = parseStat(data)
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "\x1b]0;t\x07x", "\x1b[31mred", "a\u202eb", "\xff\xfe", "\x1b", "\x1bP\x1b\\", "\x9b31m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if len([]rune(c)) > maxLineRunes+1 {
			t.Fatalf("%d runes", len([]rune(c)))
		}
		for _, r := range c {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
				t.Fatalf("%q survives in %q", r, c)
			}
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb  ":                      "a b",
		"\x1b[1;31mred\x1b[0m":        "red",
		"\x1b]8;;http://x\x1b\\l\x07": "l",
		"ok é 漢":                      "ok é 漢",
		"a\u202eb\u200fc":             "a?b?c",
		"\xffz":                       "?z",
		"x\x1b":                       "x",
		strings.Repeat("y", 500):      strings.Repeat("y", maxLineRunes) + "…",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
