package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps/space"
)

// answersAtOnce is how long a command may take to refuse what it cannot do.
const answersAtOnce = 5 * time.Second

func TestSweepRefusesAtOnceAndSaysWhy(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := file("bad.toml", "twins = 3\norder = \"fastest\"\n[set]\nsteps = \"many\"\n[axes]\nrnk = [1]\n")
	lone := file("lone.toml", "[train]\nsteps = 3\n")
	torn := file("torn.toml", "[axes\n")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{}, []string{"needs axes", "--axis tp=1,2"}},
		{[]string{"statsu"}, []string{"no file", "nearest: boost-tui sweep status"}},
		{[]string{"--axis", "tp=1,2", "--stop-slower", "off"}, []string{"--stop-slower=off"}},
		{[]string{"nowhere.toml"}, []string{"nowhere.toml", "--axis"}},
		{[]string{bad}, []string{"twins", "order", "steps", "rnk", "rank"}},
		{[]string{lone}, []string{"file of an experiment", "--config"}},
		{[]string{torn}, []string{"torn.toml:2"}},
		{[]string{"--axis", "rnk=1,2"}, []string{"rnk", "rank"}},
		{[]string{"--axis", "tp"}, []string{"tp=1,2"}},
		{[]string{"--axis", "tp="}, []string{"tp"}},
		{[]string{"--axis", "tp=1..4*1"}, []string{"tp"}},
		{[]string{"--axis", "tp=9..1"}, []string{"9"}},
		{[]string{"--axis", "tp=one,two"}, []string{"one"}},
		{[]string{"--axis", "d,ff=128:352,256"}, []string{"256"}},
		{[]string{"--axis", "tp=1,2", "--axis", "tp=4"}, []string{"tp"}},
		{[]string{"--axis", "tp=1,2", "--constraint", "rnk < 3"}, []string{"rnk", "rank"}},
		{[]string{"--axis", "tp=1,2", "--constraint", "tp + 1"}, []string{"tp + 1"}},
		{[]string{"--axis", "tp=1,2", "--constraint", "tp <"}, []string{"tp <"}},
		{[]string{"--axis", "tp=1,2", "--constraint", "tp > 2", "--constraint", "tp < 1"}, []string{"tp > 2"}},
		{[]string{"--axis", "tp=1,2", "--constraint", "tp > 8"}, []string{"tp > 8"}},
		{[]string{"--axis", "tp=1,2", "--set", "stepps=3"}, []string{"nearest: steps"}},
		{[]string{"--axis", "tp=1,2", "--size", "tinny"}, []string{"tiny"}},
		{[]string{"--axis", "tp=1,2", "--sise", "tiny"}, []string{"nearest: --size"}},
		{[]string{"--axis", "tp=1,2", "--order", "fastest"}, []string{"--order", "cheapest"}},
		{[]string{"--axis", "tp=1,2", "--at-once", "0", "--retries", "-1"}, []string{"--at-once", "--retries"}},
		{[]string{"--axis", "tp=1,2", "--stop-slower=maybe"}, []string{"on or off"}},
		{[]string{"--axis", "tp=1,2", "--repeats", "0"}, []string{"--repeats 0"}},
		{[]string{"--axis", "tp=1,2", "--data", "/nowhere/text"}, []string{"/nowhere/text"}},
		{[]string{"--axis", "seed=1..10000000"}, []string{"10000000", "seed"}},
		{[]string{"--axis", "seed=1..4000", "--axis", "lr=1e-5..1e-1/2500log"}, []string{"10 000 000", "seed", "lr"}},
		{[]string{"--axis", "heads=3,5", "--size", "tiny"}, []string{"heads"}},
		{[]string{"status", "zzzz"}, []string{"zzzz"}},
		{[]string{"results", "--csv", "--markdown"}, []string{"use one of them"}},
		{[]string{"results", "--heat", "tp"}, []string{"two axes"}},
		{[]string{"results", "--metric", "loss"}, []string{"--heat"}},
		{[]string{"results", "--by", "seed"}, []string{`--by "seed"`, "configuration"}},
		{[]string{"results", "--by", "configuration", "--heat", "tp,rank"}, []string{"leave out --by"}},
		{[]string{"results", "--filter", "nothing=1"}, []string{`--filter "nothing=1"`, "vs_full"}},
		{[]string{"results", "--filter", "tp>many", "--filter", "btp >"}, []string{"needs a number", "no field", "btp"}},
		{[]string{"order", "fastest"}, []string{"cheapest"}},
		{[]string{"grow"}, []string{"--axis"}},
		{[]string{"pause", "--nwo"}, []string{"nearest: --now"}},
	} {
		begin := time.Now()
		r := try(t, append([]string{"sweep", "--runs", filepath.Join(dir, "runs")}, c.args...)...)
		if took := time.Since(begin); took > answersAtOnce {
			t.Errorf("%v: took %s", c.args, took)
		}
		if r.code != exitUsage || r.stdout != "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %s", c.args, r.code, r.stdout, r.err)
		}
		for _, want := range c.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%v: stderr lacks %q: %s", c.args, want, r.err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
		t.Error("a refused command made a store")
	}
}

// The line of the acceptance, and the same space as a file.
var tenPoints = []string{"--axis", "scheme=vanilla,btp", "--axis", "tp=1,2", "--axis", "rank=32,64", "--twins",
	"--set", "size=tiny", "--set", "variant=cola", "--set", "steps=20"}

const tenPointsFile = `twins = true
[set]
size = "tiny"
variant = "cola"
steps = 20
[axes]
scheme = ["vanilla", "btp"]
tp = [1, 2]
rank = [32, 64]
`

func TestDryRunNeedsNoStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(file, []byte(tenPointsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, args := range [][]string{tenPoints, {file}, {file, "--size", "tiny"}} {
		r := try(t, append([]string{"sweep", "--dry-run", "--json", "--runs", file}, args...)...) // a file is no store
		var d dryResult
		oneJSON(t, r.stdout, &d)
		if r.code != exitOK || len(d.Points) != 10 || d.Twins != 2 || d.Raw != 8 || len(d.Pruned) != 0 {
			t.Errorf("%v: exit %d, %d points, %d twins of %d: %s", args, r.code, len(d.Points), d.Twins, d.Raw, r.err)
		}
		for i, p := range d.Points {
			if p.Twin != (i < 2) || p.Full == "" || p.FLOPs <= 0 || p.Steps != 20 {
				t.Errorf("point %d: %+v", i, p)
			}
		}
		keys = append(keys, d.Key)
	}
	if keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("the same space has the keys %v", keys)
	}
	r := try(t, append([]string{"sweep", "--dry-run", "--runs", file, "--axis", "heads=4,3"}, tenPoints...)...)
	for _, want := range []string{"20 points", "pruned: ", "heads", "added as a twin", "cost: unknown"} {
		if want != "20 points" && !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s%s", want, r.stdout, r.err)
		}
	}
}

// The sample file of the page is a sweep.
func TestSampleSweep(t *testing.T) {
	const sample = "../../docs/sweep.toml"
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	file, err := space.ParseTOML(data, "sweep.toml")
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Spec.Axes) != 4 || !file.Spec.Twins || len(file.Spec.Constraints) != 2 {
		t.Errorf("%+v", file.Spec)
	}
	var d dryResult
	r := try(t, "sweep", sample, "--dry-run", "--json")
	oneJSON(t, r.stdout, &d)
	if d.Raw != 24 || len(d.Points) == 0 || d.Name != "schemes" {
		t.Errorf("%d raw, %d points, %s", d.Raw, len(d.Points), r.err)
	}
}

// What the command line says wins over the file, and both together are the space.
func TestFlagsOverSweepFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(file, []byte("name = 'a'\nat-once = 3\n"+tenPointsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	var d dryResult
	r := try(t, "sweep", file, "--dry-run", "--json", "--axis", "tp=1", "--steps", "7", "--twins=off", "--name", "b", "--order", "random")
	oneJSON(t, r.stdout, &d)
	if d.Name != "b" || len(d.Points) != 4 || d.Points[0].Steps != 7 || d.Options.AtOnce != 3 || d.Options.Order != "random" {
		t.Errorf("%s %d points %+v %+v", d.Name, len(d.Points), d.Options, d.Points)
	}
}

// A sweep that cannot be made is an object all the same.
func TestSweepThatCannotBeMade(t *testing.T) {
	r := try(t, "sweep", "--axis", "tp=1,2", "--json", "--runs", "/proc/nowhere")
	var v struct{ State, Cause string }
	oneJSON(t, r.stdout, &v)
	if r.code != exitFailed || v.State != "failed" || v.Cause == "" {
		t.Errorf("exit %d, %s", r.code, r.stdout)
	}
}
