package live_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"
)

// across is a run of 8 ranks on so many hosts, of which the second is slow.
func across(t testing.TB, hosts int) testkit.RunDir {
	r := btp(t)
	r.Ranks, r.SlowHost = 8, 1
	r.Experiment = testkit.Experiment(t, "tp=4", "dp=2", "steps=200")
	for i := range hosts {
		r.Hosts = append(r.Hosts, fmt.Sprintf("node%d", i+1))
	}
	r.Evals = []float64{4.5, 3.6, 3.1, 2.9, 2.75, 2.7, 2.66, 2.62, 2.6, 2.58, 2.57, 2.56, 2.55, 2.545}
	return r
}

func TestHostGoldens(t *testing.T) {
	lost := across(t, 2)
	lost.State, lost.Cause, lost.Lost = runner.Failed, "host node2 was lost: it has been silent for 15 s", []string{"node2"}
	for name, r := range map[string]testkit.RunDir{"hosts": across(t, 2), "hostlost": lost} {
		for _, size := range goldenSizes {
			t.Run(fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), func(t *testing.T) {
				d, _ := start(t, size[0], size[1], r)
				d.Press("h")
				testkit.Golden(t, fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), d.Text(), size[0], size[1])
			})
		}
	}
}

// many is a run of 64 hosts of 8 ranks each.
func many(t testing.TB) testkit.RunDir {
	r := testkit.RunDir{ID: "1129-1510-many", Experiment: testkit.Experiment(t, "steps=200"), State: runner.Running, Ranks: 512, Steps: 140, SlowHost: 36}
	r.Experiment.Parallel.DP = 512
	for i := range 64 {
		r.Hosts = append(r.Hosts, fmt.Sprintf("n%03d", i))
	}
	return r
}

// All of 64 hosts are reached: by scrolling, by a filter, and the slowest first by sorting.
func TestSixtyFourHosts(t *testing.T) {
	d, _ := start(t, 80, 24, many(t))
	d.Press("h")
	has(t, d.Text(), "64 hosts  512 ranks", "n000", "64 lines")
	d.Press("G")
	has(t, d.Text(), "n063")
	d.Press("g", "o")
	has(t, d.Text(), "sort: slowest")
	lines := strings.Split(d.Text(), "\n")
	if !strings.Contains(lines[3], "n036") {
		t.Errorf("the slowest host is not the first:\n%s", d.Text())
	}
	d.Press("enter", "j", "j")
	has(t, d.Text(), "rank 288", "rank 290")
	d.Press("enter") // the rank's log
	has(t, d.Text(), "Log  rank 289")
	d.Press("h", "/")
	d.Type("n06")
	has(t, d.Text(), "4 of 64 hosts")
	d.Press("enter")
	has(t, d.Text(), "4 of 64 hosts", "/n06")
	if strings.Contains(d.Text(), "› n036") {
		t.Errorf("the filter lets others pass:\n%s", d.Text())
	}
	d.Press("esc")
	has(t, d.Text(), "64 hosts  512 ranks")
	d.Press("/")
	d.Type("late<1")
	d.Press("enter")
	has(t, d.Text(), "63 of 64 hosts", "n036 is late: it waits 0.0 %")
	d.Press("esc", "h") // all ranks in one list
	has(t, d.Text(), "512 ranks", "page 1 of 64")
}

// A host that falls silent is seen by the file system's time and by the own clock, never by its own.
func TestASilentHost(t *testing.T) {
	r := across(t, 2)
	r.End = testkit.Start.Add(-5 * time.Minute) // clocks of these machines are that far behind
	d, store := start(t, 120, 36, r)
	d.Press("h")
	has(t, d.Text(), "now")
	if strings.Contains(d.Text(), "stale") || strings.Contains(d.Text(), "silent") {
		t.Errorf("another machine's clock counts:\n%s", d.Text())
	}
	path := record.HealthPath(store.Infos[0].Dir, "node1")
	for i := range 20 {
		at := time.Now().Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		d.Advance(time.Second)
		if i == 7 {
			has(t, lineWith(d.Text(), "node2"), "! silent for 8 s")
		}
	}
	has(t, lineWith(d.Text(), "node2"), "silent for 20 s")
	if line := lineWith(d.Text(), "node1"); strings.Contains(line, "silent") {
		t.Errorf("node1 is well: %s", line)
	}
	// Opened by somebody else now, the same is seen.
	again := testkit.NewDriver(t, 120, 36, app.Options{Env: testkit.Env(t, store), Screens: testkit.One(live.New())})
	again.Press("h")
	has(t, lineWith(again.Text(), "node2"), "silent for 1")
}

// Names of hosts come from files.
func TestHostileHostNames(t *testing.T) {
	r := across(t, 2)
	r.Hosts = []string{"\x1b]0;evil\x07node\x1b[31m\u202e", strings.Repeat("x", 5000)}
	r.State, r.Cause = runner.Failed, "host \x1b[2J "+strings.Repeat("y", 5000)
	in := testkit.Info(r.ID, r.Experiment, r.State)
	in.Run.Hosts, in.Dir, in.Cause = r.Hosts, t.TempDir(), r.Cause
	store := &testkit.Store{Infos: []runner.Info{in}}
	for _, size := range testkit.Sizes() {
		d := testkit.NewDriver(t, size[0], size[1], app.Options{Env: testkit.Env(t, store), Screens: testkit.One(live.New())})
		d.Press("h", "enter", "o", "/")
		d.Type("x")
		testkit.CheckSize(t, "hostile", d.View(), size[0], size[1])
		if v := d.View(); strings.ContainsAny(v, "\x07\u202e") || strings.Contains(v, "\x1b]") || strings.Contains(v, "\x1b[2J") {
			t.Errorf("a host's name reaches the terminal:\n%q", v)
		}
	}
}

// How the hosts are looked at is kept for the next session, wherever that is.
func TestTheOrderOfHostsIsKept(t *testing.T) {
	d, store, m := startScreen(t, 120, 36, across(t, 2))
	d.Press("h", "o")
	again := live.New()
	again.Load(m.Save())
	env := testkit.Env(t, store)
	env.Host = "another"
	other := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(again)})
	has(t, other.Text(), "sort: slowest", "node1")
	other.Send(msg.RunsChanged{})
	strip := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "another", ""), "login03", "") }
	if a, b := strip(d.Text()), strip(other.Text()); strings.Join(strings.Fields(a), " ") != strings.Join(strings.Fields(b), " ") {
		t.Errorf("another host shows something else:\n%s\n%s", a, b)
	}
}

// Evaluations stand in the chart of the loss, beside it, and at the cursor.
func TestEvaluationsAreShown(t *testing.T) {
	d, store := start(t, 120, 36, across(t, 2))
	has(t, d.Text(), "eval 2.545 ppl 12.7 @ 140", "╍· eval", "●")
	d.Press("home")
	has(t, d.Text(), "step 1:")
	w, err := record.OpenWriter(record.EventsPath(store.Infos[0].Dir))
	if err != nil {
		t.Fatal(err)
	}
	v := record.Evaluation{Step: 148, Loss: 1.5}
	if err := w.Event(v.Event(testkit.Start)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d.Advance(time.Second)
	d.Press("esc")
	has(t, d.Text(), "eval 1.500 ppl 4.48 @ 148")
}

func sizeName(size [2]int) string { return fmt.Sprintf("%dx%d", size[0], size[1]) }
