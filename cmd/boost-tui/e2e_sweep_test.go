package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sweepTable is what scripts read of a sweep's JSON.
type sweepTable struct {
	ID, State, Cause string
	Rows             []struct {
		Run, Point, State, Variant, Scheme string
		TP, Rank                           int
		StepTimeMedian                     *float64                 `json:"step_time_median"`
		CI                                 []float64                `json:"ci"`
		LossLast                           *float64                 `json:"loss_last"`
		VsFull                             *struct{ Ratio float64 } `json:"vs_full"`
		VsVanilla                          *struct{ Ratio float64 } `json:"vs_vanilla"`
	}
	Pruned []struct{ Point, Reason string }
}

// quickSweep is a sweep of n quick points.
func quickSweep(extra ...string) []string {
	return append([]string{"sweep", "--size", "tiny", "--layers", "1", "--seq", "32", "--micro-batch", "2"}, extra...)
}

func (p program) status(id ...string) sweepView {
	p.t.Helper()
	var v sweepView
	oneJSON(p.t, p.want(exitOK, append([]string{"sweep", "status", "--json"}, id...)...).stdout, &v)
	return v
}

// runOfSweep is what a test asks of a run's record.
type runOfSweep struct {
	ID, State string
	Sweep     struct {
		ID, Point string
		Attempt   int
	}
}

// runsOf are the runs of the store, each with the sweep that it names.
func (p program) runsOf() []runOfSweep {
	p.t.Helper()
	var all []runOfSweep
	oneJSON(p.t, p.want(exitOK, "runs", "--json").stdout, &all)
	return all
}

// exactlyOnce requires that the points, and they alone, have one finished run each, and that nothing runs.
func (p program) exactlyOnce(sweep string, points []string) {
	p.t.Helper()
	finished := map[string]int{}
	for _, r := range p.runsOf() {
		if r.Sweep.ID != sweep {
			p.t.Errorf("run %s is of the sweep %q", r.ID, r.Sweep.ID)
		}
		switch r.State {
		case "finished":
			finished[r.Sweep.Point]++
		case "running", "pending":
			p.t.Errorf("run %s is %s", r.ID, r.State)
		}
	}
	for _, point := range points {
		if finished[point] != 1 {
			p.t.Errorf("point %s finished %d times", point, finished[point])
		}
		delete(finished, point)
	}
	if len(finished) > 0 {
		p.t.Errorf("runs of points that were not planned: %v", finished)
	}
}

// planned are the points that a dry run of the same command lists.
func (p program) planned(args ...string) []string {
	p.t.Helper()
	var d dryResult
	oneJSON(p.t, p.want(exitOK, append(args, "--dry-run", "--json")...).stdout, &d)
	var ids []string
	for _, point := range d.Points {
		ids = append(ids, point.ID)
	}
	return ids
}

func TestSweepEndsWithItsTable(t *testing.T) {
	p := newProgram(t)
	args := append([]string{"sweep"}, tenPoints...)
	var table sweepTable
	r := p.want(exitOK, append(args, "--json")...)
	oneJSON(t, r.stdout, &table)
	if table.State != "finished" || len(table.Rows) != 10 || len(table.Pruned) != 0 || table.ID == "" {
		t.Fatalf("%s, %d rows, %d pruned: %s", table.State, len(table.Rows), len(table.Pruned), r.stdout)
	}
	programs := map[string]bool{}
	for _, row := range table.Rows {
		if row.State != "finished" || row.StepTimeMedian == nil || len(row.CI) != 2 || row.LossLast == nil || row.Run == "" {
			t.Errorf("%+v", row)
		}
		if row.Variant != "full" && (row.VsFull == nil || row.VsVanilla == nil || !(row.VsFull.Ratio > 0)) {
			t.Errorf("%s %s tp %d rank %d has the speed-ups %v %v", row.Variant, row.Scheme, row.TP, row.Rank, row.VsFull, row.VsVanilla)
		}
		programs[strings.Join([]string{row.Variant, row.Scheme, string(rune('0' + row.TP)), string(rune('0' + row.Rank/32))}, " ")] = true
	}
	if len(programs) != 10 || !programs["cola vanilla 1 1"] || !programs["cola btp 1 1"] || !programs["full full-rank 2 0"] {
		t.Errorf("the rows are %v", programs)
	}
	p.exactlyOnce(table.ID, p.planned(args...))
	p.resultsInEveryForm(table)
}

// resultsInEveryForm asks for the same results in other words.
func (p program) resultsInEveryForm(table sweepTable) {
	t := p.t
	t.Helper()
	to := filepath.Join(t.TempDir(), "sweep.csv")
	p.want(exitOK, "sweep", "results", "--csv", "--to", to)
	csv, err := os.ReadFile(to)
	if err != nil || strings.Count(string(csv), "\n") != 11 {
		t.Errorf("the CSV: %v\n%s", err, csv)
	}
	if r := p.run("sweep", "results", "--csv", "--to", to); r.code != exitUsage || !strings.Contains(r.err, "--force") {
		t.Errorf("over a file: exit %d, %s", r.code, r.err)
	}
	p.want(exitOK, "sweep", "results", "--csv", "--to", to, "--force")
	var wrote exported
	oneJSON(t, p.want(exitOK, "sweep", "results", "--json", "--to", to+".json").stdout, &wrote)
	if data, err := os.ReadFile(to + ".json"); err != nil || len(wrote.Files) != 1 || !bytes.Contains(data, []byte(table.ID)) {
		t.Errorf("%v, %v: %s", wrote, err, data)
	}
	for _, c := range []struct{ args, want string }{
		{"", "btp"}, {"--sort vs_full", "btp"}, {"--markdown", "| "}, {"--filter scheme=btp", "btp"}, {"--heat tp,rank", "64"},
		{"--heat tp,rank --metric vs_full --filter scheme=btp", "64"}, {"--pareto", "tp"}, {"--best", "tp"},
		{"--sort tok/s", "btp"}, {"--heat tp,rank --metric tok/s", "64"}, {"--filter tok/s>0", "btp"},
		{"--by configuration", "least .. most"}, {"--by configuration --best --sort vs_full", "runs"}, {"--by configuration --csv", "step_time_least"},
		{"--by configuration --markdown", "| runs"}, {"--by configuration --json", `"configurations":`},
	} {
		if r := p.want(exitOK, append([]string{"sweep", "results"}, strings.Fields(c.args)...)...); !strings.Contains(r.stdout, c.want) {
			t.Errorf("results %s lack %q:\n%s", c.args, c.want, r.stdout)
		}
	}
	for _, args := range []string{"--sort nothing", "--heat tp,nothing", "--filter nothing=1", "--by configuration --sort seed", "--heat tp,rank --metric nothing"} {
		if r := p.run(append([]string{"sweep", "results"}, strings.Fields(args)...)...); r.code != exitUsage || r.stdout != "" {
			t.Errorf("results %s: exit %d, %s%s", args, r.code, r.stdout, r.err)
		}
	}
	var same sweepTable
	oneJSON(t, p.want(exitOK, "sweep", "results", "--json", table.ID).stdout, &same)
	if len(same.Rows) != 10 || same.ID != table.ID {
		t.Errorf("%s has %d rows", same.ID, len(same.Rows))
	}
	oneJSON(t, p.want(exitOK, "sweep", "results", "--json", "--filter", "scheme=btp").stdout, &same)
	if len(same.Rows) != 4 {
		t.Errorf("%d rows of btp", len(same.Rows))
	}
	if r := p.want(exitOK, "show", table.Rows[0].Run); !strings.Contains(r.stdout, table.ID) {
		t.Errorf("show does not name the sweep:\n%s", r.stdout)
	}
	if v := p.status(); v.State != "finished" || v.Counts["finished"] != 10 {
		t.Errorf("status: %+v", v)
	}
	var all []listedSweep
	oneJSON(t, p.want(exitOK, "sweep", "list", "--json").stdout, &all)
	if len(all) != 1 || all[0].ID != table.ID {
		t.Errorf("list: %+v", all)
	}
}

// Killed at random moments and resumed, a sweep ends with the same runs, each exactly once finished: whether the command
// alone dies, or everything that belongs to the sweep.
func TestKilledSweepRunsEachPointOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		all  bool
	}{{"command", false}, {"everything", true}} {
		t.Run(c.name, func(t *testing.T) { newProgram(t).killedSweep(c.all) })
	}
}

func (p program) killedSweep(all bool) {
	t := p.t
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	args := quickSweep("--axis", "scheme=vanilla,btp", "--axis", "tp=1,2", "--axis", "rank=32,64", "--twins", "--steps", "150")
	planned := p.planned(args...)
	if len(planned) != 10 {
		t.Fatalf("%d points", len(planned))
	}
	for range 3 {
		cmd := p.command(append(args, "--json")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50*time.Millisecond + time.Duration(random.Int64N(int64(1200*time.Millisecond))))
		_ = cmd.Process.Kill() // it may be done already
		_ = cmd.Wait()
		if all {
			for _, q := range processesOf(t, p.runs) {
				_ = syscall.Kill(q.pid, syscall.SIGKILL) // it may have ended meanwhile
			}
		}
		if found, _ := filepath.Glob(filepath.Join(p.runs, "sweeps", "*", "journal.jsonl")); len(found) == 0 {
			t.Log("killed before there was a sweep")
			continue
		}
		v := p.status()
		t.Logf("killed: %v of %s", v.Counts, v.ID)
		if v.State == "finished" {
			args = []string{"sweep", "results"} // the same command would make another sweep
			break
		}
	}
	var table sweepTable
	r := p.want(exitOK, append(args, "--json")...)
	oneJSON(t, r.stdout, &table)
	if table.State != "finished" || len(table.Rows) != 10 {
		t.Errorf("%s, %d rows: %s", table.State, len(table.Rows), r.err)
	}
	var points []string
	for _, row := range table.Rows {
		points = append(points, row.Point)
	}
	slices.Sort(points)
	slices.Sort(planned)
	if !slices.Equal(points, planned) {
		t.Errorf("the points %v, planned %v", points, planned)
	}
	p.exactlyOnce(table.ID, planned)
}

// heard is what a command has written so far.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(data []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(data)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// started is a sweep in front that goes on while the test does other things.
func (p program) started(args ...string) (*exec.Cmd, *heard) {
	p.t.Helper()
	cmd := p.command(args...)
	var errs heard
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill() // what the test itself has not ended
		_ = cmd.Wait()
	})
	return cmd, &errs
}

// runningRun waits until a point of the sweep runs, and gives the folder of its run.
func (p program) runningRun() string {
	p.t.Helper()
	var dir string
	p.eventually(20*time.Second, "a running point", func() bool {
		r := p.run("sweep", "status", "--json")
		var v sweepView
		if r.code != exitOK || json.Unmarshal([]byte(r.stdout), &v) != nil {
			return false
		}
		i := slices.IndexFunc(v.Points, func(q pointView) bool { return q.State == "running" && q.Run != "" })
		if i < 0 {
			return false
		}
		dir = filepath.Join(p.runs, v.Points[i].Run)
		return true
	})
	return dir
}

func TestInterruptedSweepGoesOn(t *testing.T) {
	p := newProgram(t)
	args := quickSweep("--axis", "tp=1,2", "--steps", endless)
	cmd, errs := p.started(args...)
	dir := p.runningRun()
	p.reaches(dir, 2)
	// A second terminal follows; its ctrl-c ends nothing but itself.
	second, said := p.started(args...)
	p.eventually(10*time.Second, "the second to follow", func() bool { return strings.Contains(said.String(), "only follows") })
	p.endsBy(second, syscall.SIGINT)
	if second.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(said.String(), "goes on") {
		t.Errorf("the second: %v\n%s", second.ProcessState, said)
	}
	at := p.stepOf(dir)
	p.reaches(dir, at+2)
	// The first ends its run, and says how to go on.
	p.endsBy(cmd, syscall.SIGINT)
	p.gone(dir)
	if cmd.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(errs.String(), "sweep resume") {
		t.Errorf("the first: %v\n%s", cmd.ProcessState, errs)
	}
	if v := p.status(); v.State != "interrupted" || v.Counts["queued"] != 2 {
		t.Errorf("%s: %v", v.State, v.Counts)
	}
}

func TestDetachedSweepIsPausedGrownAndResumed(t *testing.T) {
	p := newProgram(t)
	id := strings.TrimSpace(p.want(exitOK, quickSweep("--axis", "tp=1,2", "--steps", endless, "--detach")...).stdout)
	dir := p.runningRun()
	p.reaches(dir, 2)
	// The command is gone, the sweep goes on; the same command finds it alive.
	again := strings.TrimSpace(p.want(exitOK, quickSweep("--axis", "tp=1,2", "--steps", endless, "--detach")...).stdout)
	if again != id {
		t.Errorf("the same command made %s beside %s", again, id)
	}
	if r := p.run("rm", "--yes", filepath.Base(dir)); r.code == exitOK {
		t.Errorf("rm of a run that goes on: %s", r.err)
	}
	p.want(exitOK, "sweep", "pause", id, "--now")
	p.gone(dir)
	p.eventually(10*time.Second, "the pause", func() bool { return !p.status(id).Held })
	if v := p.status(id); v.State != "paused" || !strings.Contains(v.Cause, "boost-tui") {
		t.Errorf("%s: %s", v.State, v.Cause)
	}
	if v := p.status(id); v.Counts["queued"] != 2 {
		t.Errorf("%+v", v.Counts)
	}
	// Grown by an axis that makes quick points, of which the slow ones are skipped.
	p.want(exitOK, "sweep", "grow", id, "--axis", "stop-after=3")
	v := p.status(id)
	if v.Counts["queued"] != 4 {
		t.Fatalf("%+v", v.Counts)
	}
	for _, q := range v.Points[:2] {
		p.want(exitOK, "sweep", "skip", id, q.Point)
	}
	p.want(exitOK, "sweep", "first", id, v.Points[3].Point)
	if v := p.status(id); v.Points[3].Place != 1 || v.Counts["skipped"] != 2 {
		t.Errorf("%+v", v.Points)
	}
	r := p.want(exitOK, "sweep", "resume", id, "--json", "--at-once", "2")
	var table sweepTable
	oneJSON(t, r.stdout, &table)
	if v := p.status(id); v.State != "finished" || v.Counts["finished"] != 2 || v.Options.AtOnce != 2 {
		t.Errorf("%s %v %+v\n%s", v.State, v.Counts, v.Options, r.err)
	}
}

// A run of a sweep that somebody looks after is not deleted under its hands.
func TestRmOfASweepsRun(t *testing.T) {
	p := newProgram(t)
	p.want(exitOK, quickSweep("--axis", "stop-after=3,"+endless, "--steps", endless, "--detach")...)
	var done string
	p.eventually(20*time.Second, "the end of the first", func() bool {
		for _, q := range p.status().Points {
			if q.State == "finished" {
				done = q.Run
				return true
			}
		}
		return false
	})
	if r := p.run("rm", "--yes", done); r.code != exitFailed || !strings.Contains(r.err, "sweep pause") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	p.want(exitOK, "sweep", "pause", "--now")
	p.eventually(10*time.Second, "the pause", func() bool { return !p.status().Held })
	before := p.want(exitOK, "sweep", "results", "--json").stdout
	if r := p.want(exitOK, "rm", "--yes", done); !strings.Contains(r.err, "no figures") {
		t.Errorf("stderr %s", r.err)
	}
	if after := p.want(exitOK, "sweep", "results", "--json").stdout; after == before {
		t.Error("a deleted run still has figures")
	}
	p.want(exitOK, "rm", "--undo")
	if after := p.want(exitOK, "sweep", "results", "--json").stdout; after != before {
		t.Errorf("a run that was brought back: %s\nbefore: %s", after, before)
	}
}

// Started in several terminals at once, a sweep is one, and each command ends with its table.
func TestSweepStartedAtOnce(t *testing.T) {
	p := newProgram(t)
	args := quickSweep("--axis", "seed=1..3", "--steps", "20", "--json")
	tables := make([]sweepTable, 3)
	var wg sync.WaitGroup
	for i := range tables {
		wg.Add(1)
		go func() {
			defer wg.Done()
			cmd := p.command(args...)
			out, err := cmd.Output()
			if err != nil || json.Unmarshal(out, &tables[i]) != nil {
				t.Errorf("%v: %s", err, out)
			}
		}()
	}
	wg.Wait()
	for _, table := range tables {
		if table.ID != tables[0].ID || table.State != "finished" || len(table.Rows) != 3 {
			t.Errorf("%s is %s with %d rows", table.ID, table.State, len(table.Rows))
		}
	}
	p.exactlyOnce(tables[0].ID, p.planned(quickSweep("--axis", "seed=1..3", "--steps", "20")...))
}

// A sweep that was left to itself outlives the terminal that it was started in.
func TestDetachedSweepOutlivesItsTerminal(t *testing.T) {
	p := newProgram(t)
	m := p.tmux(p.bin + " " + strings.Join(quickSweep("--axis", "tp=1,2", "--steps", endless, "--detach"), " ") + "; sleep 100")
	dir := p.runningRun()
	p.reaches(dir, 2)
	m.do("kill-server")
	p.reaches(dir, p.stepOf(dir)+3)
	if v := p.status(); v.State != "running" || !v.Held {
		t.Errorf("%s: %s", v.State, v.Cause)
	}
	p.want(exitOK, "sweep", "pause", "--now")
	p.gone(dir)
}

// A limit stops a sweep and says which; a higher one lets it go on.
func TestSweepStopsAtALimit(t *testing.T) {
	p := newProgram(t)
	r := p.want(exitFailed, quickSweep("--axis", "seed=1..3", "--steps", "5", "--max-device-hours", "1e-9")...)
	if !strings.Contains(r.err, "device") || !strings.Contains(r.err, "sweep resume") {
		t.Errorf("stderr %s", r.err)
	}
	if v := p.status(); v.State != "stopped" || v.Counts["finished"] == 0 || v.Counts["queued"] == 0 {
		t.Errorf("%s, %v", v.State, v.Counts)
	}
	// The same command meets the same limit, and says so without another run.
	before := len(p.runsOf())
	p.want(exitFailed, quickSweep("--axis", "seed=1..3", "--steps", "5", "--max-device-hours", "1e-9")...)
	if after := len(p.runsOf()); after != before {
		t.Errorf("%d runs became %d", before, after)
	}
	p.want(exitOK, "sweep", "resume", "--max-device-hours", "1")
	if v := p.status(); v.State != "finished" || v.Counts["finished"] != 3 {
		t.Errorf("%s, %v", v.State, v.Counts)
	}
	id, point := p.status().ID, p.status().Points[0].Point
	for _, c := range []struct{ args, want string }{{"sweep status ", id}, {"sweep results ", id}, {"sweep skip " + id + " ", point}, {"sweep order ", "cheapest"}, {"sweep --order ", "random"}} {
		if r := p.want(exitOK, append([]string{"__complete"}, strings.Split(c.args, " ")...)...); !strings.Contains(r.stdout, c.want) {
			t.Errorf("completion of %q does not offer %s:\n%s", c.args, c.want, r.stdout)
		}
	}
	if r := p.run("sweep", "skip", id, point); r.code != exitUsage || !strings.Contains(r.err, "finished") {
		t.Errorf("skip of a finished point: exit %d, %s", r.code, r.err)
	}
}
