package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"boost-tui/sweeps"
)

// again puts a point back into the queue.
func (f *fake) again(p *sweeps.PointState) {
	p.Status = sweeps.Queued
	f.st.Queue = append(f.st.Queue, p)
}

// Every run is a row of the CSV file, those of earlier attempts too: with what they measured, and without speed-ups. One
// run of a point counts at most, and what does not count changes nothing about what does.
func TestEarlierAttempts(t *testing.T) {
	f := newFake(t, []string{"scheme", "seed"}, "size", "tiny", "variant", "cola", "steps", "120")
	for seed := range 3 {
		full := f.point(fmt.Sprint("full", seed), "variant", "full", "scheme", "full-rank", "seed", fmt.Sprint(seed))
		btp := f.point(fmt.Sprint("btp", seed), "scheme", "btp", "seed", fmt.Sprint(seed))
		full.Full, btp.Full = full.ID, full.ID
	}
	p := f.st.Points
	lost := f.run(p[1], dose{wall: 0.01, loss: 1, steps: 100, status: sweeps.Failed, cause: hostile, memory: 7 << 20})
	p[1].Attempts[0].State, p[1].Attempts[0].Machine = "lost", true
	f.again(p[1])
	slow := f.run(p[1], dose{wall: 0.9, loss: 1, steps: 50, status: sweeps.Cancelled, cause: "diverged"})
	p[1].Attempts[1].Rule = "diverged"
	p[1].Attempts = append(p[1].Attempts, sweeps.Attempt{N: 3, State: "failed", Cause: "no run was created"})
	f.again(p[1])
	for _, q := range slices.Clone(f.st.Queue) {
		f.run(q, dose{wall: 0.2, loss: 2})
	}
	waits := f.run(p[5], dose{wall: 0.01, loss: 1, steps: 100, status: sweeps.Failed})
	p[5].Attempts = p[5].Attempts[1:] // its first run, which finished, never was
	f.again(p[5])
	p[1].Attempts[3].N = 4

	table := f.measure(nil)
	if r := table.Rows[1]; r.Attempt != 4 || r.Attempts != 4 || len(r.Earlier) != 2 || r.Earlier[0].Run != lost || r.Earlier[1].Run != slow || r.VsFull.Partial {
		t.Errorf("%+v", r)
	}
	if r := table.Rows[5]; r.Attempt != 0 || r.Run != "" || len(r.Earlier) != 1 || r.Earlier[0].Run != waits || r.Figures.ID != "" {
		t.Errorf("%+v", r)
	}
	rows := csvOf(t, table)
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join([]string{r["point"], r["attempt"], r["counts"], r["state"], r["partial"], r["steps_done"]}, " "))
		if r["attempt"] != "" && r["counts"] == "off" && (r["vs_full"] != "" || r["vs_full_run"] != "" || r["step_time_median"] == "" || r["seconds"] == "" || r["seed"] == "") {
			t.Errorf("%v", r)
		}
	}
	want := []string{"full0 1 on finished off 120", "btp0 1 off lost on 100", "btp0 2 off stopped on 50", "btp0 4 on finished off 120", "full1 1 on finished off 120",
		"btp1 1 on finished off 120", "full2 1 on finished off 120", "btp2 2 off failed on 100"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if c := rows[1]["cause"]; !strings.Contains(c, "quoted") || rows[2]["cause"] != "diverged" || rows[1]["peak_memory"] != fmt.Sprint(7<<20) || rows[1]["run"] != lost {
		t.Errorf("%v", rows[1])
	}
	_, objects := decoded(t, table)
	if e := objects[1]["earlier"].([]any); len(e) != 2 || e[0].(map[string]any)["run"] != lost || e[0].(map[string]any)["step_time_median"] == nil || objects[1]["attempt"] != 4.0 || objects[0]["earlier"] != nil {
		t.Errorf("%v", objects[1])
	}
	// The figures of what counts are as if the others had never been.
	p[1].Attempts, p[5].Attempts = p[1].Attempts[3:], nil
	alone := f.measure(nil)
	for i, r := range table.Rows {
		a := alone.Rows[i]
		if (r.VsFull == nil) != (a.VsFull == nil) || r.VsFull != nil && (r.VsFull.Ratio != a.VsFull.Ratio || !slices.Equal(r.VsFull.CI, a.VsFull.CI) || r.VsFull.Pooled != a.VsFull.Pooled) {
			t.Errorf("%s: %+v, want %+v", r.Point, r.VsFull, a.VsFull)
		}
	}
}

// A run of an earlier attempt that is gone, or that cannot be one, is told and spoils nothing.
func TestEarlierAttemptsThatAreGone(t *testing.T) {
	f := usual(t)
	p := f.st.Points[0]
	p.Attempts = []sweeps.Attempt{{N: 1, Run: "20261101-000000-gone-aaaa", State: "failed"}, {N: 2, Run: "../../etc", State: "failed"}}
	table := f.measure(nil)
	r := table.Rows[0]
	if len(r.Earlier) != 2 || r.Earlier[0].Err == nil || r.Earlier[1].Err == nil || r.Earlier[1].Run != "" || r.Err != nil {
		t.Errorf("%+v", r)
	}
	if rows := csvOf(t, table); len(rows) != 1 || rows[0]["counts"] != "off" || rows[0]["step_time_median"] != "" {
		t.Errorf("%v", rows)
	}
}
