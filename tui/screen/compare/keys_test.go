package compare_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/compare"
	"boost-tui/tui/testkit"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"
)

func TestNothingDangerousOnALowerCaseKey(t *testing.T) {
	if bad := keys.Unsafe(compare.New().Keys()); len(bad) > 0 {
		t.Error(bad)
	}
}

func TestTheLatestComparableSetIsShownByItself(t *testing.T) {
	runs := three(t)
	older := three(t)[2]
	older.ID, older.End = "20261129-120001-tiny-cola-btp-tp4-oldx", testkit.Start.Add(-3*time.Hour)
	other := three(t)[2] // the latest, but of another batch: it has no partners
	other.ID, other.Experiment = "20261129-150001-tiny-cola-btp-tp4-lone", testkit.Experiment(t, "tp=4", "micro-batch=2")
	running := three(t)[2]
	running.ID, running.State = "20261129-151001-tiny-cola-btp-tp4-live", runner.Running
	d, _ := start(t, 120, 36, append([]testkit.RunDir{older}, append(runs, other, running)...)...)
	has(t, d.Text(), "#abcd", "#efgh", "#jkmn", "the latest comparable ones", "best: #jkmn")
	for _, id := range []string{"#oldx", "#lone", "#live"} {
		if strings.Contains(d.Text(), id) {
			t.Errorf("%s is in the set", id)
		}
	}
}

func TestIncomparableAndShortRunsAreMarkedAndNotBest(t *testing.T) {
	odd := three(t)[2]
	odd.ID, odd.Experiment, odd.Wall = "20261129-142001-tiny-cola-btp-tp4-pqrs", testkit.Experiment(t, "tp=4", "micro-batch=4"), 0.1
	short := three(t)[2]
	short.ID, short.Steps, short.Wall = "20261129-143001-tiny-cola-btp-tp4-tuvw", 12, 0.05
	d, store := start(t, 120, 36, append(three(t), odd, short)...)
	d.Send(compareAll(store))
	has(t, d.Text(), "≠ #pqrs", "~ #tuvw", "no verdict: #tuvw is short", "micro-batch 4 instead of 8")
	d.Press("i")
	has(t, d.Text(), "is short")
}

// What was measured beside an emulated link says so, in the table and over the bars.
func TestEmulatedLinkIsMarked(t *testing.T) {
	slowed := three(t)
	for i := range slowed {
		if err := slowed[i].Experiment.Set("link", "bw=2GB/s"); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []int{80, 120, 200} {
		d, store := start(t, w, 36, slowed...)
		d.Send(compareAll(store))
		has(t, d.Text(), "emulated link")
		d, store = start(t, w, 36, three(t)...)
		d.Send(compareAll(store))
		if strings.Contains(d.Text(), "emulated") {
			t.Errorf("marked for nothing:\n%s", d.Text())
		}
	}
	d, store := start(t, 120, 36, append(three(t)[:2], slowed[2])...)
	d.Send(compareAll(store))
	has(t, d.Text(), "≠ #jkmn", "link bw=2GB/s instead of none")
}

func TestAddRemoveReset(t *testing.T) {
	extra := three(t)[2]
	extra.ID = "20261129-110001-tiny-cola-btp-tp4-more"
	if err := extra.Experiment.Set("dp", "2"); err != nil {
		t.Fatal(err)
	}
	d, _ := start(t, 120, 36, append([]testkit.RunDir{extra}, three(t)...)...)
	d.Press("a")
	has(t, d.Text(), "Add a run", extra.ID, "btp tp 4 dp 2")
	d.Press("enter")
	has(t, d.Text(), "#more", "4 runs")
	d.Press("G", "x")
	if strings.Contains(d.Text(), "#more") {
		t.Errorf("x leaves the run\n%s", d.Text())
	}
	d.Press("0")
	has(t, d.Text(), "the latest comparable ones")
}

// Losses that not all steps led to are marked, and why stands among the figures.
func TestUpdatesThatWereLeftOutAreMarked(t *testing.T) {
	runs := three(t)
	runs[2].NaN = runs[2].Steps - 2
	d, store := start(t, 200, 50, runs...)
	d.Send(compareAll(store))
	d.Press("G", "enter")
	has(t, d.Text(), "updates left out", "3 of")
}

func TestReferencesFollowTheCursor(t *testing.T) {
	d, _ := start(t, 120, 36, three(t)...)
	d.Press("G", "v") // btp as the vanilla reference
	has(t, d.Text(), "V #jkmn", "vanilla #jkmn")
	d.Press("v")
	has(t, d.Text(), "V #efgh")
	d.Press("g", "b")
	has(t, d.Text(), "baseline full-rank #abcd")
}

func TestTheReasonsSumToTheDifference(t *testing.T) {
	d, _ := start(t, 120, 36, three(t)...)
	var sum, total float64
	for _, line := range strings.Split(d.Text(), "\n") {
		for _, name := range []string{"exposed comm  ", "compute alone  ", "compute hiding comm  ", "memory  ", "idle  ", "sum of means  "} {
			_, rest, ok := strings.Cut(line, "│  "+" "+name)
			if !ok {
				continue
			}
			var v float64
			if _, err := fmt.Sscanf(strings.NewReplacer("−", "-", "+", "").Replace(strings.TrimSpace(rest)), "%f", &v); err != nil {
				t.Fatalf("%q: %v", rest, err)
			}
			if name == "sum of means  " {
				total = v
			} else {
				sum += v
			}
		}
	}
	if total == 0 || sum-total > 0.3 || total-sum > 0.3 {
		t.Errorf("parts sum to %.1f, the difference is %.1f\n%s", sum, total, d.Text())
	}
}

func TestMetricSortPanesDetails(t *testing.T) {
	d, _ := start(t, 120, 36, three(t)...)
	d.Press("m")
	has(t, d.Text(), "Mean tokens per second")
	d.Press("m", "m", "m")
	has(t, d.Text(), "Loss over the steps")
	d.Press("o")
	has(t, d.Text(), "Sort by", "speed-up over the vanilla reference")
	d.Press("j", "enter")
	has(t, d.Text(), "sort: step time", "step m▲")
	d.Press("t")
	if strings.Contains(d.Text(), "Where a step goes") {
		t.Error("t does not show the table alone")
	}
	d.Press("t", "enter")
	has(t, d.Text(), "steps kept", "compute hiding comm ms", "left out at the start")
	d.Press("esc", "d")
	has(t, d.Text(), "keys equal", "≠ scheme")
	d.Press("esc", "i")
	has(t, d.Text(), "What to know")
	d2, _ := start(t, 80, 24, three(t)...)
	for _, want := range []string{"Where a step goes", "Speed-up", "over the steps", "Config diff"} {
		has(t, d2.Text(), want)
		d2.Press("t")
	}
}

func TestExportAndCopy(t *testing.T) {
	d, store := start(t, 120, 36, three(t)...)
	d.Press("E")
	has(t, d.Text(), "Export 3 runs", "exports/2026-11-29T15-20-00")
	d.Press("enter")
	if len(store.Exported) != 3 {
		t.Errorf("exported %v", store.Exported)
	}
	d.Press("y")
	if raw := string(d.Model.TakeRaw()); !strings.Contains(raw, "\x1b]52;") {
		t.Errorf("nothing for the clipboard: %q", raw)
	}
}

func TestDamagedRunHidesNoOther(t *testing.T) {
	d, store := start(t, 120, 36, three(t)...)
	store.Infos[1].Dir = t.TempDir() // no run there
	d.Send(compareAll(store), msg.Runs{Infos: store.Infos})
	d.Send(msg.References{Baseline: store.Infos[0].ID})
	has(t, d.Text(), "#abcd", "#jkmn", "left out")
}

// P7, P8: whatever the size, lines have the width and are as many as the height.
func TestEverySize(t *testing.T) {
	nan := three(t)
	nan[2].NaN = 3
	short := three(t)[:1]
	short[0].Steps = 1
	for name, runs := range map[string][]testkit.RunDir{"empty": nil, "normal": three(t), "nan": nan, "short": short} {
		d, _ := start(t, 80, 24, runs...)
		for w := 20; w <= 250; w += 13 {
			for h := 5; h <= 80; h += 5 {
				d.Resize(w, h)
				testkit.CheckSize(t, fmt.Sprintf("%s %dx%d", name, w, h), d.View(), w, h)
				if h%10 == 0 {
					d.Press("t", "m")
				}
			}
		}
	}
}

// P10: with --ascii every byte is plain.
func TestASCII(t *testing.T) {
	root := t.TempDir()
	store := &testkit.Store{}
	odd := three(t)[2]
	odd.ID, odd.Experiment = "20261129-142001-tiny-cola-btp-tp4-pqrs", testkit.Experiment(t, "tp=4", "micro-batch=4")
	for _, r := range append(three(t), odd) {
		store.Infos = append(store.Infos, r.Write(t, root))
	}
	env := testkit.Env(t, store)
	env.Theme = theme.New(theme.Options{ASCII: true, Plain: true, Profile: termenv.Ascii})
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(compare.New())})
	d.Send(compareAll(store))
	has(t, d.Text(), "! #pqrs", "2.05x")
	for _, b := range []byte(d.View()) {
		if (b < 0x20 || b > 0x7e) && b != '\n' {
			t.Fatalf("byte %#x in\n%s", b, d.View())
		}
	}
}

// P5: the answer to an earlier question, late, changes nothing.
func TestLateAnswersAreIgnored(t *testing.T) {
	root := t.TempDir()
	var infos []runner.Info
	for _, r := range three(t) {
		infos = append(infos, r.Write(t, root))
	}
	m := compare.New()
	env := testkit.Env(t, &testkit.Store{})
	env.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	m.Init(env)
	m.Update(msg.Runs{Infos: infos})
	first, _ := m.Update(msg.Shown{Screen: compare.ID})
	second, _ := m.Update(msg.CompareRuns{IDs: []string{infos[0].ID, infos[2].ID}})
	m.Update(second())
	before := m.View(layout.Rect{W: 120, H: 33})
	m.Update(first())
	if after := m.View(layout.Rect{W: 120, H: 33}); after != before || strings.Contains(after, "#efgh") {
		t.Errorf("the earlier answer is shown\n%s", after)
	}
}

// P21: without news the frame is the same string, not drawn anew.
func TestNoNewsNoDrawing(t *testing.T) {
	root := t.TempDir()
	store := &testkit.Store{}
	for _, r := range three(t) {
		store.Infos = append(store.Infos, r.Write(t, root))
	}
	m := compare.New()
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: testkit.Env(t, store), Screens: testkit.One(m)})
	d.Send(msg.RunsChanged{})
	r := layout.Rect{Y: 1, W: 120, H: 33}
	m.View(r)
	if n := testing.AllocsPerRun(20, func() { m.View(r) }); n > 0 {
		t.Errorf("an unchanged view allocates %v times", n)
	}
	if d.Timers() > 3 {
		t.Errorf("%d timers for runs that are over", d.Timers())
	}
}

func TestSession(t *testing.T) {
	m := compare.New()
	for _, junk := range []string{`{"runs":["x"],"metric":99,"sort":-3,"lower":17}`, `nonsense`, `{"metric":2,"sort":3,"down":true,"lower":1}`} {
		m.Load([]byte(junk))
	}
	saved := m.Save()
	n := compare.New()
	n.Load(saved)
	if string(n.Save()) != string(saved) {
		t.Errorf("%s becomes %s", saved, n.Save())
	}
}
