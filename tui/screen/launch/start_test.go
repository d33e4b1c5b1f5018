package launch_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/testkit"
)

// checkpointOf answers as the program does for a store with one checkpoint, of step 30.
func checkpointOf(was experiment.Experiment) func(*screen.Env) {
	return func(env *screen.Env) {
		env.Start = func(e experiment.Experiment) screen.Start {
			if e.Train.InitFrom != "" || e.Train.Resume != "" && e.Train.Resume != "kept" {
				return screen.Start{Err: errors.New("there is nothing of that name")}
			}
			out := screen.Start{Continued: &was}
			if e.Train.Steps <= 30 {
				out.Err = errors.New("the checkpoint is of step 30")
			}
			if e.Model.Rank != was.Model.Rank {
				out.Err = fmt.Errorf("rank is %d, the checkpoint's %d", e.Model.Rank, was.Model.Rank)
			}
			return out
		}
	}
}

// What L launches, the preview, and the same words in a shell are one experiment, which goes on from the checkpoint's.
func TestResumeTakesOverTheCheckpointsExperiment(t *testing.T) {
	was := testkit.Experiment(t, "tp=2", "micro-batch=4", "rank=16", "steps=60").Continued()
	s := &testkit.Store{}
	d := start(t, 200, 50, s, checkpointOf(was))
	set(d, "seed", "7")
	set(d, "resume", "kept")
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "boost-tui run --resume kept --detach") || !strings.Contains(text, "every rule holds") {
		t.Errorf("the form is not the checkpoint's experiment:\n%s", text)
	}
	set(d, "tp", "1")
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "boost-tui run --tp 1 --resume kept --detach") {
		t.Errorf("the preview does not say what differs from the checkpoint:\n%s", text)
	}
	d.Press("L", "y")
	want := was
	want.Parallel.TP, want.Train.Resume = 1, "kept"
	if len(s.Launched) != 1 || !reflect.DeepEqual(s.Launched[0], want) {
		t.Fatalf("launched %+v\nwant %+v", s.Launched, want)
	}
	d.Press("A")
	if !strings.Contains(d.Text(), "cannot start from the same weights") {
		t.Errorf("three models start from one checkpoint:\n%s", d.Text())
	}
}

// A start that `run` refuses stands among the rules, and L does not launch it.
func TestStartsThatCannotBeAreTold(t *testing.T) {
	was := testkit.Experiment(t, "rank=16", "steps=60").Continued()
	for _, c := range []struct{ key, value, want string }{
		{"rank", "32", "rank is 32, the checkpoint's 16"},
		{"steps", "20", "the checkpoint is of step 30"},
		{"resume", "gone", "there is nothing of that name"},
		{"init-from", "gone", "nothing of that name"},
	} {
		s := &testkit.Store{}
		d := start(t, 200, 50, s, checkpointOf(was))
		if c.key != "init-from" {
			set(d, "resume", "kept")
		}
		set(d, c.key, c.value)
		d.Advance(time.Second)
		d.Press("v")
		if text := d.Text(); !strings.Contains(text, c.want) || strings.Contains(text, "every rule holds") {
			t.Errorf("%s %s: it is not told:\n%s", c.key, c.value, text)
		}
		d.Press("esc", "L", "y")
		if len(s.Launched) != 0 {
			t.Errorf("%s %s: launched", c.key, c.value)
		}
	}
}

// A run that is edited keeps what it says, and its command is said over what it resumed.
func TestEditedRunIsSaidOverItsCheckpoint(t *testing.T) {
	was := testkit.Experiment(t, "tp=2", "rank=16", "steps=60").Continued()
	e := was
	e.Train.Resume, e.Train.Steps = "kept", 90
	d := start(t, 200, 50, &testkit.Store{}, checkpointOf(was))
	d.Send(msg.EditExperiment{Experiment: e})
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "boost-tui run --steps 90 --resume kept --detach") {
		t.Errorf("the command is another:\n%s", text)
	}
}
