package results

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// Heat maps say of every cell what became of its points.
func TestHeatStates(t *testing.T) {
	f := newFake(t, []string{"tp", "rank"}, "size", "tiny", "variant", "cola", "steps", "60")
	f.st.Pruned = []space.Pruned{
		{Point: "tp 3", Set: []space.Assign{{Key: "rank", Value: "32"}, {Key: "tp", Value: "3"}}, Reason: "3 does not divide 4"},
		{Point: "bad", Set: []space.Assign{{Key: "rank", Value: "x"}, {Key: "tp", Value: "4"}}, Reason: "no number"},
		{Point: "rank open", Set: []space.Assign{{Key: "tp", Value: "8"}}, Reason: "8 does not divide 4"},
	}
	for i, d := range []dose{{wall: 0.2, loss: 2}, {steps: 20, wall: 0.1, loss: 2, status: sweeps.Running}, {steps: 1, status: sweeps.Running}, {},
		{steps: 1, status: sweeps.Failed, cause: "out of memory"}, {}} {
		p := f.point(fmt.Sprint(i), "tp", []string{"1", "2"}[i%2], "rank", []string{"16", "32", "64"}[i/2])
		switch i {
		case 3: // queued
		case 5:
			p.Status = sweeps.Skipped
		default:
			f.run(p, d)
		}
	}
	table := f.measure(nil)
	h, err := table.Heat("tp", "rank", StepTime)
	ok(t, err)
	if !slices.Equal(h.XValues, []string{"1", "2", "3", "4", "8"}) || !slices.Equal(h.YValues, []string{"16", "32", "64", "x"}) {
		t.Fatalf("x %q, y %q", h.XValues, h.YValues)
	}
	var states []string
	for _, line := range h.Cells {
		for _, c := range line {
			states = append(states, string(c.State))
		}
	}
	// The run that failed after a step has a step time all the same; its loss as well.
	want := "measured measured none none none measured queued pruned none pruned measured skipped none none none none none none pruned none"
	if got := strings.Join(states, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c := h.Cells[0][1]; !c.Partial || c.Row != 1 {
		t.Errorf("%+v", c)
	}
	if c := h.Cells[1][2]; c.Why != "3 does not divide 4" || c.Pruned != 1 || c.Row != -1 {
		t.Errorf("%+v", c)
	}
	full, err := table.Heat("tp", "rank", VsFull) // no point has a full-rank twin
	ok(t, err)
	states = nil
	for _, line := range full.Cells {
		states = append(states, string(line[0].State), string(line[1].State))
	}
	if got := strings.Join(states, " "); got != "unknown running running queued failed skipped none none" {
		t.Errorf("%s", got)
	}
	if c := full.Cells[2][0]; c.Why != "out of memory" {
		t.Errorf("%+v", c)
	}
	// A filter is about pruned points too.
	h, err = table.Filter(func(r *Row) bool { return r.TP != 3 }).Heat("tp", "rank", StepTime)
	ok(t, err)
	if c := h.Cells[1][2]; c.State != CellNone {
		t.Errorf("%+v", c)
	}
	for _, bad := range [][3]string{{"tp", "tp", StepTime}, {"tp", "rnk", StepTime}, {"state", "tp", StepTime}, {"tp", "rank", "speed"}} {
		if _, err := table.Heat(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%q", bad)
		}
	}
}

// Of several configurations in a cell the best counts, of repeats the median, and it is said.
func TestHeatCombines(t *testing.T) {
	f := newFake(t, []string{"scheme", "tp", "rank", "seed"}, "size", "tiny", "variant", "cola", "steps", "60")
	walls := map[string][]float64{"vanilla": {0.3, 0.2, 0.25}, "btp": {0.1, 0.5, 0.24}}
	for _, scheme := range []string{"vanilla", "btp"} {
		for i, wall := range walls[scheme] {
			f.run(f.point(fmt.Sprint(scheme, i), "scheme", scheme, "seed", fmt.Sprint(i)), dose{wall: wall, loss: 2})
		}
	}
	table := f.measure(nil)
	h, err := table.Heat("tp", "rank", StepTime)
	ok(t, err)
	c := h.Cells[0][0]
	if c.Points != 2 || len(c.Rows) != 6 || c.Row != 5 || c.Value < 0.24 || c.Value > 0.245 {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(h.Over, []string{"scheme"}) || h.Combined != "the lowest of up to 2 configurations in a cell, over scheme; repeats by their median" || h.Least != c.Value || h.Most != c.Value {
		t.Errorf("%q, %q", h.Over, h.Combined)
	}
	h, err = table.Heat("scheme", "tp", "tokens_per_second")
	ok(t, err)
	if h.Combined != "repeats by their median" || len(h.XValues) != 2 || h.XValues[0] != "vanilla" {
		t.Errorf("%+v", h)
	}
	// A configuration whose other repeats have no value is none of repeats.
	for _, i := range []int{1, 2, 4, 5} {
		table.Rows[i].Figures.StepTimeMedian = nil
	}
	h, err = table.Heat("scheme", "tp", StepTime)
	ok(t, err)
	if h.Combined != "one point in a cell" || h.Cells[0][0].Points != 1 || len(h.Cells[0][0].Rows) != 3 {
		t.Errorf("%+v", h)
	}
	h, err = table.Heat("tp", "rank", StepTime)
	ok(t, err)
	if h.Combined != "the lowest of up to 2 configurations in a cell, over scheme" {
		t.Errorf("%q", h.Combined)
	}
	// A value that means nothing to some points has its own place, the last one.
	f.run(f.point("full", "variant", "full", "scheme", "full-rank"), dose{wall: 0.4, loss: 2})
	h, err = f.measure(nil).Heat("rank", "tp", StepTime)
	ok(t, err)
	if !slices.Equal(h.XValues, []string{"32", ""}) || h.Cells[0][1].State != CellMeasured {
		t.Errorf("%+v", h)
	}
}

// made is a table of finished rows without runs.
func made(figures [][3]float64, configuration func(int) string) *Table {
	t := &Table{}
	for i, v := range figures {
		memory := int64(v[1])
		r := &Row{Point: fmt.Sprint(i), Label: fmt.Sprint(i), Status: sweeps.Finished, Size: "tiny", Tokens: 1024}
		r.Experiment.Where.Setup = configuration(i)
		r.Figures.StepTimeMedian, r.Figures.PeakMemory, r.Figures.LossMeanLast20 = &v[0], &memory, &v[2]
		t.Rows = append(t.Rows, r)
	}
	return t
}

// The front is what a search over all pairs leaves, for random tables full of ties.
func TestParetoIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		figures := make([][3]float64, rng.IntN(30))
		for i := range figures {
			figures[i] = [3]float64{float64(rng.IntN(4)), float64(rng.IntN(4)), float64(rng.IntN(4))}
		}
		var want []int
		for i, a := range figures {
			beaten := false
			for _, b := range figures {
				beaten = beaten || b[0] <= a[0] && b[1] <= a[1] && b[2] <= a[2] && b != a
			}
			if !beaten {
				want = append(want, i)
			}
		}
		f := made(figures, func(i int) string { return fmt.Sprint(i) }).Pareto()
		if !slices.Equal(f.Points, want) || f.Ranked != len(figures) {
			t.Fatalf("%v: %v, want %v", figures, f.Points, want)
		}
	}
}

func TestParetoOfRepeatsAndUnknowns(t *testing.T) {
	// Two configurations of three repeats; the second has one lucky run.
	table := made([][3]float64{{1, 5, 2}, {1.1, 5, 2}, {1.2, 5, 2}, {0.5, 5, 3}, {3, 5, 3}, {3, 5, 3}}, func(i int) string { return fmt.Sprint(i / 3) })
	f := table.Pareto()
	if !slices.Equal(f.Points, []int{0, 1, 2}) || f.Ranked != 2 || f.Metrics[0] != StepTime || !strings.Contains(f.Note(), "step time") {
		t.Errorf("%+v", f)
	}
	table.Rows[5].Tokens = 2048
	if f = table.Pareto(); f.Metrics[0] != TimePerToken {
		t.Errorf("%+v", f)
	}
	for _, r := range table.Rows[:3] {
		r.Figures.LossMeanLast20 = nil
	}
	table.Rows[3].Status = sweeps.Stopped
	if f = table.Pareto(); !slices.Equal(f.Points, []int{4, 5}) || f.Left != 3 {
		t.Errorf("%+v", f)
	}
	if f = (&Table{}).Pareto(); len(f.Points) != 0 {
		t.Errorf("%+v", f)
	}
}

func TestBestPerSize(t *testing.T) {
	table := made([][3]float64{{1, 9, 2}, {2, 5, 1}, {3, 7, 3}, {8, 1, 8}, {9, 1, 7}, {10, 1, 6}}, func(i int) string { return []string{"a", "b", "c", "d"}[min(i, 3)] })
	for _, r := range table.Rows[3:] {
		r.Size = "60m"
	}
	table.Rows = append(table.Rows, &Row{Size: "7b", Status: sweeps.Failed, Tokens: 1024})
	got := table.BestPerSize()
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	if b := got[0]; b.Size != "tiny" || b.Points != 3 || b.Fastest != 0 || b.LowestLoss != 1 || b.LeastMemory != 1 || b.Metric != StepTime {
		t.Errorf("%+v", b)
	}
	if b := got[1]; b.Size != "60m" || b.Fastest != 4 || b.LowestLoss != 4 || b.LeastMemory != 3 {
		t.Errorf("of repeats, the one in the middle: %+v", b)
	}
}

// A size is a preset's name only where the shape is the preset's.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{{[]string{"size", "60m"}, "60m"}, {[]string{"size", "tiny", "layers", "6"}, "d128 layers6 heads4 ff352 vocab256"}} {
		e := experiment.Default()
		for i := 0; i < len(c.set); i += 2 {
			ok(t, e.Set(c.set[i], c.set[i+1]))
		}
		e, err := e.Resolve()
		ok(t, err)
		if got := sizeOf(e.Model); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
