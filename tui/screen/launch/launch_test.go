package launch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/screen"
	"boost-tui/tui/screen/launch"
	"boost-tui/tui/testkit"
)

func start(t *testing.T, w, h int, s *testkit.Store, change ...func(*screen.Env)) *testkit.Driver {
	env := testkit.Env(t, s)
	env.WorkDir = "/work"
	for _, f := range change {
		f(&env)
	}
	d := testkit.NewDriver(t, w, h, app.Options{Env: env, Screens: testkit.One(launch.New())})
	d.Advance(time.Second)
	return d
}

func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{120, 36}, {80, 24}, {60, 20}, {200, 50}, {40, 10}} {
		d := start(t, size[0], size[1], &testkit.Store{})
		testkit.Golden(t, fmt.Sprintf("normal_%dx%d", size[0], size[1]), d.View(), size[0], size[1])
	}
	d := start(t, 120, 36, &testkit.Store{})
	d.Press("o")
	testkit.Golden(t, "all_120x36", d.View(), 120, 36)
	d = start(t, 120, 36, &testkit.Store{})
	d.Press("/")
	d.Type("tp")
	d.Press("enter", "enter", "ctrl+u")
	d.Type("3")
	d.Press("enter")
	d.Advance(time.Second)
	testkit.Golden(t, "violation_120x36", d.View(), 120, 36)
}

func TestEverySize(t *testing.T) {
	d := start(t, 80, 24, &testkit.Store{})
	for w := 20; w <= 250; w += 23 {
		for h := 5; h <= 80; h += 11 {
			d.Resize(w, h)
			testkit.CheckSize(t, fmt.Sprintf("%dx%d", w, h), d.View(), w, h)
		}
	}
}

// focus puts the cursor on a field.
func focus(d *testkit.Driver, name string) {
	d.Press("/")
	d.Type(name)
	d.Press("enter")
}

func TestImpossibleChoicesStayVisibleWithTheirReason(t *testing.T) {
	d := start(t, 120, 36, &testkit.Store{})
	focus(d, "tp")
	d.Press("left")
	if text := d.Text(); !strings.Contains(text, "▸✗8") || !strings.Contains(text, "heads") {
		t.Errorf("tp 8 is not shown struck with its reason:\n%s", text)
	}
	d.Press("L")
	if !strings.Contains(d.Text(), "cannot run") {
		t.Errorf("an impossible configuration could be launched:\n%s", d.Text())
	}
}

func TestVariantTakesItsSchemeAlong(t *testing.T) {
	d := start(t, 120, 36, &testkit.Store{})
	focus(d, "scheme")
	d.Press("right")
	if !strings.Contains(d.Text(), "--scheme vanilla") {
		t.Fatalf("the preview lacks the scheme:\n%s", d.Text())
	}
	focus(d, "variant")
	d.Press("right") // full
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "--variant full") || strings.Contains(text, "--scheme") || !strings.Contains(text, "every rule holds") {
		t.Errorf("the scheme of the other variant stayed:\n%s", text)
	}
}

func TestLaunchAsksOnce(t *testing.T) {
	s := &testkit.Store{}
	d := start(t, 120, 36, s)
	d.Press("L", "enter")
	if len(s.Launched) != 0 {
		t.Fatal("enter alone launched: the default must be No")
	}
	d.Press("L", "y")
	if len(s.Launched) != 1 || s.Launched[0].Parallel.Scheme != experiment.BTP {
		t.Fatalf("launched %v", s.Launched)
	}
	if !strings.Contains(d.Text(), "started run-01") || !strings.Contains(d.Text(), "1 running") {
		t.Errorf("the start is not shown:\n%s", d.Text())
	}
}

func TestLaunchErrorIsShown(t *testing.T) {
	s := &testkit.Store{Fail: errors.New("read-only file system")}
	d := start(t, 120, 36, s)
	d.Press("L", "y")
	if !strings.Contains(d.Text(), "read-only file system") {
		t.Errorf("no error:\n%s", d.Text())
	}
}

// The three schemes run one after another; a session carries the rest on.
func TestThreeSchemesInSequence(t *testing.T) {
	s := &testkit.Store{}
	var session app.Session
	env := testkit.Env(t, s)
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New()), Save: func(x app.Session) error { session = x; return nil }})
	d.Press("A", "y")
	d.Advance(5 * time.Second)
	if len(s.Launched) != 1 || s.Launched[0].Model.Variant != experiment.Full {
		t.Fatalf("at first %d were launched", len(s.Launched))
	}
	s.Infos[0].State = runner.Finished
	d.Advance(5 * time.Second)
	if len(s.Launched) != 2 || s.Launched[1].Parallel.Scheme != experiment.Vanilla {
		t.Fatalf("after the first ended, %d were launched", len(s.Launched))
	}
	d.Press("q")
	s.Infos[1].State = runner.Failed
	d = testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New()), Session: session})
	d.Advance(5 * time.Second)
	if len(s.Launched) != 3 || s.Launched[2].Parallel.Scheme != experiment.BTP {
		t.Fatalf("after reopening, %d were launched", len(s.Launched))
	}
	s.Infos[2].State = runner.Finished
	d.Advance(2 * time.Second)
	if !strings.Contains(d.Text(), "3 compares") {
		t.Errorf("the end is not told:\n%s", d.Text())
	}
}

// P5: a plan that was asked for earlier and comes later is dropped.
func TestOldPlansAreDropped(t *testing.T) {
	calls := 0
	d := start(t, 120, 36, &testkit.Store{}, func(env *screen.Env) {
		env.Plan = func(e experiment.Experiment) (*planner.Plan, error) {
			calls++
			return planner.New(e, planner.Machine{MemBytes: 1 << 35})
		}
	})
	before := calls
	focus(d, "rank")
	for range 20 {
		d.Press("right")
		d.Advance(10 * time.Millisecond)
	}
	d.Advance(time.Second)
	if n := calls - before; n > 4 {
		t.Errorf("20 quick changes asked for %d plans; the debounce should leave one set of 4", n)
	}
}

func TestDryRunAndSave(t *testing.T) {
	dir := t.TempDir()
	s := &testkit.Store{}
	d := start(t, 120, 36, s, func(env *screen.Env) { env.WorkDir = dir })
	d.Press("x")
	if !strings.Contains(d.Text(), "Nothing was started") || len(s.Launched) != 0 {
		t.Errorf("dry run:\n%s", d.Text())
	}
	d.Press("esc", "w", "ctrl+u")
	d.Type("a.toml")
	d.Press("enter")
	data, err := os.ReadFile(filepath.Join(dir, "a.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.ParseTOML(data, "a.toml"); err != nil {
		t.Error(err)
	}
	d.Press("w", "ctrl+u")
	d.Type("a.toml")
	d.Press("enter")
	if !strings.Contains(d.Text(), "is there already") {
		t.Errorf("a file was replaced:\n%s", d.Text())
	}
}

// The preview is what a shell can run, whatever the values are.
func TestCommandQuotes(t *testing.T) {
	e := experiment.Default()
	e.Name, e.Train.Data = "it's; rm -rf /", "/data/a b"
	got := launch.Shell(launch.Command(e))
	want := `boost-tui run --name 'it'\''s; rm -rf /' --data '/data/a b' --detach`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestSessionRestoresTheForm(t *testing.T) {
	var session app.Session
	env := testkit.Env(t, &testkit.Store{})
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New()), Save: func(x app.Session) error { session = x; return nil }})
	focus(d, "seed")
	d.Press("enter", "ctrl+u")
	d.Type("77")
	d.Press("enter", "q")
	if !d.Quit() {
		t.Fatal("q did not quit")
	}
	d = testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New()), Session: session})
	if !strings.Contains(d.Text(), "--seed 77") || !strings.Contains(d.Text(), "▸Seed") {
		t.Errorf("form was not restored:\n%s", d.Text())
	}
}

// A UI that was killed after a start and before it saved the session leaves a
// run that the next UI must find instead of starting it again.
func TestChainAdoptsWhatWasStarted(t *testing.T) {
	s := &testkit.Store{}
	var session app.Session
	env := testkit.Env(t, s)
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New()), Save: func(x app.Session) error { session = x; return nil }})
	d.Press("A", "y")
	d.Advance(3 * time.Second)
	old := session
	s.Infos[0].State = runner.Finished
	d.Advance(2 * time.Second)
	if len(s.Launched) != 2 {
		t.Fatalf("%d launched", len(s.Launched))
	}
	d = testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New()), Session: old})
	d.Advance(5 * time.Second)
	if len(s.Launched) != 2 {
		t.Fatalf("the second was started again: %d launched", len(s.Launched))
	}
	s.Infos[1].State = runner.Finished
	d.Advance(3 * time.Second)
	if len(s.Launched) != 3 || s.Launched[2].Parallel.Scheme != experiment.BTP {
		t.Fatalf("%d launched", len(s.Launched))
	}
}

func BenchmarkKey(b *testing.B) {
	env := testkit.Env(b, &testkit.Store{})
	d := testkit.NewDriver(b, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New())})
	d.Press("o")
	for b.Loop() {
		d.Press("right")
		d.View()
	}
}
