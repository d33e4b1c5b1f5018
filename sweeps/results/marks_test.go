package results

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"boost-tui/sweeps"
)

// table of the CSV file by the names of its columns.
func csvOf(t *testing.T, table *Table) (rows []map[string]string) {
	t.Helper()
	var b bytes.Buffer
	ok(t, table.CSV(&b))
	lines, err := csv.NewReader(&b).ReadAll()
	ok(t, err)
	for _, l := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = l[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// early is the usual sweep in which the full-rank twin of tp 1 was cancelled and a vanilla run failed, both long enough
// for a verdict; a btp run of tp 2 goes on. What ended early was the fastest, as far as it came.
func early(t *testing.T) *fake {
	f := usual(t)
	of := map[string]dose{"btp1-32": {wall: 0.2, loss: 2, memory: 1 << 20},
		"full1": {wall: 0.01, loss: 1, steps: 90, status: sweeps.Cancelled}, "van1-64": {wall: 0.02, loss: 1, steps: 90, status: sweeps.Failed, cause: "out of memory"},
		"btp2-32": {wall: 0.03, loss: 1, steps: 90, status: sweeps.Running}, "van2-32": {wall: 0.04, loss: 1, steps: 90, status: sweeps.Stopped, cause: "slower"},
	}
	for _, p := range slices.Clone(f.st.Queue) {
		d, there := of[p.ID]
		if !there {
			d = dose{wall: 0.3, loss: 2, memory: 1 << 20}
		}
		f.run(p, d)
	}
	return f
}

// What a run did that ended before its work was done is told, and decides nothing: not a verdict, not the front, not the best.
func TestUnfinishedRunsAreMarked(t *testing.T) {
	f := early(t)
	table := f.measure(nil)
	at := map[string]*Row{}
	for _, r := range table.Rows {
		at[r.Point] = r
	}
	if v := at["btp1-32"].VsFull; !v.Partial || !v.Unfinished || v.Verdict != "" || v.P != nil || !v.Comparable {
		t.Errorf("over a twin that was cancelled: %+v", v)
	}
	if v := at["btp1-32"].VsVanilla; v.Partial || v.Verdict == "" {
		t.Errorf("over one that finished: %+v", v)
	}
	if v := at["btp1-64"].VsVanilla; !v.Partial || !v.Unfinished || v.Verdict != "" {
		t.Errorf("over one that failed: %+v", v)
	}
	if v := at["van2-32"].VsFull; !v.Partial || !v.Unfinished || v.Verdict != "" || !at["van2-32"].Unfinished {
		t.Errorf("of a run that was stopped: %+v", v)
	}
	if v := at["btp2-32"].VsFull; !v.Partial || v.Unfinished || v.Verdict != "" {
		t.Errorf("of a run that goes on: %+v", v)
	}
	if v := at["btp2-64"].VsFull; v.Partial || v.Verdict == "" {
		t.Errorf("of two that finished: %+v", v)
	}
	for _, i := range table.Pareto().Points {
		if table.Rows[i].Status != sweeps.Finished {
			t.Errorf("%s is on the front", table.Rows[i].Point)
		}
	}
	best := table.bestLines()[0]
	if strings.Contains(best, "…") || strings.Contains(best, "full1") || !strings.Contains(best, "fastest btp1-32") || !strings.Contains(best, "1.50x vs vanilla") || strings.Contains(best, "vs full") {
		t.Errorf("%s", best)
	}
	text := textOf(t, table, 0)
	for _, want := range []string{"…  full-rank   1", "… 3 rows: the run failed, was stopped or was cancelled", "… 1 row: a run goes on", "a twin has not done all of its work", "] …"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	_, rows := decoded(t, table)
	if r := rows[2]; r["partial"] != nil || r["vs_full"].(map[string]any)["partial"] != true || r["vs_full"].(map[string]any)["unfinished"] != true {
		t.Errorf("%v", r)
	}
	if r := rows[0]; r["partial"] != true || r["unfinished"] != true {
		t.Errorf("%v", r)
	}
	file := csvOf(t, table)
	if r := file[2]; r["partial"] != "off" || r["vs_full_partial"] != "true" || r["vs_full_unfinished"] != "true" || r["vs_full_verdict"] != "" || r["vs_vanilla_partial"] != "false" {
		t.Errorf("%v", r)
	}
	if r := file[0]; r["partial"] != "on" || r["unfinished"] != "on" || r["state"] != "cancelled" {
		t.Errorf("%v", r)
	}
	keep, err := table.Where("partial=on -unfinished=on")
	ok(t, err)
	if got := table.Filter(keep).Rows; len(got) != 1 || got[0].Point != "btp2-32" {
		t.Errorf("%d rows go on", len(got))
	}
}

// The best of a cell is one of the runs that finished; where there is none, what there is is marked.
func TestHeatOfUnfinishedRuns(t *testing.T) {
	table := early(t).measure(nil)
	cell := func(x, y, metric, vx, vy string) Cell {
		t.Helper()
		h, err := table.Heat(x, y, metric)
		ok(t, err)
		return h.Cells[slices.Index(h.YValues, vy)][slices.Index(h.XValues, vx)]
	}
	for _, c := range []struct {
		metric, scheme, tp string
		point              string
		points             int
		Marks
	}{
		{StepTime, "vanilla", "1", "van1-32", 1, Marks{}},
		{Loss, "vanilla", "2", "van2-64", 1, Marks{}},
		{StepTime, "btp", "2", "btp2-64", 1, Marks{}},
		{StepTime, "full-rank", "1", "full1", 1, Marks{Partial: true, Unfinished: true}},
		{VsFull, "btp", "1", "btp1-32", 2, Marks{Partial: true, Unfinished: true}},
		{VsFull, "btp", "2", "btp2-64", 1, Marks{}},
	} {
		got := cell("scheme", "tp", c.metric, c.scheme, c.tp)
		if got.State != CellMeasured || got.Marks != c.Marks || got.Points != c.points || c.metric != VsFull && table.Rows[got.Row].Point != c.point {
			t.Errorf("%s of %s tp %s: %+v of %s", c.metric, c.scheme, c.tp, got, table.Rows[got.Row].Point)
		}
	}
	if got := cell("rank", "tp", StepTime, "32", "2"); got.Marks != (Marks{Partial: true}) || table.Rows[got.Row].Point != "btp2-32" || got.Points != 2 {
		t.Errorf("one that goes on and a slower one that was stopped: %+v", got)
	}
	h, err := table.Heat("scheme", "tp", StepTime)
	ok(t, err)
	if notes := h.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "… A run failed") {
		t.Errorf("%q", notes)
	}
}

// beside is the usual sweep in which the first vanilla and the first btp run of tp 1 ran at one time.
func beside(t *testing.T) *fake {
	f := usual(t)
	for i, p := range slices.Clone(f.st.Queue) {
		wall := 0.3
		if i == 2 {
			wall = 0.1
		}
		f.run(p, dose{wall: wall, loss: 2 + float64(i)/100, memory: int64(i+1) << 20, same: i == 2})
	}
	return f
}

// A time that another run disturbed is marked wherever it shows, and in whatever rests on it.
func TestOverlapIsCarriedThrough(t *testing.T) {
	f := beside(t)
	table := f.measure(nil)
	for i, want := range map[int]bool{1: true, 2: true, 3: false, 4: false, 0: false} {
		r := table.Rows[i]
		for _, m := range Metrics() {
			if m.Name == VsFull || m.Name == VsVanilla {
				continue
			}
			timed := m.unit == inMillis || m.unit == inMicros || m.unit == inTokens || m.unit == inSeconds || m.unit == inGiga
			if timed = timed && m.Name != "step_time_predicted"; m.Marks(r).Overlapped != (want && timed) {
				t.Errorf("%s of %s: %+v", m.Name, r.Point, m.Marks(r))
			}
		}
	}
	text := textOf(t, table, 0)
	for _, want := range []string{"!  vanilla", "*!  btp", "fastest btp1-32 (! ", "Another run slowed 2 points of this size (!)", "Another run slowed 2 points of it (!)", "! 2 rows: another run was at work"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	h, err := table.Heat("rank", "tp", StepTime)
	ok(t, err)
	if c := h.Cells[0][0]; !c.Overlapped || h.Cells[1][0].Overlapped || len(h.Notes()) != 1 || !strings.HasPrefix(h.Notes()[0], "! ") {
		t.Errorf("%+v, %q", c, h.Notes())
	}
	h, err = table.Heat("rank", "tp", PeakMemory)
	ok(t, err)
	if h.Cells[0][0].Overlapped {
		t.Error("memory is marked")
	}
	// The best of a cell that has a disturbed run may be that run.
	for _, r := range table.Rows[2:3] {
		slow := 0.4
		r.Figures.StepTimeMedian = &slow
	}
	if h, err = table.Heat("scheme", "tp", StepTime); err != nil || !h.Cells[0][slices.Index(h.XValues, "btp")].Overlapped {
		t.Errorf("%v: %+v", err, h.Cells[0])
	}
	top, rows := decoded(t, f.measure(nil))
	if rows[2]["overlapped"] == nil || rows[3]["overlapped"] != nil || rows[2]["vs_full"].(map[string]any)["overlapped"] != true {
		t.Errorf("%v", rows[2])
	}
	if b := top["best"].([]any)[0].(map[string]any); fmt.Sprint(b["overlapped"]) != "[btp1-32]" || b["disturbed"] != 2.0 {
		t.Errorf("%v", b)
	}
	if p := top["pareto"].(map[string]any); len(p["overlapped"].([]any)) != 2 {
		t.Errorf("%v", p)
	}
	for line, want := range map[string]int{"overlapped>0": 2, "overlapped=0": 8} {
		keep, err := table.Where(line)
		ok(t, err)
		if part := table.Filter(keep); len(part.Rows) != want || want == 2 && !strings.Contains(textOf(t, part, 40), "! ") {
			t.Errorf("%s: %d rows\n%s", line, len(part.Rows), textOf(t, part, 40))
		}
	}
}

// A run of a sweep without twins shows that it was disturbed, in every width.
func TestOverlapWithoutTwins(t *testing.T) {
	f := newFake(t, []string{"tp"}, "size", "tiny", "variant", "cola", "scheme", "btp", "steps", "60")
	for i, tp := range []string{"1", "2"} {
		f.run(f.point(tp, "tp", tp), dose{wall: 0.3, loss: 2, same: i == 1})
	}
	table := f.measure(nil)
	for _, width := range []int{0, 30, 40, 80} {
		if text := textOf(t, table, width); strings.Count(text, "!  ") < 2 {
			t.Errorf("at %d:\n%s", width, text)
		}
	}
	var b bytes.Buffer
	ok(t, table.Markdown(&b))
	if strings.Count(b.String(), `| \! |`)+strings.Count(b.String(), `| \*\! |`) != 2 {
		t.Errorf("%s", b.String())
	}
}

// What another run slowed is beaten by nothing, for alone it may be faster.
func TestFrontOfDisturbedPoints(t *testing.T) {
	table := made([][3]float64{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}, func(i int) string { return fmt.Sprint(i) })
	table.Rows[1].Overlapped = []string{"other"}
	if f := table.Pareto(); !slices.Equal(f.Points, []int{0, 1}) || !slices.Equal(f.Overlapped, []int{1}) {
		t.Errorf("%+v", f)
	}
}

// Rounding decides nothing: the losses of one model on one and on two ranks differ in the last digits.
func TestLossesWithinTheToleranceAreEqual(t *testing.T) {
	table := made([][3]float64{{1, 5, 2}, {1.1, 5, 2 - 1e-8}, {0.5, 6, 2 + 4e-5}, {1.2, 4, 2 - 6e-5}}, func(i int) string { return fmt.Sprint(i) })
	if f := table.Pareto(); !slices.Equal(f.Points, []int{0, 2, 3}) {
		t.Errorf("%+v", f)
	}
	b := table.BestPerSize()[0]
	if b.LowestLoss != 3 || len(b.LossTies) != 0 {
		t.Errorf("%+v", b)
	}
	b = table.Filter(func(r *Row) bool { return r.Point != "3" }).BestPerSize()[0]
	if b.LowestLoss != 0 || !slices.Equal(b.LossTies, []int{1, 2}) {
		t.Errorf("%+v", b)
	}
	table = table.Filter(func(r *Row) bool { return r.Point != "3" })
	if line := table.bestLines()[0]; !strings.Contains(line, "lowest loss 0 (2.0000 loss, last 20), tied with 1, 2;") {
		t.Errorf("%s", line)
	}
	if notes := strings.Join(table.Notes(), "\n"); !strings.Contains(notes, "within 0.00005 nats") {
		t.Errorf("%s", notes)
	}
}

// The front with ties is what a search over all pairs leaves, also where ties are chains.
func TestParetoWithTiesIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		figures := make([][3]float64, rng.IntN(40))
		disturbed := make([]bool, len(figures))
		for i := range figures {
			figures[i] = [3]float64{float64(rng.IntN(4)), float64(rng.IntN(4)), 2 + 3e-5*float64(rng.IntN(8))}
			disturbed[i] = rng.IntN(8) == 0
		}
		var want []int
		for i, a := range figures {
			beaten := false
			for _, b := range figures {
				worse := b[0] > a[0] || b[1] > a[1] || b[2] > a[2]+LossTie
				beaten = beaten || !worse && (b[0] < a[0] || b[1] < a[1] || b[2] < a[2]-LossTie)
			}
			if !beaten || disturbed[i] {
				want = append(want, i)
			}
		}
		table := made(figures, func(i int) string { return fmt.Sprint(i) })
		for i, d := range disturbed {
			if d {
				table.Rows[i].Overlapped = []string{"other"}
			}
		}
		if f := table.Pareto(); !slices.Equal(f.Points, want) {
			t.Fatalf("%v, %v: %v, want %v", figures, disturbed, f.Points, want)
		}
	}
}
