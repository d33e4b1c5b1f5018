package live_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"
)

// appendSteps lets every rank of a run write the steps from first to last.
func appendSteps(t testing.TB, dir string, r testkit.RunDir, first, last int) {
	t.Helper()
	for rank := range r.Ranks {
		w, err := record.OpenWriter(record.StepsPath(dir, rank))
		if err != nil {
			t.Fatal(err)
		}
		for step := first; step <= last; step++ {
			l := r.Line(rank, step)
			if err := w.Step(&l); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// P7, P8: whatever the size, every line has the width and the lines are as many
// as the height; from 40x10 on there is content.
func TestEverySize(t *testing.T) {
	nan := btp(t)
	nan.NaN = 3
	for name, runs := range map[string][]testkit.RunDir{"empty": nil, "normal": {fullRank(t), btp(t)}, "failed": {failed(t)}, "nan": {nan}} {
		d, _ := start(t, 80, 24, runs...)
		d.Send(msg.References{Baseline: fullRank(t).ID})
		for w := 20; w <= 250; w += 13 {
			for h := 5; h <= 80; h += 5 {
				d.Resize(w, h)
				testkit.CheckSize(t, fmt.Sprintf("%s %dx%d", name, w, h), d.View(), w, h)
			}
		}
	}
}

// P7: 200 random resizes and keys leave the frame that a fresh start shows.
func TestResizesLeaveNothing(t *testing.T) {
	d, _ := start(t, 80, 24, btp(t))
	want := d.Text()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		d.Resize(20+rng.IntN(230), 5+rng.IntN(75))
		d.View()
	}
	d.Resize(80, 24)
	if d.Text() != want {
		t.Errorf("the frame differs\n%s", d.Text())
	}
}

// P8: at 73 columns everything is there.
func TestUsableAt73Columns(t *testing.T) {
	d, _ := start(t, 73, 22, btp(t))
	has(t, d.Text(), "4 ranks", "Breakdown", "Loss", "Step time", "straggler")
	d.Resize(40, 10)
	for _, want := range []string{"Step time", "Loss", "Log", "ranks", "Breakdown"} {
		has(t, d.Text(), want)
		d.Press("tab")
	}
}

// P9: without colours the states are told apart; P10: with --ascii every byte is plain.
func TestPlainTerminals(t *testing.T) {
	seen := map[string]string{}
	for _, state := range []runner.State{runner.Pending, runner.Running, runner.Finished, runner.Failed, runner.Cancelled, runner.Lost} {
		r := btp(t)
		r.State = state
		root := t.TempDir()
		store := &testkit.Store{Infos: []runner.Info{r.Write(t, root)}}
		env := testkit.Env(t, store)
		env.Theme = theme.New(theme.Options{ASCII: true, Plain: true, Profile: termenv.Ascii})
		d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(live.New())})
		d.Press("left")
		view := d.View()
		for i, b := range []byte(view) {
			if (b < 0x20 || b > 0x7e) && b != '\n' {
				t.Fatalf("%s: byte %#x at %d in\n%s", state, b, i, view)
			}
		}
		lines := strings.Split(view, "\n")
		status := strings.Fields(lines[len(lines)-2])[0]
		if old, twice := seen[status]; twice {
			t.Errorf("%s and %s both show %q", old, state, status)
		}
		seen[status] = string(state)
	}
}

// P5: the answer to an earlier question, late, changes nothing.
func TestLateAnswersAreIgnored(t *testing.T) {
	root := t.TempDir()
	old, now := fullRank(t).Write(t, root), btp(t).Write(t, root)
	store := &testkit.Store{}
	m := live.New()
	env := testkit.Env(t, store)
	env.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	m.Init(env)
	m.Update(msg.Runs{Infos: []runner.Info{old, now}})
	m.Update(msg.OpenRun{ID: old.ID})
	first, _ := m.Update(msg.Shown{Screen: live.ID})
	second, _ := m.Update(msg.OpenRun{ID: now.ID})
	deliver(m, second)
	before := m.View(layout.Rect{W: 120, H: 33})
	deliver(m, first)
	if after := m.View(layout.Rect{W: 120, H: 33}); after != before {
		t.Errorf("the old run's answer is shown\n%s", after)
	}
	has(t, before, "step 148")
}

// deliver runs a Cmd and all that follows from it.
func deliver(m *live.Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch out := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range out {
			deliver(m, c)
		}
	default:
		next, _ := m.Update(out)
		deliver(m, next)
	}
}

// P17: of a log that grows by 5,000 lines a second, a bounded part is kept, and
// keys are answered meanwhile.
func TestLogFlood(t *testing.T) {
	d, store := start(t, 120, 36, btp(t))
	path := record.LogPath(store.Infos[0].Dir, 0)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for second := range 3 {
		var b strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&b, "line %d of second %d \x1b[31mred\x1b[0m\x07\n", i, second)
		}
		if _, err := f.WriteString(b.String()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		d.Advance(time.Second)
		d.Press("tab")
		d.View()
		if took := time.Since(begin); took > 10*time.Second { // some 20 ms; the painter's benchmarks tell the rest
			t.Errorf("a second of log takes %v", took)
		}
	}
	has(t, d.Text(), "line 4999 of second 2 red")
	if strings.Contains(d.View(), "\x07") {
		t.Error("a bell of the log reaches the terminal")
	}
}

// P18: a rank that spins in a collective is busy, but shown as communicating;
// what is not known is N/A, never 0.
func TestSpinningIsCommunication(t *testing.T) {
	r := btp(t)
	r.Exposed, r.Overlap = 0.8, 0
	d, _ := start(t, 120, 36, r)
	line := lineWith(d.Text(), "0  login03")
	has(t, line, " 98 ", " 14 ", "80")
	r.NoHealth = true
	d, _ = start(t, 120, 36, r)
	has(t, lineWith(d.Text(), "│    0 "), "N/A")
}

func lineWith(text, part string) string {
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

// P21: without news the frame is the same string, not drawn anew.
func TestNoNewsNoDrawing(t *testing.T) {
	done := fullRank(t)
	d, _, m := startScreen(t, 120, 36, done)
	r := layout.Rect{Y: 1, W: 120, H: 33}
	before := m.View(r)
	n := testing.AllocsPerRun(20, func() { m.View(r) })
	d.Send(msg.Tick{Owner: "somebody", Gen: 1})
	if after := m.View(r); after != before || n > 0 {
		t.Errorf("an unchanged view allocates %v times", n)
	}
}
