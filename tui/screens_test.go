package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"boost-tui/tui"
	"boost-tui/tui/app"
	"boost-tui/tui/keys"
	"boost-tui/tui/testkit"
	"boost-tui/tui/theme"
)

// P12, P20: nothing destructive hangs on a lower-case or control key, nothing on alt.
func TestNoUnsafeKeys(t *testing.T) {
	for _, s := range tui.Screens() {
		if bad := keys.Unsafe(s.Keys()); len(bad) > 0 {
			t.Errorf("%s: %v", s.ID(), bad)
		}
	}
}

// P7, P8, P10: every screen fills every size, in ASCII with ASCII alone.
func TestEveryScreenAtEverySize(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		env := testkit.Env(t, &testkit.Store{})
		if ascii {
			o := env.Theme.Options
			o.ASCII = true
			env.Theme = theme.New(o)
		}
		d := testkit.NewDriver(t, 80, 24, app.Options{Env: env, Screens: tui.Screens()})
		for _, key := range []string{"1", "2", "3", "4", "5", "?"} {
			d.Press(key)
			for _, size := range testkit.Sizes() {
				d.Resize(size[0], size[1])
				testkit.CheckSize(t, fmt.Sprint("screen ", key, size), d.View(), size[0], size[1])
				if ascii && strings.ContainsFunc(d.Text(), func(r rune) bool { return r != '\n' && (r < 0x20 || r > 0x7e) }) {
					t.Errorf("screen %s at %v is not ASCII:\n%s", key, size, d.Text())
				}
			}
		}
	}
}
