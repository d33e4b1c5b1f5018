package sweep_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/tui/app"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/sweep"
	"boost-tui/tui/testkit"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"
)

func readOnly(t testing.TB, s *testkit.Sweeps) *testkit.Driver {
	env := testkit.Env(t, &testkit.Store{})
	env.Sweeps, env.ReadOnly = s, true
	return testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(sweep.New())})
}

// onResults starts the screen on a sweep's results.
func onResults(t testing.TB, w, h, done int) (*testkit.Driver, *testkit.Sweeps) {
	d, s := shown(t, w, h, made(t, comparison(t), done))
	d.Press("tab")
	return d, s
}

// first is the point of the first row of the results.
func first(d *testkit.Driver) string {
	lines := strings.Split(d.Text(), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "vs van") && strings.Contains(line, "scheme") })
	return lines[at+1]
}

func TestSortAndFilter(t *testing.T) {
	d, _ := onResults(t, 120, 36, 10)
	if line := first(d); !strings.Contains(line, "#p06") {
		t.Errorf("the largest speed-up is not first: %s", line)
	}
	d.Press("o")
	d.Type("step_time_median")
	d.Press("enter")
	has(t, d.Text(), "sort: step_time_median ▲")
	if line := first(d); !strings.Contains(line, "132.0") {
		t.Errorf("the fastest is not first: %s", line)
	}
	d.Press("o")
	d.Type("step_time_median")
	d.Press("enter")
	has(t, d.Text(), "sort: step_time_median ▼")
	d.Press("/")
	d.Type("scheme:btp tp>=2")
	has(t, d.Text(), "2 of 10")
	d.Type(" nonsense:1")
	has(t, d.Text(), `no field "nonsense"`)
	d.Press("enter") // what makes no sense is not taken
	has(t, d.Text(), `no field "nonsense"`, "enter keep")
	d.Press("esc")
	hasNot(t, d.Text(), "2 of 10")
	d.Press("/")
	d.Type("-scheme:btp")
	d.Press("enter")
	has(t, d.Text(), "/-scheme:btp", "6 of 10")
	d.Press("esc", "p")
	has(t, d.Text(), "Results: Pareto front")
	d.Press("p", "b")
	has(t, d.Text(), "Results: best per size", "1 of 10")
}

// From a row to the other screens.
func TestFromRowsToOtherScreens(t *testing.T) {
	root := sweep.New()
	env := testkit.Env(t, &testkit.Store{})
	s := &testkit.Sweeps{}
	s.Put(made(t, comparison(t), 10))
	env.Sweeps = s
	var sent []string
	env.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	root.Init(env)
	var run func(cmd tea.Cmd)
	run = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		switch m := cmd().(type) {
		case tea.BatchMsg:
			for _, c := range m {
				run(c)
			}
		case msg.Open:
			r, _ := m.Modal.Update(keys.Press("down"))
			_, done := r.Update(keys.Press("enter"))
			run(m.Then(done.Answer))
		case msg.OpenRun:
			sent = append(sent, "live "+m.ID[len(m.ID)-3:])
		case msg.CompareRuns:
			sent = append(sent, fmt.Sprintf("compare %d", len(m.IDs)))
		case msg.EditExperiment:
			sent = append(sent, "launch "+string(m.Experiment.Parallel.Scheme))
		case nil:
		default:
			cmd, _ := root.Update(m)
			run(cmd)
		}
	}
	press := func(names ...string) {
		for _, n := range names {
			cmd, _ := root.Update(keys.Press(n))
			run(cmd)
		}
	}
	cmd, _ := root.Update(msg.Shown{Screen: sweep.ID})
	run(cmd)
	press("s", "enter", "L", "tab", "enter", "c", "L", "space", "space", "space", "c", "tab", "enter", "L", "right", "c")
	want := "live p00, launch full-rank, live p06, compare 3, launch btp, compare 3, live p06, launch btp, compare 3"
	if got := strings.Join(sent, ", "); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

func TestHeatMap(t *testing.T) {
	d, _ := onResults(t, 80, 24, 10)
	d.Press("h")
	has(t, d.Text(), "Heat  vs full", "tp by rank", "[█1.77x]")
	d.Press("x", "x")
	has(t, d.Text(), "tp by scheme")
	d.Press("y")
	has(t, d.Text(), "rank by scheme")
	d.Press("m")
	d.Type("step_time_median")
	d.Press("enter")
	has(t, d.Text(), "Heat  step ms")
	d.Press("right", "down", "i")
	has(t, d.Text(), "rank 64", "step_time_median")
	d.Press("esc", "/")
	d.Type("tp:1")
	d.Press("enter")
	has(t, d.Text(), "one point in a cell")
	d.Press("h")
	has(t, d.Text(), "Results", "5 of 10")
}

func TestExport(t *testing.T) {
	d, s := onResults(t, 120, 36, 10)
	d.Press("E")
	has(t, d.Text(), "Export sweep ranks #k3fm", "exports/2026-11-29T15-20-00")
	d.Press("enter")
	has(t, d.Text(), "wrote 2 files")
	if len(s.Did) != 1 || !strings.HasPrefix(s.Did[0], "export "+shownID) {
		t.Errorf("did %v", s.Did)
	}
	d.Press("Y")
	if raw := string(d.Model.TakeRaw()); !strings.Contains(raw, "\x1b]52;") {
		t.Errorf("nothing for the clipboard: %q", raw)
	}
}

// P7, P8: whatever the size, lines have the width and are as many as the height.
func TestEverySize(t *testing.T) {
	view := made(t, comparison(t), 6)
	for _, ascii := range []bool{false, true} {
		env := testkit.Env(t, &testkit.Store{})
		s := &testkit.Sweeps{}
		s.Put(view)
		env.Sweeps = s
		env.Theme = theme.New(theme.Options{ASCII: ascii, Plain: true, Profile: termenv.Ascii})
		d := testkit.NewDriver(t, 80, 24, app.Options{Env: env, Screens: testkit.One(sweep.New())})
		axis(d, "rank", "32..640+32")
		for i := range 2 {
			if i == 1 {
				d.Press("s", "down", "enter")
				d.Advance(time.Second)
			}
			for w := 20; w <= 250; w += 19 {
				for h := 5; h <= 80; h += 7 {
					d.Resize(w, h)
					testkit.CheckSize(t, fmt.Sprintf("%d: %dx%d", i, w, h), d.View(), w, h)
					if h%3 == 0 {
						d.Press("tab")
					}
					if ascii && strings.ContainsFunc(d.View(), func(r rune) bool { return r != '\n' && (r < 0x20 || r > 0x7e) }) {
						t.Fatalf("%dx%d is not ASCII:\n%s", w, h, d.View())
					}
				}
			}
		}
	}
}

// The grid, the sweep and how it is looked at are found again.
func TestSession(t *testing.T) {
	m := sweep.New()
	for _, junk := range []string{`nonsense`, `{"new":{"axes":[{"keys":["tp"],"text":"no"},{"keys":[],"text":"1"},{"keys":["tp"],"text":"1,2","off":["2"]}],"set":[{"key":"nokey","value":"1"}],"options":{"order":"x"}},"focus":99}`} {
		m.Load([]byte(junk))
	}
	env := testkit.Env(t, &testkit.Store{})
	s := &testkit.Sweeps{}
	env.Sweeps = s
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(m)})
	d.Advance(time.Second)
	if len(s.Spec.Axes) != 1 || len(s.Spec.Axes[0].Values) != 1 {
		t.Errorf("the grid is %+v", s.Spec)
	}
	axis(d, "rank", "32..64*2")
	s.Put(made(t, comparison(t), 6))
	d.Press("s", "down", "enter")
	d.Advance(time.Second)
	d.Press("shift+tab", "j", "space") // tp 1 off: the sweep's grid is another now
	d.Press("tab", "tab", "/")
	d.Type("btp")
	d.Press("enter")
	saved := m.Save()
	n := sweep.New()
	n.Load(saved)
	d = testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(n)})
	d.Advance(time.Second)
	if string(n.Save()) != string(saved) {
		t.Errorf("%s becomes %s", saved, n.Save())
	}
	has(t, d.Text(), "ranks #k3fm", "[ ]1 [x]2", "/btp")
	d.Press("s", "up", "up", "enter")
	d.Advance(time.Second)
	has(t, d.Text(), "Grid  new sweep", "[x]32 [x]64")
}

// P5: the answer to an earlier question, late, changes nothing.
func TestLateAnswersAreIgnored(t *testing.T) {
	m := sweep.New()
	env := testkit.Env(t, &testkit.Store{})
	s := &testkit.Sweeps{}
	a, b := made(t, comparison(t), 3), made(t, comparison(t), 6)
	b.State.ID = "20261129-160000-other-zzzz"
	s.Put(a)
	s.Put(b)
	env.Sweeps = s
	env.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	m.Init(env)
	m.Load([]byte(`{"sweep":"` + a.State.ID + `"}`))
	first, _ := m.Update(msg.Shown{Screen: sweep.ID}) // nothing but the look at the sweep, for no timer is set
	m.Update(msg.Hidden{Screen: sweep.ID})
	before := m.View(layout.Rect{W: 120, H: 33})
	m.Update(first())
	if after := m.View(layout.Rect{W: 120, H: 33}); after != before {
		t.Errorf("the earlier answer is shown\n%s", after)
	}
}

// P21: without news the frame is the same string, not drawn anew; a hidden
// screen does not look at its sweep.
func TestNoNewsNoDrawing(t *testing.T) {
	d, s := shown(t, 120, 36, made(t, comparison(t), 6))
	view := d.View()
	asked := s.Asked
	d.Advance(5 * time.Second)
	if s.Asked < asked+4 || s.Asked > asked+6 {
		t.Errorf("looked %d times in 5 s", s.Asked-asked)
	}
	if d.View() != view {
		t.Error("without news another frame")
	}
	d.Send(msg.Hidden{Screen: sweep.ID})
	asked = s.Asked
	d.Advance(time.Minute)
	if s.Asked > asked {
		t.Errorf("a hidden screen looked %d times", s.Asked-asked)
	}
}

// Whatever stands in another user's sweep, no byte of it commands the terminal.
func TestUntrustedText(t *testing.T) {
	const evil = "x\x1b[2J\x07\u202e\nnext"
	for name, file := range map[string]error{"grid": nil, "file": errors.New(evil)} {
		view := made(t, comparison(t), 4)
		view.State.Name, view.State.Cause, view.FileErr = evil, evil, file
		view.State.Phase = sweeps.PhaseStopped
		view.File.Constraints = []string{evil}
		view.File.Axes = append(view.File.Axes, space.Axis{Keys: []string{"data"}, Values: [][]string{{evil}}, When: evil})
		for i, p := range view.State.Points {
			p.Label, p.Cause = evil, evil
			r := view.Table.Rows[i]
			r.Label, r.Cause, r.Size, r.Err = evil, evil, evil, errors.New(evil)
		}
		view.State.Notes, view.State.Held, view.State.Holder.Host = []sweeps.Note{{Text: evil}}, true, evil
		view.State.Pruned = []space.Pruned{{Point: evil, Reason: evil}}
		d, s := shown(t, 120, 36, view)
		s.Infos[0].Name = evil
		for _, key := range []string{"", "i", "esc", "K", "esc", "s", "esc", "shift+tab", "i", "esc", "G", "R", "esc", "tab", "tab", "i", "esc", "o", "esc", "h", "i", "esc", "E", "esc"} {
			if key != "" {
				d.Press(key)
			}
			d.Advance(time.Second)
			if text := d.View(); strings.ContainsAny(text, "\x1b\x07\u202e") {
				t.Fatalf("%s, after %s:\n%q", name, key, text)
			}
			testkit.CheckSize(t, name+" "+key, d.View(), 120, 36)
		}
		if file != nil {
			d.Press("shift+tab", "shift+tab", "shift+tab")
			has(t, d.Text(), "Grid", "s chooses another sweep")
		}
	}
}
