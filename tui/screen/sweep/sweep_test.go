package sweep_test

import (
	"strings"
	"testing"
	"time"

	"boost-tui/tui/app"
	"boost-tui/tui/screen/sweep"
	"boost-tui/tui/testkit"
)

func start(t testing.TB, w, h int, s *testkit.Sweeps) *testkit.Driver {
	t.Helper()
	env := testkit.Env(t, &testkit.Store{})
	if s != nil {
		env.Sweeps = s
	}
	return testkit.NewDriver(t, w, h, app.Options{Env: env, Screens: testkit.One(sweep.New())})
}

// axis adds an axis by keys.
func axis(d *testkit.Driver, key, values string) {
	d.Press("a")
	d.Type(key)
	d.Press("enter", "ctrl+u")
	d.Type(values)
	d.Press("enter")
	d.Advance(time.Second)
}

func has(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

func TestBuild(t *testing.T) {
	d := start(t, 120, 36, &testkit.Sweeps{})
	axis(d, "scheme", "vanilla,btp")
	axis(d, "tp", "1,2")
	axis(d, "rank", "32..64*2")
	t.Log("\n" + d.Text())
	d.Press("R")
	t.Log("\n" + d.Text())
}

func TestShown(t *testing.T) {
	view := made(t, comparison(t), 7)
	for _, size := range [][2]int{{120, 36}, {80, 24}, {200, 50}, {60, 20}} {
		d, _ := shown(t, size[0], size[1], view)
		t.Log("\n" + d.Text())
	}
}
