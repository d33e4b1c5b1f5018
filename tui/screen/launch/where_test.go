package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
	"boost-tui/runner/ssh"
	"boost-tui/tui/app"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/screen/launch"
	"boost-tui/tui/testkit"
)

// set types a value into a field.
func set(d *testkit.Driver, name, value string) {
	focus(d, name)
	d.Press("enter", "ctrl+u")
	d.Type(value)
	d.Press("enter")
	d.Advance(time.Second)
}

// More machines than ranks are told before the launch.
func TestMoreHostsThanRanksAreTold(t *testing.T) {
	d := start(t, 200, 50, &testkit.Store{})
	place(d, "ssh")
	set(d, "hosts", "a,b,c")
	if !strings.Contains(d.Text(), "names 3 machines, and the run has 1 rank") {
		t.Errorf("it is not told:\n%s", d.Text())
	}
}

// So are more machines than ranks that a file names, also one that is called like a machine; a comment is none.
func TestMoreHostsInAFileThanRanksAreTold(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("hosts", []byte("a\nb # the second\n\n# c\nd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hosts", filepath.Join(dir, "hosts")} {
		env := testkit.Env(t, &testkit.Store{})
		env.Hosts, env.CheckPlace = ssh.Hosts, func(experiment.Where) error { return nil }
		d := testkit.NewDriver(t, 200, 50, app.Options{Env: env, Screens: testkit.One(launch.New())})
		place(d, "ssh")
		set(d, "hosts", name)
		if !strings.Contains(d.Text(), "names 3 machines, and the run has 1 rank") {
			t.Errorf("%s: it is not told:\n%s", name, d.Text())
		}
		set(d, "tp", "4")
		if strings.Contains(d.Text(), "names 3 machines") {
			t.Errorf("%s: four ranks are enough:\n%s", name, d.Text())
		}
		d.Press("L")
		if !strings.Contains(d.Text(), "by ssh on 3 machines of") {
			t.Errorf("%s: not asked about three machines:\n%s", name, d.Text())
		}
	}
}

// Where Slurm says which partitions there are, the field names them and they are picked with the arrows. One that is not among
// them is warned of and taken all the same.
func TestPartitionsAreNamed(t *testing.T) {
	asked := 0
	var failure error
	d := start(t, 200, 50, &testkit.Store{}, func(env *screen.Env) {
		env.CheckPlace = func(experiment.Where) error { return nil }
		env.Partitions = func() ([]slurm.Partition, error) {
			asked++
			return []slurm.Partition{{Name: "long", Up: true, Limit: "7-00:00:00", Nodes: 12}, {Name: "debug", Default: true, Up: true, Limit: "30:00", Nodes: 4}}, failure
		}
	})
	if asked != 0 {
		t.Error("Slurm is asked about a run on this machine")
	}
	place(d, "slurm")
	d.Advance(time.Second)
	focus(d, "partition")
	if text := d.Text(); asked != 1 || !strings.Contains(text, "long, debug (default)") {
		t.Errorf("asked %d times:\n%s", asked, text)
	}
	d.Press("right")
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "default, at most 30:00, 4 nodes") {
		t.Errorf("not picked:\n%s", text)
	}
	set(d, "partition", "hidden")
	if text := d.Text(); asked != 1 || !strings.Contains(text, "is none that sinfo lists") {
		t.Errorf("asked %d times:\n%s", asked, text)
	}
}

// A cluster that gives no answer leaves the field as it was.
func TestPartitionsThatNobodyNames(t *testing.T) {
	d := start(t, 200, 50, &testkit.Store{}, func(env *screen.Env) {
		env.CheckPlace = func(experiment.Where) error { return nil }
		env.Partitions = func() ([]slurm.Partition, error) { return nil, errors.New("sinfo: no answer") }
	})
	place(d, "slurm")
	set(d, "partition", "any")
	if text := d.Text(); !strings.Contains(text, "any") || strings.Contains(text, "sinfo") {
		t.Errorf("%s", text)
	}
}

// place goes to another place.
func place(d *testkit.Driver, name string) {
	focus(d, "where")
	for range 3 {
		d.Advance(time.Second)
		if strings.Contains(d.Text(), "▸"+name+" ") {
			return
		}
		d.Press("right")
	}
}

func elsewhere(env *screen.Env) {
	env.CheckPlace = func(w experiment.Where) error {
		if w.Partition == "closed" {
			return errors.New("partition closed is not there: sinfo lists partitions")
		}
		return nil
	}
	env.Plan = func(experiment.Experiment) (*planner.Plan, error) { return &planner.Plan{Fits: true}, nil } // planning takes time
	env.LargestMicroBatch = nil
	env.Setups = func() ([]string, error) { return []string{"cuda", "cpu"}, nil }
	env.Machine = func(e experiment.Experiment) planner.Machine {
		if e.Where.Where == experiment.WhereLocal {
			return planner.Machine{Name: "test", MemBytes: 32 << 30, Cores: 8}
		}
		return planner.Machine{Name: e.Where.Where, Nodes: e.Where.Nodes}
	}
	env.Script = func(experiment.Experiment) ([]byte, []string, error) {
		return []byte("#!/bin/bash\n#SBATCH --exclusive\necho \x1b]0;evil\x07 here\n"), []string{"sbatch", "--nodes=1", "job.sh"}, nil
	}
}

func TestWhereGoldens(t *testing.T) {
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		for _, at := range []string{"ssh", "slurm"} {
			d := start(t, size[0], size[1], &testkit.Store{}, elsewhere)
			place(d, at)
			d.Press("G")
			testkit.Golden(t, fmt.Sprintf("%s_%dx%d", at, size[0], size[1]), d.View(), size[0], size[1])
		}
	}
}

// Each place has its own fields; what was said of one comes back with it.
func TestPlacesKeepTheirFields(t *testing.T) {
	d := start(t, 200, 60, &testkit.Store{}, elsewhere)
	place(d, "slurm")
	for _, label := range []string{"Nodes", "Partition", "Account", "QOS", "Constraint", "Time", "Setup", "Max restarts", "Lost after s", "Interface"} {
		if !strings.Contains(d.Text(), label) {
			t.Errorf("no field %s:\n%s", label, d.Text())
		}
	}
	set(d, "dp", "2")
	set(d, "nodes", "2")
	set(d, "partition", "gpu")
	set(d, "time", "00:40:00")
	set(d, "max-restarts", "2")
	if text := d.Text(); !strings.Contains(text, "--where slurm --nodes 2 --partition gpu --time 00:40:00 --max-restarts 2") && !strings.Contains(strings.Join(strings.Fields(text), " "), "--partition gpu") {
		t.Errorf("the command lacks the place:\n%s", text)
	}
	place(d, "ssh")
	if text := d.Text(); strings.Contains(text, "Partition") || !strings.Contains(text, "Hosts") {
		t.Errorf("ssh has fields of Slurm:\n%s", text)
	}
	place(d, "local")
	if text := d.Text(); strings.Contains(text, "Hosts ") || !strings.Contains(text, "every rule holds") || !strings.Contains(text, "boost-tui run --dp 2 --max-restarts 2 --detach") {
		t.Errorf("this machine keeps what was said of others:\n%s", text)
	}
	place(d, "slurm")
	if text := strings.Join(strings.Fields(d.Text()), " "); !strings.Contains(text, "--partition gpu --time 00:40:00") && !strings.Contains(text, "--time 00:40:00") {
		t.Errorf("what was said of Slurm is lost:\n%s", d.Text())
	}
}

func TestPlacesAreChecked(t *testing.T) {
	for _, c := range []struct{ at, key, value, want string }{
		{"slurm", "time", "tomorrow", "is no time limit"}, {"slurm", "time", "1:2:3:4", "is no time limit"}, {"slurm", "partition", "-rf", "begins with a hyphen"},
		{"slurm", "account", "a b", "holds a blank"}, {"slurm", "partition", "closed", "partition closed is not there"},
		{"slurm", "nodes", "3", "are more than the 1 ranks"}, {"ssh", "hosts", "", "must name machines"},
	} {
		s := &testkit.Store{}
		d := start(t, 200, 60, s, elsewhere)
		place(d, c.at)
		set(d, c.key, c.value)
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(d.Text(), "║", " ")), " "), c.want) {
			t.Errorf("%s %q: no %q in\n%s", c.key, c.value, c.want, d.Text())
		}
		d.Press("L", "y")
		if len(s.Launched) > 0 {
			t.Errorf("%s %q was launched", c.key, c.value)
		}
	}
	for _, good := range []string{"60", "01:00:00", "1-00:00:00", "5:00", "2-12", "UNLIMITED"} {
		d := start(t, 200, 60, &testkit.Store{}, elsewhere)
		place(d, "slurm")
		set(d, "time", good)
		if strings.Contains(d.Text(), "no time limit:") {
			t.Errorf("%s is refused:\n%s", good, d.Text())
		}
	}
}

// The dialog says where, for how long and what happens when a machine fails; other machines' size is not this one's.
func TestLaunchElsewhere(t *testing.T) {
	s := &testkit.Store{}
	d := start(t, 120, 36, s, elsewhere)
	place(d, "slurm")
	set(d, "dp", "2")
	set(d, "nodes", "2")
	set(d, "partition", "gpu")
	set(d, "max-restarts", "3")
	if strings.Contains(d.Text(), "this machine") {
		t.Errorf("another machine is taken for this one:\n%s", d.Text())
	}
	d.Press("L")
	for _, want := range []string{"2 ranks on 2 nodes of Slurm, partition gpu", "up to 3 times"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q in\n%s", want, d.Text())
		}
	}
	d.Press("y")
	if len(s.Launched) != 1 || s.Launched[0].Where.Partition != "gpu" || s.Launched[0].Where.MaxRestarts != 3 {
		t.Errorf("launched %+v", s.Launched)
	}
}

func TestTheScriptIsShownAndSaved(t *testing.T) {
	dir := t.TempDir()
	d := start(t, 120, 36, &testkit.Store{}, elsewhere, func(env *screen.Env) { env.WorkDir = dir })
	d.Press("s")
	if !strings.Contains(d.Text(), "only a run on Slurm") {
		t.Errorf("a local run has a script:\n%s", d.Text())
	}
	place(d, "slurm")
	d.Press("s")
	if v := d.View(); !strings.Contains(v, "#SBATCH --exclusive") || !strings.Contains(v, "sbatch --nodes=1 job.sh") || strings.Contains(v, "\x07") || strings.Contains(v, "\x1b]0") {
		t.Fatalf("the script:\n%q", v)
	}
	d.Press("w", "enter")
	data, err := os.ReadFile(filepath.Join(dir, "job.sh"))
	if err != nil || !strings.HasPrefix(string(data), "#!/bin/bash\n#SBATCH") {
		t.Errorf("saved %q, %v", data, err)
	}
}

// A preflight asks, runs as a run of the store, and shows what it found, the bad first; the next session has it.
func TestPreflight(t *testing.T) {
	s := &testkit.Store{}
	var asked []experiment.Experiment
	found := protocol.Preflight{Seconds: 42, Verdict: protocol.VerdictFailed, Nodes: make([]protocol.Node, 2), Checks: []protocol.Check{
		{What: "clock", Verdict: protocol.VerdictOK, Found: "all within 2 ms"},
		{What: "folder of the runs", Node: "node2\x1b[2J", Verdict: protocol.VerdictFailed, Found: "is not there", Advice: "mount it"}}}
	enable := func(env *screen.Env) {
		env.Preflight = func(_ context.Context, e experiment.Experiment) (string, error) {
			asked = append(asked, e)
			s.Infos = append(s.Infos, testkit.Info("1129-look-p1", e, runner.Running))
			return "1129-look-p1", nil
		}
		env.ReadPreflight = func(string) (protocol.Preflight, error) { return found, nil }
	}
	d := start(t, 120, 36, s, elsewhere, enable)
	d.Press("p", "enter")
	if len(asked) != 0 {
		t.Fatal("enter alone looked: the default must be No")
	}
	d.Press("p", "y")
	if !strings.Contains(d.Text(), "looking at the machines: 1129-look-p1") || len(asked) != 1 {
		t.Fatalf("nothing is looked at:\n%s", d.Text())
	}
	d.Press("p")
	if !strings.Contains(d.Text(), "a preflight is under way") {
		t.Errorf("a second one:\n%s", d.Text())
	}
	s.Infos[0].State = runner.Finished
	d.Advance(2 * time.Second)
	text := d.Text()
	bad, good := strings.Index(text, "✗ failed folder of the runs  node2: is not there"), strings.Index(text, "✓ ok     clock")
	if bad < 0 || good < bad || !strings.Contains(text, "do: mount it") || !strings.Contains(text, "failed: 2 nodes, looked at for 42 s") || strings.Contains(d.View(), "\x1b[2J") {
		t.Errorf("the result:\n%s", text)
	}
	d.Press("esc", "p")
	if !strings.Contains(d.Text(), "do: mount it") {
		t.Errorf("p shows it no more:\n%s", d.Text())
	}
	d.Press("R", "y")
	if len(asked) != 2 {
		t.Errorf("R looks not again: %d", len(asked))
	}
	again := launch.New()
	again.Load([]byte(`{"preflight":"1129-look-p1"}`))
	env := testkit.Env(t, s)
	env.Host = "another"
	enable(&env)
	other := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(again)})
	other.Press("p")
	if !strings.Contains(other.Text(), "do: mount it") {
		t.Errorf("another host shows nothing of it:\n%s", other.Text())
	}
}

// An experiment of somebody else's run may hold anything: no field, check or dialog hands it to the terminal, and none stalls.
func TestHostileExperiment(t *testing.T) {
	e := testkit.Experiment(t)
	evil := "\x1b]0;evil\x07\x1b[2J\n\u202e" + strings.Repeat("x", 1<<20)
	e.Name, e.Train.Data, e.Tags = evil, evil, []string{evil}
	e.Where = experiment.Where{Where: experiment.WhereSlurm, Nodes: 1, Partition: evil, Account: evil, QOS: evil, Constraint: evil, Time: evil, Setup: evil, Interface: evil, Hosts: evil}
	s := &testkit.Store{}
	d := start(t, 120, 36, s, elsewhere)
	check := func(what string) {
		t.Helper()
		if v := d.View(); strings.ContainsAny(v, "\x07\u202e") || strings.Contains(v, "\x1b]") || strings.Contains(v, "\x1b[2J") {
			t.Errorf("%s: it reaches the terminal", what)
		}
	}
	begin := time.Now()
	d.Send(msg.EditExperiment{Experiment: e})
	d.Advance(time.Second)
	for _, size := range testkit.Sizes() {
		d.Resize(size[0], size[1])
		testkit.CheckSize(t, fmt.Sprint(size), d.View(), size[0], size[1])
		check(fmt.Sprint(size))
	}
	d.Resize(120, 36)
	for _, key := range []string{"G", "k", "k", "enter", "esc", "o", "G", "g", "v", "esc", "x", "esc", "s", "esc", "L", "esc", "p", "esc", "A", "esc", "w", "esc"} {
		d.Press(key)
		check(key)
	}
	e.Where.Where = "\x1b[2Jnowhere"
	d.Send(msg.EditExperiment{Experiment: e})
	d.Advance(time.Second)
	check("a place that is none")
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it takes %v", took)
	}
	if len(s.Launched) > 0 {
		t.Error("it was launched")
	}
}
