package results

import (
	"strings"
	"testing"
)

// What commands and screens take for a filter is one language over everything that a row has.
func TestWhere(t *testing.T) {
	f := usual(t)
	f.finish()
	table := f.measure(nil)
	for line, want := range map[string]int{
		"": 10, "btp": 4, "scheme=btp": 4, "scheme!=btp": 6, "-scheme=btp": 6, "scheme=btp tp>=2": 2, "rank!=32": 6, "rank=": 2, "state:fin -twin=on": 8,
		"vs_full > 1.5": 4, "step_time_median<200ms": 4, "peak_memory>=35mib": 2, "lr<1": 10, "micro-batch!=8": 0, `label:"btp2"`: 2, "loss_last<0": 0,
	} {
		keep, err := table.Where(line)
		ok(t, err)
		if got := table.Filter(keep).Rows; len(got) != want {
			t.Errorf("%q keeps %d rows, want %d", line, len(got), want)
		}
	}
	// What heads a column names it too, in its own unit.
	for line, want := range map[string]int{`"step ms"<200`: 4, `"Step  MS" < 200ms`: 4, `"step ms"<0.2s`: 4, `"step ms"<0.2`: 0, `"loss, last 20"<2.58`: 6, `"device MiB">=35`: 2, `"device mib">=35mib`: 2, `"vs full">1.5`: 4,
		`tok/s>1`: 10, `us/token<250`: 4, `step_time_median<1`: 10, `steps=150`: 10, `-"step ms">200`: 4} {
		keep, err := table.Where(line)
		ok(t, err)
		if got := table.Filter(keep).Rows; len(got) != want {
			t.Errorf("%q keeps %d rows, want %d", line, len(got), want)
		}
	}
	for _, line := range []string{"nothing=1", "scheme=btp nothing!=1", "tp>many scheme=btp"} {
		keep, err := table.Where(line)
		if err == nil || strings.Contains(line, "nothing") && !strings.Contains(err.Error(), VsFull) {
			t.Errorf("%q: %v", line, err)
		}
		if rest := strings.Contains(line, "btp"); rest != (keep != nil) || rest && len(table.Filter(keep).Rows) != 4 {
			t.Errorf("%q: the rest of the line does not work", line)
		}
	}
	if _, err := (&Table{}).Where("lr<1 vs_full>1 tp=2"); err != nil {
		t.Errorf("fields depend on the sweep: %v", err)
	}
}

// Every heading of the table under which a figure stands is a name for sorting and for heat maps.
func TestHeadingsAreNames(t *testing.T) {
	f := usual(t)
	f.finish()
	table := f.measure(nil)
	titled := table.Filter(nil)
	for _, c := range titled.columns(nil) {
		if c.title == "" || c.title == "95 % interval" {
			continue
		}
		if err := titled.Sort(strings.ToUpper(c.title), true); err != nil && titled.Sort(c.title, true) != nil {
			t.Errorf("%s: %v", c.title, err)
		}
	}
	for _, m := range Metrics() {
		if m.Title == "steps" { // the key of that name, which all points have
			continue
		}
		named, titled := table.Filter(nil), table.Filter(nil)
		ok(t, named.Sort(m.Name, m.Higher))
		ok(t, titled.Sort(m.Title, m.Higher))
		for i := range named.Rows {
			if named.Rows[i].Point != titled.Rows[i].Point {
				t.Errorf("%s: %s is not %s", m.Title, titled.Rows[i].Point, named.Rows[i].Point)
			}
		}
		if again, err := MetricOf(m.Title); err != nil || again.Name != m.Name {
			t.Errorf("%s is %s (%v)", m.Title, again.Name, err)
		}
		h, err := named.Heat("tp", "rank", m.Title)
		if ok(t, err); h.Metric != m.Name {
			t.Errorf("the map of %s is of %s", m.Title, h.Metric)
		}
	}
}
