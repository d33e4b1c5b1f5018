package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/tui/app"
	"boost-tui/tui/format"
	"boost-tui/tui/msg"
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
	if text := d.Text(); !strings.Contains(text, "boost-tui run --variant full --detach") || !strings.Contains(text, "every rule holds") {
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

// The three schemes are started at once, each behind the one before it, so that
// nothing has to stay for them.
func TestThreeSchemesAtOnce(t *testing.T) {
	s := &testkit.Store{}
	d := start(t, 120, 36, s)
	d.Press("A", "enter")
	if len(s.Launched) != 0 {
		t.Fatal("enter alone launched: the default must be No")
	}
	d.Press("A", "y")
	if len(s.Launched) != 3 {
		t.Fatalf("%d were launched", len(s.Launched))
	}
	for i, want := range []experiment.Scheme{experiment.FullRank, experiment.Vanilla, experiment.BTP} {
		in, after := s.Infos[i], ""
		if i > 0 {
			after = s.Infos[i-1].ID
		}
		if got := s.Launched[i].Parallel.Scheme; got != want || in.Run.After != after {
			t.Errorf("run %d is %s after %q, want %s after %q", i+1, got, in.Run.After, want, after)
		}
		if len(in.Tags) == 0 || !strings.HasPrefix(in.Tags[0], "three-") || in.Tags[0] != s.Infos[0].Tags[0] {
			t.Errorf("run %d has the tags %v", i+1, in.Tags)
		}
	}
	if text := d.Text(); !strings.Contains(text, "started three runs") || !strings.Contains(text, "1 running  2 pending") {
		t.Errorf("the start is not shown:\n%s", text)
	}
}

// References are the user's to choose: those that were set for these three
// would be held against every later run.
func TestThreeSchemesSetNoReferences(t *testing.T) {
	s := &testkit.Store{}
	var session app.Session
	env := testkit.Env(t, s)
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New()), Save: func(x app.Session) error { session = x; return nil }})
	d.Press("A", "y", "q")
	if session.References != (msg.References{}) {
		t.Errorf("references %+v, nobody chose any", session.References)
	}
}

// What was started before a failure goes on, and the UI says how far it came.
func TestThreeSchemesStopAtAFailure(t *testing.T) {
	s := &testkit.Store{}
	d := start(t, 120, 36, s, func(env *screen.Env) {
		real := env.Launch
		env.Launch = func(ctx context.Context, e experiment.Experiment, after string) (string, error) {
			if e.Parallel.Scheme == experiment.BTP {
				return "", errors.New("no space left on device")
			}
			return real(ctx, e, after)
		}
	})
	d.Press("A", "y")
	if text := d.Text(); len(s.Launched) != 2 || !strings.Contains(text, "2 of the three schemes started: no space left on device") {
		t.Errorf("%d launched:\n%s", len(s.Launched), text)
	}
	s.Fail = errors.New("read-only file system")
	d.Press("A", "y")
	if text := d.Text(); !strings.Contains(text, "0 of the three schemes started: read-only file system") {
		t.Errorf("no error:\n%s", text)
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
	got := format.Shell(launch.Command(e, nil))
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

func BenchmarkKey(b *testing.B) {
	env := testkit.Env(b, &testkit.Store{})
	d := testkit.NewDriver(b, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New())})
	d.Press("o")
	for b.Loop() {
		d.Press("right")
		d.View()
	}
}
