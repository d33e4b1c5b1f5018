package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/runs"
	"boost-tui/tui/testkit"
)

// summary is what an agent writes at the end of a run.
func summary(ms float64, loss string) *runner.Result {
	s := ms / 1000
	text := fmt.Sprintf(`{"steps":100,"loss_last":%s,"step_time_median":%g,"tokens_per_second":%g,"comm_bytes_per_step":2621440,"peak_memory":314572800,
		"breakdown":{"compute":%g,"comm":%g,"comm_exposed":%g,"comm_wait":%g,"comm_transfer":%g,"overlap":%g,"memory":%g,"idle":%g}}`,
		loss, s, 1024/s, s*0.6, s*0.4, s*0.3, s*0.1, s*0.3, s*0.1, s*0.02, s*0.08)
	return &runner.Result{Schema: 1, State: runner.Finished, Summary: json.RawMessage(text)}
}

func store(t *testing.T) *testkit.Store {
	s := &testkit.Store{}
	add := func(id string, age time.Duration, state runner.State, result *runner.Result, settings ...string) *runner.Info {
		in := testkit.Info(id, testkit.Experiment(t, settings...), state)
		in.Run.Created = testkit.Start.Add(-age)
		in.Result = result
		if state.Over() {
			in.Ended = in.Run.Created.Add(95 * time.Second)
			if in.Result == nil {
				in.Result = &runner.Result{}
			}
			in.Result.Started, in.Result.Ranks = in.Run.Created, []runner.RankExit{{}}
		}
		s.Infos = append(s.Infos, in)
		return &s.Infos[len(s.Infos)-1]
	}
	add("0801-full-a1", 50*time.Hour, runner.Finished, summary(41.04, "4.298"), "variant=full", "tp=2")
	add("0801-van-b2", 3*time.Hour, runner.Finished, summary(36.31, "4.301"), "scheme=vanilla", "tp=2").Tags = []string{"ref"}
	add("0802-btp-c3", 2*time.Hour, runner.Finished, summary(20.13, "4.301"), "tp=2", "name=best so far").Note = "keep this one"
	add("0803-btp-d4", time.Hour, runner.Failed, nil, "tp=4").Cause = "rank 2 was killed by signal 9 at step 41, operation all-reduce qkv, layer 3"
	add("0804-svd-e5", 10*time.Minute, runner.Lost, nil, "variant=svd")
	add("0805-svd-f6", 5*time.Minute, runner.Cancelled, nil, "variant=svd", "tp=2")
	add("0806-btp-g7", time.Minute, runner.Running, nil, "tp=2", "rank=16")
	bad := add("0806-bad-h8", 30*time.Second, runner.Lost, nil)
	bad.Err, bad.Run.Name = errors.New("run.json is damaged: unexpected end of JSON input"), "\x1b[31mevil\x1b]0;title\x07\u202e漢字\u200b"
	return s
}

// What a run has beside tp stands in the list, in its heading, and can be asked for.
func TestDegreesBesideTPAreShown(t *testing.T) {
	s := store(t)
	in := testkit.Info("0807-btp-i9", testkit.Experiment(t, "tp=2", "dp=2", "pp=2", "zero=1", "name=wide"), runner.Finished)
	in.Run.Created = testkit.Start
	s.Infos = append(s.Infos, in)
	d := start(t, 200, 50, s)
	if text := d.Text(); !strings.Contains(text, "dp 2 pp 2 zero 1 wide") || !strings.Contains(text, "btp tp 2 dp 2 pp 2 zero 1") {
		t.Errorf("the degrees are not shown:\n%s", text)
	}
	d.Press("/")
	d.Type("pp:2 zero>=1")
	d.Press("enter")
	if text := d.Text(); !strings.Contains(text, "#i9") || strings.Contains(text, "#g7") {
		t.Errorf("the filter does not know pp:\n%s", text)
	}
}

func start(t *testing.T, w, h int, s *testkit.Store) *testkit.Driver {
	return testkit.NewDriver(t, w, h, app.Options{Env: testkit.Env(t, s), Screens: testkit.One(runs.New())})
}

func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{120, 36}, {80, 24}, {60, 20}, {200, 50}} {
		d := start(t, size[0], size[1], store(t))
		d.Press("down", "down")
		testkit.Golden(t, fmt.Sprintf("normal_%dx%d", size[0], size[1]), d.View(), size[0], size[1])
	}
	d := start(t, 80, 24, &testkit.Store{})
	testkit.Golden(t, "empty_80x24", d.View(), 80, 24)
	d = start(t, 80, 24, &testkit.Store{Errs: []error{errors.New("list the runs: permission denied")}})
	testkit.Golden(t, "error_80x24", d.View(), 80, 24)
}

// P7, P8: every size is filled exactly and nothing is refused above 40x10.
func TestEverySize(t *testing.T) {
	s := store(t)
	d := start(t, 80, 24, s)
	for w := 20; w <= 250; w += 23 {
		for h := 5; h <= 80; h += 11 {
			d.Resize(w, h)
			testkit.CheckSize(t, fmt.Sprintf("%dx%d", w, h), d.View(), w, h)
		}
	}
	d.Resize(40, 10)
	if !strings.Contains(d.Text(), "#g7") {
		t.Errorf("no run at 40x10:\n%s", d.Text())
	}
}

func TestFilterFollowsTyping(t *testing.T) {
	d := start(t, 120, 36, store(t))
	for _, c := range []struct{ text, want string }{
		{"scheme:btp", "6 of 8"}, {"tp>=4", "1 of 8"}, {"-state:done", "5 of 8"}, {"state:done scheme:btp", "1 of 8"}, {"ms<30", "1 of 8"},
		{"tag:ref", "1 of 8"}, {"keep", "1 of 8"}, {"started<2h", "5 of 8"}, {"nonsense:1", "no field"}, {"variant=svd", "2 of 8"},
	} {
		d.Press("/")
		d.Type(c.text)
		if !strings.Contains(d.Text(), c.want) {
			t.Errorf("/%s: no %q in\n%s", c.text, c.want, d.Text())
		}
		d.Press("enter", "/") // one that makes no sense is not taken: it stays open
		if open := strings.Contains(d.Text(), "no field"); open != (c.want == "no field") {
			t.Errorf("/%s after enter:\n%s", c.text, d.Text())
		}
		d.Press("ctrl+u", "enter", "/")
		d.Press("esc")
		if !strings.Contains(d.Text(), "8 of 8") && !strings.Contains(d.Text(), "damaged") {
			t.Errorf("esc did not restore the list:\n%s", d.Text())
		}
	}
}

// P12: destructive keys are capitals, ask, default to No and name the run.
func TestCancelAsks(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("down") // the running one
	d.Press("K")
	text := d.Text()
	if !strings.Contains(text, "0806-btp-g7") || !strings.Contains(text, "[ No ]") || !strings.Contains(text, "y yes") {
		t.Fatalf("the dialog lacks the run, the default or its keys:\n%s", text)
	}
	d.Press("enter")
	if len(s.Cancelled) != 0 {
		t.Fatal("enter alone cancelled the run")
	}
	d.Press("K", "y")
	if fmt.Sprint(s.Cancelled) != "[0806-btp-g7]" {
		t.Fatalf("cancelled %v", s.Cancelled)
	}
}

func TestDeleteAsksAndRefusesWhatRuns(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("down", "D")
	if strings.Contains(d.Text(), "Delete 1") || !strings.Contains(d.Text(), "cancel it first") {
		t.Fatalf("a running run could be deleted:\n%s", d.Text())
	}
	d.Press("down", "space", "space", "D", "left", "enter")
	if fmt.Sprint(s.Removed) != "[0805-svd-f6 0804-svd-e5]" {
		t.Fatalf("removed %v", s.Removed)
	}
	if strings.Contains(d.Text(), "#e5") {
		t.Errorf("a deleted run is still shown:\n%s", d.Text())
	}
	if d.Press("u"); !strings.Contains(d.Text(), "brought back 2 runs") || !strings.Contains(d.Text(), "#e5") {
		t.Errorf("undo brings nothing back:\n%s", d.Text())
	}
	if d.Press("u"); !strings.Contains(d.Text(), "nothing to take back") {
		t.Errorf("there is more to take back:\n%s", d.Text())
	}
}

// The dialog names exactly what goes, says that it was marked, and how it comes back.
func TestDeleteNamesWhatIsMarked(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("G", "D")
	if text := d.Text(); !strings.Contains(text, "Delete this run?") || !strings.Contains(text, "0801-full-a1 (") || !strings.Contains(text, "u brings it back") || strings.Contains(text, "0801-van-b2 (") {
		t.Errorf("one run:\n%s", text)
	}
	d.Press("esc", "k", "k", "k", "space", "space", "D")
	text := d.Text()
	for _, want := range []string{"Delete 2 marked runs?", "0803-btp-d4 (", "0802-btp-c3 best so far (", "#b2 under the cursor is not marked"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	d.Press("y")
	if fmt.Sprint(s.Removed) != "[0803-btp-d4 0802-btp-c3]" {
		t.Errorf("removed %v", s.Removed)
	}
}

func TestReadOnly(t *testing.T) {
	s := store(t)
	env := testkit.Env(t, s)
	env.ReadOnly = true
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(runs.New())})
	d.Press("down", "K", "y", "D", "y", "n", "enter", "u")
	if len(s.Cancelled)+len(s.Removed) != 0 || !strings.Contains(d.Text(), "read-only") {
		t.Errorf("read-only was ignored: %v %v\n%s", s.Cancelled, s.Removed, d.Text())
	}
}

func TestTagsNotesAndUndo(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("G", "#")
	d.Type("best fast")
	d.Press("enter")
	in, _ := s.Load("0801-full-a1")
	if fmt.Sprint(in.Tags) != "[best fast]" {
		t.Fatalf("tags %v", in.Tags)
	}
	d.Press("n")
	d.Type("hello")
	d.Press("enter", "u", "u")
	in, _ = s.Load("0801-full-a1")
	if in.Note != "" || len(in.Tags) != 0 {
		t.Errorf("after undo: %q %v", in.Note, in.Tags)
	}
}

func TestExportAsksForAFolder(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("*", "E")
	if !strings.Contains(d.Text(), "Export 8 runs") {
		t.Fatalf("no dialog:\n%s", d.Text())
	}
	d.Press("enter")
	if len(s.Exported) != 8 || !strings.Contains(d.Text(), "wrote 1 file") {
		t.Errorf("exported %v\n%s", s.Exported, d.Text())
	}
}

func TestActionErrorsAreShown(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	s.Fail = errors.New("no space left on device")
	d.Press("n", "enter")
	if !strings.Contains(d.Text(), "no space left") {
		t.Errorf("the error is not shown:\n%s", d.Text())
	}
}

// Untrusted text reaches the screen without its control characters.
func TestHostileNames(t *testing.T) {
	d := start(t, 120, 36, store(t))
	if v := d.View(); strings.ContainsAny(v, "\x07\u202e\u200b") || strings.Contains(v, "\x1b]") {
		t.Error("control characters of a run's name reached the screen")
	}
}

// The cursor stays on its run while others come.
func TestCursorStays(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("down", "down")
	s.Infos = append(s.Infos, testkit.Info("0900-new", testkit.Experiment(t), runner.Running))
	s.Infos[len(s.Infos)-1].Run.Created = testkit.Start
	d.Advance(2 * time.Second)
	if !strings.Contains(d.Text(), "▸ ■ #f6") || !strings.Contains(d.Text(), "#new") {
		t.Errorf("the cursor moved or the new run is missing:\n%s", d.Text())
	}
}

// A run that waits for another one says so, and its time counts from its ranks' start.
func TestWaitingRun(t *testing.T) {
	s := store(t)
	in := testkit.Info("0807-btp-i9", testkit.Experiment(t, "tp=2"), runner.Pending)
	in.Run.Created, in.Run.After, in.Cause = testkit.Start, "0806-btp-g7", "waits for 0806-btp-g7"
	s.Infos = append(s.Infos, in)
	d := start(t, 120, 36, s)
	if text := d.Text(); !strings.Contains(text, "pending") || !strings.Contains(text, "waits for 0806-btp-g7") {
		t.Errorf("no word of what it waits for:\n%s", text)
	}
	done := &s.Infos[len(s.Infos)-1]
	done.State, done.Cause, done.Result = runner.Finished, "", summary(20, "4.3")
	done.Result.Started, done.Ended = testkit.Start.Add(time.Hour), testkit.Start.Add(time.Hour+42*time.Second)
	d.Advance(2 * time.Hour)
	d.Send(msg.RunsChanged{})
	if text := d.Text(); !strings.Contains(text, ", 42 s") {
		t.Errorf("its duration is not that of its ranks:\n%s", text)
	}
}
