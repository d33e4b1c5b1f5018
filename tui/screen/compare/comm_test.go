package compare_test

import (
	"fmt"
	"math"
	"testing"

	profile "boost-tui/profiler/compare"
)

// Waiting and transfer are those of `compare --json`, of all communication, in
// the bars, the reasons and the details; the hidden part is no exposed waiting.
func TestCommunicationIsThatOfTheJSON(t *testing.T) {
	d, store := start(t, 200, 60, three(t)...)
	s, err := profile.Summarize(store.Infos[2].Dir)
	if err != nil {
		t.Fatal(err)
	}
	v, err := profile.Summarize(store.Infos[1].Dir)
	if err != nil {
		t.Fatal(err)
	}
	b, c := s.Breakdown, v.Breakdown
	delta := func(x, y *float64) string {
		sign := "+"
		if *x < *y {
			sign = "−"
		}
		return fmt.Sprintf("%s%.1f", sign, math.Abs(*x-*y)*1e3)
	}
	has(t, d.Text(), fmt.Sprintf("#jkmn  all comm %.1f = wait %.1f + transfer %.1f", *b.Comm*1e3, *b.CommWait*1e3, *b.CommTransfer*1e3),
		fmt.Sprintf("all comm %s = wait %s + transfer %s", delta(b.Comm, c.Comm), delta(b.CommWait, c.CommWait), delta(b.CommTransfer, c.CommTransfer)))
	d.Press("end", "enter")
	has(t, d.Text(), fmt.Sprintf("all comm ms             %.1f", *b.Comm*1e3), fmt.Sprintf("  transfer ms           %.1f", *b.CommTransfer*1e3))
}
