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
