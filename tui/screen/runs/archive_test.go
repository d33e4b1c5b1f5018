package runs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/screen/runs"
	"boost-tui/tui/testkit"
)

func TestArchive(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("down", "a")
	if !strings.Contains(d.Text(), "what goes on is not archived") {
		t.Errorf("a running run was archived:\n%s", d.Text())
	}
	d.Press("down", "space", "space", "a") // f6, e5
	if text := d.Text(); !strings.Contains(text, "archived 2 runs") || strings.Contains(text, "#f6") || strings.Contains(text, "#e5") {
		t.Fatalf("archived runs are shown:\n%s", text)
	}
	d.Press("esc", ".")
	if text := d.Text(); !strings.Contains(text, "Runs, archived") || !strings.Contains(text, "#f6") || strings.Contains(text, "#g7") {
		t.Fatalf("only archived ones:\n%s", text)
	}
	d.Press(".")
	if text := d.Text(); !strings.Contains(text, "Runs, with archived") || !strings.Contains(text, "#f6") || !strings.Contains(text, "#g7") {
		t.Fatalf("all:\n%s", text)
	}
	d.Press(".", "/")
	d.Type("archived=on")
	d.Press("enter")
	if text := d.Text(); strings.Count(text, "archived  ") != 2 || strings.Contains(text, "#g7") {
		t.Errorf("the filter finds no archived ones:\n%s", text)
	}
	d.Press("esc", "u")
	if text := d.Text(); !strings.Contains(text, "put back 2 runs") || !strings.Contains(text, "#g7") || !strings.Contains(text, "#f6") || strings.Contains(text, "archived") {
		t.Errorf("undo:\n%s", text)
	}
}

// What part of a deletion succeeded can be taken back, and the rest is said.
func TestAFailedDeletionIsSaid(t *testing.T) {
	s := store(t)
	d := start(t, 120, 36, s)
	d.Press("G")
	s.Fail = errors.New("no space left on device")
	d.Press("D", "y")
	if !strings.Contains(d.Text(), "0 of 1 deleted: no space left on device") {
		t.Errorf("nothing is said:\n%s", d.Text())
	}
}

// Runs are found by where they are, and ordered by what they take.
func TestPlacesAndDisk(t *testing.T) {
	s := store(t)
	in := testkit.Info("0807-btp-i9", testkit.Experiment(t, "tp=2", "where=slurm", "nodes=2", "partition=gpu"), runner.Finished)
	in.Run.Created, in.Run.Hosts, in.Result = testkit.Start, []string{"node1", "node2"}, summary(20, "4.3")
	in.Run.Restart, in.Result.RestartedAs = &runner.Restart{Of: "0807-btp-i8", Number: 2}, "0808-btp-j1"
	in.Dir = strings.Repeat("d", 900)
	s.Infos = append(s.Infos, in)
	d := start(t, 200, 50, s)
	for filter, want := range map[string]string{"where:slurm": "1 of 9", "where=local": "8 of 9", "host:node2": "1 of 9", "nodes>1": "1 of 9", "partition=gpu": "1 of 9", "host=login03": "8 of 9"} {
		d.Press("/", "ctrl+u")
		d.Type(filter)
		d.Press("enter")
		if !strings.Contains(d.Text(), want) {
			t.Errorf("%s: no %q in\n%s", filter, want, d.Text())
		}
	}
	d.Press("esc", "home")
	for _, want := range []string{"900 MiB", "disk 900 MiB, checkpoints 1.00 MiB, 42 files", "restart 2, of #i8", "goes on as #j1", "Slurm, 2 nodes, partition gpu: node1", "node2"} {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(d.Text(), "│", "")), " "), want) {
			t.Errorf("no %q in\n%s", want, d.Text())
		}
	}
	d.Press("space")
	if !strings.Contains(d.Text(), "1 marked, 900 MiB") {
		t.Errorf("the marked ones take nothing:\n%s", d.Text())
	}
}

// many is a store of n runs that are over.
func many(t testing.TB, n int) *testkit.Store {
	s := &testkit.Store{}
	e := testkit.Experiment(t, "tp=2")
	for i := range n {
		in := testkit.Info(fmt.Sprintf("08%06d-btp-x%05d", i, i), e, runner.Finished)
		in.Run.Created, in.Result, in.Ended = testkit.Start.Add(-time.Duration(n-i)*time.Minute), summary(20+float64(i%100), "4.3"), testkit.Start
		in.Tags = []string{fmt.Sprintf("t%d", i%7)}
		s.Infos = append(s.Infos, in)
	}
	s.Infos[n-1].State, s.Infos[n-1].Result = runner.Running, nil
	return s
}

// Of 5,000 runs the list is answered and drawn in time for a hand: the limits are many times what it takes.
func TestFiveThousandRuns(t *testing.T) {
	d := start(t, 120, 36, many(t, 5000))
	limit := 100 * time.Millisecond * 5
	timed := func(what string, do func()) {
		took := time.Hour
		for range 5 { // the best: others share the machine
			begin := time.Now()
			do()
			d.View()
			took = min(took, time.Since(begin))
		}
		t.Logf("%-12s %v", what, took)
		if took > limit {
			t.Errorf("%s takes %v", what, took)
		}
	}
	timed("down", func() { d.Press("down") })
	timed("a listing", func() { d.Advance(time.Second) })
	timed("end", func() { d.Press("G") })
	timed("filter", func() { d.Press("/", "ctrl+u"); d.Type("t3"); d.Press("enter") })
	timed("ms", func() { d.Press("/", "ctrl+u"); d.Type("ms<30"); d.Press("enter") })
	d.Press("esc")
	timed("sort", func() { d.Press("o", "down", "down", "enter") })
	timed("mark all", func() { d.Press("*") })
}

func BenchmarkListing5000(b *testing.B) {
	d := testkit.NewDriver(b, 120, 36, app.Options{Env: testkit.Env(b, many(b, 5000)), Screens: testkit.One(runs.New())})
	for b.Loop() {
		d.Advance(time.Second)
		d.View()
	}
}

// A run that waits to go on as another one is no failure yet.
func TestARunThatComesBack(t *testing.T) {
	s := store(t)
	in := testkit.Info("0807-btp-i9", testkit.Experiment(t, "tp=2", "max-restarts=2"), runner.Failed)
	in.Run.Created, in.Cause = testkit.Start, "host node2 was lost"
	s.Infos = append(s.Infos, in)
	env := testkit.Env(t, s)
	env.ComesBack = func(in runner.Info) string {
		return "waits to go on as restart 1 of 2: Slurm job 42 waits for nodes"
	}
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(runs.New())})
	if text := d.Text(); !strings.Contains(text, "to go on") || !strings.Contains(text, "it waits to go on as") || strings.Count(text, "to go on") != 2 {
		t.Errorf("it is not said once in the list and once beside it:\n%s", text)
	}
}

// Figures that leave updates out say so.
func TestUpdatesThatWereLeftOutAreSaid(t *testing.T) {
	s := store(t)
	in := testkit.Info("0807-btp-i9", testkit.Experiment(t, "tp=2"), runner.Finished)
	in.Run.Created, in.Result = testkit.Start, summary(20, "4.3")
	in.Result.Summary = []byte(strings.Replace(string(in.Result.Summary), `{"steps":100,`, `{"steps":100,"steps_left_out":3,`, 1))
	s.Infos = append(s.Infos, in)
	if text := start(t, 200, 50, s).Text(); !strings.Contains(text, "3 of 100 updates were left out") {
		t.Errorf("nothing is said:\n%s", text)
	}
}
