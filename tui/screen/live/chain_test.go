package live_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/tui/app"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"
)

// A run that a machine failed leads to the one that goes on, and that says where it comes from.
func TestARestartIsFollowed(t *testing.T) {
	first := across(t, 2)
	d, store := start(t, 120, 36, first)
	d.Send(msg.OpenRun{ID: first.ID})
	next := across(t, 2)
	next.ID, next.Steps = "1129-1600-again", 20
	root := filepath.Dir(store.Infos[0].Dir)
	in := next.Write(t, root)
	in.Run.Restart = &runner.Restart{Of: first.ID, Number: 1}
	in.Run.Experiment.Where.MaxRestarts = 3
	old := &store.Infos[0]
	old.State, old.Cause = runner.Failed, "host node2 was lost"
	old.Result = &runner.Result{State: runner.Failed, Lost: []string{"node2"}, RestartedAs: in.ID}
	store.Infos = append(store.Infos, in)
	d.Send(msg.RunsChanged{})
	has(t, d.Text(), "running "+in.ID, "restart 1 of 3, goes on from")
	d.Press("[")
	has(t, d.Text(), "failed: host node2 was lost", "it goes on as", "✗ lost")
}

// Which host has which ranks, and whose clock is off, is what the agents say.
func TestHostsFileDecides(t *testing.T) {
	r := across(t, 2)
	d, store := start(t, 120, 36, r)
	has(t, d.Text(), "4-7")
	offset := int64(300e9)
	data, err := json.Marshal(map[string]any{"schema": 1, "hosts": []runner.Host{{Name: "node1", First: 0, Ranks: 6, OffsetNanos: new(int64)}, {Name: "node2", First: 6, Ranks: 2, OffsetNanos: &offset}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store.Infos[0].Dir, protocol.HostsFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		at := time.Now().Add(time.Duration(i) * time.Second)
		for _, host := range r.Hosts {
			if err := os.Chtimes(record.HealthPath(store.Infos[0].Dir, host), at, at); err != nil {
				t.Fatal(err)
			}
		}
		d.Advance(time.Second)
	}
	d.Press("h")
	has(t, lineWith(d.Text(), "node1"), "0-5")
	has(t, lineWith(d.Text(), "node2"), "6-7", "clock +300 s")
}

// Of a run that looks at its machines, what it found is shown, at every size, and its log in its place.
func TestAPreflightIsShown(t *testing.T) {
	r := across(t, 2)
	r.Steps, r.Evals = 0, nil
	d, store := start(t, 120, 36, r)
	store.Infos[0].Run.Preflight = &protocol.PreflightSpec{}
	d.Send(msg.RunsChanged{})
	has(t, d.Text(), "it takes a minute at most")
	found := protocol.Preflight{Seconds: 9, Nodes: make([]protocol.Node, 2), Checks: []protocol.Check{{What: "between nodes", Node: "node2\x1b[2J", Verdict: protocol.VerdictSlow, Found: "0.1 GB/s", Advice: "look at the cable"}}}
	if err := protocol.WritePreflight(store.Infos[0].Dir, found); err != nil {
		t.Fatal(err)
	}
	d.Advance(2 * time.Second)
	for _, size := range testkit.Sizes() {
		d.Resize(size[0], size[1])
		has(t, d.Text(), "slow   between nodes")
		testkit.CheckSize(t, sizeName(size), d.View(), size[0], size[1])
	}
	has(t, d.Text(), "do: look at the cable", "node2: 0.1 GB/s", "slow: 2 nodes")
	d.Press("l")
	has(t, d.Text(), "Log  rank 0")
}

// The time that a job has left is said, and counts down; shortly before its end it is a warning. What Slurm answers cannot
// reach the terminal.
func TestTheTimeThatAJobHasLeft(t *testing.T) {
	r := across(t, 2)
	r.Experiment.Where.Where = "slurm"
	root := t.TempDir()
	store := &testkit.Store{Infos: []runner.Info{r.Write(t, root)}}
	env := testkit.Env(t, store)
	left := 310.0
	env.Job = func(runner.Info) *runner.JobView {
		return &runner.JobView{ID: "42", State: "RUNNING", Nodes: "node[1-2]\x1b[2J", Partition: "gpu", Left: &left}
	}
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(live.New())})
	has(t, d.Text(), "Slurm job 42 on node[1-2], partition gpu, 5:10 left")
	d.Advance(3 * time.Second)
	has(t, d.Text(), "5:07 left")
	left = 200
	d.Advance(3 * time.Second)
	has(t, d.Text(), "! Slurm job 42 on node[1-2], partition gpu, 3:1", "left until its time limit ends it")
}

// A pending run says what its job waits for.
func TestAJobThatWaits(t *testing.T) {
	r := across(t, 2)
	r.State, r.Steps, r.Hosts, r.Evals, r.NoHealth = runner.Pending, 0, nil, nil, true
	r.Cause = "Slurm job 4711 waits for nodes that are free (Resources); place 3 of 12 in partition gpu; may start in 23 min (Sun 15:43)"
	for _, size := range goldenSizes {
		d, _ := start(t, size[0], size[1], r)
		testkit.Golden(t, "pending_"+sizeName(size), d.Text(), size[0], size[1])
	}
}

// A run that waits to go on as another one says so.
func TestARunThatComesBack(t *testing.T) {
	r := across(t, 2)
	r.State, r.Cause = runner.Failed, "host node2 was lost"
	r.Experiment.Where.MaxRestarts = 2
	store := &testkit.Store{Infos: []runner.Info{r.Write(t, t.TempDir())}}
	env := testkit.Env(t, store)
	back := "waits to go on as restart 1 of 2: Slurm job 42 \x1b[2Jwaits"
	env.ComesBack = func(runner.Info) string { return back }
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(live.New())})
	d.Send(msg.OpenRun{ID: r.ID})
	has(t, d.Text(), "failed: host node2 was lost", "it waits to go on as restart 1 of 2: Slurm job 42")
	back = ""
	d.Advance(time.Second)
	if text := d.Text(); strings.Contains(text, "waits to go on") {
		t.Errorf("it is not noticed that it comes back no more:\n%s", text)
	}
}
