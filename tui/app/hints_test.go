package app_test

import (
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/testkit"

	tea "github.com/charmbracelet/bubbletea"
)

// lastLine is the hint line.
func lastLine(d *testkit.Driver) string {
	lines := strings.Split(d.Text(), "\n")
	return lines[len(lines)-1]
}

func withRun(t *testing.T) *testkit.Store {
	return &testkit.Store{Infos: []runner.Info{testkit.Info("0801-btp-a1", testkit.Experiment(t), runner.Finished)}}
}

// The hint line tells the keys of what has the keyboard, and how to get help and leave wherever these keys work.
func TestHintsFollowTheMode(t *testing.T) {
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		d := testkit.NewDriver(t, size[0], size[1], app.Options{Env: testkit.Env(t, withRun(t)), Screens: screens()})
		d.Advance(time.Second)
		for _, c := range []struct{ press, want, not string }{
			{"1", "? help  q quit", "filter"},
			{"/", "letters find", "? help"},
			{"esc", "? help  q quit", "letters"},
			{"j j j enter", "digits type", "A all three"},
			{"esc L", "y yes, launch", "q quit"},
			{"n 5", "? help  q quit", "launch"},
			{"/", "esc as before", "q quit"},
			{"esc D", "y yes, delete", "? help"},
			{"esc #", "enter accept", "? help"},
			{"esc o", "enter choose", "? help"},
			{"esc ?", "esc close", "q quit"},
			{"esc l", "? help", "q quit"},
		} {
			d.Press(strings.Fields(c.press)...)
			if got := lastLine(d); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
				t.Errorf("%v after %s: %q", size, c.press, got)
			}
		}
	}
}

func TestReadOnlyHidesWhatItSwitchesOff(t *testing.T) {
	env := testkit.Env(t, withRun(t))
	env.ReadOnly = true
	d := testkit.NewDriver(t, 200, 36, app.Options{Env: env, Screens: screens()})
	if got := lastLine(d); strings.Contains(got, "L launch") || !strings.Contains(got, "enter edit") {
		t.Errorf("Launch: %q", got)
	}
	d.Press("5")
	if got := lastLine(d); strings.Contains(got, "K cancel") || strings.Contains(got, "D delete") || strings.Contains(got, "# tag") || !strings.Contains(got, "E export") {
		t.Errorf("Runs: %q", got)
	}
}

// gt and gT go round the screens; a lone g, and a T after a while, are what they were.
func TestNeighbourScreens(t *testing.T) {
	d := start(t, withRun(t))
	d.Press("g", "t")
	if !strings.Contains(d.Text(), "[5 Runs]") {
		t.Fatalf("gt did not go to the next screen:\n%s", d.Text())
	}
	d.Press("g", "T")
	if !strings.Contains(d.Text(), "[1 Launch]") {
		t.Errorf("gT did not go back:\n%s", d.Text())
	}
	d.Press("g")
	d.Advance(2 * time.Second)
	d.Press("T")
	if text := d.Text(); !strings.Contains(text, "[1 Launch]") || !strings.Contains(text, "theme light") {
		t.Errorf("T is not the theme any more:\n%s", text)
	}
}

func TestSettingsChangeInPlace(t *testing.T) {
	d := start(t, withRun(t))
	d.Press(",", "down", "enter")
	if text := d.Text(); !strings.Contains(text, "plain ASCII") || strings.Contains(text, "│") {
		t.Errorf("the characters did not change in place:\n%s", text)
	}
	d.Press("down", "enter")
	if !strings.Contains(d.Text(), "every 2 s") {
		t.Errorf("the pace did not change:\n%s", d.Text())
	}
	d.Press("esc")
	if strings.Contains(d.Text(), "Settings of") {
		t.Error("esc did not close the settings")
	}
}

// Actions are found by the words of the hint line too.
func TestPaletteFindsExport(t *testing.T) {
	d := start(t, withRun(t))
	d.Press("5", ":")
	d.Type("export")
	d.Press("enter")
	if !strings.Contains(d.Text(), "Export 0801-btp-a1") {
		t.Errorf("the palette did not export:\n%s", d.Text())
	}
}

// P12: a dialog shows its choices on the smallest terminal.
func TestDialogsOnASmallTerminal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 10}} {
		for _, press := range []string{"1 L", "1 A", "5 D"} {
			d := testkit.NewDriver(t, size[0], size[1], app.Options{Env: testkit.Env(t, withRun(t)), Screens: screens()})
			d.Advance(time.Second)
			d.Press(strings.Fields(press)...)
			if text := d.Text(); !strings.Contains(text, "[ No ]") || !strings.Contains(text, "Yes, ") || !strings.Contains(text, "y yes") {
				t.Errorf("%v, %s:\n%s", size, press, text)
			}
		}
	}
}

// A key acts on what its user sees: on a terminal that is too small to draw on, only those that leave do anything.
func TestKeysOfATerminalThatIsTooSmall(t *testing.T) {
	d := start(t, withRun(t))
	before := d.Text()
	d.Resize(10, 3)
	if text := d.Text(); !strings.Contains(text, "10x3 of") || !strings.Contains(text, "40x10 (q)") {
		t.Errorf("%q", text)
	}
	d.Press("5", "L", "y", "?", ":", "down")
	d.Send(tea.MouseMsg{X: 3, Y: 0, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	d.Resize(120, 36)
	if text := d.Text(); text != before {
		t.Errorf("keys that nobody saw did this:\n%s", text)
	}
	d.Resize(10, 3)
	if d.Press("q"); !d.Quit() {
		t.Error("q does not quit")
	}
}
