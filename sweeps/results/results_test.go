package results

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"boost-tui/profiler/compare"
	"boost-tui/profiler/stats"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// decoded is the table's JSON as scripts see it.
func decoded(t *testing.T, table *Table) (top map[string]any, rows []map[string]any) {
	t.Helper()
	data, err := json.Marshal(table)
	ok(t, err)
	ok(t, json.Unmarshal(data, &top))
	for _, r := range top["rows"].([]any) {
		rows = append(rows, r.(map[string]any))
	}
	return top, rows
}

// What DESIGN.md promises to scripts.
func TestJSON(t *testing.T) {
	f := usual(t)
	f.st.Pruned = []space.Pruned{{Point: "tp 3", Set: []space.Assign{{Key: "tp", Value: "3"}}, Reason: "tp 3 does not divide 4 heads"}}
	f.finish()
	top, rows := decoded(t, f.measure(nil))
	if top["id"] != f.st.ID || top["state"] != "finished" || len(rows) != 10 {
		t.Errorf("%v, %v, %d rows", top["id"], top["state"], len(rows))
	}
	if p := top["pruned"].([]any)[0].(map[string]any); p["point"] != "tp 3" || p["reason"] != "tp 3 does not divide 4 heads" {
		t.Errorf("pruned %v", p)
	}
	if best := top["best"].([]any)[0].(map[string]any); best["size"] != "tiny" || best["fastest"] == nil || best["lowest_loss"] != "full1" {
		t.Errorf("best %v", best)
	}
	if front := top["pareto"].(map[string]any); len(front["points"].([]any)) == 0 || front["metrics"].([]any)[0] != "step_time_median" {
		t.Errorf("front %v", front)
	}
	full, btp := rows[0], rows[2]
	for name, want := range map[string]any{"scheme": "btp", "tp": 1.0, "rank": 32.0, "variant": "cola", "size": "tiny", "state": "finished", "point": "btp1-32",
		"steps_planned": 150.0, "steps_done": 150.0, "comm_bytes_per_step": 7000.0, "attempts": 1.0} {
		if btp[name] != want {
			t.Errorf("%s is %v, want %v", name, btp[name], want)
		}
	}
	for _, name := range []string{"run", "step_time_median", "ci", "loss_last", "loss_mean_last_20", "tokens_per_second", "peak_memory", "breakdown", "time_per_token", "seconds"} {
		if btp[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	vs := btp["vs_full"].(map[string]any)
	if r := vs["ratio"].(float64); r < 1.9 || r > 2.1 || vs["verdict"] != "faster" || vs["p"] == nil || len(vs["ci"].([]any)) != 2 || vs["run"] != full["run"] {
		t.Errorf("vs_full %v", vs)
	}
	if _, there := full["rank"]; there || full["vs_vanilla"] != nil || full["twin"] != true || full["vs_full"].(map[string]any)["ratio"] != 1.0 {
		t.Errorf("the full-rank twin: %v", full)
	}
	data, err := json.Marshal(f.measure(nil).Rows[2])
	ok(t, err)
	if !strings.HasPrefix(string(data), `{"run":"20261101-`) || strings.Count(string(data), `"scheme"`) != 1 {
		t.Errorf("%s", data)
	}
}

// Axes are what they are in run.json: numbers, switches, and seeds with all their digits. An axis wins over a figure of its name.
func TestJSONOfAxes(t *testing.T) {
	f := newFake(t, []string{"steps", "seed", "lr", "grouping", "size"}, "variant", "cola")
	f.point("a", "steps", "40", "seed", "4611686018427387903", "lr", "1e-4", "grouping", "off", "size", "60m")
	data, err := json.Marshal(f.measure(nil).Rows[0])
	ok(t, err)
	for _, want := range []string{`"steps":40,`, `"seed":4611686018427387903,`, `"lr":0.0001,`, `"grouping":false,`, `"size":"60m",`, `"state":"queued"`, `"rank":128,`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	if strings.Contains(string(data), `"run"`) || strings.Contains(string(data), `"breakdown"`) {
		t.Errorf("figures out of nothing: %s", data)
	}
}

// Every speed-up is, digit for digit, that of `compare` on the two runs alone, with p corrected over the whole sweep.
func TestSpeedUpsAreThoseOfCompare(t *testing.T) {
	f := usual(t)
	f.finish()
	table := f.measure(nil)
	var ps []float64
	var of []*Versus
	for _, r := range table.Rows {
		for _, v := range []*Versus{r.VsFull, r.VsVanilla} {
			if v == nil || v.Run == r.Run {
				continue
			}
			two, err := compare.Compare([]string{f.store.Dir(v.Run), r.Dir}, compare.Options{Baseline: v.Run})
			ok(t, err)
			want := two.Rows[1].VsFull
			if v.Ratio != want.Ratio || !slices.Equal(v.CI, want.CI) || v.Comparable != two.Rows[1].Comparable || v.LossMatches != two.Rows[1].LossMatches {
				t.Errorf("%s: %+v, want %+v", r.Point, v, want)
			}
			ps, of = append(ps, *want.P), append(of, v)
		}
	}
	if len(ps) != 12 {
		t.Fatalf("%d pairs", len(ps))
	}
	// With two runs there are one or two pairs, of which the other is the same one: p is as it came out of the test.
	for i, p := range stats.Holm(ps) {
		if *of[i].P != p {
			t.Errorf("p %v, want %v", *of[i].P, p)
		}
	}
}

// Repeats are pooled as a table of all of them pools them.
func TestRepeatsArePooled(t *testing.T) {
	f := newFake(t, []string{"scheme", "seed"}, "size", "tiny", "variant", "cola", "steps", "120")
	for _, seed := range []string{"1", "2", "3"} {
		full := f.point("full"+seed, "variant", "full", "scheme", "full-rank", "seed", seed)
		btp := f.point("btp"+seed, "scheme", "btp", "seed", seed)
		full.Full, btp.Full = full.ID, full.ID
	}
	var dirs []string
	for i, p := range f.st.Points {
		f.run(p, dose{wall: 0.3 / float64(1+i%2) * (1 + float64(i)/100), loss: 2})
		dirs = append(dirs, f.store.Dir(p.Run()))
	}
	table := f.measure(nil)
	for i, r := range table.Rows {
		if i%2 == 0 {
			continue
		}
		all, err := compare.Compare(dirs, compare.Options{Baseline: r.VsFull.Run})
		ok(t, err)
		if want := all.Rows[i].VsFull; r.VsFull.Ratio != want.Ratio || !slices.Equal(r.VsFull.CI, want.CI) {
			t.Errorf("%s: %+v, want %+v", r.Point, r.VsFull, want)
		}
		if alone, err := compare.Compare([]string{dirs[i-1], dirs[i]}, compare.Options{}); err != nil || slices.Equal(alone.Rows[1].VsFull.CI, r.VsFull.CI) {
			t.Errorf("%s: as if there were no repeats (%v)", r.Point, err)
		}
	}
}

// Two repeats are not pooled, and the table says so; three are, and it says that.
func TestTwoRepeats(t *testing.T) {
	const two, pooled = "Two repeats are too few", "Speed-ups of three and more repeats rest on all"
	f := newFake(t, []string{"scheme", "seed"}, "size", "tiny", "variant", "cola", "steps", "120")
	add := func(seed string) {
		full := f.point("full"+seed, "variant", "full", "scheme", "full-rank", "seed", seed)
		btp := f.point("btp"+seed, "scheme", "btp", "seed", seed)
		full.Full, btp.Full = full.ID, full.ID
		f.run(full, dose{wall: 0.3, loss: 2})
		f.run(btp, dose{wall: 0.2, loss: 2})
	}
	for n, want := range []string{"", two, pooled} {
		add(fmt.Sprint(n + 1))
		table := f.measure(nil)
		notes := strings.Join(table.Notes(), "\n")
		if strings.Contains(notes, two) != (want == two) || strings.Contains(notes, pooled) != (want == pooled) {
			t.Errorf("%d repeats: %s", n+1, notes)
		}
		if v := table.Rows[1].VsFull; (v.Pooled == [2]int{1, 1}) != (n < 2) {
			t.Errorf("%d repeats: %+v", n+1, v)
		}
	}
}

// A sweep that goes on has rows for everything: what runs shows its figures so far, what waits has none.
func TestLive(t *testing.T) {
	f := usual(t)
	p := f.st.Points
	f.run(p[0], dose{wall: 0.3, loss: 2})
	running := f.run(p[1], dose{steps: 80, wall: 0.3, loss: 2, status: sweeps.Running})
	f.run(p[2], dose{steps: 40, wall: 0.15, loss: 2, status: sweeps.Stopped, cause: "diverged"})
	p[2].Attempts[0].Rule = "diverged"
	f.run(p[3], dose{steps: 3, wall: 0.3, status: sweeps.Failed, cause: "out of memory"})
	f.run(p[4], dose{steps: 100, wall: 0.15, status: sweeps.Cancelled})
	p[4].Status, p[4].Attempts[0].Machine = sweeps.Queued, true // its run is lost, and it waits for another
	p[5].Status = sweeps.Skipped
	c := NewCache()
	table := f.measure(c)
	r := table.Rows
	if want := (Counts{Points: 10, Queued: 5, Running: 1, Finished: 1, Failed: 1, Stopped: 1, Skipped: 1}); table.Counts != want {
		t.Errorf("%+v", table.Counts)
	}
	if v := r[1].VsFull; !r[1].Partial || v == nil || !v.Partial || r[1].Figures.Steps != 80 || r[1].Run != running {
		t.Errorf("running: %+v", r[1])
	}
	if r[2].VsFull == nil || r[2].Rule != "diverged" || r[2].Cause != "diverged" || r[2].VsFull.LossMatches || r[2].VsVanilla == nil || !r[2].VsVanilla.Partial {
		t.Errorf("stopped: %+v", r[2])
	}
	if r[3].Cause != "out of memory" || r[3].VsFull == nil || r[3].VsFull.Verdict != "" {
		t.Errorf("failed: %+v", r[3])
	}
	if r[4].Run != "" || r[4].Figures.StepTimeMedian != nil || r[4].Attempts != 1 {
		t.Errorf("queued again: %+v", r[4])
	}
	// Another attempt whose run is about to be created has no figures: those of the lost run do not count.
	p[4].Status, p[4].Attempts = sweeps.Running, append(p[4].Attempts, sweeps.Attempt{N: 2})
	if r := f.measure(c).Rows[4]; r.Run != "" || r.VsFull != nil || r.Attempts != 2 || !r.Partial {
		t.Errorf("begun again: %+v", r)
	}
	// The run goes on, and ends before the journal says so.
	writeRun(t, r[1].Dir, r[1].Experiment, dose{steps: 150, wall: 0.31, loss: 2, status: sweeps.Finished}, f.clock, 9)
	if again := f.measure(c).Rows[1]; again.Figures.Steps != 150 || again.Partial {
		t.Errorf("it ended: %+v", again)
	}
}

// What others did to the store is told in the row, and spoils no other.
func TestTroubles(t *testing.T) {
	f := usual(t)
	f.finish()
	p := f.st.Points
	ok(t, os.RemoveAll(f.store.Dir(p[1].Run())))
	ok(t, os.WriteFile(filepath.Join(f.store.Dir(p[3].Run()), "run.json"), []byte("{"), 0o644))
	p[4].Attempts[0].Run = "../../etc"
	p[6].Set = append(p[6].Set, space.Assign{Key: "nonsense", Value: "1"})
	table := f.measure(nil)
	for i, want := range map[int]string{1: "not in the store any more", 3: "is damaged", 4: "cannot be one", 6: "nonsense"} {
		if err := table.Rows[i].Err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("row %d: %v, want %q", i, err, want)
		}
		if _, rows := decoded(t, table); rows[i]["error"] == nil {
			t.Errorf("row %d: no error in the JSON", i)
		}
	}
	if v := table.Rows[2].VsFull; v == nil || v.Verdict != "faster" || table.Rows[2].VsVanilla != nil {
		t.Errorf("%+v", table.Rows[2])
	}
	if text := textOf(t, table, 0); !strings.Contains(text, "van1-32: finished: its run") || strings.Count(text, "is not in the store any more") != 1 {
		t.Errorf("%s", text)
	}
}

// Runs beside each other slow each other: no verdict, and a mark.
func TestRunsBesideEachOther(t *testing.T) {
	f := usual(t)
	for i, p := range slices.Clone(f.st.Queue) {
		f.run(p, dose{wall: 0.3 / float64(1+i%3), loss: 2, same: i == 2})
	}
	table := f.measure(nil)
	if r := table.Rows[2]; len(r.Overlapped) != 1 || r.Overlapped[0] != table.Rows[1].Run || r.VsFull.Verdict != "" || !r.VsFull.Overlapped {
		t.Errorf("%+v, %+v", r.Overlapped, r.VsFull)
	}
	if r := table.Rows[4]; len(r.Overlapped) != 0 || r.VsFull.Verdict != "faster" {
		t.Errorf("%+v, %+v", r.Overlapped, r.VsFull)
	}
	if text := textOf(t, table, 0); !strings.Contains(text, "! 3.00x") || !strings.Contains(text, "slowed each other") {
		t.Errorf("%s", text)
	}
}

func TestSort(t *testing.T) {
	f := usual(t)
	for _, p := range slices.Clone(f.st.Queue)[:6] {
		f.run(p, dose{wall: 0.3 / float64(len(p.ID)+p.Ranks), loss: 2})
	}
	for _, by := range append(f.measure(nil).Fields(), "micro-batch") {
		for _, desc := range []bool{false, true} {
			table := f.measure(nil)
			before := slices.Clone(table.Rows)
			ok(t, table.Sort(by, desc))
			unknownFrom := len(table.Rows)
			for i, r := range table.Rows {
				v, there := r.Field(by)
				if !there {
					t.Fatalf("no field %s", by)
				}
				if v.Text == "" {
					unknownFrom = min(unknownFrom, i)
				} else if i > unknownFrom {
					t.Errorf("%s, desc %v: known after unknown", by, desc)
				}
				if i == 0 || v.Text == "" {
					continue
				}
				w, _ := table.Rows[i-1].Field(by)
				c := compareValues(w, v)
				if desc && c < 0 || !desc && c > 0 {
					t.Errorf("%s, desc %v: %s before %s", by, desc, w.Text, v.Text)
				}
				if c == 0 && slices.Index(before, table.Rows[i-1]) > slices.Index(before, r) {
					t.Errorf("%s, desc %v: equals changed places", by, desc)
				}
			}
			if len(table.Rows) != len(before) {
				t.Errorf("%s: %d rows", by, len(table.Rows))
			}
		}
	}
	if err := f.measure(nil).Sort("rnak", false); err == nil || !strings.Contains(err.Error(), "step_time_median") {
		t.Errorf("%v", err)
	}
}

func TestFilter(t *testing.T) {
	f := usual(t)
	f.finish()
	table := f.measure(nil)
	btp := table.Filter(func(r *Row) bool { v, _ := r.Field("scheme"); return v.Text == "btp" }).
		Filter(func(r *Row) bool { v, _ := r.Field("tp"); return v.Number == 2 })
	if len(btp.Rows) != 2 || btp.Rows[0].Point != "btp2-32" || len(table.Rows) != 10 || btp.Counts.Points != 10 {
		t.Errorf("%d rows of %d", len(btp.Rows), len(table.Rows))
	}
	ok(t, btp.Sort(StepTime, true))
	if table.Rows[2].Point != "btp1-32" || !strings.Contains(btp.Rows[0].Words(), "btp 2 ") {
		t.Error("sorting a part changes the whole")
	}
}

// Several screens and commands may look at once.
func TestCacheIsForSeveral(t *testing.T) {
	f := usual(t)
	f.finish()
	c := NewCache()
	want, err := json.Marshal(f.measure(nil))
	ok(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				table, err := Measure(t.Context(), f.store, f.st, c)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := json.Marshal(table); err != nil || string(got) != string(want) {
					t.Errorf("%v: %s", err, got)
				}
			}
		})
	}
	wg.Wait()
}

// A metric is finite or unknown, and its name is one that JSON, CSV, sort and filter share.
func TestMetrics(t *testing.T) {
	f := usual(t)
	f.finish()
	inf := math.Inf(1)
	table := f.measure(nil)
	table.Rows[0].Figures.StepTimeMedian = &inf
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] || m.Title == "" || m.Name != strings.ToLower(m.Name) {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if _, err := MetricOf(m.Name); err != nil {
			t.Error(err)
		}
		for _, r := range table.Rows {
			v, known := m.Of(r)
			if !known {
				continue
			}
			if math.IsNaN(v) || math.IsInf(v, 0) || m.Show(v) == "" {
				t.Errorf("%s of %s: %v", m.Name, r.Point, v)
			}
		}
	}
	if _, err := json.Marshal(table); err != nil {
		t.Error(err)
	}
	if _, err := MetricOf("speed"); err == nil || !strings.Contains(err.Error(), "vs_full") {
		t.Errorf("%v", err)
	}
}
