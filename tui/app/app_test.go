package app_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/screen/launch"
	"boost-tui/tui/screen/runs"
	"boost-tui/tui/testkit"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

func screens() []screen.Screen { return []screen.Screen{launch.New(), runs.New()} }

func start(t *testing.T, s *testkit.Store) *testkit.Driver {
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: testkit.Env(t, s), Screens: screens()})
	d.Advance(time.Second)
	return d
}

func TestTabs(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Press("5")
	if !strings.Contains(d.Text(), "[5 Runs]") {
		t.Fatalf("5 does not show Runs:\n%s", d.Text())
	}
	d.Press("4")
	if !strings.Contains(d.Text(), "[5 Runs]") || !strings.Contains(d.Text(), "Sweep comes in a later version") {
		t.Errorf("4 is not told to come later:\n%s", d.Text())
	}
	d.Send(tea.MouseMsg{X: 3, Y: 0, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	if !strings.Contains(d.Text(), "[1 Launch]") {
		t.Errorf("a click on the first tab does nothing:\n%s", d.Text())
	}
}

// Every binding is in the help, the help filters, and esc closes the top thing only.
func TestHelp(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Press("5", "?")
	if text := d.Text(); !strings.Contains(text, "cancel the run; asks") || !strings.Contains(text, "shift+drag") {
		t.Fatalf("help:\n%s", text)
	}
	d.Press("/")
	d.Type("theme")
	if text := d.Text(); !strings.Contains(text, "next theme") || strings.Contains(text, "cancel the run") {
		t.Errorf("the help does not filter:\n%s", text)
	}
	d.Press("esc", "esc")
	if strings.Contains(d.Text(), "shift+drag") || d.Quit() {
		t.Error("esc did not close the help, or closed more")
	}
}

func TestPalettePressesTheKey(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Press(":")
	d.Type("every key, or")
	d.Press("enter")
	if !strings.Contains(d.Text(), "Configuration, every key") {
		t.Errorf("the palette did not act:\n%s", d.Text())
	}
}

// P12, P20: no dangerous key is lower case or control, and none is alt.
func TestNoUnsafeKeys(t *testing.T) {
	for _, s := range screens() {
		if bad := keys.Unsafe(s.Keys()); len(bad) > 0 {
			t.Errorf("%s: %v", s.ID(), bad)
		}
	}
}

// P20: a fast escape and letter, which arrive as alt+letter, are two keys.
func TestAltIsEscape(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Press("x")
	d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("5"), Alt: true})
	if text := d.Text(); strings.Contains(text, "Dry run") || !strings.Contains(text, "[5 Runs]") {
		t.Errorf("alt+5 was not esc, 5:\n%s", text)
	}
}

// Keys typed faster than they are read arrive in one message.
func TestGluedKeys(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("5/tp")})
	if !strings.Contains(d.Text(), "/tp") {
		t.Errorf("glued keys were lost:\n%s", d.Text())
	}
}

func TestQuitAndInterrupt(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Press("x", "ctrl+c")
	if d.Quit() || strings.Contains(d.Text(), "Dry run") {
		t.Fatal("ctrl+c in a dialog must close it and no more")
	}
	d.Press("ctrl+c")
	if !d.Quit() {
		t.Fatal("a second ctrl+c did not quit")
	}
}

func TestToastsGo(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Send(msg.Toast{Level: msg.Good, Text: "hello\x1b[2J"})
	if !strings.Contains(d.Text(), "hello") || strings.Contains(d.View(), "\x1b[2J") {
		t.Fatal("no toast, or an uncleaned one")
	}
	d.Advance(5 * time.Second)
	if strings.Contains(d.Text(), "hello") {
		t.Error("the toast stays")
	}
}

// What is being typed is seen while a toast is shown, on every screen that has a prompt.
func TestToastsLeavePromptsAlone(t *testing.T) {
	for _, tab := range []string{"1", "5"} {
		d := start(t, &testkit.Store{})
		d.Press(tab)
		d.Send(msg.Toast{Level: msg.Warn, Text: "hello"})
		d.Press("/")
		d.Type("btp")
		if text := d.Text(); !strings.Contains(text, "/btp") || !strings.Contains(text, "hello") {
			t.Errorf("screen %s: the prompt and the toast are not both there:\n%s", tab, text)
		}
		d.Advance(5 * time.Second)
		if text := d.Text(); !strings.Contains(text, "/btp") || strings.Contains(text, "hello") {
			t.Errorf("screen %s: the hints did not come back:\n%s", tab, text)
		}
	}
}

func TestThemesCycleOnEveryScreen(t *testing.T) {
	d := start(t, &testkit.Store{})
	for _, want := range []string{"light", "mono", "auto", "dark"} {
		d.Press("T")
		if !strings.Contains(d.Text(), "theme "+want) {
			t.Errorf("no theme %s:\n%s", want, d.Text())
		}
	}
}

// P17: while nothing runs, the store's folder is looked at and not listed.
func TestPollingRests(t *testing.T) {
	s := &testkit.Store{}
	stamp := int64(1)
	d := testkit.NewDriver(t, 80, 24, app.Options{Env: testkit.Env(t, s), Screens: screens(), RootChanged: func() int64 { return stamp }})
	d.Advance(time.Minute)
	if n := len(s.Listings); n != 1 {
		t.Errorf("an unchanged folder was listed %d times", n)
	}
	s.Infos = append(s.Infos, testkit.Info("r1", testkit.Experiment(t), runner.Running))
	stamp++
	d.Advance(13 * time.Second)
	if n := len(s.Listings); n < 9 {
		t.Errorf("a running run was listed %d times in 10 s", n)
	}
	if !strings.Contains(d.Text(), "1 running") {
		t.Errorf("the running run is not shown:\n%s", d.Text())
	}
}

// P5: the listing that was asked for first and comes last is dropped: a
// change starts a new generation.
func TestPanicsBecomeACrash(t *testing.T) {
	d := start(t, &testkit.Store{})
	d.Send(msg.Open{Modal: bomb{}})
	d.Press("a")
	if !d.Quit() || d.Model.Crash() == nil || !strings.Contains(d.Model.Crash().Error(), "boom") {
		t.Errorf("quit %v, crash %v", d.Quit(), d.Model.Crash())
	}
}

type bomb struct{ modal.Text }

func (bomb) Update(keys.Event) (modal.Modal, modal.Result) { panic("boom") }

func TestSessionFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "session.json")
	if s, err := app.LoadSession(path); err != nil || s.Screen != "" {
		t.Fatalf("a missing session: %v %v", s, err)
	}
	want := app.Session{Schema: 1, Screen: "runs", References: msg.References{Baseline: "a"}, Screens: map[string]json.RawMessage{"runs": json.RawMessage(`{"x":1}`)}}
	if err := app.SaveSession(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := app.LoadSession(path)
	if err != nil || got.Screen != "runs" || got.References != want.References {
		t.Fatalf("read back %+v, %v", got, err)
	}
	for _, text := range []string{"", "{", `{"schema":99}`, "null", `[]`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := app.LoadSession(path); err == nil || s.Screen != "" {
			t.Errorf("session %q: %v, %v", text, s, err)
		}
	}
}

// What an earlier version or another hand left in a session does no harm.
func FuzzSessionLoad(f *testing.F) {
	f.Add(`{"filter":"tp>=4","sort":"ms","marks":["a"]}`)
	f.Add(`{"toml":"[model]\nsize = \"7b\"\n","chain":{"queue":[{}],"active":true}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := app.Session{Schema: 1, Screen: text, Screens: map[string]json.RawMessage{"runs": json.RawMessage(text), "launch": json.RawMessage(text)}}
		env := testkit.Env(t, &testkit.Store{Fail: errors.New("nothing starts here")})
		d := testkit.NewDriver(t, 80, 24, app.Options{Env: env, Screens: screens(), Session: s})
		testkit.CheckSize(t, "fuzz", d.View(), 80, 24)
	})
}

// P7: every size is filled exactly, on every screen, with and without dialogs.
func TestEverySize(t *testing.T) {
	d := start(t, &testkit.Store{})
	for _, open := range []string{"1", "5", "?"} {
		d.Press(open)
		for w := 1; w <= 250; w += 19 {
			for h := 1; h <= 80; h += 9 {
				d.Resize(w, h)
				testkit.CheckSize(t, open, d.View(), w, h)
			}
		}
	}
}
