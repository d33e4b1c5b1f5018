package live_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"
)

func TestNothingDangerousOnALowerCaseKey(t *testing.T) {
	if bad := keys.Unsafe(live.New().Keys()); len(bad) > 0 {
		t.Error(bad)
	}
}

func TestRunsAreWalkedThrough(t *testing.T) {
	d, _ := start(t, 120, 36, fullRank(t), vanilla(t), btp(t))
	has(t, d.Text(), "1129-1502-btp")
	d.Press("[")
	has(t, d.Text(), "finished 1129-1430-vanilla", "step 200/200", "✓ done")
	d.Press("[", "[")
	has(t, d.Text(), "finished 1129-1400-full")
	d.Press("]", "]")
	has(t, d.Text(), "running 1129-1502-btp")
}

func TestAnotherRunThatStartsIsShownUnlessOneWasChosen(t *testing.T) {
	for _, choose := range []bool{false, true} {
		d, store := start(t, 120, 36, fullRank(t), vanilla(t))
		want := "1129-1502-btp"
		if choose {
			d.Press("[")
			want = "1129-1400-full"
		}
		next := btp(t).Write(t, t.TempDir())
		store.Infos = append(store.Infos, next)
		d.Send(msg.RunsChanged{})
		has(t, d.Text(), want)
	}
}

func TestOneCursorForAllCharts(t *testing.T) {
	d, _ := start(t, 120, 36, btp(t))
	d.Press("left", "left")
	text := d.Text()
	if strings.Count(text, "┆") < 4 {
		t.Errorf("no cursor in both charts\n%s", text)
	}
	d.Press("home")
	has(t, d.Text(), "step 1: 2", "step 1: 5.521")
	d.Press("end")
	has(t, d.Text(), "step 148: 19", "step 148: 2.47")
	d.Press("esc")
	if strings.Contains(d.Text(), "┆") {
		t.Error("esc leaves the cursor")
	}
}

func TestZoomKeepsTheEndInSightAndResets(t *testing.T) {
	d, _ := start(t, 120, 36, btp(t))
	d.Press("+")
	has(t, d.Text(), "steps 75–148", "step 148")
	d.Press("+", "+", "+", "+", "+", "+", "+")
	has(t, d.Text(), "steps 141–148")
	d.Press("left", "left", "left", "left", "left", "left", "left", "left", "left", "left")
	has(t, d.Text(), "step 138")
	d.Press("0", "esc")
	if strings.Contains(d.Text(), "steps 1") {
		t.Errorf("0 does not show everything\n%s", d.Text())
	}
	d.Press("-", "-")
	has(t, d.Text(), " 1   ")
}

func TestScaleSmoothingPause(t *testing.T) {
	d, _ := start(t, 120, 36, btp(t))
	d.Press("y")
	has(t, d.Text(), "Step time ms  log")
	d.Press("y", "s")
	has(t, d.Text(), "EMA 0.9")
	d.Press("s", "s")
	if strings.Contains(d.Text(), "EMA") {
		t.Error("s does not come back to the raw line")
	}
	d.Press("p")
	has(t, d.Text(), "paused")
	d.Press("p")
	if strings.Contains(d.Text(), "paused") {
		t.Error("p does not go on")
	}
}

func TestPauseFreezesWhileReadingGoesOn(t *testing.T) {
	r := btp(t)
	d, store := start(t, 120, 36, r)
	d.Press("p")
	appendSteps(t, store.Infos[0].Dir, r, 149, 160)
	d.Advance(2 * time.Second)
	if strings.Contains(d.Text(), "step 160 ") {
		t.Errorf("the ranks moved while paused\n%s", d.Text())
	}
	has(t, d.Text(), "step 160/200")
	d.Press("p")
	has(t, d.Text(), "step 160  ")
}

func TestNewStepsArriveOnceASecond(t *testing.T) {
	r := btp(t)
	d, store := start(t, 120, 36, r)
	appendSteps(t, store.Infos[0].Dir, r, 149, 150)
	d.Advance(900 * time.Millisecond)
	has(t, d.Text(), "step 148/200")
	d.Advance(200 * time.Millisecond)
	has(t, d.Text(), "step 150/200")
}

func TestTheEndOfARunIsRead(t *testing.T) {
	r := btp(t)
	d, store := start(t, 120, 36, r)
	appendSteps(t, store.Infos[0].Dir, r, 149, 200)
	store.Infos[0].State = runner.Finished
	d.Advance(3 * time.Second)
	has(t, d.Text(), "✓ finished", "step 200/200")
	n := d.Timers()
	d.Advance(time.Minute)
	if d.Timers() > n {
		t.Errorf("%d timers after the end, %d before", d.Timers(), n)
	}
}

func TestStaleData(t *testing.T) {
	d, _ := start(t, 120, 36, btp(t))
	d.Advance(10 * time.Second)
	has(t, d.Text(), "stale: 10 s old")
}

func TestCancelAsksAndNoIsTheDefault(t *testing.T) {
	d, store := start(t, 120, 36, btp(t))
	d.Press("K")
	has(t, d.Text(), "Cancel the run?", "1129-1502-btp", "[ No ]", "y yes")
	d.Press("enter")
	if len(store.Cancelled) > 0 {
		t.Fatal("enter cancelled")
	}
	d.Press("K", "y")
	if len(store.Cancelled) != 1 || store.Cancelled[0] != "1129-1502-btp" {
		t.Fatalf("cancelled %v", store.Cancelled)
	}
	has(t, d.Text(), "cancelled 1129-1502-btp")
	d.Press("K")
	has(t, d.Text(), "no running run")
}

func TestLog(t *testing.T) {
	d, _ := start(t, 120, 36, failed(t))
	has(t, d.Text(), "fatal error: rank 1 is gone", "Log  rank 1")
	d.Press("l", "e")
	if strings.Contains(d.Text(), "step 147 ") {
		t.Error("e shows lines that are no errors")
	}
	d.Press("e", ")")
	has(t, d.Text(), "Log  rank 2")
	d.Press("/")
	d.Type("fatal")
	d.Press("enter")
	has(t, d.Text(), "/fatal")
	d.Press("l")
	d2, _ := start(t, 80, 24, failed(t))
	d2.Press("l")
	has(t, d2.Text(), "Log  rank 1", "fatal error")
}

func TestReferencesAreMarked(t *testing.T) {
	d, _ := start(t, 120, 36, fullRank(t), vanilla(t), btp(t))
	d.Press("[", "v", "[", "b", "]", "]")
	has(t, d.Text(), "full-rank", "2.05×", "1.80×", "mean 360.0")
}

func TestPartsInNumbers(t *testing.T) {
	d, _ := start(t, 120, 36, btp(t))
	d.Press("enter")
	has(t, d.Text(), "Where a mean step goes", "compute hiding communication", "waiting for other ranks", "sum to the step")
}

func TestManyRanksArePaged(t *testing.T) {
	r := btp(t)
	r.Experiment = testkit.Experiment(t, "tp=4", "steps=20")
	r.Experiment.Parallel.TP, r.Ranks, r.Steps = 20, 20, 5
	d, _ := start(t, 120, 36, r)
	has(t, d.Text(), "20 ranks", "page 1 of 3")
	d.Press("n", "n", "n")
	has(t, d.Text(), "page 3 of 3", "  19  login03")
	d.Press("N")
	has(t, d.Text(), "page 2 of 3", "   8  login03")
}

// Where stages and replicas are several, each rank's line says of which it is, as far as there is room.
func TestRanksNameTheirStageAndReplica(t *testing.T) {
	r := btp(t)
	r.Experiment = testkit.Experiment(t, "tp=2", "dp=2", "pp=2", "zero=1", "steps=20")
	r.Ranks, r.Steps = 8, 5
	d, _ := start(t, 160, 40, r)
	has(t, d.Text(), "stage  replica", "   5    2/2      1/2  login03", "dp2 pp2 zero1")
	d.Resize(80, 24)
	if strings.Contains(d.Text(), "replica") {
		t.Errorf("there is no room for stages:\n%s", d.Text())
	}
	d, _ = start(t, 160, 40, btp(t))
	if strings.Contains(d.Text(), "replica") {
		t.Errorf("one replica is named:\n%s", d.Text())
	}
}

func TestSessionKeepsTheRun(t *testing.T) {
	d, _, shown := startScreen(t, 120, 36, fullRank(t), vanilla(t), btp(t))
	d.Press("[", "y")
	m, saved := live.New(), shown.Save()
	m.Load(saved)
	if string(m.Save()) != string(saved) {
		t.Errorf("saved %s, loaded %s", saved, m.Save())
	}
	m.Load([]byte(`{"focus":99,"smooth":-4}`))
	m.Load([]byte(`nonsense`))
}

// A run that was just launched is not listed yet. It is shown as soon as it is,
// and does not keep the next one of a chain away.
func TestALaunchedRunIsFollowedAndTheNextOneToo(t *testing.T) {
	d, store := start(t, 120, 36, fullRank(t))
	first := btp(t)
	d.Send(msg.OpenRun{ID: first.ID})
	root := t.TempDir()
	store.Infos = append(store.Infos, first.Write(t, root))
	d.Send(msg.RunsChanged{})
	has(t, d.Text(), "running "+first.ID)
	next := btp(t)
	next.ID = "1129-1510-next"
	store.Infos[1].State = runner.Finished
	store.Infos = append(store.Infos, next.Write(t, root))
	d.Send(msg.RunsChanged{})
	has(t, d.Text(), "running "+next.ID)
}

func TestARestoredRunGivesWayToOneThatGoesOn(t *testing.T) {
	for _, going := range []bool{false, true} {
		root := t.TempDir()
		old, latest := fullRank(t), btp(t)
		if !going {
			latest.State = runner.Finished
		}
		store := &testkit.Store{Infos: []runner.Info{old.Write(t, root), latest.Write(t, root)}}
		session := app.Session{Screens: map[string]json.RawMessage{live.ID: []byte(`{"run":"` + old.ID + `"}`)}}
		d := testkit.NewDriver(t, 120, 36, app.Options{Env: testkit.Env(t, store), Screens: testkit.One(live.New()), Session: session})
		want := old.ID
		if going {
			want = latest.ID
		}
		has(t, lineWith(d.Text(), "step "+map[bool]string{true: "148", false: "200"}[going]+"/200"), want)
	}
}

func TestACauseIsReadToItsEnd(t *testing.T) {
	r := failed(t)
	r.Cause = "rank 1: was killed by SIGKILL, from outside or for lack of memory (step 367, backward.l1.attn.core/qkv, waiting for its peers)"
	for _, size := range [][2]int{{120, 36}, {80, 24}, {60, 20}} {
		d, _ := start(t, size[0], size[1], r)
		text := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "\n", " ").Replace(d.Text())), " ")
		has(t, text, "lack of memory (step 367, backward.l1.attn.core/qkv, waiting for its peers)")
	}
}
