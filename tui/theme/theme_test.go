package theme_test

import (
	"strings"
	"testing"

	"boost-tui/tui/theme"

	"github.com/muesli/termenv"
)

func detect(set ...string) theme.Options {
	return theme.Detect(func(k string) string {
		for _, s := range set {
			if v, ok := strings.CutPrefix(s, k+"="); ok {
				return v
			}
		}
		return ""
	})
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		env     []string
		profile termenv.Profile
		plain   bool
		ascii   bool
	}{
		{[]string{"TERM=xterm-256color", "LC_ALL=C.UTF-8"}, termenv.ANSI256, false, false},
		{[]string{"TERM=xterm", "LANG=en_GB.utf8"}, termenv.ANSI, false, false},
		{[]string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=en_GB.UTF-8"}, termenv.TrueColor, false, false},
		{[]string{"TERM=screen-256color", "COLORTERM=truecolor", "LANG=C.UTF-8"}, termenv.ANSI256, false, false},
		{[]string{"TERM=xterm-256color", "NO_COLOR=1", "LANG=C.UTF-8"}, termenv.Ascii, false, false},
		{[]string{"TERM=dumb", "LANG=C.UTF-8"}, termenv.Ascii, true, true},
		{[]string{"TERM=vt100", "LANG=C.UTF-8"}, termenv.Ascii, false, true},
		{[]string{"TERM=no-such-terminal", "LANG=C.UTF-8"}, termenv.Ascii, false, false},
		{[]string{"TERM=xterm", "LC_ALL=C", "LANG=en_GB.UTF-8"}, termenv.ANSI, false, true},
		{nil, termenv.Ascii, true, true},
	} {
		o := detect(c.env...)
		if o.Profile != c.profile || o.Plain != c.plain || o.ASCII != c.ascii {
			t.Errorf("%v: %+v", c.env, o)
		}
	}
}

// Meaning is in the glyph: within a set, no two states or parts look alike.
func TestGlyphsAreDistinct(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		g := theme.New(theme.Options{ASCII: ascii}).Glyphs
		for name, set := range map[string][]string{
			"parts":  {g.Compute, g.Overlap, g.Exposed, g.Memory, g.Idle},
			"states": {g.Pending, g.Running, g.Finished, g.Failed, g.Cancelled, g.Lost},
		} {
			seen := map[string]bool{}
			for _, s := range set {
				if seen[s] || len([]rune(s)) != 1 {
					t.Errorf("ascii %v: %s: %q is twice, or no single character", ascii, name, s)
				}
				seen[s] = true
				if ascii && (s[0] < 0x20 || s[0] > 0x7e) {
					t.Errorf("%q is not ASCII", s)
				}
			}
		}
	}
}

func TestPlainPaintsNothing(t *testing.T) {
	th := theme.New(theme.Options{Plain: true})
	if got := th.Selected.Paint("x") + th.Bad.Paint("y"); got != "xy" {
		t.Errorf("%q", got)
	}
	if got := theme.New(theme.Options{Profile: termenv.ANSI256, Dark: true}).With(theme.Mono).Bad.Paint("y"); got != "\x1b[1my\x1b[0m" {
		t.Errorf("mono paints %q", got)
	}
}
