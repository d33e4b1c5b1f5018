package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"

	"boost-tui/sweeps"
)

// repeated is a sweep of a full-rank and a btp point, each with so many repeats, whose step times differ.
func repeated(t testing.TB, repeats int) *fake {
	f := newFake(t, []string{"scheme", "seed"}, "size", "tiny", "variant", "cola", "steps", "120")
	for i := range repeats {
		seed := fmt.Sprint(i + 1)
		full := f.point("full"+seed, "variant", "full", "scheme", "full-rank", "seed", seed)
		btp := f.point("btp"+seed, "scheme", "btp", "seed", seed)
		full.Full, btp.Full = full.ID, full.ID
		f.run(full, dose{wall: 0.3 + float64(i)/100, loss: 2, memory: 9 << 20})
		f.run(btp, dose{wall: 0.2 - float64(i*i)/100, loss: 2.5, memory: 8 << 20})
	}
	return f
}

// A configuration is the medians of its repeats; its speed-up is theirs where they are pooled.
func TestConfigurationsAreMedians(t *testing.T) {
	table := repeated(t, 3).measure(nil)
	c := table.Configurations()
	if len(c.Rows) != 2 {
		t.Fatalf("%d configurations", len(c.Rows))
	}
	btp := c.Rows[1]
	var times []float64
	for _, r := range btp.Rows {
		times = append(times, *r.Figures.StepTimeMedian)
		if r.VsFull.Ratio != btp.VsFull.Ratio || !slices.Equal(r.VsFull.CI, btp.VsFull.CI) || btp.VsFull.Verdict != "faster" || *r.VsFull.P > *btp.VsFull.P {
			t.Errorf("%+v is not that of %s: %+v", btp.VsFull, r.Point, r.VsFull)
		}
	}
	slices.Sort(times)
	step, _ := MetricOf(StepTime)
	if v, _ := btp.Value(step); v != times[1] || !slices.Equal(btp.Spread, []float64{times[0], times[2]}) || btp.VsFull.Pooled != [2]int{3, 3} || btp.VsFull.Run != "" {
		t.Errorf("%v, %v, %+v", v, btp.Spread, btp.VsFull)
	}
	if v := c.Rows[0].VsFull; v.Ratio != 1 || !v.itself() {
		t.Errorf("full-rank over itself: %+v", v)
	}
	text := configurationText(t, c, 0)
	for _, want := range []string{"scheme", "runs", "least .. most", "full-rank", configurationNote, "1.00x", "["} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if head, _, _ := strings.Cut(text, "\n"); strings.Contains(head, "seed") {
		t.Errorf("%s", head)
	}
	ok(t, c.Sort("step ms", false))
	if c.Rows[0] != btp {
		t.Error("the faster one comes second")
	}
	for _, bad := range []string{"seed", "state", "rnak"} {
		if err := c.Sort(bad, false); err == nil || !strings.Contains(err.Error(), StepTime) {
			t.Errorf("sort by %s: %v", bad, err)
		}
	}
	if len(table.Repeats(1)) != 3 || !slices.Equal(table.Repeats(0), []int{0, 2, 4}) {
		t.Errorf("%v", table.Repeats(0))
	}
}

// Two repeats are not pooled: their middle stands there without an interval.
func TestConfigurationOfTwo(t *testing.T) {
	c := repeated(t, 2).measure(nil).Configurations()
	v, rows := c.Rows[1].VsFull, c.Rows[1].Rows
	if want := (rows[0].VsFull.Ratio + rows[1].VsFull.Ratio) / 2; math.Abs(v.Ratio-want) > 1e-12 || v.CI != nil || v.Pooled != [2]int{2, 2} || v.Verdict != "faster" {
		t.Errorf("%+v, want %v", v, want)
	}
	if text := configurationText(t, c, 0); !strings.Contains(text, "Two repeats are too few to be pooled") {
		t.Errorf("%s", text)
	}
	one := repeated(t, 1).measure(nil).Configurations().Rows[1]
	if v := one.VsFull; v.Ratio != one.Rows[0].VsFull.Ratio || len(v.CI) != 2 || v.Run == "" || one.Spread != nil {
		t.Errorf("of one: %+v", one.VsFull)
	}
}

// What has not done its work counts only where nothing else is there, and what was disturbed is marked.
func TestConfigurationsOfOddRuns(t *testing.T) {
	f := repeated(t, 3)
	p := f.st.Points
	f.run(f.point("btp9", "scheme", "btp", "seed", "9"), dose{wall: 0.001, loss: 1, steps: 90, status: sweeps.Failed})
	p[len(p)-1].Full = p[0].ID
	f.run(f.point("van9", "scheme", "vanilla", "seed", "9"), dose{wall: 0.4, loss: 1, steps: 90, status: sweeps.Running})
	f.run(f.point("alone", "scheme", "btp", "rank", "8"), dose{wall: 0.4, loss: 1, same: true})
	f.point("waits", "scheme", "btp", "rank", "16")
	table := f.measure(nil)
	rows := table.Configurations().Rows
	if len(rows) != 5 {
		t.Fatalf("%d configurations", len(rows))
	}
	if c := rows[1]; len(c.Rows) != 4 || len(c.Counted) != 3 || c.Partial || c.runsText() != "3 of 4" || c.VsFull.Partial || c.Spread[0] < 0.1 {
		t.Errorf("with a repeat that failed: %+v", c)
	}
	if c := rows[2]; c.Marks != (Marks{Partial: true, Overlapped: true}) || c.runsText() != "1" {
		t.Errorf("of one that goes on: %+v", c)
	}
	if c := rows[3]; !c.Overlapped || c.Partial {
		t.Errorf("disturbed: %+v", c)
	}
	if c := rows[4]; len(c.Counted) != 0 || c.VsFull != nil || c.runsText() != "0 of 1" {
		t.Errorf("of one that waits: %+v", c)
	}
	text := configurationText(t, table.Configurations(), 0)
	for _, want := range []string{"3 of 4", "!…  vanilla", "\n*!  btp"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func configurationText(t testing.TB, c *Configurations, width int) string {
	t.Helper()
	var b bytes.Buffer
	ok(t, c.Text(&b, width))
	return b.String()
}

// The forms say the same, whatever stands in a sweep.
func TestFormsOfConfigurations(t *testing.T) {
	table := repeated(t, 3).measure(nil)
	c := table.Configurations()
	data, err := json.Marshal(c)
	ok(t, err)
	var top struct {
		ID    string
		Axes  []string
		Items []map[string]any `json:"configurations"`
	}
	ok(t, json.Unmarshal(data, &top))
	item := top.Items[1]
	if top.ID != table.ID || !slices.Equal(top.Axes, []string{"scheme"}) || len(top.Items) != 2 || item["scheme"] != "btp" || item["seed"] != nil || item["finished"] != 3.0 ||
		len(item["points"].([]any)) != 3 || len(item["runs"].([]any)) != 3 || len(item["spread"].([]any)) != 2 || item[StepTime] == nil {
		t.Errorf("%s", data)
	}
	if v := item["vs_full"].(map[string]any); v["ratio"] != c.Rows[1].VsFull.Ratio || v["verdict"] != "faster" || v["run"] != nil || fmt.Sprint(v["pooled"]) != "[3 3]" {
		t.Errorf("%v", v)
	}
	var b bytes.Buffer
	ok(t, c.CSV(&b))
	lines, err := csv.NewReader(&b).ReadAll()
	ok(t, err)
	cell := func(name string) string { return lines[2][slices.Index(lines[0], name)] }
	if len(lines) != 3 || slices.Contains(lines[0], "seed") || cell("runs") != "3" || cell("points") != "3" || cell("vs_full") != float(c.Rows[1].VsFull.Ratio) ||
		cell("vs_full_ci_lo") != float(c.Rows[1].VsFull.CI[0]) || cell("step_time_least") != float(c.Rows[1].Spread[0]) || cell("partial") != "off" || cell("overlapped") != "0" {
		t.Errorf("%q", lines)
	}
	for _, m := range Metrics() {
		if n := slices.Index(lines[0], m.Name); n < 0 || slices.Contains(lines[0][n+1:], m.Name) {
			t.Errorf("column %s is not there once", m.Name)
		}
	}
	for name, table := range map[string]*Table{"mixed": mixed(t).measure(nil), "nothing": newFake(t, nil).measure(nil), "queued": usual(t).measure(nil)} {
		c := table.Configurations()
		for width := 1; width < 200; width += 7 {
			for line := range strings.Lines(configurationText(t, c, width)) {
				if line = strings.TrimSuffix(line, "\n"); runewidth.StringWidth(line) > width || strings.ContainsFunc(line, unicode.IsControl) {
					t.Fatalf("%s at %d: %q", name, width, line)
				}
			}
		}
		_, err := json.Marshal(c)
		ok(t, err)
		b.Reset()
		ok(t, c.CSV(&b))
		b.Reset()
		ok(t, c.Markdown(&b))
		sameWidth(t, b.String())
	}
}
