package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/screen/launch"
	"boost-tui/tui/testkit"
)

func finished(t *testing.T, id string, ms float64, settings ...string) runner.Info {
	in := testkit.Info(id, testkit.Experiment(t, settings...), runner.Finished)
	in.Result = &runner.Result{Schema: 1, State: runner.Finished, Summary: json.RawMessage(fmt.Sprintf(`{"step_time_median":%g}`, ms/1000))}
	return in
}

// Runs that are going are named before another one starts beside them, and waiting is one of the choices.
func TestLaunchBesideOthers(t *testing.T) {
	s := &testkit.Store{Infos: []runner.Info{
		finished(t, "20261129-1400-aaaa", 20),
		testkit.Info("20261129-1400-bbbb", testkit.Experiment(t, "tp=2"), runner.Running),
		testkit.Info("20261129-1400-cccc", testkit.Experiment(t), runner.Running),
	}}
	s.Infos[2].Run.Host = "elsewhere"
	for _, key := range []string{"L", "A"} {
		d := start(t, 120, 36, s)
		d.Press(key)
		text := d.Text()
		for _, want := range []string{"1 other run of this machine", "#bbbb running: tiny cola, btp, tp 2", "now", "wait for #bbbb", "w wait"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", key, want, text)
			}
		}
		if strings.Contains(text, "#cccc running: ") || strings.Contains(text, "#aaaa running") {
			t.Errorf("%s: a run that is over or elsewhere is warned of:\n%s", key, text)
		}
	}
	d := start(t, 120, 36, s)
	d.Press("L", "w")
	if in := s.Infos[len(s.Infos)-1]; in.Run.After != "20261129-1400-bbbb" {
		t.Errorf("w launched after %q", in.Run.After)
	}
	d = start(t, 120, 36, s)
	d.Press("A", "y")
	if in := s.Infos[len(s.Infos)-3]; in.Run.After != "" {
		t.Errorf("y launched after %q", in.Run.After)
	}
}

// A run that another program started since the UI last looked is warned of all the same.
func TestLaunchBesideANewRun(t *testing.T) {
	for _, key := range []string{"L", "R", "A"} {
		s := &testkit.Store{}
		d := testkit.NewDriver(t, 120, 36, app.Options{Env: testkit.Env(t, s), Screens: testkit.One(launch.New()), RootChanged: func() int64 { return 1 }})
		d.Advance(time.Second)
		s.Infos = append(s.Infos, testkit.Info("20261129-1400-bbbb", testkit.Experiment(t), runner.Running))
		d.Press(key)
		if text := d.Text(); !strings.Contains(text, "1 other run of this machine") || !strings.Contains(text, "wait for #bbbb") {
			t.Errorf("%s: nothing warns of the new run:\n%s", key, text)
		}
	}
}

// A comparison needs steps: the checks and both dialogs say when there are too few, by what was measured here.
func TestTooFewSteps(t *testing.T) {
	d := start(t, 200, 50, &testkit.Store{})
	if text := d.Text(); !strings.Contains(text, "100 steps are likely too few for a verdict: take 400") {
		t.Errorf("no advice:\n%s", text)
	}
	s := &testkit.Store{Infos: []runner.Info{finished(t, "20261129-1400-aaaa", 50, "steps=20"), finished(t, "20261129-1400-bbbb", 1, "tp=2")}}
	d = start(t, 200, 50, s)
	for _, keys := range []string{"L", "A"} {
		d.Press(keys)
		if text := d.Text(); !strings.Contains(text, "take 250 (#aaaa took 50.0 ms a step") {
			t.Errorf("%s: no advice by #aaaa:\n%s", keys, text)
		}
		d.Press("esc")
	}
	focus(d, "steps")
	d.Press("enter", "2", "5", "0", "enter")
	if text := d.Text(); strings.Contains(text, "too few") {
		t.Errorf("250 steps are too few:\n%s", text)
	}
}

func TestLastLaunches(t *testing.T) {
	s := &testkit.Store{Infos: []runner.Info{finished(t, "20261129-1400-aaaa", 50), finished(t, "20261129-1400-bbbb", 1, "tp=2"), finished(t, "20261129-1500-cccc", 41, "name=x", "tags=y")}}
	d := start(t, 200, 50, s)
	if text := d.Text(); !strings.Contains(text, "last launches of this configuration:  #cccc finished 41.0 ms  #aaaa finished 50.0 ms") {
		t.Errorf("no last launches:\n%s", text)
	}
}

// A launch that takes long is told, and what came to nothing stays in the status line until something changes.
func TestLaunchProgress(t *testing.T) {
	s := &testkit.Store{}
	d := start(t, 120, 36, s)
	s.Fail = errors.New("the agent ended before it answered: exit status 1")
	d.Press("L", "y")
	d.Advance(20 * time.Second)
	if text := d.Text(); !strings.Contains(text, "the last launch failed: the agent ended") {
		t.Errorf("the failure is gone with its toast:\n%s", text)
	}
	s.Fail = nil
	d.Press("L", "y")
	if text := d.Text(); strings.Contains(text, "the last launch failed") {
		t.Errorf("the failure stays after a launch:\n%s", text)
	}
	// The agent dies after it has taken the run on.
	s.Infos[0].State, s.Infos[0].Cause = runner.Lost, "the agent is gone"
	d.Advance(2 * time.Second)
	if text := d.Text(); !strings.Contains(text, "lost: the agent is gone") {
		t.Errorf("no toast about the lost run:\n%s", text)
	}
	d.Advance(20 * time.Second)
	if text := d.Text(); !strings.Contains(text, "the last launch failed: run-01 lost") {
		t.Errorf("no status about the lost run:\n%s", text)
	}
}

// While the launch itself hangs the status counts and a toast says so.
func TestSlowLaunch(t *testing.T) {
	env := testkit.Env(t, &testkit.Store{})
	var d *testkit.Driver
	early, late := "", ""
	env.Launch = func(context.Context, experiment.Experiment, string) (string, error) {
		d.Advance(2 * time.Second)
		early = d.Text()
		d.Advance(4 * time.Second)
		late = d.Text()
		return "run-01", nil
	}
	d = testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(launch.New())})
	d.Press("L", "y")
	if !strings.Contains(early, "launching tiny cola, btp, tp 1, rank 32 … 2 s") {
		t.Errorf("the status does not count:\n%s", early)
	}
	if !strings.Contains(late, "takes long: no agent has answered for 5 s") {
		t.Errorf("nothing says that it takes long:\n%s", late)
	}
	if text := d.Text(); strings.Contains(text, "launching") {
		t.Errorf("it still launches:\n%s", text)
	}
}

// Small terminals have the preview behind a key; the memory pane tells the sum per rank, of all, and the head-room.
func TestPreviewAndHeadRoom(t *testing.T) {
	d := start(t, 80, 24, &testkit.Store{})
	focus(d, "tp")
	d.Press("right")
	d.Advance(time.Second)
	for _, want := range []string{"total", "all 2 ranks", "micro-batch up to"} {
		if text := d.Text(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	d.Press("v")
	if text := d.Text(); !strings.Contains(text, "boost-tui run --tp 2 --detach") || !strings.Contains(text, "every rule holds") || !strings.Contains(text, "too few") {
		t.Errorf("preview:\n%s", text)
	}
	d.Press("esc", "R")
	if text := d.Text(); !strings.Contains(text, "Yes, launch") {
		t.Errorf("R does not launch:\n%s", text)
	}
}
